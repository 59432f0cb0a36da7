"""LaTeX: paragraphs, headings, items, captions, notes and cells of tables; pylatexenc finds where they are.

Macros of fonts are formatting around their argument. Formulas, references, code and macros that are not known are
objects with all of their arguments; labels and comments are beside their word. Accents, quotation marks and dashes are
read as letters and signs, and written as the file writes them. Of the preamble only titles are text; options of babel
that name the source language name the target language afterwards, so the shorthands of German, such as "a for a letter
with a diaeresis, are read as letters too, and a quotation mark in a German translation is written as no shorthand.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from translate.documents.document import Reading
from translate.documents.edits import Edit, Plain, Span, Text, UnwritableError, Value, Values, tag_name
from translate.errors import UserError, optional_package
from translate.text.languages import find, region, without_region

Node = Any  # of pylatexenc, which has no types

# Macros: formatting around their argument, or around their last one; formatting until the end of a group.
_FONTS = re.compile(
    "text(?:bf|it|sc|sf|rm|sl|md|up|normal|superscript|subscript)|emph|underline|uline|enquote|mbox|hl|alert|structure"
)
_SECOND = re.compile("href|textcolor|hyperlink|multicolumn")
_DECLARATIONS = re.compile(
    "bf|it|em|sc|sf|rm|sl|(?:bf|md)series|(?:it|sc|sl|up)shape|(?:sf|rm)family|tiny|(?:script|footnote|normal)(?:size)"
    "|small|large|Large|LARGE|huge|Huge"
)
# Texts of their own; notes within a text; what ends a text; what has no width; letters.
_BLOCKS = re.compile(
    "part|chapter|(?:sub){0,2}section|(?:sub)?paragraph|caption|(?:sub)?title|frame(?:sub)?title|abstract|dedication"
)
_TITLES = re.compile("(?:sub)?title")
_NOTES = re.compile("footnote(?:text)?|thanks|marginpar")
_ENDS = re.compile(
    r"\\|newline|linebreak|par|item|(?:big|med|small)skip|v(?:space|fill)|(?:new|clear)page|pagebreak|maketitle|hline"
    "|(?:top|mid|bottom)rule|tableofcontents|centering|raggedright|appendix|tabularnewline"
)
_POINTS = re.compile("label|index|(?:no)?indent|protect|nolinebreak|hypertarget|phantomsection|null")
_LETTERS = re.compile(r"[\"'`^~=.uvHcbdrk]|ss|[oO]|[aA][eE]|[oO][eE]|[aA][aA]|[lLij]|l?dots|text(?:en|em)dash")
# Macros without arguments; {} may follow one.
_ALONE = re.compile(
    rf"(?:{_ENDS.pattern})|(?:{_LETTERS.pattern})|[-%&$#_{{}} ,/]|(?:no)?indent|protect|null|phantomsection|nolinebreak"
)
_DEFINITION = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*(?:\{\s*\\([A-Za-z]+)\s*\}|\\([A-Za-z]+))"
    r"\s*\[1\]\s*"
    r"\{((?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+)\}"
)
# The macro of which an argument begins, at the end of a text.
_OPENS = re.compile(r"\\([A-Za-z]+)\*?((?:\[[^\[\]]*\]|\{[^{}]*\})*)\{\Z")
_SPACES = {" ": " ", ",": "\u202f", "-": "", "/": ""}
# Arguments of macros that pylatexenc does not know, as it writes them: a star, an optional and a mandatory argument.
_KNOWN = {
    **dict.fromkeys(("part", "paragraph", "subparagraph", "caption"), "*[{"),
    **dict.fromkeys(("footnotetext", "marginpar"), "[{"),
    **dict.fromkeys(("subtitle", "frametitle", "framesubtitle"), "[{"),
    **dict.fromkeys(("parencite", "autocite", "textcite", "footcite"), "*[[{"),
}
_CODE = re.compile(r"(?:[vV]erbatim|lstlisting|minted|comment|tikzpicture|filecontents|alltt|thebibliography)\*?")
_MATH = re.compile(r"(?:equation|align|gather|multline|eqnarray|math|displaymath|flalign|alignat)\*?")
# Environments whose arguments are titles, and those that have none; a title and a setting, such as a length, of others.
_BOXES = re.compile("frame|(?:alert|example)?block")
_WITHOUT_ARGUMENTS = re.compile(
    "document|abstract|center|flush(?:left|right)|quot(?:e|ation)|verse|itemize|enumerate|description|titlepage|table|figure"
    "|landscape|sloppypar|small|footnotesize"
)
_TITLE = re.compile(r"\{\s*[^\W\d_a-z][^\W\d_]{2}")
_SETTING = re.compile(r"\{(?:\s*[-\d.][^{}]*|[^{}\s]*)\}")
_OPTIONS = re.compile(r"(?:<[^<>]*>|\[[^\[\]]*\])+")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SIGNS = {"~": "\u00a0", "--": "\u2013", "---": "\u2014", "``": "\u201c", "''": "\u201d"}
# Ligatures that every font has; and what begins a comment, a macro or a formula otherwise.
_WRITTEN = {"\u00a0": "~", "\u2013": "--", "\u2014": "---", "\u201c": "``", "\u201d": "''", "\u201e": ",,"} | {
    **{sign: f"\\{sign}" for sign in "%&$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
}
# Shorthands of babel for German: letters, quotation marks, and places where a word may or may not be divided.
_SHORTHAND = re.compile('"([aouAOUeEiIszSZ`\'<>=~|"-]|(?=[cfklmnprtCFKLMNPRT/]))')
_SHORT = {
    **dict(
        zip("aouAOUeEiIszSZ", ("ä", "ö", "ü", "Ä", "Ö", "Ü", "ë", "Ë", "ï", "Ï", "ß", "ß", "SS", "SZ"), strict=True)
    ),
    **{"`": "\u201e", "'": "\u201c", "<": "\u00ab", ">": "\u00bb", "=": "-", "~": "-"},
}
_HAS_SHORTHANDS = re.compile(
    r"\\(?:documentclass|usepackage)\s*\[[^\]]{0,999}?(?:german|austrian)\b|\\usepackage\s*\{n?german\}"
)
_USES_SHORTHANDS = re.compile(r"\"`|[^\W\d_]\"[aouAOUs][a-z]")  # in a chapter, which has no preamble
_BABEL = re.compile(
    r"\\usepackage\s*\[([^\]]{0,999})\]\s*\{(?:babel|polyglossia)\}|\\documentclass\s*\[([^\]]{0,999})\]"
)
_END = "\n%"  # added for pylatexenc, which expects that something follows a macro
_ENCODING = re.compile(rb"^[^%\n]*\\usepackage\s*\[\s*(\w+)\s*\]\s*\{inputenc\}", re.MULTILINE)
_ENCODINGS = {"latin1": "iso-8859-1", "ansinew": "cp1252", "latin9": "iso-8859-15", "applemac": "mac-roman"}


@dataclass
class _Item:
    """A part of a paragraph.

    Attributes:
        text: what it says; "" for what is kept.
        kind: of what is kept: "open", "close", "point" or "object".
        pair: number of a pair.
    """

    start: int
    stop: int
    text: str = ""
    kind: str = ""
    pair: int = 0


@dataclass(frozen=True)
class _Paragraph(Plain):
    """A paragraph as it is translated; a translation is written with the escapes of LaTeX."""

    ascii_only: bool = False
    is_german: bool = False

    def restored(self, translation: str) -> str:
        """Return a translation in LaTeX; UnwritableError if it lost a part that is kept."""
        if translation == self.text:
            return self.source
        if lost := [code for tag, code in self.held.items() if translation.count(tag) != 1]:
            raise UnwritableError(f"does not have {lost[0]!r} exactly once")
        for tag in self.held:  # as before a reference: see Figure~1
            if f"\u00a0{tag}" in self.text:
                translation = translation.replace(f" {tag}", f"\u00a0{tag}")
        pattern = "|".join(map(re.escape, self.held)) or r"(?!)"
        parts = re.split(f"({pattern})", translation)
        written = ""
        for n, part in enumerate(parts):
            new = self.held[part] if n % 2 else self._escaped(part)
            is_longer = re.search(r"\\[A-Za-z]+\Z", written) and new[:1].isalpha()  # a letter would be of the macro
            written += ("{}" if is_longer else "") + new
        return written

    def _escaped(self, text: str) -> str:
        signs = _WRITTEN | ({'"': "''"} if self.is_german else {})
        written = "".join(signs.get(c, c) for c in re.sub(r"\n\s*\n", "\n", text))
        if not self.ascii_only or written.isascii():
            return written
        encode = optional_package("pylatexenc.latexencode", "latex").unicode_to_latex
        return "".join(c if c.isascii() else str(encode(c, non_ascii_only=True)) for c in written)


@dataclass
class _Reader:
    """Collects the paragraphs of a file, whose parts are read in order."""

    file: Text
    tag: str
    to_text: Any
    is_ascii: bool
    is_german: bool  # whether the translation is
    has_shorthands: bool
    own_fonts: frozenset[str]  # macros that the file defines, which show their argument as text
    values: list[Value] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    n_pairs: int = 0

    @property
    def text(self) -> str:
        return self.file.text

    def nodes(self, nodes: Sequence[Node]) -> None:
        """Read the nodes of a list."""
        n = 0
        while n < len(nodes):
            node = nodes[n]
            n += 1
            if node is None:
                continue
            stop = node.pos + node.len
            if _is(node, "LatexMacroNode"):
                given = _arguments(node)
                while n < len(nodes) and _is_argument(node, nodes[n], stop):
                    given.append(nodes[n])
                    stop = nodes[n].pos + nodes[n].len
                    n += 1
                self._macro(node, stop, given)
            else:
                self._other(node, stop)

    def end(self) -> None:
        """End the paragraph, and keep its text."""
        items, held = self.items, self.held
        self.items, self.held = [], []
        if value := _value(self.file, items, held, self.tag, self.is_ascii, self.is_german):
            self.values.append(value)

    def _keep(self, start: int, stop: int, kind: str, pair: int = 0) -> None:
        self.items.append(_Item(start, min(stop, len(self.text)), "", kind, pair))

    def _say(self, start: int, stop: int, text: str) -> None:
        if self.has_shorthands:
            text = _SHORTHAND.sub(lambda match: _SHORT.get(match[1], ""), text)
        self.items.append(_Item(start, min(stop, len(self.text)), text))

    def _other(self, node: Node, stop: int) -> None:
        if _is(node, "LatexCharsNode"):
            self._words(node.pos, stop)
        elif _is(node, "LatexCommentNode"):
            self._keep(node.pos, stop, "point")
            if node.comment_post_space.count("\n") > 1:
                self.end()
        elif _is(node, "LatexGroupNode") and node.nodelist and all(map(_is_letter, node.nodelist)):
            self._say(node.pos, stop, self._read(node.nodelist))
        elif _is(node, "LatexGroupNode"):
            first = node.nodelist[0] if node.nodelist else None
            declares = first is not None and _is(first, "LatexMacroNode") and _DECLARATIONS.fullmatch(first.macroname)
            inside = first.pos + first.len if first is not None and declares else node.pos + 1
            self._pair(node.pos, inside, node.nodelist[1:] if declares else node.nodelist, stop - 1, stop)
        elif _is(node, "LatexSpecialsNode"):
            if node.specials_chars in _SIGNS:
                self._say(node.pos, stop, _SIGNS[node.specials_chars])
            elif node.specials_chars in ("&", "\n\n"):
                self.end()
            else:
                self._say(node.pos, stop, self.text[node.pos : stop])
        elif _is(node, "LatexEnvironmentNode"):
            self._environment(node, stop)
        else:
            self._keep(node.pos, stop, "object")  # a formula

    def _words(self, start: int, stop: int) -> None:
        """Read letters, which may end a paragraph."""
        stop = min(stop, len(self.text))
        for line_break in _PARAGRAPH.finditer(self.text, start, stop):
            self._say(start, line_break.start(), self.text[start : line_break.start()])
            self.end()
            start = line_break.end()
        if start < stop:
            self._say(start, stop, self.text[start:stop])

    def _read(self, letters: Sequence[Node]) -> str:
        return str(self.to_text.nodelist_to_text(letters)).strip()

    def _pair(self, start: int, inside: int, nodes: Sequence[Node], outside: int, stop: int) -> None:
        self.n_pairs += 1
        pair = self.n_pairs
        self._keep(start, inside, "open", pair)
        self.nodes(nodes)
        self._keep(outside, stop, "close", pair)

    def _macro(self, node: Node, stop: int, given: Sequence[Node]) -> None:
        """Read a macro and its arguments."""
        name, last = node.macroname, given[-1] if given else None
        if _ENDS.fullmatch(name) or _BLOCKS.fullmatch(name):
            self.end()
            for one in given if _BLOCKS.fullmatch(name) or name == "item" else ():
                self.nodes(one.nodelist)
                self.end()
        elif last and (
            _FONTS.fullmatch(name)
            or (name in self.own_fonts and len(given) == 1)
            or (_SECOND.fullmatch(name) and len(given) > 1)
        ):
            self._pair(node.pos, last.pos + 1, last.nodelist, last.pos + last.len - 1, stop)
        elif last and _NOTES.fullmatch(name):
            self._keep(node.pos, stop, "point")
            self.held.append((node.pos, stop))
            outer = self.items, self.held
            self.items, self.held = [], []
            self.nodes(last.nodelist)
            self.end()
            self.items, self.held = outer
        elif _POINTS.fullmatch(name) or _DECLARATIONS.fullmatch(name):
            self._keep(node.pos, stop, "point")
        elif name in _SPACES or name in "%&$#_{}":
            self._say(node.pos, stop, _SPACES.get(name, name))
        elif _LETTERS.fullmatch(name):
            self._say(node.pos, stop, self._read([node]))
        else:
            self._keep(node.pos, stop, "object")

    def _environment(self, node: Node, stop: int) -> None:
        name = node.environmentname
        if _MATH.fullmatch(name):
            self._keep(node.pos, stop, "object")
            return
        self.end()
        if _CODE.fullmatch(name):
            return
        nodes = [one for one in node.nodelist if one is not None]
        start = self.text.index("}", node.pos) + 1
        if _BOXES.fullmatch(name) and (options := _OPTIONS.match(self.text, start)) and nodes:
            start = options.end()
            if nodes[0].pos < start <= nodes[0].pos + nodes[0].len:
                first = nodes.pop(0)
                self._words(start, first.pos + first.len)
        while nodes and nodes[0].pos == start and _is(nodes[0], "LatexGroupNode"):
            is_title = _BOXES.fullmatch(name) or _TITLE.match(self.text, start)
            if _WITHOUT_ARGUMENTS.fullmatch(name) or not (is_title or _SETTING.match(self.text, start)):
                break
            argument = nodes.pop(0)
            if is_title:
                self.nodes(argument.nodelist)
                self.end()
            start = argument.pos + argument.len
        self.nodes(nodes)
        self.end()


def _own_fonts(text: str) -> frozenset[str]:
    """Return the macros of a file with one argument that is text in their definitions, as in emph{#1}."""
    found = [(match[1] or match[2], match[3]) for match in _DEFINITION.finditer(text)]
    return frozenset(name for name, body in found if "#1" in body and all(_are_shown(body)))


def _are_shown(body: str) -> Iterator[bool]:
    """Yield for each place of the argument in the body of a macro whether it is text there, or in an index."""
    for place in re.finditer("#1", body):
        opened = list[int]()
        for brace in re.finditer(r"(?<!\\)[{}]", body[: place.start()]):
            if brace[0] == "{":
                opened.append(brace.end())
            elif opened:
                opened.pop()
        around = [match for end in opened if (match := _OPENS.search(body[:end]))]
        yield all(
            macro[1] == "index" or _FONTS.fullmatch(macro[1]) or (_SECOND.fullmatch(macro[1]) and "{" in macro[2])
            for macro in around
        )


def _is(node: Node, kind: str) -> bool:
    return type(node).__name__ == kind


def _is_letter(node: Node) -> bool:
    """Return whether a node is a letter by a macro, around which {} says nothing."""
    return _is(node, "LatexMacroNode") and _LETTERS.fullmatch(node.macroname) is not None


def _arguments(node: Node) -> list[Node]:
    """Return the arguments of a macro that are groups."""
    found = node.nodeargd.argnlist if node.nodeargd and node.nodeargd.argnlist else []
    return [one for one in found if one is not None and _is(one, "LatexGroupNode")]


def _is_argument(node: Node, other: Node, stop: int) -> bool:
    """Return whether a group directly after a macro may be its argument, as pylatexenc does not know the macro."""
    if other is None or other.pos != stop or not _is(other, "LatexGroupNode") or node.macro_post_space:
        return False
    if _ALONE.fullmatch(node.macroname):
        return not other.nodelist
    return not (node.nodeargd and node.nodeargd.argnlist) and not _DECLARATIONS.fullmatch(node.macroname)


def _value(
    file: Text, items: Sequence[_Item], holds: Sequence[Span], tag: str, is_ascii: bool, is_german: bool
) -> Value | None:
    """Return the value of a paragraph between what is kept at its ends; None if it has no words."""
    partners = _partners(items)
    first, last = 0, len(items)
    while first < last:
        start, stop = items[first], items[last - 1]
        if start.kind == "open" and partners.get(first) == last - 1:
            first, last = first + 1, last - 1
        elif _is_outside(start) or (start.kind in ("open", "close") and first not in partners):
            first += 1
        elif _is_outside(stop) or (stop.kind in ("open", "close") and last - 1 not in partners):
            last -= 1
        else:
            break
    inner = items[first:last]
    if not any(re.search(r"[^\W\d_]", item.text) for item in inner):
        return None
    shown, held = list[str](), dict[str, str]()
    for n, item in enumerate(inner, start=1):
        raw = file.text[item.start : item.stop]
        if not item.kind:
            shown.append(re.sub(r"[ \t]*\n[ \t]*", "\n", item.text))
            continue
        partner = partners.get(n - 1 + first)
        if item.kind == "object":
            name = f"<{tag}{n}/>"
        elif partner is None:
            name = f"<{tag}{n}></{tag}{n}>"
        else:
            name = f"<{tag}{n}>" if item.kind == "open" else f"</{tag}{partner - first + 1}>"
        held[name] = raw
        shown.append(name)
    text = "".join(shown)
    source = file.text[inner[0].start : inner[-1].stop]
    begin = inner[0].start + (len(source) - len(source.lstrip()) if text[0].isspace() else 0)
    end = inner[-1].stop - (len(source) - len(source.rstrip()) if text[-1].isspace() else 0)
    body = _Paragraph(file.text[begin:end], text.strip(), held, lambda text: [], is_ascii, is_german)
    within = [(a, b) for a, b in holds if begin <= a and b <= end]
    return Value(begin, end, body, str, file.line_of(begin), within, wrapped=True)


def _is_outside(item: _Item) -> bool:
    return item.kind == "point" or (not item.kind and not item.text.strip())


def _partners(items: Sequence[_Item]) -> dict[int, int]:
    """Return the number of the other mark of each pair that is whole."""
    opened, found = dict[int, int](), dict[int, int]()
    for n, item in enumerate(items):
        if item.kind == "open":
            opened[item.pair] = n
        elif item.kind == "close" and item.pair in opened:
            found |= {opened[item.pair]: n, n: opened[item.pair]}
    return found


def read(data: bytes, reading: Reading) -> Values:
    """Divide a file."""
    walker = optional_package("pylatexenc.latexwalker", "latex")
    encoding = _ENCODING.search(data)
    file = Text.read(data, reading, _ENCODINGS.get(encoding[1].decode(), "utf-8") if encoding else "utf-8")
    to_text = optional_package("pylatexenc.latex2text", "latex").LatexNodes2Text()
    is_whole = r"\documentclass" in file.text
    shorthands = (_HAS_SHORTHANDS if is_whole else _USES_SHORTHANDS).search(file.text)
    reader = _Reader(
        file,
        tag_name(file.text),
        to_text,
        file.text.isascii(),
        is_german=reading.is_target("de"),
        has_shorthands=shorthands is not None and without_region(reading.source) in ("de", ""),
        own_fonts=_own_fonts(file.text),
    )
    try:
        found = walker.LatexWalker(
            _without_code(file.text) + _END, latex_context=_macros(walker), tolerant_parsing=False
        )
        nodes, _, _ = found.get_latex_nodes()
        whole = [one for one in nodes if _is(one, "LatexEnvironmentNode") and one.environmentname == "document"]
        for title in _titles(nodes) if whole else ():
            reader.nodes([title])
        for one in whole:
            reader.nodes(one.nodelist)
        if not whole:
            reader.nodes(nodes)
        reader.end()
    except walker.LatexWalkerParseError as error:
        place = error.lineno if error.lineno else 1
        what = str(error.msg).split("\n")[0].rstrip(".")
        raise UserError(f"{reading.name}, line {place}: is not LaTeX that can be read ({what}); correct it") from error
    except RecursionError as error:
        raise UserError(f"{reading.name}: has groups within too many others; divide it") from error
    values = sorted(reader.values, key=lambda value: (value.start, -value.stop))
    return Values(file, reading, values, list(_languages(file, reading)))


def _macros(walker: Any) -> Any:
    """Return the macros that pylatexenc knows, with those of `_KNOWN`."""
    macrospec = optional_package("pylatexenc.macrospec", "latex")
    known = walker.get_default_latex_context_db()
    own = [macrospec.MacroSpec(name, args_parser=arguments) for name, arguments in _KNOWN.items()]
    own.append(macrospec.MacroSpec("lstinline", args_parser=macrospec.VerbatimArgsParser("verb-macro")))
    known.add_context_category("own", macros=own, prepend=True)
    return known


def _without_code(text: str) -> str:
    """Return a text of the same length with "x" for the characters of listings, which need not be LaTeX."""
    parts, place, unclosed = list[str](), 0, set[str]()
    for begin in re.finditer(rf"\\begin\{{({_CODE.pattern})\}}", text):
        if begin.start() < place or begin[1] in unclosed:
            continue
        end = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if end < 0:
            unclosed.add(begin[1])
        else:
            parts += [text[place : begin.end()], "x" * (end - begin.end())]
            place = end
    return "".join([*parts, text[place:]])


def _titles(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the titles of a preamble."""
    for node in nodes:
        if _is(node, "LatexMacroNode") and _TITLES.fullmatch(node.macroname):
            yield node


def _names(code: str) -> list[str]:
    """Return the names of a language in babel and polyglossia, those of its region first; none if it has no file."""
    if (rules := find(code)) is None:
        return []
    named = rules.latex_regions.get(region(code), ())
    return [*dict.fromkeys([*named, *rules.latex, *chain.from_iterable(rules.latex_regions.values())])]


def _languages(file: Text, reading: Reading) -> Iterator[Edit]:
    """Yield the edits of options that name the source language."""
    own, new = _names(reading.source), _names(reading.target)
    for options in _BABEL.finditer(file.text) if own and new and not reading.is_target(reading.source) else ():
        group = 1 if options[1] is not None else 2
        names = [name.strip() for name in options[group].split(",")]
        if any(name in own for name in names):
            rest = [name for name in names if name not in own]
            target = new[0] if region(reading.target) else next((name for name in rest if name in new), new[0])
            changed = [target if name in own else name for name in names if name not in new]
            yield Edit(*options.span(group), ",".join(dict.fromkeys(changed)))
