"""Files of strings, edited in place: decoded, their texts made plain, and translations written where the texts were.

A text of a program has codes, such as variables, that a translation must have exactly as often. Those that
`translate.text.placeholders` holds stay as they are; the others become objects for the translation. A translation that
lost or changed a code is reported and not written.
"""

import bisect
import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from translate.documents.document import Reading, Unit
from translate.documents.earlier import Entry, Key
from translate.errors import UserError
from translate.text.placeholders import DOCUMENT_TAG, branches, placeholder_spans, with_branches
from translate.text.plurals import without_repeated_forms

Span = tuple[int, int]
FindCodes = Callable[[str], list[Span]]  # the codes of a text, in order, none within another


class UnwritableError(Exception):
    """A translation that the format cannot hold; the message completes "the translation ..."."""


# The bytes of a file


@dataclass(frozen=True)
class Text:
    """The text of a file, and how it is encoded; line ends stay as they are."""

    text: str
    encoding: str
    mark: bytes = b""

    @classmethod
    def read(cls, data: bytes, reading: Reading, encoding: str = "utf-8") -> "Text":
        """Decode a file by the mark of its byte order, or else by `encoding`; UserError if it is not text in that."""
        for mark, marked in _MARKS.items():
            if data.startswith(mark):
                data, encoding = data[len(mark) :], marked
                break
        else:
            mark = b""
        try:
            file = cls(data.decode(encoding), encoding, mark)
            if encoding not in _PLAIN_ENCODINGS and file.text.encode(encoding) != data:
                raise UserError(f"{reading.name}: is not written back the same in {encoding}; convert the file")
            return file
        except UnicodeDecodeError as error:
            place = f"line {data[: error.start].count(10) + 1}"
            raise UserError(f"{reading.name}, {place}: is not text in {encoding}; convert the file") from error
        except UnicodeError as error:  # of an encoding that is not one of letters, such as punycode
            raise UserError(f"{reading.name}: is not text in {encoding}; convert the file") from error
        except LookupError as error:
            raise UserError(f"{reading.name}: {encoding!r} is no known encoding; correct it") from error

    @cached_property
    def _lines(self) -> list[int]:
        return [match.end() for match in re.finditer("\n", self.text)]

    def line_of(self, place: int) -> str:
        """Return the number of a line for messages."""
        return f"line {bisect.bisect_right(self._lines, place) + 1}"

    def damaged(self, reading: Reading, place: int, what: str) -> UserError:
        """Return the error of a file that is not in its format at a place."""
        return UserError(f"{reading.name}, {self.line_of(place)}: {what}")

    def encoded(self, text: str) -> bytes:
        """Return another text as the bytes of the file."""
        return self.mark + text.encode(self.encoding)

    def holds(self, text: str) -> bool:
        """Return whether the encoding has all characters of a text."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True


_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_PLAIN_ENCODINGS = frozenset({*_MARKS.values(), "iso-8859-1"})  # each text has one form in bytes


@dataclass(frozen=True, order=True)
class Edit:
    """Another text for a part of a file."""

    start: int
    stop: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with its edits, none of which overlaps another; of several at one place, in their order."""
    parts, end = list[str](), 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.stop)):
        parts += [text[end : edit.start], edit.text]
        end = edit.stop
    return "".join([*parts, text[end:]])


# Texts without codes


