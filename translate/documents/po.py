"""PO and POT of gettext: empty translations are filled, in each plural form of the target language.

The text is edited in place: only the strings of a translation, the flag "fuzzy" and the fields of the header about the
language change. A translation has the line breaks of its source at both ends, is wrapped like it, and marked as fuzzy
unless it is final.
"""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from gettext import c2py

from translate.documents import markdown, message_format, restructured_text
from translate.documents.document import Reading, Unit
from translate.documents.edits import (
    Edit,
    FindCodes,
    Plain,
    Span,
    Text,
    UnwritableError,
    edited,
    is_icu,
    plain,
    tag_name,
    variables,
    with_mnemonic,
    without_mnemonic,
    without_quotations,
)
from translate.documents.inline import Inline
from translate.documents.markdown import Markdown
from translate.documents.restructured_text import RestructuredText
from translate.errors import UserError

_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)|(?P<string>\"(?:[^\"\\\n]|\\[^\n])*+\")|(?P<space>\s+)"
    r"|(?P<keyword>msgid_plural|msgid|msgctxt|msgstr|domain)\b(?:\s*\[\s*(?P<n>\d{1,2})\s*\])?"
)
_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_COLUMNS = 79  # of a line that gettext writes

# Codes, by the flag of the entry

_PRINTF = re.compile(
    r"%(?:%|<PRI\w{1,12}>|(?:\d{1,2}[$:]|\(\w{1,60}\)|<\w{1,60}>)?[-+ #0'I]{0,4}(?:\*(?:\d{1,2}\$)?|\d{1,4})?"
    r"(?:\.(?:\*(?:\d{1,2}\$)?|\d{1,4})?)?(?:hh|ll|I64|[hlLqjzt])?(?:[A-Za-z@%]|<PRI\w{1,12}>))"
)
_PERCENT = re.compile(f"{_PRINTF.pattern}|%")
_NUMBERED = re.compile(r"%L?(?:\d{1,2}|n)")
_BRACES = re.compile(r"\{[^{}\n]{0,80}\}")
_CODES = {"qt": _NUMBERED, "qt-plural": _NUMBERED, "kde": _NUMBERED, "kde-kuit": _NUMBERED, "ycp": _NUMBERED} | {
    name: _BRACES for name in ("python-brace", "perl-brace", "csharp", "rust")
}
# Of entries without a format: %title @count !user of Drupal, and %0:s of Pascal; in those with %s, %shere is none. In
# 100 %ige, a percentage has letters.
_UNFLAGGED = re.compile(
    r"[%!@](?:(?<![\w%!@].)(?<!\d\s%)[a-z](?:[-_]?[a-z\d]){2,}+(?!%)|(?<=%)(?<!%%)\d{1,2}:[a-z](?!\w))"
)
_STRINGS, _HAS_STRINGS = re.compile(r"%(?<!%%)[sd]"), re.compile(r"%(?<!%%)[sd](?![a-z\d_-])")
_CODES["java"] = re.compile(f"{_BRACES.pattern}|{message_format.QUOTED.pattern}")
_PRINTF_FLAG = re.compile(
    r"(?:c|objc|c\+\+|python|java-printf|javascript|php|perl|lua|ruby|awk|tcl|elisp|librep|gcc-internal|gfc-internal"
    r"|object-pascal|go|d)-format"
)


# Texts that stand for names and addresses of translators, as programs of GNOME and KDE show them.
_CREDITS = ("translator-credits", "translator_credits", "NAME OF TRANSLATORS", "EMAIL OF TRANSLATORS")


# Strings

_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,8})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {character: f"\\{name}" for name, character in _NAMED.items()} | {'"': '\\"', "\\": "\\\\"}


def _decoded(raw: str) -> str:
    """Return the text of a string without its quotation marks."""

    def character(match: re.Match[str]) -> str:
        octal, hexadecimal, other = match.groups()
        if other is not None:
            return _NAMED.get(other, other)
        code = int(octal, 8) if octal else int(hexadecimal, 16)
        return chr(code) if code < 0x80 else match[0]  # a byte of an unknown charset

    return _ESCAPE.sub(character, raw) if "\\" in raw else raw


