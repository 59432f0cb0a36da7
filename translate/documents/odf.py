"""OpenDocument: texts, presentations and spreadsheets of LibreOffice and others.

A package has a manifest, which names its parts: content.xml, styles.xml with headers and footers, meta.xml with the
title, and the same files of charts. A paragraph is one text; footnotes, comments and text boxes in it are texts of
their own. A cell with a number or a formula is data.
"""

from translate.documents.archive import Archive
from translate.documents.document import Reading
from translate.documents.xml import Kind, Package, Role, Table, Token, divide, territory, tokens
from translate.errors import UserError

_MANIFEST = "META-INF/manifest.xml"
_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
_PREFIXES = {
    **{f"{_OASIS}:{name}:1.0": name for name in ("text", "office", "table", "presentation", "manifest", "meta")},
    f"{_OASIS}:drawing:1.0": "draw",
    f"{_OASIS}:svg-compatible:1.0": "svg",
    f"{_OASIS}:xsl-fo-compatible:1.0": "fo",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_ELEMENTS = {
    Role.UNIT: "text:p text:h text:index-title-template svg:title svg:desc dc:title dc:subject dc:description "
    "presentation:header-decl presentation:footer-decl",
    Role.PAIR: "text:span text:a text:ruby text:ruby-base text:meta text:meta-field text:bookmark-ref "
    "text:reference-ref text:note-ref text:sequence text:sequence-ref text:title text:subject text:placeholder "
    "text:text-input text:description",
    Role.SPACE: "text:s text:tab text:line-break",
    # Fields whose texts the program makes.
    Role.OBJECT: "text:author-initials text:author-name text:chapter text:character-count text:conditional-text "
    "text:creation-date text:creation-time text:creator text:database-display text:database-name "
    "text:database-row-number text:date text:dde-connection text:editing-cycles text:editing-duration text:expression "
    "text:file-name text:hidden-text text:image-count text:initial-creator text:keywords text:measure "
    "text:modification-date text:modification-time text:object-count text:page-continuation text:page-count "
    "text:page-number text:page-variable-get text:paragraph-count text:print-date text:print-time text:printed-by "
    "text:script text:sender-city text:sender-company text:sender-country text:sender-email text:sender-fax "
    "text:sender-firstname text:sender-initials text:sender-lastname text:sender-phone-private text:sender-phone-work "
    "text:sender-position text:sender-postal-code text:sender-state-or-province text:sender-street text:sender-title "
    "text:sheet-name text:table-count text:table-formula text:template-name text:time text:user-defined "
    "text:user-field-get text:user-field-input text:variable-get text:variable-input text:variable-set text:word-count",
    Role.COPY: "text:tracked-changes text:ruby-text table:tracked-changes",
    Role.BLOCK: "office:annotation",
    Role.LANGUAGE: "dc:language",
}


def read(data: bytes, reading: Reading) -> Package:
    """Divide a document; UserError if it is damaged, encrypted or signed."""
    archive = Archive(data, reading)
    names = _parts(archive, reading)
    return Package(archive, {name: divide(archive.read(name), _table(reading), reading, name) for name in names})


def _parts(archive: Archive, reading: Reading) -> list[str]:
    """Return the names of the parts with text, as the manifest has them."""
    if _MANIFEST not in archive.names:
        raise UserError(f"{reading.name}: is no OpenDocument: it has no {_MANIFEST}")
    found = list[str]()
    for token in tokens(archive.read(_MANIFEST), f"{reading.name}: {_MANIFEST}", _PREFIXES):
        path, kind = (token.attributes.get(f"manifest:{name}", "") for name in ("full-path", "media-type"))
        if token.kind is Kind.START and token.name == "manifest:encryption-data":
            raise UserError(f"{reading.name}: is encrypted; save it without a password")
        if kind == "text/xml":
            found.append(path)
    names = ("content.xml", "styles.xml", "meta.xml")
    parts = [path for path in found if path.rpartition("/")[2] in names and path in archive.names]
    if not parts:
        raise UserError(f"{reading.name}: is no OpenDocument: its manifest names no content.xml")
    return parts


def _table(reading: Reading) -> Table:
    """Return the table of all parts."""

    def language(value: str) -> str | None:
        is_source = value.lower().replace("_", "-").split("-")[0] == reading.source
        return f"{reading.target}-{territory(reading.target)}" if is_source else None

    def changes(token: Token) -> dict[str, str]:
        attributes = token.attributes
        if attributes.get("fo:language") != reading.source:
            return {}
        new = {"fo:language": reading.target, "fo:country": territory(reading.target)}
        return {name: value for name, value in new.items() if name in attributes}

    return Table(
        elements={name: role for role, names in _ELEMENTS.items() for name in names.split()},
        prefixes=_PREFIXES,
        role=_role,
        changes=changes,
        language=language,
        collapses=True,
    )


def _role(token: Token) -> Role | None:
    """Return that a cell is data if its value is no text that was typed."""
    if token.name not in ("table:table-cell", "table:covered-table-cell"):
        return None
    kind = token.attributes.get("office:value-type", "string")
    return Role.COPY if kind != "string" or "table:formula" in token.attributes else None
