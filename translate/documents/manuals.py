"""DocBook 4 and 5, and DITA: prose is translated; code, names of files and commands, and data about the book stay.

Both have hundreds of elements. Those that are neither formatting within a sentence, nor code, nor data are blocks with
text, so that no text is left out because its element is rare.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence

from translate.documents.document import ParsedDocument, Reading
from translate.documents.xml import (
    Atom,
    Kind,
    Parts,
    Piece,
    Place,
    Role,
    Table,
    Token,
    contents,
    decoded,
    divide,
    tokens,
    translated_language,
)

_PREFIXES = {
    "http://docbook.org/ns/docbook": "",
    "http://www.w3.org/1999/xlink": "xlink",
    "http://www.w3.org/2005/11/its": "its",
    "http://www.w3.org/1998/Math/MathML": "math",
    "http://www.w3.org/2000/svg": "svg",
}

_FOREIGN = {"math:math": Role.OBJECT, "svg:svg": Role.OBJECT, "{http://www.w3.org/2001/XInclude}include": Role.POINT}
_DOCBOOK = _FOREIGN | {
    name: role
    for role, names in {
        Role.PAIR: """abbrev acronym application citetitle emphasis firstterm foreignphrase glossterm guibutton guiicon
            guilabel guimenu guimenuitem guisubmenu hardware interface keycap link mousebutton olink orgname
            phrase productname quote shortcut subscript superscript trademark ulink wordasword""",
        Role.OBJECT: """biblioref citation citerefentry classname code command computeroutput constant database date
            email envar equation errorcode errorname errortext errortype exceptionname filename function
            inlineequation inlinegraphic inlinemediaobject interfacename keycode keycombo keysym lineannotation literal
            markup medialabel menuchoice methodname modifier msgtext nonterminal ooclass ooexception oointerface option
            optional package parameter prompt property replaceable returnvalue sgmltag structfield structname symbol
            systemitem tag termdef token type uri userinput varname xref""",
        Role.POINT: "anchor co coref footnoteref indexterm",
        Role.ASIDE: "annotation footnote",
        Role.UNIT: "alt keyword para primary secondary see seealso simpara tertiary textobject title",
        Role.COPY: """address author authorgroup authorinitials bibliocoverage biblioentry biblioid bibliomixed
            classsynopsis cmdsynopsis collab constructorsynopsis copyright corpauthor destructorsynopsis edition editor
            enumsynopsis fieldsynopsis funcsynopsis invpartnumber isbn issn issuenum methodsynopsis othercredit
            packagesynopsis pagenums productnumber programlisting pubdate publisher publishername pubsnumber
            releaseinfo remark revnumber screen seriesvolnums subjectset synopsis volumenum""",
    }.items()
    for name in names.split()
}
_DITA = _FOREIGN | {
    name: role
    for role, names in {
        Role.PAIR: """abbreviated-form b cite dfn em i keyword line-through overline ph q screenlabel
            shortcut strong sub sup term text tm u uicontrol wintitle xref""",
        Role.OBJECT: """apiname cmdname codeph equation-inline filepath fragref image include kwd markupname
            menucascade msgnum numcharref object option param parameterentity parmname sep state synph systemoutput
            textentity userinput var varname xmlatt xmlelement xmlnsname xmlpi""",
        Role.POINT: "coderef keywords",
        Role.ASIDE: "fn indexterm index-see index-see-also index-sort-as",
        Role.UNIT: "alt desc longdescref p",
        Role.COPY: """audience author bookid bookrights category change-historylist codeblock copyright critdates data
            data-about draft-comment foreign msgblock othermeta permissions pre prodinfo publisher
            publisherinformation required-cleanup resourceid screen source syntaxdiagram unknown""",
    }.items()
    for name in names.split()
}
_MENUS = {"menucascade", "menuchoice"}  # whose entries are shown with signs between them
_ATTRIBUTES = {"": ("alt", "navtitle", "spectitle", "xlink:title", "xreflabel")}
_LINES = {"address", "lines", "literallayout", "verse"}  # their line breaks count
_DITA_ROOTS = {"topic", "concept", "task", "reference", "map", "bookmap", "dita", "glossentry", "troubleshooting"}


def read(data: bytes, reading: Reading) -> ParsedDocument:
    """Divide a file of DocBook or DITA; see `Format.read`."""
    converted, _ = decoded(data, reading.name)
    root, before = Token(Kind.REST, b"", 0), list[bytes]()
    for token in tokens(converted, reading.name, _PREFIXES, declares_entities=True):
        if token.kind is Kind.START:
            root = token
            break
        before.append(token.raw)
    table = _table(root, _entries(converted, reading.name), reading, is_dita=_is_dita(root, b"".join(before)))
    return Parts({"": divide(data, table, reading)})


def _is_dita(root: Token, before: bytes) -> bool:
    """Return whether a file with this first element, and what is before it, is DITA, which has no namespace."""
    if b"docbook" in root.raw or b"DocBook" in before:
        return False
    return (
        root.name in _DITA_ROOTS
        or b"DITA" in before
        or re.match("[-+] (topic|map)/", root.attributes.get("class", "")) is not None
    )


def _entries(data: bytes, name: str) -> set[int]:
    """Return where the elements start that are entries of menus, each of which is a text of its own."""
    found, path = set[int](), [""]
    has_menus = any(menu.encode() in data for menu in _MENUS)
    for token in tokens(data, name, _PREFIXES, declares_entities=True) if has_menus else ():
        if token.kind is Kind.START:
            if path[-1] in _MENUS:
                found.add(token.start)
            path.append(token.name)
        elif token.kind is Kind.END:
            path.pop()
    return found


def _table(root: Token, entries: Container[int], reading: Reading, *, is_dita: bool) -> Table:
    elements = _DITA if is_dita else _DOCBOOK

    def role(token: Token) -> Role | None:
        if token.start == root.start:
            return Role.UNIT
        if elements.get(token.name) is not Role.PAIR:
            return None
        if token.raw.endswith(b"/>"):  # stands for words from elsewhere
            return Role.OBJECT
        return Role.UNIT if token.start in entries else None

    return Table(
        elements=elements,
        prefixes=_PREFIXES,
        inside=Role.UNIT,
        texts=_ATTRIBUTES,
        role=role,
        translates=_translates,
        changes=_changes(root, reading),
        contents=_contents,
        declares_entities=True,
    )


def _translates(token: Token) -> bool | None:
    """Return whether an element says that it is translated, or that it is not."""
    stated = (token.attributes.get("translate"), token.attributes.get("its:translate"))
    return False if "no" in stated else True if "yes" in stated else None


def _contents(start: Token, atoms: Sequence[Atom], place: Place) -> list[Piece]:
    return contents(atoms, place, collapses=start.name not in _LINES)


def _changes(root: Token, reading: Reading) -> Callable[[Token], Mapping[str, str]]:
    """Return a function that gives the new language of an element; that of the first one is always the target's."""
    language = translated_language(reading)

    def changes(token: Token) -> dict[str, str]:
        stated = {name: token.attributes[name] for name in ("lang", "xml:lang") if token.attributes.get(name)}
        new = {name: reading.target if token.start == root.start else language(value) for name, value in stated.items()}
        return {name: value for name, value in new.items() if value is not None}

    return changes