def _encoded(text: str, like: str) -> str:
    """Return a text as a string; control characters are escaped as in the string `like`."""
    own = {_decoded(match[0]): match[0] for match in _ESCAPE.finditer(like)}
    return "".join(own.get(c) or _ESCAPES.get(c) or (f"\\{ord(c):03o}" if c < " " or c == "\x7f" else c) for c in text)


# Entries


@dataclass
class _Message:
    """The strings of a keyword, such as msgid.

    Attributes:
        strings: where they are, with quotation marks.
        start: of the keyword.
    """

    file: str
    start: int
    strings: list[Span] = field(default_factory=list)
    end: int = 0

    @property
    def raw(self) -> list[str]:
        return [self.file[a + 1 : b - 1] for a, b in self.strings]

    @cached_property
    def text(self) -> str:
        return "".join(map(_decoded, self.raw))


@dataclass
class _Entry:
    """An entry in use.

    Attributes:
        start: of its first keyword; `previous`, of the first comment with an earlier source.
        flags: where the comments with flags are.
        is_markdown: whether it is from a page of Markdown.
        parts: msgctxt, msgid and msgid_plural; `forms`, each msgstr.
    """

    start: int = -1
    previous: int = -1
    flags: list[Span] = field(default_factory=list)
    is_markdown: bool = False
    parts: dict[str, _Message] = field(default_factory=dict)
    forms: list[_Message] = field(default_factory=list)

    @property
    def is_header(self) -> bool:
        return "msgctxt" not in self.parts and not self.parts["msgid"].text

    def flag_names(self, file: str) -> list[str]:
        """Return its flags, such as "fuzzy"."""
        return [flag.strip() for a, b in self.flags for flag in file[a + 2 : b].split(",")]


def _entries(text: Text, reading: Reading) -> Iterator[_Entry]:
    """Yield the entries in use."""
    file = text.text
    entry, message, place = _Entry(), None, 0
    while place < len(file):
        match = _TOKEN.match(file, place)
        if match is None:
            raise text.damaged(reading, place, "is not PO; correct it, or see what msgfmt says")
        token, kind, start, place = match[0], "keyword" if match["keyword"] else match.lastgroup, *match.span()
        if entry.forms and (kind == "comment" or token in ("msgctxt", "msgid", "domain")):
            yield _checked(entry, text, reading)
            entry, message = _Entry(), None
        if kind == "comment" and not entry.parts:
            if token.startswith("#~"):
                entry = _Entry()  # the comments before are those of an obsolete entry
            elif token.startswith(("#,", "#=")):
                entry.flags.append((start, start + len(token.rstrip("\r"))))
            elif token.startswith("#:"):
                entry.is_markdown |= markdown.is_origin(token)
            elif token.startswith("#|") and entry.previous < 0:
                entry.previous = start
        elif kind == "keyword":
            message = _Message(file, start, end=place)
            name = match["keyword"]
            n = match["n"]
            if (
                name == "msgstr"
                and len(entry.forms) == int(n or 0)
                and (n is None) == ("msgid_plural" not in entry.parts)
            ):
                entry.forms.append(message)
            elif name == "msgstr" or n is not None or name in entry.parts:
                raise text.damaged(reading, start, f"has {token!r} where it does not belong; correct it")
            elif name != "domain":
                entry.start = start if entry.start < 0 else entry.start
                entry.parts[name] = message
        elif kind == "string":
            if message is None:
                raise text.damaged(reading, start, "has text after no keyword; correct it")
            message.strings.append((start, place))
            message.end = place
    if entry.forms:
        yield _checked(entry, text, reading)
    elif entry.parts:
        raise text.damaged(reading, entry.start, "has no msgstr; complete it")


def _checked(entry: _Entry, text: Text, reading: Reading) -> _Entry:
    if "msgid" not in entry.parts:
        raise text.damaged(reading, entry.forms[0].start, "has no msgid; complete it")
    return entry


# The header


