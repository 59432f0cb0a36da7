"""SubRip and WebVTT as pieces: the sentences of cues, with sounds and names of speakers by themselves.

A sentence may go on in the next cues. It is one piece, with the lines between the cues, which `text_of_cues` takes out
and `in_cues` puts back.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Literal

from translate.text.sentences import Piece, pieces

_LONGEST = 256  # lines of a cue; a longer block is divided
_TIMES = re.compile(r"\s*[\d:.,]+\s*-->\s*[\d:.,]+")
_STATES_LANGUAGE = re.compile(r"Language:\s*(?P<code>[a-z]{2,3}(?:-\w{2,8})*)\s*\Z")  # as YouTube writes
_NO_CUE = re.compile(r"(?:NOTE|STYLE|REGION)\b")
# As in Sub Station Alpha: {\an8} for a place or a format, \N for a line break, \h for a no-break space; C:\N is a path.
_CODE, _N, _H = r"\{\\[^{}\n]*\}", r"(?<!\b[A-Z]:)\\N", r"(?<!\b[A-Z]:)\\h"
_AFTER_BREAK = re.compile(r"(?<=\\N)(?<!\b[A-Z]:\\N)")
# Sounds and names of speakers: [Musik] (leise) MANN:
_SOUND = r"\[(?=[^\W\d_]{2})[^\[\]\n_=/]{1,80}\](?![(\[])"
_ASIDE = r"\((?=[^\W\d_]{2})[^()\n]{1,80}\)(?=[\s:<]|\\N|\Z)"
_IN_CAPITALS = r"[A-Z\u00c0-\u00de][A-Z\u00c0-\u00de\u00df.'\u2019-]"
_NAME = (
    rf"(?:{_IN_CAPITALS}{{0,30}}\s){{0,3}}{_IN_CAPITALS}{{1,30}}(?:\s\d{{1,2}})?"
    r"(?=(?:\s?\([^()\n]{1,80}\))?:(?:\s|\\N|\Z))"
)
_LABEL = re.compile(
    rf"(?:<[^<>\n]*>|{_CODE}|[\s>\u2013\u2014-])*+(?:(?:{_SOUND}|{_ASIDE}|{_NAME})(?:</\w{{1,9}}>)*\s*:?\s*)+"
)
_LABEL_WORDS = re.compile(rf"<[^<>\n]*>|{_CODE}|(?P<words>[^\W_](?:[^<>\[\]():\n]*[^\s<>\[\]():])?)")
# Before another speaker, or a sound at the end of a line.
_TURN = re.compile(rf"(?<=[.!?\u2026>\"\u201c\u201d]\s)(?=[-\u2013\u2014]\s?\w)|(?<=\s)(?={_SOUND}(?:\s|\\N)*\Z)")
_BEGINS = re.compile(rf"\s*(?:{_CODE})?(?:[-\u2013\u2014\u2669-\u266c]|#\s|>>|&gt;&gt;|{_SOUND}|{_NAME})")
# A mark of the end, a note of a song, or a line in brackets, such as a sound.
_ENDS = re.compile(
    r"(?:[.!?\u2026:]|[\u2669-\u266c]|\s#)(?:[\"'\u201c\u201d\u2019\u00bb\u00ab)\]]|\s\u00bb)*(</\w+>)*\s*\Z"
    r"|\A(?:<[^<>]*>|[\s-])*(?:\[[^\[\]]*\]|\([^()]*\))(?:<[^<>]*>|\s)*\Z"
)
# The line of times of a cue, with settings such as its place; and what may be between the texts of two cues.
# A repetition that could overlap the next one is possessive, so that the time is linear in the length of any text.
_CUE = r"[^\S\n]*(?P<start>[\d:.,]+)[^\S\n]*-->[^\S\n]*(?P<end>[\d:.,]+)(?P<settings>[^\n]*\n)"
_NEXT_CUE = rf"[ \t]*+\r?\n(?:[ \t]*+\r?\n)++(?:[^\n]*\n)?{_CUE}"
_FORMATS, _END_OF_FORMAT = r"(?:\{\\an\d\}|<[ibu]>|<font[^<>\n]*>)*", "</(?:[ibu]|font)>"
_FORMATTED = re.compile(rf"(?P<formats>{_FORMATS})(?P<text>[^<>{{}}]*)(?:{_END_OF_FORMAT})*")
_BREAK = re.compile(rf"(?:(?<!>)(?:{_END_OF_FORMAT})++|(?<![ \t])){_NEXT_CUE}{_FORMATS}|\r?\n|{_N}")
_LONGEST_PAUSE = 2  # seconds within a sentence
MOST_CUES = 4  # of a sentence
_MARK = re.compile(r"[.,;:!?\u2026](?!\S)")  # a text with one has a full stop where a sentence ends
_LONG_TEXT = 10  # characters; a shorter one without a full stop may be a sign
_MOST_BETWEEN = 16  # lines and spaces between the texts of a sentence
# Of a text that begins with a capital letter: the name of a speaker before it. And of what another one interrupted.
_CAPITALIZED = r"[^\W\d_a-z\u00df-\u00ff][\w.'\u2019-]*"
_SPEAKER = re.compile(rf"(?:{_CAPITALIZED}\s){{0,3}}{_CAPITALIZED}(?:\s\d{{1,2}})?(?:\s?\([^()\n]*\))?:(?!\S)")
_INTERRUPTED = re.compile(r"[-\u2013\u2014][\"\u201c\u201d]?\s*\Z")


def text_of_cues(text: str) -> str:
    """Return the text of a sentence with codes or in several cues, without the lines between them."""
    return re.sub(_H, "\u00a0", _BREAK.sub("\n", text))


def in_cues(text: str, like: str) -> str:
    """Return a text of as many lines as those of a sentence in several cues, with its codes and the lines between."""
    if re.search(_H, like):
        text = text.replace("\u00a0", r"\h")
    breaks = [match[0] for match in _BREAK.finditer(like)]
    return "".join(chain.from_iterable(zip_longest(text.split("\n"), breaks, fillvalue="")))


def read_subtitles(lines: Iterable[str], has_names: bool) -> Iterator[Piece]:
    """Yield the pieces of SubRip or WebVTT.

    Args:
        has_names: whether the line before the times may be another name of the cue than a number, as in WebVTT.
    """
    lines = iter(lines)
    if has_names:
        header, lines = _header(lines)
        yield from header
    held = list[Piece]()  # the text of a sentence that may go on in the next cue, and what follows it
    last, times, n_cues = "", None, 0  # its last text, and the times of that; and the number of its cues
    new_times: re.Match[str] | None = None
    for piece in _pieces(lines, has_names):
        if not piece.translate:
            new_times = re.match(_CUE, piece.text) or new_times
        elif held and n_cues < MOST_CUES and _goes_on(last, times, "".join(one.text for one in held[1:]), piece):
            held = [Piece("".join(one.text for one in [*held, piece]), True, "cues")]
            last, times, n_cues = piece.text, new_times, n_cues + 1
            continue
        else:
            yield from held
            held, last, times, n_cues = [], piece.text, new_times, 1
            if piece.form != "capitals" and not _ENDS.search(piece.text):
                held = [piece]
                continue
        held.append(piece)
        if len(held) == 1 or len(held) > _MOST_BETWEEN:  # no text that may go on
            yield from held
            held = []
    yield from held


def _header(lines: Iterator[str]) -> tuple[list[Piece], Iterator[str]]:
    """Return the pieces of the header of WebVTT, which may state the language, and the other lines."""
    found = list[Piece]()
    for line in lines:
        is_header = bool(line.strip()) and (found or line.startswith("WEBVTT"))
        if not is_header or "-->" in line:  # a cue may begin without a blank line before it
            return found, chain([line], lines)
        stated = _STATES_LANGUAGE.match(line)
        start, stop = stated.span("code") if stated else (len(line), len(line))
        found += [Piece(line[:start], translate=False)]
        found += [Piece(line[start:stop], True, "code"), Piece(line[stop:], translate=False)] if stated else []
    return found, lines


def _goes_on(before: str, times: re.Match[str] | None, between: str, piece: Piece) -> bool:
    """Return whether a sentence goes on in the next cue, which has the same formats and place.

    Args:
        before, times: the text of a cue, which has no end, and its times.
        between: what is between that and the piece.
    """
    cue = re.fullmatch(_NEXT_CUE, between)
    own, other = _FORMATTED.fullmatch(before), _FORMATTED.fullmatch(piece.text)
    if not (cue and times and own and other) or piece.form == "capitals":
        return False
    is_same = (own["formats"], times["settings"]) == (other["formats"], cue["settings"])
    return is_same and goes_on(own["text"], other["text"], seconds(cue["start"]) - seconds(times["end"]))


def goes_on(text: str, following: str, pause: float) -> bool:
    """Return whether a sentence goes on from the text of a cue in that of the next one, which looks the same.

    Args:
        pause: seconds between the cues; less than 0 if both are seen together.
    """
    if not 0 <= pause <= _LONGEST_PAUSE or text == following or _ENDS.search(text) or _BEGINS.match(following):
        return False
    is_no_sign = len(text) >= _LONG_TEXT and not text.isupper()
    is_answer = _SPEAKER.match(following) or following.isupper() or _INTERRUPTED.search(text)
    return following[:1].islower() or bool(is_no_sign and not is_answer and _MARK.search(following))


def seconds(time: str) -> float:
    """Return a time as a number, such as that of 1:02:03,4."""
    total = 0.0
    for part in re.findall(r"\d+(?:[.,]\d+)?", time):
        total = 60 * total + float(part.replace(",", "."))
    return total


def _pieces(lines: Iterable[str], has_names: bool) -> Iterator[Piece]:
    """Yield the pieces of cues: in a block of lines, the text of a cue follows its line of times."""
    block: list[str] = []
    is_begun = False  # whether a cue has begun, whose text may have blank lines
    for line in lines:
        if _TIMES.match(line) and block:  # which may follow the text of the cue before without a blank line
            is_named = block[-1].strip().isdecimal() or (has_names and len(block) == 1)
            name = [block.pop()] if is_named else []
            yield from _cue(block, is_begun)
            is_begun = is_begun or any(map(_TIMES.match, block))
            block = [*name, line]
            continue
        if not line.strip() or len(block) >= _LONGEST:
            yield from _cue(block, is_begun)
            is_begun = is_begun or any(map(_TIMES.match, block))
            block = []
        if line.strip():
            block.append(line)
        else:
            yield Piece(line, translate=False)
    yield from _cue(block, is_begun)


def _cue(block: list[str], goes_on: bool) -> Iterator[Piece]:
    """Yield the pieces of a block; without a line of times it may go on with the text of the cue before."""
    is_number = len(block) == 1 and block[0].strip().isdecimal()
    is_text = goes_on and block and not is_number and not _NO_CUE.match(block[0])
    times = next((i for i, line in enumerate(block) if "-->" in line), -1 if is_text else len(block))
    yield from (Piece(line, translate=False) for line in block[: times + 1])
    yield from speech(block[times + 1 :])


def speech(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of the text of a cue, whose lines have their line breaks."""
    sentence: list[str] = []
    for line in _turns(lines):
        if sentence and (_BEGINS.match(line) or _ENDS.search(sentence[-1].removesuffix(r"\N"))):
            yield from _sentence("".join(sentence))
            sentence = []
        label = _LABEL.match(line) if not sentence else None
        if label:
            yield from _label(label)
            line = line[label.end() :]
        sentence.append(line)
    yield from _sentence("".join(sentence))


def _sentence(text: str) -> list[Piece]:
    """Return the pieces of a sentence; line breaks around it are copied."""
    shown = re.sub(_N, "  ", text)
    found = pieces(text, [(len(shown) - len(shown.lstrip()), len(shown.rstrip()))])
    form: Literal["", "cues"] = "cues" if re.search(f"{_N}|{_H}", text) else ""
    return [replace(piece, form=form) if piece.translate else piece for piece in found]


def _turns(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, each divided before the dashes at which other speakers begin."""
    for line in chain.from_iterable(map(_AFTER_BREAK.split, lines)):
        yield from filter(None, _TURN.split(line))


def _label(match: re.Match[str]) -> Iterator[Piece]:
    """Yield the pieces of sounds and names of speakers before the words of a line, each translated by itself."""
    text, end = match[0], 0
    for word in _LABEL_WORDS.finditer(text):
        start, stop = word.span("words")
        if start > end:
            yield Piece(text[end:start], translate=False)
        if start >= 0:
            yield Piece(text[start:stop], True, "capitals" if word[0].replace("\u00df", "").isupper() else "")
            end = stop
    if end < len(text):
        yield Piece(text[end:], translate=False)
