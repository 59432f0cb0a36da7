"""A document: its texts to translate, and its bytes with translations in their places.

A format is one module with a function `read`, named in `MODULES`. It divides the bytes of a file into texts to
translate and bytes to copy, so that `write` with the texts themselves gives the same bytes. What the file says stays;
what a translation may not touch, such as markup, identifiers and formulas, is never in a text.

A text is plain: escapes of the format are resolved, and written again with the translation. Within it, formatting and
objects are tags whose names occur nowhere else in the file: "g" and a number, or with more "g" or "x" between.

    <g1>words</g1>    formatting: a pair around words, which stands around their translation afterwards
    <g2></g2>         something without width beside a word: a note, a bookmark, the end of a comment's range
    <g3/>             an object in the place of a word: a variable, an image, code

The translation has each tag exactly once, pairs nested; see `translate.inference.formatting`.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from translate.errors import UserError
from translate.files import OPENERS
from translate.text.formats import guess_format
from translate.text.languages import region, without_region


@dataclass(frozen=True)
class Unit:
    """A text to translate, such as a paragraph, a cell or a message.

    Attributes:
        text: with tags for formatting and objects; line breaks that belong to it are "\\n".
        place: where it is in the document, for messages, such as "line 12" or "word/footnotes.xml".
        done: a translation that the file has already, with tags like `text`, which stays unless all are replaced; None
            if it has none.
        wrapped: whether its lines are one text, as in a subtitle, whose translation has as many; otherwise a line is a
            text of its own unless a sentence clearly goes on in the next one.
        spoken: whether it is what people say and hear in a film, with sounds and names of speakers.
    """

    text: str
    place: str = ""
    done: str | None = None
    wrapped: bool = False
    spoken: bool = False


def _unsaid(message: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How documents are read and written.

    Attributes:
        name: of the file, for messages.
        source: language of the texts, such as "de"; "" while it is guessed.
        target: language of the translation, which the document states, such as "en" or "en-GB".
        final: whether machine translations are not marked as such (PO fuzzy, XLIFF state, TS unfinished).
        replace: whether translations that the file has already are replaced.
        report: called with a sentence for each unit whose translation the format cannot hold, such as one that lost a
            variable; the unit stays as it was.
        force: whether a signed document is changed, which makes its signature invalid.
        limit: bytes that the parts of a package may have together when unpacked.
    """

    name: str
    source: str
    target: str
    final: bool = False
    replace: bool = False
    report: Callable[[str], None] = _unsaid
    force: bool = False
    limit: int = 2**29

    def is_target(self, code: str) -> bool:
        """Return whether a code is that of the target language, in any region."""
        return without_region(code.lower()) == without_region(self.target.lower())

    def is_stated(self, code: str) -> bool:
        """Return whether a code states the target language, and its region if that is named."""
        return self.is_target(code) and region(self.target) in ("", region(code))


class ParsedDocument(Protocol):
    """A document whose file was read: its texts, and the bytes around them."""

    @property
    def units(self) -> Sequence[Unit]:
        """The texts to translate, in the order of the document."""

    def write(self, translations: Sequence[str | None]) -> bytes:
        """Return the document with a translation in the place of each unit; None leaves the unit as it is."""


class Format(Protocol):
    """A module of a format."""

    def read(self, data: bytes, reading: Reading) -> ParsedDocument:
        """Divide a file; UserError if it is damaged, or if it is not translated for another reason."""


