"""Times of day: German counts to 24 and English to 12, and a small model may get the half of the day wrong."""

import re

_NOON = 12
_GERMAN = re.compile(
    r"(?<![\d.,:])(?P<hour>[01]?\d|2[0-4])(?:[.:](?P<minute>[0-5]\d))?(?=\s?Uhr\b(?:\s(?P<part>\w+))?)"
    r"|(?<![\d.,:])(?P<hour2>[01]?\d|2[0-4]):(?P<minute2>[0-5]\d)(?![\d:]|[.,]\d)"
)
_ENGLISH = re.compile(
    r"(?<![\d.,:])(?P<hour>0?[1-9]|1[0-2])(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[AaPp])(?=\.?\s?[Mm]\b)"
)
_RANGE = re.compile(r"\d\s?(?:-|\u2013|to|and|until|till)\s?\d{1,2}(?:[:.]\d\d)?\s?[ap]\.?\s?m\b", re.IGNORECASE)
_LATE = frozenset(["abends", "nachmittags"])


def set_right(output: str, text: str, source: str, target: str) -> str:
    """A translation of `text` with its times in the other half of the day where that half is the one of the source.

    Times that it does not find in the source half a day off are left alone, and so is "3 to 5 p.m.".
    """
    if (source, target) == ("de", "en"):
        times = _german_times(text)
        bare = {(int(hour) % 24, 0) for hour in re.findall(r"\b\d{1,2}\b", _GERMAN.sub("", text))}  # 7 und 19 Uhr
        return _ENGLISH.sub(lambda match: _in_other_half(match, times, bare), output)
    if (source, target) == ("en", "de") and not _RANGE.search(text):
        times = {_english_time(match) for match in _ENGLISH.finditer(text)}
        return _GERMAN.sub(lambda match: _with_other_hour(match, times), output)
    return output


def _german_times(text: str) -> set[tuple[int, int]]:
    """Hour and minute of each time, to 24."""
    times = set()
    for match in _GERMAN.finditer(text):
        hour, minute = _hour_and_minute(match)
        late = match["part"] in _LATE and hour < _NOON
        times.add((hour + _NOON if late else hour % 24, minute))
    return times


def _hour_and_minute(match: re.Match[str]) -> tuple[int, int]:
    return int(match["hour"] or match["hour2"]), int(match["minute"] or match["minute2"] or 0)


def _english_time(match: re.Match[str]) -> tuple[int, int]:
    """Hour, to 24, and minute."""
    return int(match["hour"]) % _NOON + _NOON * (match["half"] in "Pp"), int(match["minute"] or 0)


def _in_other_half(match: re.Match[str], times: set[tuple[int, int]], bare: set[tuple[int, int]]) -> str:
    hour, minute = _english_time(match)
    if (hour, minute) in times | bare or ((hour + _NOON) % 24, minute) not in times:
        return match[0]
    return match[0][:-1] + {"a": "p", "p": "a", "A": "P", "P": "A"}[match["half"]]


def _with_other_hour(match: re.Match[str], times: set[tuple[int, int]]) -> str:
    hour, minute = _hour_and_minute(match)
    other = (hour + _NOON) % 24
    if (hour % 24, minute) in times or (other, minute) not in times:
        return match[0]
    return str(other) + match[0][len(match["hour"] or match["hour2"]) :]
