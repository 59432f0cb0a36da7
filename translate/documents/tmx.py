"""TMX: the pairs of a translation memory, as a corpus and as a glossary.

Codes of other formats within a segment are left out, as a reader does not see them; text in <hi> stays. The file is
read as a stream, so it may be larger than the memory.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from translate.errors import UserError
from translate.files import DAMAGED, OPENERS, cannot_read

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES = ("bpt", "ept", "it", "ph", "ut")  # native code of other formats
_SPACE = re.compile(r"\s+")


def pairs(path: Path, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of units that have both languages, each as one line.

    Args:
        path: plain or compressed (.gz, .xz, .bz2).
        source, target: language codes; a unit in "en-GB" is one in "en".

    Raises UserError, with the line, if the file is damaged or no TMX.
    """
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            events = ElementTree.iterparse(file, ("start", "end"))
            _, root = next(events)
            if _local(root) != "tmx":
                raise UserError(f"{path}: is no TMX, as its first element is <{_local(root)}>")
            for event, element in events:
                if event == "end" and _local(element) == "tu":
                    texts = {language: text for language, text in _variants(element) if text}
                    if source in texts and target in texts:
                        yield texts[source], texts[target]
                    for part in root:  # what was read is not needed any more
                        part.clear()
    except ElementTree.ParseError as error:
        raise UserError(f"{path}: the XML is damaged: {error}; export the memory again") from error
    except DAMAGED as error:
        raise UserError(f"{path}: the compressed file is damaged or cut off: {error}") from error
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _variants(unit: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each variant of a unit, the first one of a language last."""
    for variant in reversed(list(unit)):
        language = variant.get(_LANGUAGE) or variant.get("lang") or ""
        for segment in variant:
            if _local(segment) == "seg":
                text = "".join(_text(segment))
                yield re.split("[-_]", language.lower())[0], _SPACE.sub(" ", text).strip()


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
