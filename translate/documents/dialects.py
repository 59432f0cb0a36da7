"""Files with the suffix .xml: the first element says which format one is."""

import importlib

from translate.documents.document import Format, ParsedDocument, Reading
from translate.documents.xml import Kind, decoded, tokens
from translate.errors import UserError

# The module of each first element.
_DOCBOOK = "appendix article book chapter glossary part preface refentry section set"
_DITA = "bookmap concept dita map reference task topic troubleshooting"
_MODULES = dict.fromkeys([*_DOCBOOK.split(), *_DITA.split()], "manuals") | {
    "resources": "android",
    "TS": "qt",
    "xliff": "xliff",
    "root": "resx",
    "tt": "ttml",
}


def read(data: bytes, reading: Reading) -> ParsedDocument:
    """Divide a file of XML by its first element; see `Format.read`."""
    converted, _ = decoded(data, reading.name)
    all_tokens = tokens(converted, reading.name, declares_entities=True)
    first = next((token.name.rpartition("}")[2] for token in all_tokens if token.kind is Kind.START), "")
    if first not in _MODULES:
        raise UserError(
            f"{reading.name}: XML whose first element is <{first}> is not translated; convert it to another format"
        )
    module: Format = importlib.import_module(f"translate.documents.{_MODULES[first]}")
    return module.read(data, reading)