@dataclass(frozen=True)
class Plain:
    """A text of a program as it is translated.

    Attributes:
        source: the text with its codes.
        text: the same with objects for codes.
        held: the codes that objects of the text stand for, by their tags, or by a number in their place.
        doubles: whether the source has two signs (&&) for each & of the text.
        escapes: whether the source has a backslash and "n" for each line break of the text.
    """

    source: str
    text: str
    held: dict[str, str]
    codes: FindCodes
    doubles: bool = field(default=False, kw_only=True)
    escapes: bool = field(default=False, kw_only=True)

    def restored(self, translation: str) -> str:
        """Return a translation with the codes of the source; UnwritableError if it has other codes."""
        if translation == self.text:
            return self.source
        numbers = {number: translation.count(number) for number in self.held if number[0] != "<"}
        tags = Counter(tag for tags in _TAGS.finditer(translation) for tag in self._held(tags[0]))
        counts = tags + Counter(numbers)
        if lost := [code for tag, code in self.held.items() if counts[tag] != 1]:
            raise UnwritableError(f"does not have {lost[0]!r} exactly once")
        text = _TAGS.sub(lambda tags: "".join(self.held.get(tag, tag) for tag in self._held(tags[0])), translation)
        for number in numbers:  # in the place of variables
            text = text.replace(number, self.held[number])
        text = text.replace("&", "&&") if self.doubles else text
        text = text.replace("\n", r"\n") if self.escapes else text
        if wrong := other_codes(self.source, text, self.codes):
            raise UnwritableError(wrong)
        return text

    def _held(self, tags: str) -> list[str]:
        """Return a pair around nothing as one, if it stands for a code, or else its tags."""
        return [tags] if tags in self.held else [tag[0] for tag in DOCUMENT_TAG.finditer(tags)]

    def tagged(self, text: str) -> str:
        """Return another text with the tags of this one, as far as it has their codes."""
        text = text.replace("&&", "&") if self.doubles else text
        text = text.replace(r"\n", "\n") if self.escapes else text
        for tag, code in self.held.items():
            text = text.replace(code, tag, 1)
        return text


_TAGS = re.compile(r"<(g+x*\d+)></\1>|</?g+x*\d+/?>")


def plain(text: str, codes: FindCodes, tag: str, *, has_marks: bool = True) -> Plain:
    """Return a text as it is translated.

    Args:
        codes: finds what a translation must have exactly as often.
        tag: name of the tags of objects; see `tag_name`.
        has_marks: whether formatting of Markdown is one, as in messages of many programs.
    """
    source, doubles = text, "&&" in text and not _SINGLE.search(text)
    text = text.replace("&&", "&") if doubles else text
    escapes = r"\n" in text and _WITH_LINES.fullmatch(text) is not None
    text = text.replace(r"\n", "\n") if escapes else text
    spans = codes(text)
    marks = _pairs(text, spans, has_marks=has_marks)
    colours = [match.span() for match in _COLOUR.finditer(text)] if "\u00a7" in text else []
    inside = sorted(mark for pair in marks for mark in pair)
    spans = [span for span in spans if not _is_within(span, inside)]
    shown, held = text, dict[str, str]()
    for everything in (False, True) if spans or marks or colours else ():
        known = set() if everything else set(placeholder_spans(text))
        objects = [span for span in spans if span not in known]
        edits = [Edit(start, stop, f"<{tag}{n}/>") for n, (start, stop) in enumerate(objects, start=1)]
        for n, (opening, closing) in enumerate(marks, start=len(objects) + 1):
            edits += [Edit(*opening, f"<{tag}{n}>"), Edit(*closing, f"</{tag}{n}>")]
        for n, span in enumerate(colours, start=len(objects) + len(marks) + 1):
            edits.append(Edit(*span, f"<{tag}{n}></{tag}{n}>"))
        shown, held = edited(text, edits), {edit.text: text[edit.start : edit.stop] for edit in edits}
        rest = Counter(text[start:stop] for start, stop in spans) - Counter(held.values())
        if not rest - Counter(shown[start:stop] for start, stop in placeholder_spans(shown)):
            break
    return Plain(source, shown, held, codes, doubles=doubles, escapes=escapes)


# Of Minecraft, before a word, a variable or another one, and at an end of formatting; not \u00a75 or \u00a75a of a law.
_COLOUR = re.compile("\u00a7(?:[0-9a-fk-orA-FK-OR](?=[^\\W\\d_]{2}|[\u00a7%{\\[])|[k-or](?![^\\W\\d_]))")
# With \n as the only escape, which the program itself reads as a line break; not in a path, C:\new or folder\name, nor
# in a command of LaTeX, $\nabla f$ or a \neq b.
_WITH_LINES = re.compile(r"(?:[^\\\n]|(?<!\b[A-Za-z]:)(?:\\n(?![a-z])|(?:(?<=[,;:.!?>}])|(?<=\\n))\\n(?=[a-z])))++")
_SINGLE = re.compile("(?<!&)&(?!&)")  # no part of &&, which Qt and Windows show as &

