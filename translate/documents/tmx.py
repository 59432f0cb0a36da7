"""TMX: the pairs of a translation memory, as a corpus and as a glossary.

Codes of other formats within a segment are left out, as a reader does not see them; text in <hi> stays. The file is
read as a stream, so it may be larger than the memory.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from translate.errors import UserError
from translate.files import DAMAGED, OPENERS, cannot_unpack
from translate.text.languages import lookup

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES = ("bpt", "ept", "it", "ph", "ut")  # native code of other formats
_SPACE = re.compile(r"\s+")


def pairs(path: Path, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of units that have both languages, each as one line.

    Args:
        path: plain or compressed (.gz, .xz, .bz2).
        source, target: language codes. For "en", text in any region is taken, such as "en-GB"; for "en-GB", text in
            "en" is taken if there is none in "en-GB".

    Raises UserError if there are units but none in both languages, or, with the line, if the file is damaged or no TMX.
    """
    known, n_pairs = set[str](), 0
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            events = ElementTree.iterparse(file, ("start", "end"))
            _, root = next(events)
            if _local(root) != "tmx":
                raise UserError(f"{path}: is no TMX, as its first element is <{_local(root)}>")
            for event, element in events:
                if event == "end" and _local(element) == "tu":
                    texts = _texts(element)
                    known.update(texts)
                    if all(sides := (_text_in(source, texts), _text_in(target, texts))):
                        n_pairs += 1
                        yield sides
                    for part in root:  # what was read is not needed any more
                        part.clear()
    except ElementTree.ParseError as error:
        raise UserError(f"{path}: the XML is damaged: {error}; export the memory again") from error
    except (OSError, *DAMAGED) as error:
        raise UserError(cannot_unpack(path, error)) from error
    if known and not n_pairs:
        languages = ", ".join(sorted(filter(None, known))) or "unknown"
        raise UserError(
            f"{path}: has no unit in {source!r} and {target!r}, as its languages are {languages}; export the memory "
            "with both, or write the codes as it does"
        )


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _texts(unit: ElementTree.Element) -> dict[str, str]:
    """Return the first text of a unit in each language, whose code is in small letters with "-"."""
    texts: dict[str, str] = {}
    for variant in unit:
        language = variant.get(_LANGUAGE) or variant.get("lang") or ""
        for segment in variant:
            if _local(segment) == "seg" and (text := _SPACE.sub(" ", "".join(_text(segment))).strip()):
                texts.setdefault(_spelled(language), text)
    return texts


def _spelled(language: str) -> str:
    return language.lower().replace("_", "-")


def _text_in(language: str, texts: Mapping[str, str]) -> str:
    """Return the first text in a language or one of its regions, or else in the language of a region, or ""."""
    wanted = _spelled(language)
    within = (text for known, text in texts.items() if f"{known}-".startswith(f"{wanted}-"))
    return next(within, "") or texts.get(lookup(language, texts) or "", "")


def _text(segment: ElementTree.Element) -> Iterator[str]:
    """Yield the texts of a segment without native codes."""
    waiting = [(segment, iter(segment))]
    yield segment.text or ""
    while waiting:
        element, children = waiting[-1]
        child = next(children, None)
        if child is None:
            waiting.pop()
            if waiting:
                yield element.tail or ""
        elif _local(child) in _CODES:
            yield child.tail or ""
        else:
            yield child.text or ""
            waiting.append((child, iter(child)))
