"""LaTeX: paragraphs, headings, items, captions, notes and cells of tables; pylatexenc finds where they are.

Macros of fonts are formatting around their argument. Formulas, references, code and macros that are not known are
objects with all of their arguments; labels and comments are beside their word. Accents, quotation marks and dashes are
read as letters and signs, and written as the file writes them. Of the preamble only titles are text; options of babel
that name the source language name the target language afterwards, so the shorthands of German, such as "a for a letter
with a diaeresis, are read as letters too, and a quotation mark in a German translation is written as no shorthand.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from translate.documents.document import Reading
from translate.documents.edits import Edit, Plain, Span, Text, UnwritableError, Value, Values, tag_name
from translate.errors import UserError, optional_package
from translate.text.languages import find, region, without_region

Node = Any  # of pylatexenc, which has no types

# Macros: formatting around their argument, or around their last one; formatting until the end of a group.
_FONTS = re.compile(
    "text(?:bf|it|sc|sf|rm|sl|md|up|normal|superscript|subscript|quote)|emph|underline|enquote|[fm]box|makebox"
    "|uu?line|uwave|[sx]out|st|so|ul|caps"
    "|framebox|blockquote|hl|alert|structure|hyperref|makecell|thead|only|uncover|visible|onslide"
)
_SECOND = re.compile(
    "href|(?:text|block)cquote|textcolor|f?colorbox|hyperlink|multicolumn|multirow|raisebox|(?:resize|scale|rotate)box"
)
_DECLARATIONS = re.compile(
    "bf|it|em|sc|sf|rm|sl|(?:bf|md)series|(?:it|sc|sl|up)shape|(?:sf|rm)family|tiny|(?:script|footnote|normal)(?:size)"
    "|small|large|Large|LARGE|huge|Huge"
)
# Texts of their own; notes within a text; what ends a text; what has no width; letters.
_BLOCKS = re.compile(
    "part|chapter|(?:sub){0,2}section|(?:sub)?paragraph|caption|(?:sub|extra)?title|frame(?:sub)?title|abstract|dedication"
    "|date|subject|markright|titlehead|publishers|(?:upp|low)ertitleback"
    "|opening|closing|ps|encl|cv(?:entry|(?:list|double)?item|itemwithcomment|line)"  # of letters and CVs
    "|addpart|addchap|addsec|minisec|subcaption|subfloat|subfigure|epigraph|keywords"
    "|[lcrio](?:head|foot)|mark(?:both|left)|titledquestion"
    "|If|ElsIf|For|ForAll|While|Until|Comment"  # of algorithms
)
# Of which the last argument is such a text.
_LAST_OF_BLOCKS = re.compile("addcontentsline|captionof|newacronym|longnewglossaryentry|fancy(?:head|foot|hf)")
_LAST_OF_SEVERAL = re.compile("newacro|acro(?:def)?")
# Of the preamble.
_TITLES = re.compile(
    "(?:sub|extra)?title|date|subject|dedication|titlehead|publishers|(?:upp|low)ertitleback"
    "|hypersetup|(?:long)?newglossaryentry|newacronym|newacro|acrodef|DeclareAcronym"
    "|[lcrio](?:head|foot)|fancy(?:head|foot|hf)"
)
_NOTES = re.compile("(?:foot|side|margin|end)?note(?:text)?|thanks|marginpar|todo|parbox|nomenclature")
_ENDS = re.compile(
    r"\\|newline|linebreak|par|item|(?:big|med|small)skip|v(?:space|fill)|(?:new|clear)page|pagebreak|maketitle|hline"
    "|(?:top|mid|bottom)rule|tableofcontents|centering|raggedright|appendix|tabularnewline|end(?:first|last)?(?:head|foot)"
    "|q?quad|hfill|dotfill|hrulefill"
    "|(?:bonus)?question|(?:sub){0,2}part|choice|CorrectChoice"  # of exams
    "|Statex?|Else|End(?:If|For|While|Loop|Procedure|Function)|Repeat|Loop|Return|Require|Ensure"  # of algorithms
)
_RULES = re.compile("column|cmidrule|cline|addlinespace|noalign|rowcolor|specialrule")  # these have arguments
_POINTS = re.compile(
    "label|index|hspace|pause|color|selectlanguage|fontsize|(?:no)?indent|protect|no(?:line|page)break|hypertarget"
    "|phantomsection|null"
)
_TABBING = re.compile(r"\\begin\{tabbing\}(?:(?!\\begin\{tabbing\}).)*?\\end\{tabbing\}", re.DOTALL)
_STOP = re.compile(r"\\\\|\\[=<>+'`-]")  # of tabs, and a line break
_LETTERS = re.compile(r"[\"'`^~=.uvHcbdrk]|ss|[oO]|[aA][eE]|[oO][eE]|[aA][aA]|[lLij]|l?dots|text(?:en|em)dash")
# Macros without arguments; {} may follow one.
_ALONE = re.compile(
    rf"(?:{_ENDS.pattern})|(?:{_LETTERS.pattern})|[gf][lr]qq?|[-%&$#_{{}} ,/S]|euro|(?:no)?indent|protect|null"
    "|phantomsection|no(?:line|page)break|pause"
)
# After a macro or the beginning of an environment: an option, also that of a rule, or the slides of beamer it is on.
_OPTION = re.compile(
    r"\[(?:[^\[\]{}\n]|\n(?![ \t]*\n)|\{(?:[^{}]|\{[^{}]*\})*+\})*+\]|\([lr\d.{}a-z]*+\)(?=\{\d)"
    r"|<(?:[\d,+.()@|:a-z -]|\\value\{\w+\})++>"
)


def _setting(keys: str) -> re.Pattern[str]:
    """Return the pattern of a text in an option, or in other settings."""
    sign = r"[^\[\]{}\\$%#&~,\s]+"
    return re.compile(
        rf"[\[{{,]\s*(?:{keys})\s*=\s*(?:\{{(?P<group>[^{{}}\\$%#&~]*)\}}|(?P<plain>{sign}(?:\s+{sign})*))"
    )


_TITLED = _setting("title|subtitle|caption|alt|pdftitle|pdfsubject")
# The levels of an entry of an index, and one that it refers to: house!old|see{garden}; not \texttt{code} or \gls{key}
_SIGN = r"[^{}\\$%#&~!|]"
_INDEXED = re.compile(
    rf"(?:!|(?:\\(?:index\s*+(?:\[[^\[\]]*\])?|{_FONTS.pattern})|\|see(?:also)?)\s*\{{)\s*+"
    rf"(?P<entry>(?={_SIGN}*?[^\W\d_]){_SIGN}++)(?=[!|}}])"
)
_SIGN_OF_INDEX = re.compile(r'[!@|]|(?<!\\)"')  # \"a is a letter
_ENTRY = _setting("name|description|text|plural|first|firstplural|long")  # of a glossary
_DEFINITION = re.compile(
    r"\\(?:(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*(?:\{\s*\\(?P<name>[A-Za-z]+)\s*\}|\\(?P<alone>[A-Za-z]+))"
    r"\s*\[(?P<number>[1-9])\]\s*(?P<default>\[[^\[\]]*\]\s*)?"
    r"|(?:New|Renew|Provide|Declare)DocumentCommand\s*(?:\{\s*\\(?P<new>[A-Za-z]+)\s*\}|\\(?P<new_alone>[A-Za-z]+))"
    r"\s*\{(?P<kinds>[m\s]+)\}\s*)"
    r"\{(?P<body>(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+)\}"
)
_CALLED = re.compile(r"\\([A-Za-z]+|.)|(?P<cell>&)")
# Text in a formula: not the name of a function, and no index.
_IN_FORMULA = re.compile(
    r"(?<![_^{])\\(?:text|mbox|(?:short)?intertext|textnormal)\s*\{(?=[^{}]*?(?:[^\W\d_]{3}|\s[^\W\d_]{2}\s))"
    r"(?P<group>[^{}\\$%]*)\}(?!\s*(?:[(_^\[]|\\left))"
)
# Text in a picture: before the text of a node of TikZ or of an entry of a legend, and in settings of axes.
_BEFORE_NODE = re.compile(
    r"(?:(?:\\node|(?<![\\\w])node)(?![A-Za-z])(?:\s|at\b|\((?:[^()]|\([^()]*\))*+\)|\[(?:[^\[\]]|\[[^\[\]]*\])*+\])*+"
    r"|\\addlegendentry\s*(?:\[[^\[\]]*\]\s*)?)\{(?=[^{}]*(?:\{[^{}]*\}[^{}]*)*?[^\W\d_]{3})"
)
_AXES = _setting("title|[xyz]label")
_COMMENTED = re.compile(r"(?<!\\)%")
_LONGEST_LABEL = 2_000  # characters of the text of a node
# What defines a macro or an environment, up to the groups that say what it stands for, and how many those are.
_DEFINES = re.compile(
    r"\\(?:(?P<two>(?:(?:re)?new|provide)environment|[A-Z][a-z]+DocumentCommand)|(?P<three>[A-Z][a-z]+DocumentEnvironment)"
    r"|(?:(?:re)?new|provide)command|DeclareRobustCommand|[gex]?def)(?![A-Za-z])\*?"
    r"\s*(?:\{[^{}]*\}|\\[A-Za-z@]+|\\.)(?:\s|#\d|\[[^\[\]]*\])*+"
)
_GAP = re.compile(r"(?:\s|%[^\n]*\n)*+")
_BRACE = re.compile(r"\\.|%[^\n]*|(?P<opens>\{)|(?P<closes>\})", re.DOTALL)
# The macro of which an argument begins, at the end of a text.
_OPENS = re.compile(r"\\([A-Za-z]+)\*?((?:\[[^\[\]]*\]|\{[^{}]*\})*)\{\Z")
# Macros that stand for signs.
_SAID = {
    **{" ": " ", ",": "\u202f", "-": "", "/": "", "S": "\u00a7", "euro": "\u20ac"},
    **{"glqq": "\u201e", "grqq": "\u201c", "glq": "\u201a", "grq": "\u2018"},
    **{"flqq": "\u00ab", "frqq": "\u00bb", "flq": "\u2039", "frq": "\u203a"},
}
# Arguments of macros that pylatexenc does not know, as it writes them: a star, an optional and a mandatory argument.
_KNOWN = {
    **dict.fromkeys(("part", "paragraph", "subparagraph", "caption", "addpart", "addchap", "addsec"), "*[{"),
    **dict.fromkeys(("subfloat", "subfigure"), "[{"),
    **dict.fromkeys(("footnotetext", "marginpar", "endnote", "marginnote"), "[{"),
    "sidenote": "[[{",
    **dict.fromkeys(("titlehead", "publishers", "dedication", "extratitle", "uppertitleback", "lowertitleback"), "{"),
    "newacronym": "[{{{",
    **dict.fromkeys(("newglossaryentry", "DeclareAcronym"), "{{"),
    **dict.fromkeys(("newacro", "acrodef"), "{[{"),
    **dict.fromkeys(("fancyhead", "fancyfoot", "fancyhf"), "[{"),
    **dict.fromkeys((f"{side}{place}" for side in "lcrio" for place in ("head", "foot")), "*[{"),
    "enquote": "*{",
    **dict.fromkeys(("question", "bonusquestion", "subpart", "subsubpart"), "["),
    "titledquestion": "{[",
    "longnewglossaryentry": "*{{{",
    **dict.fromkeys(("title", "subtitle", "frametitle", "framesubtitle", "author", "date", "subject"), "[{"),
    **dict.fromkeys(("linebreak", "nolinebreak", "pagebreak", "nopagebreak"), "["),
    **dict.fromkeys(("parencite", "autocite", "textcite", "footcite"), "*[[{"),
}
_CODE = re.compile(
    r"(?:[vV]erbatim|lstlisting|minted|comment|filecontents|alltt|thebibliography"
    r"|tikzpicture|tikzcd|circuitikz|forest|ps(?:tricks|picture)|picture|ganttchart|bytefield|asy(?:def)?|dot2tex|gnuplot"
    r"|luacode|py(?:code|block|console|sub)|sage(?:block|silent|verbatim|example)|tcblisting|prooftree|dependency)\*?"
)
_DECLARED_CODE = re.compile(
    r"\\(?:(?:Define|(?:Rec|C)ustom)VerbatimEnvironment|lstnewenvironment|(?:re)?newtcblisting)\*?\s*"
    r"(?:\[[^\[\]]*\]\s*)?\{(\w+)\}"
)
# Macros for code in a line, whatever sign is around it, and definitions of others.
_CODE_IN_LINE = r"(?:lstinline|Verb|mintinline\s*\{[\w+-]+\}|mint\s*\{[\w+-]+\}%s)(?![A-Za-z])\*?(?:\[[^\[\]\n]*\])?"
_IN_SIGNS = r"(?:\{(?:[^{}]|\{[^{}]*+\})*+\}|(?P<sign>[^\sA-Za-z\d*\[\]{}\\])[^\n]*?(?P=sign))"
_DECLARED_CODE_IN_LINE = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand)\*?\s*\{?\\([A-Za-z]+)\}?\s*\{\s*\\(?:Verb|lstinline)(?![A-Za-z])"
)
_MATH = re.compile(r"(?:equation|align|gather|multline|eqnarray|math|displaymath|flalign|alignat)\*?")
# Environments whose arguments are titles, whose option is one, which have settings alone, and which have none; a title
# and a setting, such as a length, of others.
_BOXES = re.compile("frame|(?:alert|example)?block")
_THEOREMS = re.compile(
    "theorem|lemma|corollary|proposition|definition|example|remark|proof|claim|conjecture|axiom|exercise|note"
    "|satz|beweis|korollar|folgerung|beispiel|bemerkung|aufgabe",
    re.IGNORECASE,
)
_DECLARED_THEOREM = re.compile(r"\\(?:newtheorem|declaretheorem)\*?\s*(?:\[[^\[\]]*\]\s*)?\{(\w+)\}")
_TABLES = re.compile(r".*tab(?:le|ular|u).*|.*tblr.*|tabbing")
_WITHOUT_ARGUMENTS = re.compile(
    "document|abstract|center|flush(?:left|right)|quot(?:e|ation)|verse|itemize|enumerate|description|titlepage|table|figure"
    "|landscape|sloppypar|small|footnotesize"
)
_TITLE = re.compile(r"\{\s*[^\W\d_a-z][^\W\d_]{2}")
_SETTING = re.compile(r"\{(?:\s*[-\d.][^{}]*|[^{}\s]*)\}")
_ENDS_IN_MACRO = re.compile(r"\\[A-Za-z]+\Z")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SIGNS = {"~": "\u00a0", "--": "\u2013", "---": "\u2014", "``": "\u201c", "''": "\u201d"}
# Ligatures that every font has; and what begins a comment, a macro or a formula otherwise.
_WRITTEN = {
    "\u00a0": "~",
    "\u202f": "\\,",
    "\u2013": "--",
    "\u2014": "---",
    "\u201c": "``",
    "\u201d": "''",
    "\u201e": ",,",
} | {
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
        pattern = "|".join(map(re.escape, self.held)) or r"(?!)"
        parts = re.split(f"({pattern})", translation)
        written = [""]
        for n, part in enumerate(parts):
            new = self.held[part] if n % 2 else self._escaped(part)
            if new and _ENDS_IN_MACRO.search(written[-1]):  # a letter would be of the macro, and a space is not shown
                new = f"{{}}{new}" if new[0].isalpha() else f"\\{new}" if new[0].isspace() else new
            written += [new] if new else []
        return "".join(written)

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
    own: dict[str, "_Own"]  # macros that the file defines, which show arguments as text
    theorems: frozenset[str]  # environments that the file declares, whose option is a title
    code: re.Pattern[str]  # the names of environments with code
    walk: Callable[[str], Any]  # returns the walker of a text, which may raise `parse_error`
    walker: Any
    parse_error: type[Exception]
    values: list[Value] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    n_pairs: int = 0
    is_tabbing: bool = False  # whether \> is a stop of tabs; see `_with_stops`

    @property
    def text(self) -> str:
        return self.file.text

    def nodes(self, nodes: Sequence[Node], start: int = 0) -> None:
        """Read the nodes of a list, from a place on."""
        n = 0
        while n < len(nodes):
            node = nodes[n]
            n += 1
            if node is None or node.pos + node.len <= start:
                continue
            stop = node.pos + node.len
            if node.pos < start:
                self._words(start, stop)
            elif _is(node, "LatexMacroNode"):
                given, start = self._given(nodes, n - 1)
                self._macro(node, start, given)
                if _ENDS.fullmatch(node.macroname) and (letter := _bare_argument(node)):  # as in \\part of an exam
                    self._words(letter.pos, stop)
            else:
                self._other(node, stop)

    def _given(self, nodes: Sequence[Node], n: int) -> tuple[list[Node], int]:
        """Return the arguments of a macro that are groups, and where the last one ends; few macros are known.

        Args:
            n: number of the macro among the nodes.
        """
        node = nodes[n]
        given, stop = _arguments(node), node.pos + node.len
        slides = _OPTION.match(self.text, node.pos + 1 + len(node.macroname))
        if slides and slides[0].startswith("<"):  # the sign was taken for an argument
            given, stop = [], slides.end()
        elif node.macro_post_space or (node.nodeargd and node.nodeargd.argnlist):
            return given, stop
        for other in (nodes[i] for i in range(n + 1, len(nodes))):
            if other is None or other.pos + other.len <= stop:
                continue
            while not _ALONE.fullmatch(node.macroname) and (option := _OPTION.match(self.text, stop)):
                stop = option.end()
            if other.pos + other.len <= stop:  # part of an option
                continue
            if other.pos != stop or not _is(other, "LatexGroupNode") or not _may_have(node, other):
                break
            given.append(other)
            stop += other.len
        return given, stop

    def end(self, encode: Callable[[str], str] = str) -> None:
        """End the paragraph, and keep its text."""
        items, held = self.items, self.held
        self.items, self.held = [], []
        if value := _value(self.file, items, held, self.tag, self.is_ascii, self.is_german):
            self.values.append(replace(value, encode=encode))

    def _beside(
        self, start: int, stop: int, texts: Sequence[Sequence[Node]] = (), settings: re.Pattern[str] = _TITLED
    ) -> None:
        """Read the texts in a part of a paragraph that is kept: nodes, or titles in options and other settings."""
        outer, n_values = (self.items, self.held), len(self.values)
        self.items, self.held = [], []
        for nodes in texts:
            self.nodes(nodes)
            self.end()
        for title in [] if texts else settings.finditer(self.text, start, stop):
            self._words(*title.span(title.lastgroup or 0))
            self.end(_ENCODED.get(title.lastgroup or "", str))
        self.items, self.held = outer
        self.held += [(start, stop)] * (len(self.values) > n_values)

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
            self._formula(node.pos, stop)

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
        if self.is_tabbing and name == ">":
            self.end()
            self.nodes(given)  # no arguments
            return
        is_last = _LAST_OF_BLOCKS.fullmatch(name) or (_LAST_OF_SEVERAL.fullmatch(name) and len(given) > 1)
        is_end = _ENDS.fullmatch(name) and name not in self.own
        if is_last or is_end or any(kind.fullmatch(name) for kind in (_BLOCKS, _RULES)):
            self.end()
            for one in given[-1:] if is_last else given if _BLOCKS.fullmatch(name) or name == "item" else ():
                self.nodes(one.nodelist)
                self.end()
        elif name == "texorpdfstring" and len(given) > 1:
            inside, outside = given[0].pos + 1, given[0].pos + given[0].len - 1
            self._pair(node.pos, inside, given[0].nodelist, outside, stop)
            self._beside(outside, stop, [given[1].nodelist])
        elif last and (_FONTS.fullmatch(name) or (_SECOND.fullmatch(name) and len(given) > 1)):
            self._pair(node.pos, last.pos + 1, last.nodelist, last.pos + last.len - 1, stop)
        elif name in self.own and (shown := self.own[name].texts(node)):
            self._own_macro(node, stop, shown)
        elif last and _NOTES.fullmatch(name):
            self._keep(node.pos, stop, "point")
            self._beside(node.pos, stop, [last.nodelist])
        elif _POINTS.fullmatch(name) or _DECLARATIONS.fullmatch(name):
            self._keep(node.pos, stop, "point")
            # With @ it has a key to sort by.
            if name == "index" and not re.search(r'[@"]|\\verb', self.text[node.pos : stop]):
                self._beside(node.pos, stop, settings=_INDEXED)
        elif name in _SAID or name in "%&$#_{}":
            self._say(node.pos, stop, _SAID.get(name, name))
        elif _LETTERS.fullmatch(name):
            self._say(node.pos, stop, self._read([node]) or ("" if name.isalpha() else name))  # \^{} is the sign
        else:
            self._keep(node.pos, stop, "object")
            self._beside(node.pos, stop, settings=_ENTRY if name in ("newglossaryentry", "DeclareAcronym") else _TITLED)

    def _own_macro(self, node: Node, stop: int, shown: Sequence[Node]) -> None:
        """Read a macro that the file defines: formatting around one argument, or an object with several texts in it."""
        if self.own[node.macroname].divides:
            self.end()
            for one in shown:
                self.nodes(one.nodelist)
                self.end()
        elif len(shown) == 1:
            (one,) = shown
            self._pair(node.pos, one.pos + 1, one.nodelist, one.pos + one.len - 1, stop)
        else:
            self._keep(node.pos, stop, "object")
            self._beside(node.pos, stop, [one.nodelist for one in shown])

    def _formula(self, start: int, stop: int) -> None:
        self._keep(start, stop, "object")
        self._beside(start, stop, settings=_IN_FORMULA)

    def _environment(self, node: Node, stop: int) -> None:
        name = node.environmentname
        if _MATH.fullmatch(name):
            self._formula(node.pos, stop)
            return
        self.end()
        start = self.text.index("}", node.pos) + 1
        nodes = [] if self.code.fullmatch(name) else [one for one in node.nodelist if one is not None]
        while not _WITHOUT_ARGUMENTS.fullmatch(name):
            group = next((one for one in nodes if one.pos == start and _is(one, "LatexGroupNode")), None)
            is_title = not _TABLES.fullmatch(name) and (_BOXES.fullmatch(name) or _TITLE.match(self.text, start))
            if option := _OPTION.match(self.text, start):
                self._option(name, option)
                start = option.end()
            elif group and (is_title or _TABLES.fullmatch(name) or _SETTING.match(self.text, start)):
                self.nodes(group.nodelist if is_title else [])
                self.end()
                start += group.len
            else:
                break
        if name in ("tikzpicture", "circuitikz"):
            self._picture(start, stop)
        outer, self.is_tabbing = self.is_tabbing, name == "tabbing"
        self.nodes(nodes, start)
        self.end()
        self.is_tabbing = outer

    def _picture(self, start: int, stop: int) -> None:
        """Read the texts of a picture of TikZ."""
        place = start
        for before in _BEFORE_NODE.finditer(self.text, start, stop):
            line = self.text[self.text.rfind("\n", start, before.start()) + 1 : before.start()]
            if before.start() < place or _COMMENTED.search(line):  # in a node, or a comment
                continue
            end = self._end_of_label(before.end())
            if nodes := self._inside(before.end(), end):
                self._beside(place, before.end(), settings=_AXES)
                self.nodes(nodes)
                self.end()
                place = end
        self._beside(place, stop, settings=_AXES)

    def _end_of_label(self, start: int) -> int:
        """Return where the group of a label ends whose text begins at a place; before that if it is too long."""
        return start - 1 + _end_of_group(self.text[start - 1 : start + _LONGEST_LABEL], 0)

    def _inside(self, start: int, end: int) -> list[Node]:
        """Return the nodes of a group in a picture; none if it is not LaTeX that can be read."""
        nodes: list[Node] = []
        with contextlib.suppress(self.parse_error):
            nodes, _, _ = self.walk(self.text[:end]).get_latex_nodes(start, stop_upon_closing_brace="}")
        return nodes

    def _option(self, name: str, option: re.Match[str]) -> None:
        """Read the option of an environment: a title, or settings with titles in them."""
        if option[0].startswith("[") and (_THEOREMS.fullmatch(name) or name in self.theorems):
            nodes, _, _ = self.walker.get_latex_nodes(option.start() + 1, stop_upon_closing_brace="]")
            self.nodes(nodes)
            self.end()
        else:
            self._beside(*option.span())


def _in_braces(text: str) -> str:
    """Return a value of an option; in braces if it would end before its end."""
    return "{" + text + "}" if re.search(r"[,=\[\]]", text) else text


def _in_index(text: str) -> str:
    """Return a level of an entry of an index, with its signs escaped."""
    return _SIGN_OF_INDEX.sub(r'"\g<0>', text)


_ENCODED: Mapping[str, Callable[[str], str]] = {"plain": _in_braces, "entry": _in_index}  # by the groups of settings


@dataclass(frozen=True)
class _Own:
    """A macro that the file defines.

    Attributes:
        arguments: as pylatexenc writes them.
        shown: numbers of those that its definition shows as text, from 0.
        divides: whether it ends a paragraph, so that each is a text of its own.
    """

    arguments: str
    shown: Sequence[int]
    divides: bool

    def texts(self, node: Node) -> list[Node]:
        """Return the arguments that are text."""
        given = node.nodeargd.argnlist if node.nodeargd and node.nodeargd.argnlist else []
        found = [given[n] for n in self.shown if n < len(given)]
        return [one for one in found if one is not None and _is(one, "LatexGroupNode")]


def _own_macros(text: str) -> dict[str, _Own]:
    """Return the macros of a file with arguments that are text in their definitions, as in emph{#1}."""
    found = dict[str, _Own]()
    for match in _DEFINITION.finditer(text):
        name = match["name"] or match["alone"] or match["new"] or match["new_alone"]
        number, body = int(match["number"] or match["kinds"].count("m")), match["body"]
        shown = [n for n in range(number) if f"#{n + 1}" in body and all(_are_shown(body, f"#{n + 1}"))]
        divides = any(
            call["cell"] or _ENDS.fullmatch(call[1]) or _BLOCKS.fullmatch(call[1]) for call in _CALLED.finditer(body)
        )
        if shown:
            found[name] = _Own("[" * bool(match["default"]) + "{" * (number - bool(match["default"])), shown, divides)
    return found


def _are_shown(body: str, argument: str) -> Iterator[bool]:
    """Yield for each place of an argument in the body of a macro whether it is text there, or in an index."""
    for place in re.finditer(argument, body):
        opened = list[int]()
        for brace in re.finditer(r"(?<!\\)[{}]", body[: place.start()]):
            if brace[0] == "{":
                opened.append(brace.end())
            elif opened:
                opened.pop()
        around = [match for end in opened if (match := _OPENS.search(body[:end]))]
        yield all(
            macro[1] == "index"
            or any(kind.fullmatch(macro[1]) for kind in (_FONTS, _BLOCKS, _NOTES))
            or (_SECOND.fullmatch(macro[1]) and "{" in macro[2])
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


def _bare_argument(node: Node) -> Node | None:
    """Return the last argument of a macro if it is a letter without braces."""
    last = node.nodeargd.argnlist[-1] if node.nodeargd and node.nodeargd.argnlist else None
    return last if last is not None and _is(last, "LatexCharsNode") and last.chars.isalnum() else None


def _may_have(node: Node, group: Node) -> bool:
    """Return whether a group directly after a macro may be its argument."""
    if _ALONE.fullmatch(node.macroname):
        return not group.nodelist
    return not _DECLARATIONS.fullmatch(node.macroname)


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
    code = re.compile("|".join([_CODE.pattern, *_DECLARED_CODE.findall(file.text)]))
    own = _own_macros(file.text)
    walk = partial(walker.LatexWalker, latex_context=_macros(walker, own), tolerant_parsing=False)
    reader = _Reader(
        file,
        tag_name(file.text),
        to_text,
        file.text.isascii(),
        is_german=reading.is_target("de"),
        has_shorthands=shorthands is not None and without_region(reading.source) in ("de", ""),
        own=own,
        theorems=frozenset(_DECLARED_THEOREM.findall(file.text)),
        code=code,
        walk=walk,
        walker=walk(_with_stops(_without_definitions(_without_code(file.text, code))) + _END),
        parse_error=walker.LatexWalkerParseError,
    )
    try:
        nodes, _, _ = reader.walker.get_latex_nodes()
        whole = [one for one in nodes if _is(one, "LatexEnvironmentNode") and one.environmentname == "document"]
        for title in _titles(nodes) if whole else ():
            reader.nodes([title])
            reader.end()
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


def _macros(walker: Any, defined: Mapping[str, _Own]) -> Any:
    """Return the macros that pylatexenc knows, with those of `_KNOWN` and of the file."""
    macrospec = optional_package("pylatexenc.macrospec", "latex")
    known = walker.get_default_latex_context_db()
    own = [macrospec.MacroSpec(name, args_parser=arguments) for name, arguments in _KNOWN.items()]
    own += [macrospec.MacroSpec(name, args_parser=macro.arguments) for name, macro in defined.items()]
    known.add_context_category("own", macros=own, prepend=True)
    return known


def _without_code(text: str, code: re.Pattern[str]) -> str:
    """Return a text of the same length with "x" for the characters of listings, which need not be LaTeX.

    Args:
        code: matches the names of their environments.
    """
    parts, place, unclosed = list[str](), 0, set[str]()
    for begin in re.finditer(rf"\\begin\{{({code.pattern})\}}", text):
        if begin.start() < place or begin[1] in unclosed:
            continue
        end = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if end < 0:
            unclosed.add(begin[1])
        else:
            parts += [text[place : begin.end()], "x" * (end - begin.end())]
            place = end
    return _without_code_in_lines("".join([*parts, text[place:]]))


def _with_stops(text: str) -> str:
    """Return a text of the same length in which all stops of tabs are one macro; others would be accents of letters."""
    return _TABBING.sub(lambda tabbing: _STOP.sub(_stop, tabbing[0]), text)


def _stop(stop: re.Match[str]) -> str:
    return stop[0] if stop[0] == r"\\" else r"\>"


def _without_code_in_lines(text: str) -> str:
    """Return a text of the same length with a group of "x" for the code in a line."""
    own = "".join(f"|{name}" for name in _DECLARED_CODE_IN_LINE.findall(text))
    macro = re.compile(rf"(\\{_CODE_IN_LINE % own})" + _IN_SIGNS)
    return macro.sub(lambda code: code[1] + "{" + "x" * (len(code[0]) - len(code[1]) - 2) + "}", text)


def _without_definitions(text: str) -> str:
    """Return a text of the same length with "x" for what macros and environments stand for.

    An environment may begin in one argument of a definition and end in another, which pylatexenc does not read.
    """
    parts, end = list[str](), 0
    for definition in _DEFINES.finditer(text):
        place = definition.end()
        for _ in range({"two": 2, "three": 3}.get(definition.lastgroup or "", 1)):
            start = _skipped(text, place)
            place = _end_of_group(text, start)
            if start < end or place == start:
                break
            parts += [text[end : start + 1], "x" * (place - start - 2)]
            end = place - 1
    return "".join([*parts, text[end:]])


def _skipped(text: str, place: int) -> int:
    """Return the place after white space and comments."""
    found = _GAP.match(text, place)
    return found.end() if found else place


def _end_of_group(text: str, start: int) -> int:
    """Return where the group ends that begins at a place; the place itself if none does."""
    depth = 0
    for brace in _BRACE.finditer(text, start) if text[start : start + 1] == "{" else ():
        depth += bool(brace["opens"]) - bool(brace["closes"])
        if not depth and brace["closes"]:
            return brace.end()
    return start


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