@dataclass(frozen=True)
class _Plurals:
    """The plural forms of a language: their number, and which one a count takes."""

    n: int
    expression: str
    of_count: tuple[int, ...]

    @classmethod
    def parse(cls, n: str, expression: str) -> "_Plurals":
        """Return the forms of the fields of a header; ValueError if they are none."""
        try:
            of_count = tuple(map(c2py(expression), range(200)))
        except (ZeroDivisionError, OverflowError) as error:
            raise ValueError(str(error)) from error
        if not 0 <= max(of_count) < int(n) <= 10:
            raise ValueError("a form that is not counted")
        return cls(int(n), expression, of_count)

    @classmethod
    def of_language(cls, language: str) -> "_Plurals":
        """Return the forms that gettext's documentation gives for a language; those of English if it has none."""
        from babel import UnknownLocaleError
        from babel.messages.plurals import get_plural

        try:
            n, expression = get_plural(language.replace("-", "_"))
        except (UnknownLocaleError, ValueError):
            n, expression = 2, "(n != 1)"
        return cls.parse(str(n), expression)

    def is_for_one(self, form: int) -> bool:
        """Return whether a form is only for the count of one."""
        return [n for n, other in enumerate(self.of_count) if other == form] == [1]


_PLURAL = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;\n]{1,1000})")
_TILDES = re.compile(r"^X-Accelerator-Marker:[ \t]*~", re.MULTILINE)  # of LibreOffice
_LANGUAGE = re.compile(r"^Language:[ \t]*([^\n]*?)[ \t]*$", re.MULTILINE)


# Writing


@dataclass(frozen=True)
class _Slot:
    """A translation of an entry: form `n` of the message `source`.

    Attributes:
        before, after: line breaks at both ends.
        is_java: whether it is a MessageFormat of Java, whose apostrophes are written twice.
        mnemonic: the mark of a menu's key and the key, such as "&F".
        inline: the markup of a message of documentation.
    """

    entry: _Entry
    n: int
    source: _Message
    plain: Plain
    before: str
    after: str
    unit: Unit
    is_printf: bool
    is_java: bool
    mnemonic: str
    inline: Inline | None


