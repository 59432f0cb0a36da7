"""Times of day after which a clock word stands: 20 Uhr is 8 pm."""

import re

from translate.text.languages import Language

HALF_DAY = 12 * 60  # minutes


def time_of(number: re.Match[str], rules: Language, *, assumes: bool = False) -> tuple[int, int] | None:
    """Return a time of day in minutes since midnight, and where its clock words end; None if it is not certain.

    Args:
        number: a number in a text, whose group "digits", if there is one, has no units.
        rules: the rules of the text's language.
        assumes: in languages that count to 24, 8 Uhr may be in the evening. If true, it is 8 am unless the text names
            another part of the day; if false, it is not certain.
    """
    group = "digits" if "digits" in number.re.groupindex else 0
    clock = rules.clock.match(number.string, number.end(group))
    time = _minutes(number[group])
    if clock is None or clock["night"] or time is None:
        return None
    if clock["morning"] or clock["afternoon"]:
        time = time % HALF_DAY + (HALF_DAY if clock["afternoon"] else 0)
    elif 60 <= time < HALF_DAY and not (assumes and not rules.afternoon.search(number.string)):
        return None
    return time % (2 * HALF_DAY), clock.end()


def before(digits: str, end: int, rules: Language) -> int | None:
    """Return the time at which a range begins whose end has the clock: 9 in "9 to 6 pm" is 9 am, and 2 is 2 pm.

    Args:
        digits: of the beginning, without a clock word.
        end: of the range, in minutes since midnight.
        rules: the rules of the text's language.

    Returns minutes since midnight, within half a day before the end if hours are counted to 12; None for other numbers.
    """
    time = _minutes(digits)
    if time is None:
        return None
    if len(rules.clock_words) == 2:
        duration = (end - time - 1) % HALF_DAY + 1
        return (end - duration) % (2 * HALF_DAY) if time < HALF_DAY + 60 else None
    return time if time < end else None


def _minutes(digits: str) -> int | None:
    """Return "14:30" or "14" in minutes since midnight; None for what is no time."""
    hours, _, minutes = digits.replace(".", ":").partition(":")
    if not hours.isdigit() or not (minutes or "0").isdigit() or len(hours) > 2 or len(minutes) > 2:
        return None
    if int(hours) > 24 or int(minutes or 0) > 59:
        return None
    return int(hours) * 60 + int(minutes or 0)


def written(time: int, rules: Language) -> str:
    """Return a time of day as a language writes it.

    Args:
        time: minutes since midnight.
        rules: the rules of the language.
    """
    hours, minutes = divmod(time, 60)
    if len(rules.clock_words) == 2:
        hours, word = hours % 12 or 12, rules.clock_words[time >= HALF_DAY]
    else:
        (word,) = rules.clock_words
    return f"{hours}:{minutes:02} {word}" if minutes else f"{hours} {word}"