# Formatting and links of Markdown around words: **a** *a* _a_ ~~a~~ [a](b). In 2*3*4 and snake_case there are none.
_MAY_BE_MARKED = re.compile(r"[*_~]|\]\(|''|\[[\[/$h]")
_EMPHASIS = re.compile(  # not in patterns of files: (*.png *.jpg) (*)
    r"(?<![\w\\*_~])(?P<mark>\*\*\*|\*\*|\*(?!\.\w{1,5}\b)|_|~~)(?=[^\s*_~])"
    r"[^*_~\n]{0,500}(?<![(\s\\*_~])(?P=mark)(?![\w*_~])"
)
_EMPHASIS_OF_WIKI = re.compile(  # of MediaWiki, between two, three or five apostrophes; in it''s they are one of ICU
    r"(?<![\w'])(?P<mark>'{5}|'{2,3})(?=[^\s'])(?:[^'\n]|'(?!')){1,500}(?<![\s'])(?P=mark)(?![\w'])"
)
# Links of MediaWiki: [[Help:Links|words]] [https://example.org words] [$1 words]
_LINK_OF_WIKI = re.compile(
    r"(?P<target>(?P<inner>\[\[)[^\[\]|\n]{1,500}(?<!\s)\|(?!\s)|\[(?:\$\d|(?:https?:)?//[^\s\[\]]{1,500})\s++)"
    r"(?P<text>[^\[\]\n]{1,500})(?P<end>(?(inner)\]\]|\]))(?![\](])"
)
# A link, or a phrase that Apple puts into the right form: ^[%lld apples](inflect: true)
_LINK = re.compile(
    r"(?<![\w!\]\\])(?:\[|(?P<inflects>\^\[))[^\[\]\n]{1,500}(?<!\\)"
    r"(?P<target>\]\((?:[^\s()]{1,500}|(?(inflects)\s*[A-Za-z]{1,40}:[^()\n]{1,500}|(?!)))\))"
)


# Codes that open and close something around words, by their names: $START_LINK$ {linkEnd} %(close)s {$CLOSE_TAG_DIV_1}
_OPENS, _CLOSES = (
    re.compile(
        "|".join(
            rf"(?<![A-Za-z])(?:{word}|{word.upper()})(?![a-z])|(?<=[a-z]){word.title()}(?![a-z])" for word in words
        )
    )
    for words in (("start", "begin", "open"), ("end", "close", "stop"))
)
# Or by a slash: {link}here{/link} {{#link}}here{{/link}} [link]here[/link]; {{^link}} begins what stands in its place
_SECTION = re.compile(r"(?P<bracket>\{\{?|\[)\s?(?P<sign>[#/]?)(?P<name>[A-Za-z][\w.-]{0,60})\s?(?:\}\}?|\])")


def _pairs(text: str, codes: Sequence[Span], *, has_marks: bool) -> list[tuple[Span, Span]]:
    """Return where the formatting of a text begins and ends; no pair crosses another, or begins or ends in a code."""
    pairs = [*_pairs_of_codes(text, codes)] if len(codes) > 1 else []
    pairs += _pairs_of_marks(text) if has_marks and _MAY_BE_MARKED.search(text) else []
    if not pairs:
        return []
    held = outermost([*codes, *(span for span in placeholder_spans(text) if text[span[0]] == "`")])
    stops, known = [stop for _, stop in held], set(codes)
    found, around = list[tuple[Span, Span]](), list[tuple[Span, Span]]()
    for opening, closing in sorted(pairs, key=lambda pair: (pair[0][0], -pair[1][1])):
        start, stop = opening[0], closing[1]
        while around and around[-1][1][1] <= start:
            around.pop()
        crosses = bool(around) and not around[-1][0][1] <= start < stop <= around[-1][1][0]
        is_code = any(
            _is_cut(held[n : n + 2], mark) for mark in (opening, closing) for n in [bisect.bisect_right(stops, mark[0])]
        )
        is_amount = text.startswith("[$", start) and (start + 1, start + 3) not in known
        if not (crosses or is_code or is_amount) and any(map(str.isalpha, text[opening[1] : closing[0]])):
            found.append((opening, closing))
            around.append(found[-1])
    return found