class Catalog:
    """A file of PO; see `ParsedDocument`."""

    def __init__(self, file: Text, reading: Reading) -> None:
        self._file, self._reading = file, reading
        self._entries = list(_entries(file, reading))
        self._header = next((entry for entry in self._entries if entry.is_header), None)
        self._newline = "\r\n" if "\r\n" in file.text else "\n"
        self._plurals = self._read_plurals()
        self._has_tildes = self._header is not None and bool(_TILDES.search(self._header.forms[0].text))
        tag, self._is_rst = tag_name(file.text), restructured_text.is_used(file.text)
        self._slots = [slot for entry in self._entries if not entry.is_header for slot in self._read_slots(entry, tag)]
        self._is_icu = any(is_icu(slot.plain.source) for slot in self._slots)
        self._width = _width([one for entry in self._entries for one in (*entry.parts.values(), *entry.forms)])
        self._check_language()

    @property
    def units(self) -> list[Unit]:
        """A unit for each form of each entry; see `ParsedDocument`."""
        return [slot.unit for slot in self._slots]

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with its empty translations filled; see `ParsedDocument`."""
        texts = [self._text(slot, one) for slot, one in zip(self._slots, translations, strict=True)]
        filled = {id(slot.entry): slot.entry for slot, text in zip(self._slots, texts, strict=True) if text is not None}
        if not filled:
            return self._file.encoded(self._file.text)
        edits = [*self._stated()]
        for entry in filled.values():
            edits += _mark(entry, self._file.text, self._newline, self._reading.final)
        for slot, text in zip(self._slots, texts, strict=True):
            if text is not None or slot.n >= len(slot.entry.forms):
                edits.append(self._translated(slot, text or ""))
        for entry in self._entries:
            edits += self._without_surplus(entry, is_filled=id(entry) in filled)
        return self._file.encoded(edited(self._file.text, edits))

    def _read_plurals(self) -> _Plurals:
        stated = _PLURAL.search(self._header.forms[0].text) if self._header else None
        if stated and (not self._language() or self._reading.is_target(self._language())):
            try:
                return _Plurals.parse(stated[1], stated[2].strip())
            except ValueError as error:
                raise UserError(f"{self._reading.name}: its Plural-Forms are none; correct its header") from error
        return _Plurals.of_language(self._reading.target)

    def _language(self) -> str:
        stated = _LANGUAGE.search(self._header.forms[0].text) if self._header else None
        return stated[1] if stated else ""

    def _check_language(self) -> None:
        target, stated = self._reading.target, self._language()
        if not stated or self._reading.is_target(stated) or self._reading.replace:
            return
        if any(slot.unit.done is not None for slot in self._slots):
            raise UserError(
                f"{self._reading.name}: its translations are in {stated!r}, not {target!r}, as its header says;"
                " replace all of them, or translate the template (.pot)"
            )

    def _read_slots(self, entry: _Entry, tag: str) -> Iterator[_Slot]:
        file, one, several = self._file.text, entry.parts["msgid"], entry.parts.get("msgid_plural")
        flags = entry.flag_names(file)
        is_printf = any(map(_PRINTF_FLAG.fullmatch, flags))
        codes = _find_codes(tuple(flags))
        place = self._file.line_of(entry.start)
        for n in range(self._plurals.n if several else 1):
            source = one
            if several and not self._is_singular(n, one.text, several.text, codes):
                source = several
            done = entry.forms[n].text if n < len(entry.forms) else ""
            inner = source.text.strip("\n")
            if not inner.strip() or inner in _CREDITS or (entry.is_markdown and markdown.is_code(inner)):
                continue
            start = len(source.text) - len(source.text.lstrip("\n"))
            before, after = source.text[:start], source.text[start + len(inner) :]
            is_java = "java-format" in flags and message_format.doubles_apostrophes(inner, always=True)
            shown, done = (message_format.read(text) if is_java else text for text in (inner, done.strip("\n")))
            inline = self._inline(entry, shown, tag)
            bare, mnemonic = (shown, "") if inline else without_mnemonic(shown, codes, has_tildes=self._has_tildes)
            body = plain(inline.text if inline else bare, codes, tag, has_marks=False)
            done = body.tagged(inline.tagged(done) if inline else done)
            unit = Unit(body.text, place, done or None)
            yield _Slot(entry, n, source, body, before, after, unit, is_printf, is_java, mnemonic, inline)

    def _inline(self, entry: _Entry, text: str, tag: str) -> Inline | None:
        """Return the markup of a message of documentation."""
        if entry.is_markdown:
            return Markdown(text, f"{tag}x")
        return RestructuredText(text, f"{tag}x") if self._is_rst else None

    def _is_singular(self, n: int, one: str, several: str, codes: FindCodes) -> bool:
        """Return whether a form is that of the source's singular: for one alone, or with the codes of the plural."""
        of_count = self._plurals.of_count
        if of_count[1] != n or of_count[2] == n:
            return False
        has_all = Counter(one[a:b] for a, b in codes(one)) == Counter(several[a:b] for a, b in codes(several))
        return has_all or self._plurals.is_for_one(n)

    def _text(self, slot: _Slot, translation: str | None) -> str | None:
        """Return a translation as the text of its form; None if the form stays, as it has one or cannot hold it."""
        stays = slot.unit.done is not None and not self._reading.replace
        if stays or translation is None or translation == slot.unit.done:
            return None
        try:
            return self._whole(slot, translation)
        except UnwritableError as error:
            place = slot.unit.place
            self._reading.report(f"{self._reading.name}, {place}: is not translated, as the translation {error}")
            return None

    def _whole(self, slot: _Slot, translation: str) -> str:
        """Return a translation with the codes of its source; UnwritableError if the file cannot hold it."""
        if translation == slot.plain.text:
            return slot.source.text
        if slot.is_printf:
            translation = _without_new_conversions(translation, slot.plain.text)
        text = slot.plain.restored(translation)
        text = slot.inline.restored(text) if slot.inline else text
        if slot.is_java:
            text = message_format.written(text)
        elif self._is_icu:
            text = without_quotations(text, slot.plain.source)
        if not text.strip():
            raise UnwritableError("is empty")
        if not self._file.holds(text):
            raise UnwritableError(
                f"has characters that {self._file.encoding}, the charset of the header, does not have"
            )
        text = with_mnemonic(text, slot.mnemonic, slot.plain.codes) if slot.mnemonic else text
        return slot.before + text.strip("\n") + slot.after

    def _translated(self, slot: _Slot, text: str) -> Edit:
        """Return the edit that writes a form, after the last one if the file does not have it."""
        forms, like = slot.entry.forms, slot.source
        keyword = f"msgstr[{slot.n}]" if "msgid_plural" in slot.entry.parts else "msgstr"
        strings = _strings(text, like, len(keyword) + 1, self._width, self._newline)
        if slot.n < len(forms):
            message = forms[slot.n]
            if message.strings:
                return Edit(message.strings[0][0], message.strings[-1][1], strings)
            return Edit(message.end, message.end, " " + strings)
        end = forms[-1].end
        return Edit(end, end, f"{self._newline}{keyword} {strings}")

    def _without_surplus(self, entry: _Entry, *, is_filled: bool) -> Iterator[Edit]:
        """Yield the edit that removes empty and replaced forms that the target language does not have."""
        kept, surplus = entry.forms[: self._plurals.n], entry.forms[self._plurals.n :]
        if surplus and ((is_filled and self._reading.replace) or not any(form.text for form in surplus)):
            yield Edit(kept[-1].end, surplus[-1].end, "")

    def _stated(self) -> Iterator[Edit]:
        """Yield the edits of the header: language, plural forms if they are used, charset of a template."""
        n, expression = self._plurals.n, self._plurals.expression
        has_plurals = any("msgid_plural" in entry.parts for entry in self._entries)
        plural = f"nplurals={n}; plural={expression};"
        target = self._reading.target.replace("-", "_")
        if self._header is None:
            fields = [f"Language: {target}", "MIME-Version: 1.0", f"Content-Type: text/plain; charset={_UTF8}"]
            fields += ["Content-Transfer-Encoding: 8bit", *([f"Plural-Forms: {plural}"] if has_plurals else [])]
            lines = ['msgid ""', 'msgstr ""', *(f'"{one}\\n"' for one in fields), "", ""]
            yield Edit(0, 0, self._newline.join(lines))
            return
        text = self._header.forms[0].text
        if not self._reading.is_stated(self._language()):
            yield self._field("Language", target)
        stated = _PLURAL.search(text)
        if has_plurals and (stated is None or stated[2].strip() != expression):
            yield self._field("Plural-Forms", plural)
        charset = _CHARSET.search(text.encode())
        if charset is None or charset[1].decode().lower() in _NO_CHARSETS:
            yield self._field("Content-Type", f"text/plain; charset={_UTF8}")
        if re.search(r"^Content-Transfer-Encoding:[ \t]*ENCODING", text, re.MULTILINE):
            yield self._field("Content-Transfer-Encoding", "8bit")
        if "fuzzy" in self._header.flag_names(self._file.text):
            yield from _unmarked(self._header, self._file.text)

    def _field(self, name: str, value: str) -> Edit:
        """Return the edit that sets a field of the header."""
        assert self._header
        message, file = self._header.forms[0], self._file.text
        field = re.compile(rf'(?:(?<=")|(?<=\\n)){name}:[ \t]*((?:[^"\\]|\\[^n]|"\s*")*+)(?=\\n|"\s*\Z)')
        region = file[: message.end]
        if found := field.search(region, message.start):
            return Edit(found.start(), found.end(), f"{name}: {value}")
        lead = "" if message.text.endswith("\n") or not message.text else "\\n"
        return Edit(message.end, message.end, f'{self._newline}"{lead}{name}: {value}\\n"')


