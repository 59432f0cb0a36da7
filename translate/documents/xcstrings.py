"""String catalogs of Xcode (.xcstrings): the target language of each string is filled, from its source language.

A new translation has the form of its source, such as plural variations, and the plural categories of the target
language; one that lacks some of these gets them. It needs a review unless translations are final. Strings that are not
used any more, or that are not to be translated, stay.
"""

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from translate.documents.document import Reading, Unit
from translate.documents.edits import Edit, Plain, Text, UnwritableError, edited, plain, tag_name, variables
from translate.documents.json import Node, Writer, decoded, parse
from translate.errors import UserError
from translate.text.plurals import plural_categories

_CONVERSION = re.compile(
    r"%%|%(?:\d{1,2}\$)?(?:#@\w{1,60}@|arg\b|[-+#0']{0,4}(?:\*|\d{1,4})?(?:\.(?:\*|\d{1,4}))?"
    r"(?:hh|ll|[hlqLztj])?[@dDiuUxXoOfFeEgGcCsSaAp])"
)
_SET = "stringSet"  # texts with the same meaning, such as what a user may say
_TARGET_LEVEL = 4  # of a translation among the parts of the file
_DEEPEST = 16  # of the parts of a translation


def find_codes(text: str) -> list[tuple[int, int]]:
    """Return the codes of a string of Apple."""
    return variables(text, _CONVERSION)


@dataclass(frozen=True)
class _Slot:
    """A text of a string, and where its translation is.

    Attributes:
        path: the members that lead to it, such as ("variations", "plural", "one").
        like: the source as the file writes it.
        value, state: the strings of a translation that the file has.
        plural: the plural of such a translation that lacks the category of the text.
    """

    path: tuple[str, ...]
    plain: Plain
    unit: Unit
    like: str = ""
    value: Node | None = None
    state: Node | None = None
    plural: Node | None = None


@dataclass(frozen=True)
class _String:
    """A string: its texts, and the shape of its source, for a translation that the file does not have."""

    entry: Node
    slots: Sequence[_Slot]
    shape: "Mapping[str, Shape] | None" = None


Shape = Mapping[str, "Shape"] | Sequence[str] | str  # of a translation: raw JSON, the texts of a set, or members