def _pairs_of_marks(text: str) -> Iterator[tuple[Span, Span]]:
    """Yield both marks of what may be emphasis or a link."""
    for match in [*_EMPHASIS.finditer(text), *_EMPHASIS_OF_WIKI.finditer(text), *_LINK.finditer(text)]:
        start, stop = match.span()
        if match.re is _LINK:
            yield (start, start + (2 if match["inflects"] else 1)), match.span("target")
        else:
            yield (start, start + len(match["mark"])), (stop - len(match["mark"]), stop)
    for link in _LINK_OF_WIKI.finditer(text):
        yield link.span("target"), link.span("end")


# Beside letters of scripts without spaces, and the marks of their texts, a code says nothing by its place.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
# Codes without names, which are a pair if they are beside the words between them alone: %1$shere%2$s
_WITHOUT_NAME = re.compile(r"%(?:\d{1,2}\$)?[s@]|\{\d{1,2}\}")
_INSIDE = re.compile(rf"[^\W{_UNSPACED}].*[^\W{_UNSPACED}][.!?)]?", re.DOTALL)
# What a pair begins and ends with; marks such as those in ({start}) and {start}: are of what is around one code.
_FIRST = re.compile(rf"(?!</)[^\s)\]}}>\u00bb\u201d\u2019.,;:!?/|&=+~\u2010-\u2015{_UNSPACED}-]")
_LAST = re.compile(rf"[^\s(\[{{<\u00ab\u201e\u201c\u2018/\u2010-\u2015{_UNSPACED}-]\Z")
_QUOTED_CODE = re.compile("[\"'*_~\u00ab\u00bb\u2018-\u201f\u2039\u203a]{2}")  # what is beside one, "{start}"