_UTF8 = "UTF-8"
_NO_CHARSETS = ("charset", "ascii", "us-ascii")


_variables = functools.partial(variables, has_marks=False)


@functools.cache
def _find_codes(flags: tuple[str, ...]) -> FindCodes:
    """Return the function that finds the codes of an entry with flags."""
    names = [flag.removesuffix("-format") for flag in flags if flag.endswith("-format")]
    patterns = [_CODES[name] for name in names if name in _CODES]
    if any(map(_PRINTF_FLAG.fullmatch, flags)):
        patterns.append(_PRINTF)
    if not names:
        return lambda text: _variables(text, _STRINGS if _HAS_STRINGS.search(text) else _UNFLAGGED)
    certain = re.compile("|".join(pattern.pattern for pattern in patterns)) if patterns else None
    return lambda text: _variables(text, certain)


def _without_new_conversions(translation: str, source: str) -> str:
    """Return a translation in which each sign of per cent that is in no conversion of the source is doubled."""
    left = Counter(_PERCENT.findall(source))
    parts, place = list[str](), 0
    while match := _PERCENT.search(translation, place):
        parts.append(translation[place : match.start()])
        if match[0] == "%%" or left[match[0]] > 0:
            left[match[0]] -= 1
            parts.append(match[0])
            place = match.end()
        else:
            parts.append("%%")
            place = match.start() + 1
    return "".join([*parts, translation[place:]])