# The module of each suffix.
MODULES: dict[str, str] = {
    **dict.fromkeys((".docx", ".dotx", ".pptx", ".potx", ".ppsx", ".xlsx", ".xltx"), "ooxml"),
    **dict.fromkeys((".odt", ".ott", ".fodt", ".odp", ".otp", ".fodp", ".ods", ".ots", ".fods"), "odf"),
    **dict.fromkeys((".odg", ".otg", ".fodg"), "odf"),
    ".epub": "epub",
    **dict.fromkeys((".po", ".pot"), "po"),
    **dict.fromkeys((".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff"), "xliff"),
    ".ts": "qt",
    **dict.fromkeys((".resx", ".resw"), "resx"),
    ".properties": "properties",
    **dict.fromkeys((".json", ".arb"), "json"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    ".xcstrings": "xcstrings",
    ".strings": "strings",
    ".stringsdict": "stringsdict",
    ".ftl": "fluent",
    **dict.fromkeys((".ass", ".ssa"), "ass"),
    **dict.fromkeys((".ttml", ".dfxp", ".itt"), "ttml"),
    **dict.fromkeys((".tex", ".ltx"), "latex"),
    **dict.fromkeys((".dbk", ".docbook", ".dita", ".ditamap"), "manuals"),
    ".xml": "dialects",
}

_SAVE, _EXPORT, _CONVERT = "save it as {}", "export it as {}", "convert it to {}"
_MESSAGES = "keep its texts in a file of messages, such as .json or .po"
# Suffixes of other structured files, whose markup or code a translation as text would change, and what helps.
_OTHERS = {
    **dict.fromkeys((".doc", ".dot", ".rtf", ".wpd", ".wps", ".odm", ".sxw"), _SAVE.format(".docx or .odt")),
    **dict.fromkeys((".docm", ".dotm"), _SAVE.format(".docx, without macros")),
    **dict.fromkeys((".ppt", ".pps"), _SAVE.format(".pptx or .odp")),
    **dict.fromkeys((".pptm", ".ppsm", ".potm"), _SAVE.format(".pptx, without macros")),
    **dict.fromkeys((".xls", ".xlsb"), _SAVE.format(".xlsx or .ods")),
    **dict.fromkeys((".xlsm", ".xltm"), _SAVE.format(".xlsx, without macros")),
    **dict.fromkeys((".pages", ".key", ".numbers"), _EXPORT.format("a file of Word, PowerPoint or Excel")),
    ".pdf": "translate the document that it was made from, or its text, such as pdftotext gives",
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".fb2"), _CONVERT.format(".epub")),
    **dict.fromkeys((".idml", ".indd", ".icml"), _EXPORT.format(".docx or .xlf")),
    **dict.fromkeys((".rst", ".rest"), "translate the files .po that `sphinx-build -b gettext` makes of it"),
    **dict.fromkeys((".adoc", ".asciidoc"), _CONVERT.format(".docbook, as `asciidoctor -b docbook` does")),
    **dict.fromkeys(
        (".org", ".textile", ".mediawiki", ".wiki", ".typ"), _CONVERT.format(".md or .docx, as pandoc does")
    ),
    ".ipynb": _CONVERT.format(".md, as jupytext does"),
    **dict.fromkeys((".jsonl", ".ndjson"), _CONVERT.format(".csv or .tsv, and name the column with --column")),
    **dict.fromkeys((".eml", ".msg", ".mht", ".mhtml"), _SAVE.format(".html or .txt")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".tsx", ".vue", ".svelte", ".astro"), _MESSAGES),
    **dict.fromkeys((".php", ".py", ".java", ".kt", ".swift", ".go", ".rb"), _MESSAGES),
    # But for .cs, .pl, .sh and the like, which may be languages: corpus.pl
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp", ".cc", ".rs", ".dart", ".scala", ".sql", ".ps1", ".bat"), _MESSAGES),
    **dict.fromkeys(
        (".erb", ".twig", ".hbs", ".ejs", ".njk", ".j2", ".jinja", ".liquid", ".mustache", ".jsp", ".aspx", ".cshtml"),
        "translate it as a page with --format html, or as plain text with --format text",
    ),
    **dict.fromkeys(
        (".tmx", ".tbx", ".plist", ".sub", ".sbv", ".scc", ".smi", ".lrc", ".svg", ".toml", ".ini", ".json5", ".jsonc")
        + (".bib", ".sty", ".cls", ".css", ".scss", ".less", ".rc", ".desktop", ".xaml", ".ui", ".glade", ".wxl")
        + (".xsl", ".xslt", ".xsd", ".wsdl", ".dtd", ".rng", ".opf", ".ncx", ".geojson", ".jsonld")
        + (".opml", ".rss", ".atom", ".kml", ".gpx"),
        "convert it to another format, or translate all of it as plain text with --format text",
    ),
}


def suffix_of(name: str) -> str:
    """Return the suffix of the name of a file, in lower case."""
    return Path(name).suffix.lower()


def has_format(name: str) -> bool:
    """Return whether the name of a file is that of a document with a module; UserError for other structured files."""
    suffix = suffix_of(name)
    if suffix not in MODULES and suffix in _OTHERS:
        raise UserError(f"{name}: files of the format {suffix} are not translated; {_OTHERS[suffix]}")
    return suffix in MODULES


_PACKAGES = ("ooxml", "odf", "epub")  # modules of packages, which no program opens by another suffix


def check_suffix(name: str, output: str) -> None:
    """Raise UserError if the suffix of an output names another format; a translation keeps that of its input."""
    own, other = suffix_of(name), suffix_of(output)
    kind, new = (MODULES.get(suffix_of(file)) or guess_format(Path(file)) for file in (name, output))
    if own == other or (new == "text" and other not in (*_OTHERS, ".txt")):
        return
    is_other = kind != new and "text" not in (kind, new) and ".xml" not in (own, other)
    if kind in _PACKAGES or new in _PACKAGES or other in _OTHERS or is_other:
        if own in OPENERS:
            raise UserError(f"{name}: is compressed by its name; unpack it first")
        raise UserError(f"{output}: a translation keeps the format of {name}; name a file that ends in {own or '.txt'}")


def read(data: bytes, reading: Reading) -> ParsedDocument:
    """Divide a file by the format of its name; see `Format.read`."""
    if not has_format(reading.name):
        raise UserError(f"{reading.name}: is no document; name one of {', '.join(sorted(MODULES))}")
    module: Format = importlib.import_module(f"translate.documents.{MODULES[suffix_of(reading.name)]}")
    return module.read(data, reading)


class SignedError(UserError):
    """A document has a signature, which a translation makes invalid."""


def refuse_signed(reading: Reading) -> None:
    """Raise SignedError for a document with a signature, unless it may be changed; formats call this."""
    if not reading.force:
        raise SignedError(
            f"{reading.name}: is signed, and a translation loses the signature; add --force to translate it"
        )