def _pairs_of_codes(text: str, codes: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Yield both codes of pairs beside the text inside; {start} and {end} in "{start} to {end}" are no pair."""
    opened = dict[str, list[Span]]()
    for start, stop in codes:
        code = text[start:stop]
        before, after = text[max(start - 1, 0) : start], text[stop : stop + 2]
        if code.startswith("<") or branches(code):
            continue
        if _WITHOUT_NAME.fullmatch(code):
            own = opened.pop("", [])
            if own and not after[:1].isalnum() and _INSIDE.fullmatch(text, own[-1][1], start):
                yield own[-1], (start, stop)
            elif not before.isalnum():
                opened[""] = [(start, stop)]
        elif found := half(code, before, after):
            name, opens = found
            if opens:
                opened.setdefault(name, []).append((start, stop))
            elif opened.get(name):
                yield opened[name].pop(), (start, stop)


def half(code: str, before: str, after: str) -> tuple[str, bool] | None:
    """Return the name of a pair that a code is half of, and whether it opens the pair; None if it is no half.

    Args:
        before, after: a character before the code, and two after it, as far as there are characters.
    """
    halves = [(pattern.sub("", code), opens) for pattern, opens in ((_OPENS, True), (_CLOSES, False))]
    halves = [(re.sub(r"_?\d", "", name), opens) for name, opens in halves if name != code]
    if not halves and (section := _SECTION.fullmatch(code)):
        halves = [(f"{section['bracket']}{section['name']}", section["sign"] != "/")]
    if not halves or _QUOTED_CODE.fullmatch(before + after[:1]):
        return None
    name, opens = halves[0]
    return (name, opens) if (_FIRST.match(after) if opens else _LAST.search(before)) else None


def _is_cut(codes: Sequence[Span], mark: Span) -> bool:
    """Return whether a mark has a part of a code, and not all of it."""
    start, stop = mark
    return any(a < stop and start < b and not (start <= a and b <= stop) for a, b in codes)


def _is_within(span: Span, marks: Sequence[Span]) -> bool:
    """Return whether a span lies in one of the marks, which are in order."""
    n = bisect.bisect_right(marks, span[0], key=lambda mark: mark[0])
    return n > 0 and span[1] <= marks[n - 1][1]


def tag_name(text: str) -> str:
    """Return a name of tags that a file does not have."""
    name = "g"
    while re.search(rf"</?{name}\d", text):
        name += "x"
    return name


def other_codes(source: str, translation: str, codes: FindCodes) -> str:
    """Return what is wrong with the codes of a translation, as the end of a sentence; "" if they are the source's."""
    wanted, found = _counted(source, codes), _counted(translation, codes)
    if wanted == found:
        return ""
    code = next(iter((wanted - found) or (found - wanted)))
    return f"has {code!r} {found[code]} times, not {wanted[code]}"


def _counted(text: str, codes: FindCodes) -> Counter[str]:
    """Count the codes of a text; a message of ICU has the codes of its branches in the place of their texts."""
    found = (text[start:stop] for start, stop in codes(text))
    return Counter(_skeleton(code, codes) if branches(code) else code for code in found)


def _skeleton(message: str, codes: FindCodes) -> str:
    """Return a message with the codes of its branches, without the plural forms that have those of "other"."""
    texts = [message[start:stop] for start, stop in branches(message)]
    is_plural = _PLURAL.match(message) is not None
    if is_plural:  # "#" is a number, and "#st" no code
        texts = [text.replace("#", " ") for text in texts]
    found = with_branches(message, [" ".join(sorted(_counted(text, codes).elements())) for text in texts])
    return without_repeated_forms(found, branches(found)) if is_plural else found


# Codes of programs

# Of MediaWiki and Chrome, counted from $1 on; $1.50 is an amount, and so is $5 where there is no $1.
NUMBERED = re.compile(r"(?<![\w$])\$[1-9](?![\w$]|[.,]\d)")
_BESIDE_LETTER = re.compile(r"(?<!%)%\d{1,2}\$[sd@](?=[A-Za-z])")  # %1$shere%2$s
_STYLES = re.compile(r"<(style|script)\b[^<>]*+>[^<]*+</\1>", re.IGNORECASE)  # as in rich text of Qt
_OPENING = re.compile(r"\$t\(|[$%#]?\{")
_ARGUMENT = re.compile(r"\{(?:\{|\s*\w{1,60}\s*,\s*(?:plural|select|selectordinal|choice|number|date|time)\b)")


def variables(text: str, certain: re.Pattern[str] | None = None, *, has_marks: bool = True) -> list[Span]:
    """Return the codes of a text: %s {name} {{name}} ${name} $t(key), tags, patterns of dates, and arguments of ICU.

    Braces between apostrophes, which ICU shows, are codes too.

    Args:
        certain: matches what else is a code in the format of the text.
        has_marks: as for `plain`; a link of MediaWiki with words is formatting there, and no code.
    """
    links = [*_LINK_OF_WIKI.finditer(text)] if has_marks and "[" in text else []
    whole = {link.span(): any(map(str.isalpha, link["text"])) for link in links}
    found = [(a, b) for a, b in placeholder_spans(text) if text[a] in "%${#<[" and b - a > 1 and (a, b) not in whole]
    own = [match.span() for match in certain.finditer(text)] if certain else []
    own += [span for span, has_words in whole.items() if not has_words]
    own += [match.span() for match in _BESIDE_LETTER.finditer(text)] if "$" in text else []
    own += [match.span() for match in _STYLES.finditer(text)] if "</" in text else []
    own += _dates(text)
    own += _numbered(text) if "$1" in text else []
    if "'{" in text or "'}" in text:
        own += [match.span() for match in _QUOTED_BRACES.finditer(text)]
    return [(a, b) for a, b in outermost([*found, *own, *_nested(text)]) if text[a:b] != "%%"]


def _numbered(text: str) -> list[Span]:
    """Return where the numbered variables of a text are; none without the first one."""
    found = [match.span() for match in NUMBERED.finditer(text)]
    return found if any(text[start:stop] == "$1" for start, stop in found) else []


def _nested(text: str) -> Iterator[Span]:
    """Yield the codes that may hold others: arguments of ICU, two braces, and the nesting of i18next."""
    ends: dict[int, int] | None = None  # most texts need none
    place = 0
    while match := _OPENING.search(text, place):
        start = match.end() - 1
        place = match.end()
        if text[start] == "(" or _ARGUMENT.match(text, start):
            ends = closings(text) if ends is None else ends
            if start in ends:
                yield match.start(), ends[start]
                place = ends[start]


# Patterns of dates of Java, .NET, Apple, ICU and Moment. They are code with a name of a month or weekday, a time, or
# small letters beside MM; in dd/mm/yyyy and DD.MM.YYYY people may read words.
_NAMES = "E{3,5}|ddd{1,2}|MMM{1,2}|LLL{1,2}"
# In Spanish "y" may be a word: dd-MM-yyyy y HH:mm, dd y MM; so may be a letter after minutes, HH:mm z. B.
_YEAR = "(?<!yy )y(?!y)(?! [dDMyY])"
_PART_OF_DATE = f"(?:{_NAMES}|E|dd?|Do|DD?|MM?|{_YEAR}|yy(?:yy)?|YY(?:YY)?|''yy)"
_QUOTED_IN_DATE = r"(?: ?'[^'\n]{1,20}' ?| \[[^\]\n]{1,20}\] )"  # "at", "Uhr"
_DAY = rf"{_PART_OF_DATE}(?:(?:[-./ ]{{1,2}}|, |{_QUOTED_IN_DATE}){_PART_OF_DATE}){{1,4}}"
# With fractions of a second, a half of the day and a zone.
_TIME = (
    r"(?:(?:HH?|hh?|kk?|KK?)[:.]mm(?:[:.]ss)?|mm:ss)(?:(?<=ss)[.,](?:S{1,9}|z{3}|f{1,7}))?(?: ?(?:aa?|A|tt?|ap|AP))?"
    r"(?: ?(?:z{2,4}|Z{1,5}|X{1,5}|x{2,5}|O{4}|K)|(?<!mm) ?[zxO])?(?: '[^'\n]{1,20}')?"
)
_DATE = re.compile(
    rf"(?<![\w{{])(?:{_DAY}(?:(?:,? |'?T'?|{_QUOTED_IN_DATE}){_TIME}(?: yyyy)?)?|{_TIME})(?![\w}}])"  # of asctime
)
_MAY_BE_DATE = re.compile(r"MM|mm|yy|ddd|EEE|LLL")
_IS_DATE = re.compile(rf"{_NAMES}|[:.]mm|mm:ss|(?<!M)MM[-./ ]d|d[-./ ]{{1,2}}MM|M.*yy|yy.*M")
# A text in the letters of PHP alone, F j, Y g:i a, that has a time, or a year with a month.
_LETTERS_OF_PHP = re.compile(r"(?:\\.|[dDjlNzwWFMmntYyoaAgGhHisueTPOcr]S?(?![A-Za-z])|[\s.,:/@-]){3,40}")
_DATE_OF_PHP = re.compile(r"[gGhH]:i|F.*Y|[dj].*[mnM].*[yY]|[mnM].*[dj].*[yY]|[yY].*[mnM].*[dj]")


def _dates(text: str) -> Iterator[Span]:
    """Yield where the patterns of dates of a text are."""
    if (_LETTERS_OF_PHP.fullmatch(text) and _DATE_OF_PHP.search(text)) or re.fullmatch(_NAMES, text):
        yield 0, len(text)
    elif _MAY_BE_DATE.search(text):
        yield from (match.span() for match in _DATE.finditer(text) if _IS_DATE.search(match[0]))


_PLURAL = re.compile(r"\{\s*\w{1,60}\s*,\s*(?:plural|selectordinal)\b")


_ICU = re.compile(r"(?<!\{)\{\s*\w{1,60}\s*,\s*(?:plural|select|selectordinal|choice|number|date|time)\b")
_QUOTED_BRACES = re.compile(r"(?<!')'[{}]+'(?!')")  # in ICU, braces that are shown
_QUOTED = re.compile(r"(?<!')'(?=[{}#])")  # the beginning of a quotation in ICU


def is_icu(text: str) -> bool:
    """Return whether a file has a message of ICU, so that its others are read as such too."""
    return _ICU.search(text) is not None


def without_quotations(translation: str, source: str) -> str:
    """Return a message of ICU in which an apostrophe before a brace is doubled, unless its source quotes braces."""
    return translation if _QUOTED.search(source) else _QUOTED.sub("''", translation)


def closings(text: str) -> dict[int, int]:
    """Return the end of each pair of brackets or braces, by where it begins."""
    found, opened = dict[int, int](), {"}": list[int](), ")": list[int]()}
    for match in _BRACKET.finditer(text):
        if match[0] in "({":
            opened[_PARTNERS[match[0]]].append(match.start())
        elif opened[match[0]]:
            found[opened[match[0]].pop()] = match.end()
    return found


_BRACKET, _PARTNERS = re.compile(r"[(){}]"), {"(": ")", "{": "}"}


def outermost(spans: Iterable[Span]) -> list[Span]:
    """Return the spans that lie in no other one, in order; of two that overlap the first is taken."""
    found, end = list[Span](), 0
    for start, stop in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if start >= end:
            found.append((start, stop))
            end = stop
    return found


# The mark of the key of a menu's item: of Qt and Windows, of VS Code (&&), and of GTK. It is not R&D, file_name,
# file\_name or a part of an address, ?a={a}&b={b}.
_MNEMONIC = re.compile(
    r"(?<![\w&])&&?(?=[^\W_])(?!\w{1,30}[;=])|(?<=\w)&(?=[^\W\d_A-Z])(?!\w{1,30}[;=])|(?<![\w\\])_(?=[^\W_])"
)
# Also of LibreOffice, where it is not A~Z; elsewhere ~ten is "about ten".
_MNEMONIC_OR_TILDE = re.compile(rf"{_MNEMONIC.pattern}|(?<!\S)~(?=[A-Za-z])|(?<=[A-Za-z])~(?=[a-z])")


def without_mnemonic(text: str, codes: FindCodes, *, has_tildes: bool = False) -> tuple[str, str]:
    """Return a text without the mark of a menu's key, and that mark with its key; "" if the text has none."""
    found = [match.span() for match in (_MNEMONIC_OR_TILDE if has_tildes else _MNEMONIC).finditer(text)]
    if len(found) != 1:
        return text, ""
    start, stop = found[0]
    is_held = any(a <= start < b for a, b in _held(text, codes))
    if text.count(text[start]) > stop - start or is_held:
        return text, ""
    return text[:start] + text[stop:], text[start : stop + 1]


def without_key(text: str, codes: FindCodes) -> tuple[str, str]:
    """Return the same of a text in a format of many programs, where only & before a word is such a mark.

    Within a word, an & is more often "and", as in Drag&drop, than the mark that it is there in Qt.
    """
    bare, mark = without_mnemonic(text, codes) if "&" in text else (text, "")
    place = text.find(mark)
    return (bare, mark) if mark.startswith("&") and not text[place - 1 : place].isalnum() else (text, "")


def with_mnemonic(text: str, mark: str, codes: FindCodes) -> str:
    """Return a text with the mark of a menu's key: before the same letter, best at the beginning of a word, or any."""
    spans, key = _held(text, codes), mark[-1].lower()
    letters = [i for i, c in enumerate(text) if c.isalnum() and not any(a <= i < b for a, b in spans)]
    if not letters:
        return text

    def rank(i: int) -> tuple[bool, bool, int]:
        is_key = text[i].lower() == key
        return is_key, is_key and not text[i - 1 : i].isalnum(), -i

    best = max(letters, key=rank)
    return text[:best] + mark[:-1] + text[best:]


def _held(text: str, codes: FindCodes) -> list[Span]:
    """Return where a text has codes, addresses and other parts that no mark may be in."""
    return [*codes(text), *((a, b) for a, b in placeholder_spans(text) if b - a > 1)]


# Documents of values


@dataclass(frozen=True)
class Value:
    """A text of a file.

    Attributes:
        start, stop: where it is written in the file.
        encode: returns a translation as the file writes it; may raise UnwritableError.
        holds: codes of the text that hold other values of the file, such as a selector with its variants.
        wrapped: as that of its unit.
        is_new: whether the file does not have the value, and so a translation equal to its text is written too.
        key: of the entry that it belongs to; see `translate.documents.earlier`.
        around: what is written before and after a new value.
    """

    start: int
    stop: int
    plain: Plain
    encode: Callable[[str], str]
    place: str
    holds: Sequence[Span] = ()
    wrapped: bool = False
    is_new: bool = False
    key: Key = ()
    around: tuple[str, str] = ("", "")

    def placed(self, written: str) -> str:
        """Return a text, as the file writes it, with what is around it."""
        before, after = self.around
        return f"{before}{written}{after}"


@dataclass(frozen=True)
class Values:
    """A document whose texts are replaced by their translations; also a `Keyed` one.

    Attributes:
        values: in the order of the file; one that holds others is before them.
        stated: edits of where the document states its language, made with the first translation.
        is_icu: whether an apostrophe before a brace is written twice, as one alone would quote the brace.
        found: what the file has for each key, also if it is no text; None in a format without keys.
        kept: what an earlier file has in the place of some, as it is written there.
    """

    file: Text
    reading: Reading
    values: Sequence[Value]
    stated: Sequence[Edit] = ()
    is_icu: bool = False
    found: Sequence[Entry] | None = None
    kept: Mapping[Key, Entry] = field(default_factory=dict)

    @property
    def units(self) -> list[Unit]:
        """The texts, without codes; see `ParsedDocument`."""
        kept = {key: entry.text for key, entry in self.kept.items()}
        return [Unit(one.plain.text, one.place, kept.get(one.key), one.wrapped) for one in self.values]

    @cached_property
    def entries(self) -> Mapping[Key, Entry]:
        """The entries of the file; see `Keyed`."""
        return {entry.key: entry for entry in self.found or ()}

    @property
    def has_keys(self) -> bool:
        """Whether the format has keys; see `Keyed`."""
        return self.found is not None

    def wants(self, key: Key) -> bool:
        """Return whether the file has an entry for a key, or gets a plural form; see `Keyed`."""
        return key in self.entries or key in self._new_keys

    @cached_property
    def _new_keys(self) -> frozenset[Key]:
        return frozenset(value.key for value in self.values if value.is_new)

    def keeping(self, kept: Mapping[Key, Entry]) -> "Values":
        """Return the document with entries of another file; see `Keyed`."""
        return replace(self, kept=kept)

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with translations; see `ParsedDocument`."""
        pending = list[Edit]()  # those before the value, the next one last
        for value, translation in zip(reversed(self.values), reversed(translations), strict=True):
            if value.key in self.kept:
                if value.is_new:
                    pending.append(Edit(value.start, value.stop, value.placed(self.kept[value.key].text)))
                continue
            text = self._written(value, translation)
            if text is None:
                continue
            for start, stop in value.holds:
                inner = list[Edit]()
                while pending and pending[-1].start < stop:
                    inner.append(pending.pop())
                code = self.file.text[start:stop]
                moved = [Edit(edit.start - start, edit.stop - start, edit.text) for edit in inner]
                text = text.replace(code, edited(code, moved), 1)
            pending.append(Edit(value.start, value.stop, text))
        kept = [
            Edit(entry.start, entry.stop, _indented(self.kept[entry.key].text, entry.indent))
            for entry in self.found or ()
            if entry.key in self.kept
        ]
        stated = self.stated if kept or any(translation is not None for translation in translations) else ()
        return self._encoded(edited(self.file.text, [*kept, *reversed(pending), *stated]))

    def _encoded(self, text: str) -> bytes:
        try:
            return self.file.encoded(text)
        except UnicodeEncodeError as error:  # in what is kept
            raise UserError(
                f"{self.reading.name}: is in {self.file.encoding}, which does not have all characters of the "
                "translations; convert the file to utf-8"
            ) from error

    def _written(self, value: Value, translation: str | None) -> str | None:
        """Return the new text of a value in the file; None if it stays."""
        if translation is None or (translation == value.plain.text and not value.is_new):
            return None
        try:
            if not translation.strip():
                raise UnwritableError("is empty")
            text = value.plain.restored(translation)
            text = value.encode(without_quotations(text, value.plain.source) if self.is_icu else text)
            if not self.file.holds(text):
                raise UnwritableError(
                    f"has characters that {self.file.encoding}, the encoding of the file, does not have"
                )
        except UnwritableError as error:
            self.reading.report(f"{self.reading.name}, {value.place}: is not translated, as the translation {error}")
            return None
        return value.placed(text)


def _indented(text: str, indent: str) -> str:
    """Return a text with an indentation of all lines but the first one."""
    return re.sub(r"\n(?=[^\r\n])", lambda _: f"\n{indent}", text) if indent else text