def _mark(entry: _Entry, file: str, newline: str, is_final: bool) -> Iterator[Edit]:
    """Yield the edit that makes an entry fuzzy, or the opposite if translations are final."""
    is_fuzzy = "fuzzy" in entry.flag_names(file)
    if is_final and is_fuzzy:
        yield from _unmarked(entry, file)
    elif not is_final and not is_fuzzy:
        own = next((span for span in entry.flags if file.startswith("#,", span[0])), None)
        if own:
            yield Edit(own[0] + 2, own[0] + 2, " fuzzy,")
        else:
            place = entry.previous if entry.previous >= 0 else entry.start
            start = file.rfind("\n", 0, place) + 1
            yield Edit(start, start, f"#, fuzzy{newline}")


def _unmarked(entry: _Entry, file: str) -> Iterator[Edit]:
    """Yield the edits that take the flag "fuzzy" from an entry, with its line if it has no other flag."""
    for start, stop in entry.flags:
        flags = [flag.strip() for flag in file[start + 2 : stop].split(",")]
        rest = [flag for flag in flags if flag != "fuzzy"]
        if rest and rest != flags:
            yield Edit(start + 2, stop, f" {', '.join(rest)}")
        elif rest != flags:
            yield Edit(file.rfind("\n", 0, start) + 1, file.find("\n", stop) + 1, "")


# Lines


def _columns(text: str) -> int:
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide


def _width(messages: Sequence[_Message]) -> int:
    """Return the columns of a line of the file: those of gettext, or of longer lines that are wrapped; 0 if none is."""
    broken = [one.raw for one in messages if any(raw and not raw.endswith("\\n") for raw in one.raw[:-1])]
    if broken:
        return max(_COLUMNS, *(_columns(raw) + 2 for several in broken for raw in several))
    is_long = any(_columns(raw) > _COLUMNS and " " in raw for one in messages for raw in one.raw)
    return 0 if is_long else _COLUMNS


def _strings(text: str, like: _Message, indent: int, width: int, newline: str) -> str:
    """Return a text as strings, wrapped as those of another message are.

    Args:
        indent: columns before the first string.
        width: columns of a line; 0 if lines are not wrapped.
    """
    if text == like.text:
        return newline.join(f'"{part}"' for part in like.raw)
    raw = "".join(like.raw)
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if len(like.strings) == 1 and ("\n" in like.text[:-1] or _columns(raw) + indent > max(width, _COLUMNS)):
        return f'"{_encoded(text, raw)}"'
    parts = [part for line in lines for part in _filled(_encoded(line, raw), width)]
    if len(parts) <= 1 and (not width or _columns("".join(parts)) + indent + 2 <= width):
        return f'"{"".join(parts)}"'
    first = [] if len(like.strings) > 1 and like.raw[0] else [""]
    return newline.join(f'"{part}"' for part in [*first, *parts])


def _filled(line: str, width: int) -> Iterator[str]:
    """Yield the parts of a line, each divided after a space and as long as it may be."""
    part = ""
    for word in re.findall(r"\S*\s+|\S+", line):
        if width and part and _columns(part + word.rstrip()) + 2 > width:
            yield part
            part = ""
        part += word
    if part:
        yield part


def read(data: bytes, reading: Reading) -> Catalog:
    """Divide a file of PO or POT; its charset is that of its header, or UTF-8."""
    charset = _CHARSET.search(data)
    name = charset[1].decode("ascii").lower() if charset else "utf-8"
    return Catalog(Text.read(data, reading, "utf-8" if name in _NO_CHARSETS else name), reading)