class StringCatalog:
    """A string catalog; see `ParsedDocument`."""

    def __init__(self, file: Text, reading: Reading) -> None:
        self._file, self._reading, self._writer = file, reading, Writer.of(file)
        self._tag = tag_name(file.text)
        root = parse(file, reading)
        strings, source = root.member("strings"), root.member("sourceLanguage")
        if strings is None or strings.kind != "object" or source is None or source.kind != "string":
            raise UserError(f"{reading.name}: has no strings or no sourceLanguage of a string catalog; correct it")
        self._source = decoded(file, source)
        if reading.source and _base(self._source) != _base(reading.source):
            raise UserError(f"{reading.name}: its source language is {self._source!r}, not {reading.source!r}")
        self._root = root
        self._target = self._target_of(strings)
        self._categories = plural_categories(reading.target)
        self._strings = [found for entry in strings.parts if (found := self._read(entry)) and found.slots]

    @property
    def units(self) -> list[Unit]:
        """A unit for each text of each string; see `ParsedDocument`."""
        return [slot.unit for string in self._strings for slot in string.slots]

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the file with translations; see `ParsedDocument`."""
        given, edits = iter(translations), list[Edit]()
        for string in self._strings:
            said = [self._written(slot, next(given)) for slot in string.slots]
            if string.shape is None:
                filled = (self._filled(*pair) for pair in zip(string.slots, said, strict=True))
                edits += dict.fromkeys(chain.from_iterable(filled))  # the texts of a set have one state
            elif all(text is not None for text in said):
                by_path = {slot.path: text for slot, text in zip(string.slots, said, strict=True) if text is not None}
                edits.append(self._new(string.entry, string.shape, by_path))
        return self._file.encoded(edited(self._file.text, edits))

    # Reading

    def _target_of(self, strings: Node) -> str:
        """Return the code that the file has for the target language, or else that of the model."""
        codes = {part.key for entry in strings.parts for part in _parts(entry.member("localizations"))}
        own = [code for code in sorted(codes) if self._reading.is_stated(code)]
        return own[0] if len(own) == 1 and self._reading.target not in own else self._reading.target

    def _read(self, entry: Node) -> _String | None:
        """Return the texts of a string that is in use."""
        translates, state = entry.member("shouldTranslate"), entry.member("extractionState")
        if entry.kind != "object" or (translates and self._raw(translates) == "false"):
            return None
        if state and self._raw(state) == '"stale"':
            return None
        localizations = entry.member("localizations")
        source = localizations.member(self._source) if localizations else None
        target = localizations.member(self._target) if localizations else None
        texts = dict(self._texts(source)) if source else {}
        if not texts:
            source, texts = None, {(): ("", entry.key)}
        if target is not None:
            return _String(entry, [*self._existing(entry, target, texts)])
        shape = self._shape(source) if source else {"stringUnit": {"state": "", "value": ""}}
        paths = [path for path in _paths(shape) if texts.get(path, texts.get((*path[:-1], "other")))]
        slots = [
            self._slot(entry, path, *texts.get(path, texts.get((*path[:-1], "other"), ("", "")))) for path in paths
        ]
        return _String(entry, [slot for slot in slots if slot.plain.source.strip()], shape)

    def _existing(self, entry: Node, target: Node, texts: Mapping[tuple[str, ...], tuple[str, str]]) -> Iterator[_Slot]:
        """Yield the texts of a translation that the file has."""
        for path, value, state in _texts(target):
            like, text = texts.get(path) or texts.get((*path[:-1], "other")) or texts.get(()) or ("", "")
            if text.strip():
                is_new = state is not None and self._raw(state) == '"new"'
                done = None if is_new else json.loads(self._raw(value)) or None
                yield self._slot(entry, path, like, text, done, value, state)
        for path, plural in _plurals(target):
            for name in sorted(self._categories):  # as Xcode orders members
                own = (*path, name)
                like, text = texts.get(own) or texts.get((*path, "other")) or ("", "")
                if text.strip() and plural.member(name) is None:
                    yield self._slot(entry, own, like, text, plural=plural)

    def _slot(
        self,
        entry: Node,
        path: tuple[str, ...],
        like: str,
        text: str,
        done: str | None = None,
        value: Node | None = None,
        state: Node | None = None,
        plural: Node | None = None,
    ) -> _Slot:
        body = plain(text, find_codes, self._tag)
        unit = Unit(body.text, self._file.line_of(entry.key_start), body.tagged(done) if done else None)
        return _Slot(path, body, unit, like, value, state, plural)

    def _texts(self, localization: Node) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
        """Yield the path, and the string and the text, of each text of a localization."""
        for path, value, _ in _texts(localization):
            yield path, (self._raw(value), decoded(self._file, value))

    def _shape(self, node: Node, depth: int = 0) -> Mapping[str, Shape]:
        """Return the members of an object; a plural has the categories of the target language too."""
        if depth > _DEEPEST:
            raise self._file.damaged(self._reading, node.start, "has parts within too many others for a translation")
        members = dict[str, Shape]()
        for part in node.parts:
            members[part.key] = self._shape(part, depth + 1) if part.kind == "object" else self._raw(part)
            if node.key == _SET and part.key == "values" and part.kind == "array":
                members[part.key] = [self._raw(one) for one in part.parts]
        if node.key == "plural" and "other" in members:
            members |= {name: members["other"] for name in self._categories if name not in members}
            members = dict(sorted(members.items()))
        return members

    def _raw(self, node: Node) -> str:
        return self._file.text[node.start : node.stop]

    # Writing

    def _written(self, slot: _Slot, translation: str | None) -> str | None:
        """Return a translation as JSON; None if the text stays."""
        done = slot.unit.done
        if translation is None or translation == done or (done is not None and not self._reading.replace):
            return None
        try:
            if not translation.strip():
                raise UnwritableError("is empty")
            return self._writer.string(slot.plain.restored(translation), slot.like)
        except UnwritableError as error:
            place = slot.unit.place
            self._reading.report(f"{self._reading.name}, {place}: is not translated, as the translation {error}")
            return None

    @property
    def _state(self) -> str:
        return '"translated"' if self._reading.final else '"needs_review"'

    def _filled(self, slot: _Slot, text: str | None) -> Iterator[Edit]:
        """Yield the edits of a translation that the file has."""
        if text is None:
            return
        if slot.plural:
            form = {"stringUnit": {"state": self._state, "value": text}}
            yield self._added(slot.plural, slot.path[-1], form, _TARGET_LEVEL + len(slot.path) - 1)
        if slot.value:
            yield Edit(slot.value.start, slot.value.stop, text)
        if slot.state:
            yield Edit(slot.state.start, slot.state.stop, self._state)

    def _new(self, entry: Node, shape: Mapping[str, Shape], texts: Mapping[tuple[str, ...], str]) -> Edit:
        """Return the edit that adds a translation to a string."""
        localization = self._with_texts(shape, texts)
        localizations = entry.member("localizations")
        if localizations and localizations.kind == "object":
            return self._added(localizations, self._target, localization, 3)
        return self._added(entry, "localizations", {self._target: localization}, 2)

    def _with_texts(
        self, shape: Mapping[str, Shape], texts: Mapping[tuple[str, ...], str], path: tuple[str, ...] = ()
    ) -> Mapping[str, Shape]:
        """Return a shape with the texts of its units, and their state."""
        members = dict[str, Shape]()
        for key, part in shape.items():
            if key == "stringUnit" and path in texts:
                members[key] = {"state": self._state, "value": texts[path]}
            elif isinstance(part, Mapping):
                members[key] = self._with_texts(part, texts, (*path, key))
            elif isinstance(part, str):
                members[key] = self._state if key == "state" and path[-1:] == (_SET,) else part
            else:
                members[key] = [texts.get((*path, str(n)), raw) for n, raw in enumerate(part)]
        return members

    def _added(self, node: Node, key: str, value: Shape, level: int) -> Edit:
        """Return the edit that adds a member to an object, in the order of keys."""
        step, colon = self._layout()
        newline = "\r\n" if "\r\n" in self._file.text else "\n"
        line = newline + step * (level + 1)
        member = f"{json.dumps(key)}{colon}{_dumped(value, level + 1, step, colon, newline)}"
        if not node.parts:
            return Edit(node.start, node.stop, f"{{{line}{member}{newline}{step * level}}}")
        n = bisect([part.key for part in node.parts], key)
        if n < len(node.parts):
            return Edit(node.parts[n].key_start, node.parts[n].key_start, f"{member},{line}")
        end = node.parts[-1].stop
        return Edit(end, end, f",{line}{member}")

    def _layout(self) -> tuple[str, str]:
        """Return the indentation of a level, and what is between a key and its value."""
        first = self._root.parts[0]
        before = self._file.text[first.before : first.key_start]
        between = re.sub(r'^"(?:[^"\\]|\\.)*"', "", self._file.text[first.key_start : first.start])
        return before.rpartition("\n")[2], between


def _base(language: str) -> str:
    return re.split("[-_]", language)[0].lower()


def _parts(node: Node | None) -> Sequence[Node]:
    return node.parts if node else ()


def _texts(localization: Node) -> Iterator[tuple[tuple[str, ...], Node, Node | None]]:
    """Yield the path, the string and the state of each text of a localization, in order; a set has several texts."""
    waiting: list[tuple[tuple[str, ...], Node]] = [((), localization)]
    while waiting:
        path, node = waiting.pop()
        for part in reversed(node.parts if len(path) <= _DEEPEST else ()):
            if part.kind == "object" and part.key not in ("stringUnit", _SET):
                waiting.append(((*path, part.key), part))
        if (unit := node.member("stringUnit")) and (value := unit.member("value")) and value.kind == "string":
            yield path, value, unit.member("state")
        if (unit := node.member(_SET)) and (values := unit.member("values")) and values.kind == "array":
            for n, value in enumerate(values.parts):
                if value.kind == "string":
                    yield (*path, _SET, str(n)), value, unit.member("state")


def _plurals(localization: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the path and the node of each plural of a localization."""
    waiting: list[tuple[tuple[str, ...], Node]] = [((), localization)]
    while waiting:
        path, node = waiting.pop()
        if path[-2:] == ("variations", "plural") and node.parts:
            yield path, node
            continue
        for part in node.parts if len(path) <= _DEEPEST else ():
            if part.kind == "object":
                waiting.append(((*path, part.key), part))


def _paths(shape: Mapping[str, Shape], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the texts of a shape."""
    if "stringUnit" in shape:
        yield path
    for key, part in shape.items():
        if isinstance(part, Mapping) and key != "stringUnit":
            yield from _paths(part, (*path, key))
        elif not isinstance(part, str | Mapping):
            yield from ((*path, str(n)) for n in range(len(part)))


def _dumped(value: Shape, level: int, step: str, colon: str, newline: str) -> str:
    """Return members as Xcode writes them."""
    if isinstance(value, str):
        return value
    line = newline + step * (level + 1)
    if not isinstance(value, Mapping):
        return f"[{line}{f',{line}'.join(value)}{newline}{step * level}]"
    members = (
        f"{json.dumps(key)}{colon}{_dumped(part, level + 1, step, colon, newline)}" for key, part in value.items()
    )
    return f"{{{line}{f',{line}'.join(members)}{newline}{step * level}}}"


def read(data: bytes, reading: Reading) -> StringCatalog:
    """Divide a string catalog."""
    return StringCatalog(Text.read(data, reading), reading)
