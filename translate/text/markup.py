"""Markdown and HTML as pieces to translate and pieces to copy.

    Markdown   paragraphs and strings of front matter that people read are translated; code, other front matter, rules
               of tables and marks of blocks are copied
    MDX        as Markdown; imports, exports and expressions are copied
    HTML       text is translated, also in drawings; comments, scripts, code and translate="no" are copied, but for
               translate="yes" in it, and tags, but for attributes that people see or hear

In HTML a run of text and inline tags is one piece, so a sentence stays whole; its tags and the code in it are
placeholders. Tags need not match, and no mistake in the page is corrected.
"""

import functools
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal

from translate.text import grids
from translate.text.headings import Headings, links
from translate.text.placeholders import (
    BBCODE,
    END_OF_LINK,
    EXPRESSION,
    FORMULA,
    INLINE_NOTE,
    KEPT_ELEMENT,
    NOT_TRANSLATED,
    PICTURE,
    PLACEHOLDER,
    READ_KEYS,
    ROLE,
    SHORTCODE,
    SPAN_ATTRIBUTES,
    TRANSLATED,
    WIKI_LINK,
    block_spans,
    branches,
    signed,
)
from translate.text.references import References
from translate.text.sentences import Piece, pieces

if TYPE_CHECKING:
    from translate.text.scalars import Syntax


def paragraph(text: str) -> list[Piece]:
    """Return the text as one piece to translate; white space around it is copied."""
    return pieces(text, [(0, len(text))])


# The sign of a form for all genders, as in Leser*innen or jede\*r, which is no emphasis unless a mark of it stands
# before the word.
_INCLUSIVE = (
    r"(?:(?<=\w)|(?<=\w\\))"
    + "".join(rf"(?<!(?<!\*)\*\w{{{n}}})" for n in range(1, 40))
    + r"\\?[*:_](?:innen|INNEN|(?:in|e|e?[rnms]|die|de[rnms]|zu[mr]|sie|ih[nm]|(?:ihr|sein)(?:e[rnms]?)?)(?!\w))"
    + r"(?!\*(?:[^*]|\Z))"
)


_VALUE = rf"\"[^\"]*+\"|'[^']*+'|{EXPRESSION}|[^\s\"'=<>`{{}}]++"
# Of HTML or JSX, on one line or several.
_TAG = rf"</?[A-Za-z][\w:.-]*+(?:\s++(?:[\w:.@-]++(?:\s*+=\s*+(?:{_VALUE}))?+|{EXPRESSION}))*+\s*+/?>"
# Formulas in \(...\) and \[...\], where a bracket may also be one of the text, and macros of LaTeX.
_BRACKETED = "|".join(
    rf"\\{opens}(?=\s?\w{{1,2}}\s?\\{closes}|{inside}*?(?:\\[A-Za-z]|[=^]|_[\w{{])){inside}+\\{closes}"
    for opens, closes, inside in ((r"\(", r"\)", r"(?:(?!\\[()])[^\n])"), (r"\[", r"\]", r"(?:(?!\\[\[\]])[^\n])"))
)
_MACRO = r"(?<![\w\\:])\\[A-Za-z]{2,40}\*?(?:\[[^\[\]\n]{0,200}\]|\{[^{}\s]{0,200}\})*"
_CITED, _LOCATOR = r"-?@[^\s\[\],;]{1,100}", r"[^\W\d_]{0,9}\.? ?\d[\df\u2013. -]{0,20}"  # [@miller, p. 5; -@jones]
# A citation or reference of pandoc and Quarto in a sentence: @miller:2020, @fig-house, @{a key}
_KEY = r"(?<![\w&#@])@(?:\{[^{}\n]{1,100}\}|(?=\w{0,60}[^\W\d_])\w(?:[:.$%&+?<>~/-]?\w){1,99})"
# Keys of PyMdown, ++ctrl+alt+"x"++ and ++enter++; between such marks, other single words are insertions.
_KEY_NAME = r"""(?:[\w-]+|"[^"\n]+"|'[^'\n]+')"""
_SINGLE_KEYS = r"""alt backspace caps-lock cmd command ctrl del delete down end enter esc escape f\d\d? home insert left
meta option page-down page-up right shift space tab up win windows [a-z\d]"""
_KEYS = rf"(?<![\w+])\+\+(?:{_KEY_NAME}(?:\+{_KEY_NAME})+|{'|'.join(_SINGLE_KEYS.split())})\+\+(?![\w+])"
# Of CriticMarkup: deleted words and remarks, {--old--} {>>Why?<<}, and halves of {++new++} {==marked==} {~~old~>new~~}
_CRITIC = (
    r"\{--[^{}\n]{1,1000}?--\}|\{>>[^{}\n]{1,1000}?<<\}|\{\+\+(?=[^{}\n]{1,1000}?\+\+\})|\{==(?=[^{}\n]{1,1000}?==\})"
    r"|\{~~[^{}~\n]{0,200}~>(?=[^{}\n]{1,1000}?~~\})|(?:\+\+|==|~~)\}"
)
# Of emphasis that begins or ends with punctuation: _"Yes."_ _[link](a)_ **_Note:_** _`.txt`_ but not "_", (_), /_/ or
# the function of gettext, _("text").
_LOW_LINES = (
    r"(?<![^\s*(\[])_{1,3}(?=[\"'\[`*<!\u2018-\u201f\u00ab][^\s_]"
    r"|\((?:[^\s_]|(?<=\w)_(?=\w)|\s(?!_)){1,500}_(?![\w(\"'`]))"
    r"|(?:(?<=[^\s_(\[{<=-][.!?:;,)\]\"'`*>\u2018-\u201f\u00bb\u2026])|(?<=\[\]))_{1,3}(?=[\s*.,;:!?)\]]|\Z)"
)
_TAG_WITH_EXPRESSION = rf"(?=<(?:[^<>{{\"']|\"[^\"]*\"|'[^']*')*+\{{){_TAG}"


@functools.cache  # compiling it takes 8 ms, which only Markdown should cost
def markdown() -> re.Pattern[str]:
    """Return the pattern of placeholders within a sentence of Markdown.

    These are tags of JSX, roles of MyST, code, mathematics, comments of Obsidian, citations of pandoc, references whose
    text is their name, notes, changes and remarks, attributes, names of emoji, keys, pictures, links without text, both
    halves of others, and emphasis, also around a single word that would be a constant elsewhere.
    """
    pattern = re.compile(
        f"{_CRITIC}|{_TAG_WITH_EXPRESSION}|{ROLE}"
        + r"|(?<!`)(?P<fence>`{1,3})(?!`)[^\n]+?(?<!`)(?P=fence)(?!`)|"
        + r"(?<![\w$])\${1,2}(?=[^\s$])[^$\n]{1,500}(?<=\S)\${1,2}(?![\w$])|"
        + rf"(?<![\w$])\$\$[^$\n]{{1,500}}\$\$(?![\w$])|{_BRACKETED}|{_MACRO}|"
        + r"(?<![\w%])(?<!\d\s)%%(?!%)(?:[^%\n]|%(?!%)){1,500}%%(?![\w%])|"
        + rf"{INLINE_NOTE}|!?{WIKI_LINK.pattern}|"
        + rf"\[{_CITED}(?:[,;] (?:{_CITED}|{_LOCATOR}))*\](?![(\[])|{_KEY}|"
        + r"!?\[[^\[\]\n]{1,200}\]\[\]|(?<!\w)__(?=[A-Za-z]{0,60}[a-z][A-Za-z]{0,60}__(?!\w))|"
        + PLACEHOLDER.pattern
        + rf"|{_KEYS}"
        + r"|(?:\{ ?[:#.]|(?<=[)\]`])\{)[^{}\n]{1,200}\}|(?<![\w:]):[a-z][a-z\d_+-]{1,40}:(?![\w:])"
        + rf"|{PICTURE}|(?<!\w)\[{END_OF_LINK}(?!\w)"
        + rf"|\[(?=(?:[^\[\]\n]++|\[[^\[\]\n]{{0,200}}\]){{0,9}}\](?:[(\[]|{SPAN_ATTRIBUTES}))"
        + rf"|{END_OF_LINK}"
        + rf"|(?!{_INCLUSIVE})(?:\*{{1,3}}|\\[!-/:-@\[-`{{-~])"
        + rf"|(?<!\w)(?<!\w\\)_{{1,3}}(?=\w)|(?<=\w)_{{1,3}}(?!\w)|{_LOW_LINES}|~~"
        + r"|(?<![=\w])==(?=[^\s=])|(?<=[^\s=])==(?![=\w])",
        re.DOTALL,
    )
    return signed(pattern)


@functools.cache
def mdx() -> re.Pattern[str]:
    """Return the pattern of placeholders within a sentence of MDX: also expressions of JSX."""
    expression = EXPRESSION.replace("[^{}]", r"[^{}\n]")  # outside a tag it may be a brace without a partner
    return signed(re.compile(f"{_TAG_WITH_EXPRESSION}|</?>|{expression}|{markdown().pattern}", re.DOTALL))


QUOTE = re.compile(r"[ \t>]*")  # at the beginning of a line

_FRONT_MATTER = ("---", "+++")  # first lines of YAML and TOML; both may also be a rule
_METADATA = re.compile(r"""\s*(?:["']?[\w.-]+["']?\s*[:=]|[#\[]|---|\.\.\.|\+\+\+)""")  # the line after that
_END_OF_FRONT_MATTER = re.compile(r"(?:---|\.\.\.|\+\+\+)\s*\Z")
_LONGEST_FRONT_MATTER = 2**20  # characters
# A value of front matter that people read, in one line.
_READ_VALUE = re.compile(
    rf"""(?P<before>[ ]*(?:-[ ]+)*)["']?(?P<key>{READ_KEYS})["']?\s*[:=]\s+(?:(?:&[^\s,\[\]{{}}]+|!!str)\s+)*"""
    r"""(?P<value>"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'|(?:[^\s#]|(?<=\S)#|[ \t]+(?=[^\s#]))++|["'][^\n]*)"""
)
# Such a key whose value begins in the next line, and what is no string there: a list, another key, a comment.
_READ_KEY = re.compile(rf"""(?P<before>[ ]*(?:-[ ]+)*)["']?(?P<key>{READ_KEYS})["']?\s*:\s*\Z""")
_BEGINS_NODE = re.compile(r"""-\s|#|["']?[\w.-]+["']?\s*:(?!\S)""")
_QUOTED = re.compile(r"""\"(?:[^"\\]|\\.)*+\"|'(?:[^']|'')*+'""", re.DOTALL)
_COMMENT = re.compile(r"\s#")
_BLOCK_OF_YAML = re.compile(r"[|>][-+\d]{0,2}")  # the text is in the next lines
# Of TOML, a string in several lines: its key, which people may read, and what is left of it in a line.
_OPENS_STRING = re.compile(rf"""\s*["']?(?:(?P<read>{READ_KEYS})|[\w.-]+)["']?\s*=\s*(?P<quote>\"{{3}}|'{{3}})""")
_ENDS_STRING = {
    '"': re.compile(r"""(?P<text>(?:[^"\\]|\\.|"(?!""))*+"{0,2})\"{3}""", re.DOTALL),
    "'": re.compile(r"""(?P<text>(?:[^']|'(?!''))*+'{0,2})'{3}"""),
}
_READ_CODE = re.compile(
    r"""(?:lang|language|locale)\s*[:=]\s+["']?(?P<code>[a-z]{2,3}(?:[-_]\w{2,4})*)["']?\s*(?:#.*)?\s*\Z"""
)
_LONGEST_PARAGRAPH = 256  # lines of a paragraph; a longer one is divided
# Text in an option of a code cell of Quarto or knitr: #| fig-cap: "A house", and in the first line of one of knitr.
_OPTION_OF_CELL = re.compile(
    r"\s*(?:#|//|--|%)\|[ ]+(?:(?:fig|tbl|lst)[-.](?:cap|subcap|scap|alt)|code-summary|title)"
    r"(?::[ ]+|[ ]*=[ ]*(?=[\"']))"
    r"(?P<value>\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'|[^\s\"'\[{|>&*!][^\n]*?)\s*\Z"
)
_BEGINS_CELL = re.compile(r"[\s>]*(?:`{3,}|~{3,})[ ]*\{[A-Za-z]\w*[ ,]")
_CAPTION = re.compile(r"(?<=[\s,])fig\.(?:cap|scap|alt)\s*=\s*\"(?P<text>[^\"\\\n]*)\"")
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*\Z)|~{3,})")
_RAW = re.compile(r"<(script|style|pre|textarea)\b|(<!--)", re.IGNORECASE)
# Of Liquid, Hexo and Hugo: {% highlight python %} ... {% endhighlight %}, {{< mermaid >}} ... {{< /mermaid >}}
_CODE_OF_TEMPLATE = re.compile(
    r"\s*(?:\{%-?\s*(?P<tag>highlight|code|codeblock|code-block|comment|mermaid|math|javascript|stylesheet|schema)(?=[\s%-])"
    r"|\{\{[<%]\s*(?P<shortcode>highlight|code|mermaid|math|katex|plantuml)(?=[\s>%]))"
)
# Formulas on lines of their own, of which MyST and Quarto may have a label after the end, environments of LaTeX, and
# comments of Obsidian.
_BEGINS_FORMULA = re.compile(
    r"[ \t>]*(?:(?P<dollars>\$\$)|(?P<bracket>\\\[)(?=\s*\Z|.*(?:\\[A-Za-z]|[=^]|_[\w{]))"
    r"|\\begin(?P<environment>\{\w{1,60}\*?\})|(?P<comment>%%)(?=\s*\Z))"
)
_END_OF_FORMULA = {"dollars": r"\$\$(?:[ \t]*(?:\{[^{}\n]*\}|\([\w:.-]+\)))?", "bracket": r"\\\]", "comment": "%%"}
_NUMBER = r"(?:\d{1,9}[.)]|(?:[A-Za-z]|[ivx]{2,5}|[IVX]{2,5})[.)](?= {2})"  # of a list item, in pandoc also a letter
_NUMBER += r"|\(@[\w-]{0,60}\))"  # or that of an example
_LONGEST_HEAD = 5  # lines of a table, the names of its columns and the rules around them
_CAPTION_OF_TABLE = re.compile(r" {0,3}[Tt]able:(?=\s)")  # of pandoc, beside a table
# Marks that begin a block, and the check box of a list item.
_MARKS = re.compile(
    rf"(?:\s*(?:>|(?:#{{1,6}}|[-*+]|{_NUMBER}|[:~]|\[[ xX]\]|(?:\[\^[^\]\s]{{1,100}}|\*\[[^\]\n]{{1,100}})\]:"
    r"|\[![\w-]{1,40}\][-+]?)(?=\s)))*\s*"
)
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|q|r[bpt]|rtc|ruby|s|samp|small|span"
    "|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_BEGINS = re.compile(
    rf"\s*(?:>|#{{1,6}}\s|[-*+]\s|{_NUMBER}\s|\||\*?\[[^\]]+\]:|\[!\w|[:~]\s"
    rf"|<(?!/?(?:{_INLINE.pattern})\b|[A-Za-z][A-Za-z\d+.-]+:|[^\s<>@]+@))"
)
# White space after a tag of a block of HTML, with the beginning of the next line.
_AFTER_BLOCK = re.compile(r"[ \t]*(?:\n[ \t>]*)?")
_OTHER_NUMBER = re.compile(r"\s*(?!1[.)])\d{1,9}[.)]\s")  # in a paragraph it begins no list
_SINGLE_LINE = re.compile(r"\s*(?:#|\[!\w)")  # the text after it: a heading, the title of a quotation
_RULE = re.compile(r"[\s>]*(?:[-*_=|:+]\s*){2,}\Z|[\s>]*=+\s*\Z|\s*-+\s*\Z")
# Tags of BBCode that are certain on a line of their own.
_BLOCKS_OF_BBCODE = "quote|spoiler|details|code|list|ul|ol|table|tr|td|th|center|left|right|hide|poll|event|hr|noparse"
# Attributes, targets of links, the metadata of a cell in MyST, lines of blocks of PyMdown (/// details | Title), and
# lines of tags, also of templates and BBCode.
_TITLE = r"""(?:"[^"]*"|'[^']*'|\([^()]*\))"""
_ATTRIBUTES = re.compile(
    rf"\s*(?:\[(?!\^)[^\]]+\]:\s*(?:<[^<>]+>|[^\s<]\S*+)(?:\s+{_TITLE})?\s*\Z"
    r"|:::|\+{3,}[ \t]*\{.*\}\s*\Z|/{3,}[ \t]*(?:[A-Za-z][\w-]*[ \t]*(?:\|.*)?)?\s*\Z"
    r"|(?:\{:[^{}]*\}|\{[.#][^{}]*\}|\{[\w-]+=[^{}]*\}|\([\w:.-]+\)=)\s*\Z"
    r"|(?:(?:<[^<>\n]{1,1000}>|\{%[^{}\n]+%\}|\{\{[<%][^{}\n]+[>%]\}\}"
    rf"|\[(?:{BBCODE.pattern}|(?:{_BLOCKS_OF_BBCODE}))\])\s*)+\Z)"
)
# Of an admonition or a tab, as in MkDocs and as in Docusaurus and VitePress, and of the target of a reference.
_ADMONITIONS = """abstract attention bug caution danger details error example failure hint important info note question
quote secondary seealso spoiler success summary tip todo warning"""
# Directives of MyST whose content is Markdown, and those of them that have a title; the content of others is code.
_TITLED_DIRECTIVES = rf"""{_ADMONITIONS} admonition card dropdown grid-item-card list-table proof rubric sidebar
tab-item table topic exercise solution prf:[\w-]+"""
_DIRECTIVES = rf"""{_TITLED_DIRECTIVES} aside compound container deprecated epigraph figure glossary grid grid-item
highlights margin pull-quote tab-set versionadded versionchanged"""
# Directives whose content is no Markdown, also within colons, where others that are not known have prose.
_CODE_DIRECTIVES = """bibliography code code-block code-cell csv-table diagram embed eval-rst graphviz iframe image
include literalinclude math mermaid plot raw sourcecode tableofcontents toctree auto[a-z]+"""
_DIRECTIVE = re.compile(
    r"\s*(?P<mark>`{3,}|~{3,}|:{3,})[ \t]*\{"
    rf"(?:(?P<prose>{'|'.join(_DIRECTIVES.split())})|(?P<code>{'|'.join(_CODE_DIRECTIVES.split())})|[\w:+-]+)\}}"
    r"(?!.*[`~:]{3})"
)
# What has options in YAML in the next lines, indented: a block of PyMdown, and documentation of code by mkdocstrings.
_HAS_OPTIONS = re.compile(r"(?P<indent>[ >]*)(?:/{3,}[ \t]*[A-Za-z]|:::[ \t]+[A-Za-z_][\w./-]*\s*\Z)")
_FIRST_OPTION = re.compile(r" {4,}[A-Za-z][\w-]*:(?:\s|\Z)")
_TERM, _DEFINITION = re.compile(r" *[^\s:]"), re.compile(r" +|\s*\Z")  # of a glossary; its indentation
_OPTION_OF_DIRECTIVE = re.compile(r"\s*:[A-Za-z][\w-]*:(?:\s|\Z)")
_TITLE_OF_LINE = re.compile(
    rf"\A[\s>]*(?:`{{3,}}|~{{3,}}|:{{3,}})[ \t]*\{{(?:{'|'.join(_TITLED_DIRECTIVES.split())})\}}"
    r"[ \t]+(?P<directive>\S.*)\s*\Z|\A\s*:(?:alt|caption|title):[ \t]+(?P<option>\S.*)\s*\Z|"
    r"\A[\s>]*:{3,}[ \t]*(?:"
    r"[A-Za-z][\w-]*\[(?P<label>.*)\](?:\{[^{}]*\})?"
    r"|(?:[A-Za-z][\w-]*[ \t]*)?\{(?:[^{}\"]|\"[^\"]*\")*?(?<![\w-])title=\"(?P<attribute>[^\"]*)\"[^{}]*\}"
    rf"|(?i:{'|'.join(_ADMONITIONS.split())})[ \t]+(?P<words>[^\s:{{\[].*?))[ \t]*:*\s*\Z|"
    r"\A[\s>]*(?:!!!|\?{3}\+?|===[!+]?)[^\"]*\"(?P<block>.*)\"\s*\Z"
    r"|\A[\s>]*/{3,}[ \t]*(?!html\b)[A-Za-z][\w-]*[ \t]*\|[ \t]*(?P<slashes>\S.*?)\s*\Z"
    r"|\A[\s>*+-]*\[[^\]]+\]:\s*(?:<[^<>]+>|\S+)\s+(?:\"(?P<target>[^\"]*)\"|'(?P<single>[^']*)')\s*\Z"
)
_FORMS_OF_TITLES: dict[str, Literal["title", "single"]] = {"target": "title", "attribute": "title", "single": "single"}
_LABEL = re.compile(r"\s*(\*\*|__)(?=\S)[^*_\n]{1,100}(?<=\S)\1:?\s*")  # a line alone, as a title: **Warning**
_INDENT_OF_CODE = " " * 4  # in its container; after the mark of a list, where the text would begin, too
# Containers of blocks: the mark of a quotation, which is on each of its lines, or of a list item or footnote, or the
# first line of an admonition or of a tab, as in MkDocs.
_QUOTATION = re.compile(r" *> ?")
_MOST_CONTAINERS = 32  # in each other, since each blank line is compared with all of them
_CONTAINER = re.compile(
    rf" *(?:> ?|(?:[-*+:~]|{_NUMBER})(?: (?= {{4}})|\s+)|(\[\^[^\]\s]{{1,100}}\]:\s+"
    r"|(?:(?:!!!|\?{3}\+?)(?: [a-z][\w-]*){1,3}(?: \".*\")?|===[!+]? \".*\")\s*\Z))"
)
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}|\\)\r?\n?\Z")
_ATTRIBUTES_OF_BLOCK = re.compile(r"(?<=\S)[ \t]+\{:?[ ]?[#.][^{}\n]{1,200}\}\s*\Z")
_CLOSING = re.compile(r"(?:\s#+|\\)\s*\Z")  # the mark of a hard break, or of a heading at its end
# The line below the names of the columns; a bar at the beginning or end of a row may be missing.
_DELIMITER = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?\s*\Z")
# The same without bars, as pandoc writes most tables. Its columns are where the dashes are, so such a table is copied.
# It ends with a blank line, or with other dashes if dashes are above the names.
_COLUMNS = re.compile(r"\s*-{2,}(?:[ ]+-{2,})+\s*\Z")
_DASHES = re.compile(r"\s*-{3,}\s*\Z")
_END_OF_TABLE = {False: re.compile(r"\A\s*\Z"), True: re.compile(r"\A\s*-{3,}[\s-]*\Z")}
_CELL = re.compile(r"((?:\\.|`[^`]*`|[^|\\`]|[\\`])+)|(\|)", re.DOTALL)
# A comment of MyST. In a row of a table, and where the line before does not end a sentence, it may be per cent.
_MYST_COMMENT = re.compile(r"%(?=\s|\Z)[^|]*\Z")
_BEFORE_COMMENT = (".", "!", "?", ":")
# Of the title block of pandoc, which begins a page: title, authors, date.
_FIELD, _AUTHORS, _MOST_FIELDS = re.compile(r"%(?:[ \t]+|(?=\s))"), 1, 3


_LINK_OF_MARKDOWN = re.compile(
    r"!?\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\](?:\([^()\s]*\))?)*+)\](?:\((?:[^()\n]|\([^()\n]*\))*+\)|\[[^\[\]\n]*\])"
)


def _paragraph(text: str) -> list[Piece]:
    """Return a paragraph as one piece to translate, or its links if all words are in them; blocks of HTML divide it.

    Attributes after it, as those of a heading or caption of pandoc, are copied.
    """
    if attributes := _ATTRIBUTES_OF_BLOCK.search(text):
        return [*_paragraph(text[: attributes.start()]), Piece(attributes[0], translate=False)]
    found, end = list[Piece](), 0
    for start, stop in block_spans(text, markdown()):
        space = _AFTER_BLOCK.match(text, stop)
        after = space[0] if space else ""
        found += [*_links(text[end:start]), _tag_alone(text[start:stop]), Piece(after, translate=False)]
        end = stop + len(after)
    return [*found, *_links(text[end:])]


def _block(lines: Iterable[str]) -> list[Piece]:
    """Return the pieces of lines of text, whose translation must not begin with the mark of a block."""
    found = _paragraph("".join(lines))
    return [replace(piece, form="block") if piece.translate else piece for piece in found[:1]] + found[1:]


def _links(text: str) -> list[Piece]:
    return pieces(text, list(itertools.pairwise([0, *_ends_of_links(text, _LINK_OF_MARKDOWN), len(text)])))


def read_markdown(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a page; a paragraph is one piece with its line breaks, except hard ones."""
    return _linked(
        lines,
        lambda lines: _read(
            _with_grids(_with_kept(_with_tags(_with_directives(_with_options(_with_captions(lines))))))
        ),
    )


def _linked(lines: Iterable[str], read: Callable[[Iterator[str]], Iterator[Piece]]) -> Iterator[Piece]:
    """Yield the pieces of lines, those with links to headings or definitions with these."""
    headings, references = Headings(), References()
    for piece in read(references.watched(headings.watched(iter(lines)))):
        if piece.translate and links(piece.text):
            piece = replace(piece, headings=headings)
        if piece.translate and piece.form in ("", "block") and references.refers(piece.text):
            piece = replace(piece, references=references)
        yield piece


def _read(lines: Iterator[str]) -> Iterator[Piece]:
    front_matter, lines = _front_matter(lines)
    yield from _metadata(front_matter)
    fields, lines = ([], lines) if front_matter else _title_block(lines)
    for n, (mark, text) in enumerate(fields):
        yield Piece(mark, translate=False)
        yield from [Piece(text, translate=False)] if n == _AUTHORS else paragraph(text)
    yield from _blocks(lines)


def _title_block(lines: Iterator[str]) -> tuple[list[tuple[str, str]], Iterator[str]]:
    """Return the fields of the title block of pandoc, each with its mark, and the other lines."""
    fields = list[tuple[str, str]]()
    for line in lines:
        mark = _FIELD.match(line)
        if mark is None or len(fields) == _MOST_FIELDS:
            return fields, chain([line], lines)
        fields.append((mark[0], line[mark.end() :]))
    return fields, lines


def _blocks(lines: Iterator[str], indent: int = 0) -> Iterator[Piece]:
    """Yield the pieces of blocks, which may be indented as a whole."""
    open_lines: list[str] = []
    end: re.Pattern[str] | None = None  # of the current block of code or raw text
    previous = ""  # line, without marks of quotation
    in_table = False
    is_indented = False  # whether the line before is indented code
    containers = [re.compile(rf" {{{indent}}}|\s*\Z")] if indent else []  # of the line before
    is_code = False  # whether a whole line ends that block
    is_below_dashes = False  # whether the open paragraph is
    quote = 0  # number of marks of quotation before each line of the open paragraph
    for line in lines:
        if isinstance(line, _Block | _Options | _Page | _Term | _Grid):
            yield from _block(open_lines)
            if isinstance(line, _Grid):
                n_kept, column = _kept(line.expandtabs(4), containers)
                containers = containers[:n_kept]
                line = _Block(line) if not open_lines and line.startswith(_INDENT_OF_CODE, column) else line
            yield from _whole(line)
            open_lines, previous = [], ""
            containers = [_DEFINITION] if isinstance(line, _Term) else containers
            continue
        wide = line.expandtabs(4)
        n_kept, column = _kept(wide, containers)
        if n_kept < len(containers):
            end = None  # a block ends with its container
        if end is not None:
            if isinstance(line, _Directive):  # an option of code
                yield from _layout(line)
            elif is_code:
                option = _OPTION_OF_CELL.match(line)
                yield from _scalar(line, *option.span("value"), "yaml") if option else [Piece(line, translate=False)]
                end = None if end.search(wide[column:]) else end
            else:
                raw, end = _raw(line, end)
                yield from raw
            previous = ""
            continue
        is_indented = not open_lines and (is_indented or not previous.strip())
        is_indented = is_indented and wide.startswith(_INDENT_OF_CODE, column)
        opened, column = ([], column) if is_indented else _opened(wide, column)
        inner = wide[column:]
        marks = QUOTE.match(line)
        depth, text = (marks[0].count(">"), line[marks.end() :]) if marks else (0, line)
        is_text = open_lines and n_kept == len(containers) and _OTHER_NUMBER.match(text)
        is_indented = is_indented or (bool(opened) and not is_text and inner.startswith(_INDENT_OF_CODE))
        end = None if is_indented or isinstance(line, _Directive) else _opening(inner)
        is_layout = isinstance(line, _Tag | _Directive) or _is_layout(inner)
        is_comment = _MYST_COMMENT.match(text) and (not open_lines or open_lines[-1].rstrip().endswith(_BEFORE_COMMENT))
        begins = end or is_layout or is_comment or (_BEGINS.match(text) and not is_text)
        if open_lines and _COLUMNS.match(text) and not is_indented and (len(open_lines) == 1 or is_below_dashes):
            yield from (Piece(other, translate=False) for other in [*open_lines, line])
            open_lines, previous, end, is_code = [], "", _END_OF_TABLE[is_below_dashes], True
            continue
        if "|" in previous and _DELIMITER.match(text) and not is_indented:
            in_table = True
            yield from _block(open_lines[:-1])
            yield from _row("".join(open_lines[-1:]))
            open_lines = []
        elif begins or depth not in (0, quote) or _is_titled(open_lines, text):
            yield from _block(open_lines)
            open_lines = []
            in_table = in_table and text.startswith("|")
        if not open_lines:
            containers = [*containers[:n_kept], *opened][:_MOST_CONTAINERS]
        if end:
            is_code = end.pattern.startswith(r"\A")
            raw, end = (_first_of_code(line), end) if is_code else _raw(line, end)
            yield from raw
            text = ""  # the next line begins a block, as after a blank line
        elif is_indented or is_comment:
            yield Piece(line, translate=False)
        elif is_layout:
            yield from _layout(line)
        elif in_table or text.startswith("|"):
            yield from _row(line)
        elif open_lines:
            open_lines.append(line)
        else:
            caption = _CAPTION_OF_TABLE.match(line) if isinstance(line, _Caption) else None
            marks = _MARKS.match(line, caption.end() if caption else 0)
            start = marks.end() if marks else 0
            if start:
                yield Piece(line[:start], translate=False)
            open_lines, quote = [line[start:]] if line[start:] else [], depth
            is_below_dashes = _DASHES.match(previous) is not None
        is_single = _SINGLE_LINE.match(inner)
        if is_single or _HARD_BREAK.search(line) or len(open_lines) >= _LONGEST_PARAGRAPH:
            whole = "".join(open_lines)
            closing = _CLOSING.search(whole)
            stop = closing.start() if closing else len(whole)
            yield from _paragraph(whole[:stop]) if is_single else _block([whole[:stop]])
            yield Piece(whole[stop:], translate=False)
            open_lines = []
        previous = text
    yield from _block(open_lines)


def _first_of_code(line: str) -> list[Piece]:
    """Return the pieces of a line that begins code: captions of knitr are translated."""
    spans = [caption.span("text") for caption in _CAPTION.finditer(line)] if _BEGINS_CELL.match(line) else []
    return [replace(piece, form="title") if piece.translate else piece for piece in pieces(line, spans)]


def _whole(lines: "_Block | _Options | _Page | _Term | _Grid") -> Iterable[Piece]:
    """Return the pieces of lines that belong together."""
    if isinstance(lines, _Block):
        return [Piece(lines, translate=False)]
    if isinstance(lines, _Grid):
        return [Piece(lines, True, "grid")]
    if isinstance(lines, _Term):
        return paragraph(lines)
    return (_metadata if isinstance(lines, _Options) else read_html)(lines.splitlines(keepends=True))


def _is_titled(lines: Sequence[str], following: str) -> bool:
    """Return whether the only line of a paragraph until now is a title of the line that follows."""
    return len(lines) == 1 and following[:1].isupper() and _LABEL.fullmatch(lines[0]) is not None


_STATEMENT = re.compile(r"(?:import|export)(?=[\s{*'\"])")
_CODE = re.compile(
    r"\"(?:\\.|[^\"\\\n])*+\"|'(?:\\.|[^'\\\n])*+'|//[^\n]*|(?P<begins>`|/\*)|(?P<opens>[(\[{])|(?P<closes>[)\]}])"
)
_LONGEST_BLOCK = 1000  # lines; one without an end is text


class _Block(str):
    """Lines that are copied."""


class _Tag(str):
    """Lines that are one tag, of which attributes are translated that people see or hear."""


class _Options(str):
    """Lines of the options of a directive of MyST, which are read as front matter."""


class _Page(str):
    """Lines that are read as HTML, such as those of an element that is not translated but for elements in it."""


class _Term(str):
    """A line with a term of a glossary of MyST, whose definition is indented."""


class _Grid(str):
    """Lines of a grid table."""


class _Caption(str):
    """A line that begins the caption of a table of pandoc."""


class _Directive(str):
    """A line that begins or ends a directive of MyST whose content is Markdown, or an option of any directive."""


_ON_A_PAGE = re.compile("math|svg", re.IGNORECASE)  # elements whose content is no Markdown
_BEGINS_ELEMENT = re.compile(r" {0,3}<([A-Za-z][\w-]*)((?:\s[^<>]*)?)>")
_WHOLE_TAG = re.compile(f" {{0,3}}{_TAG}")
_BEGINS_TAG = re.compile(r" {0,3}</?[A-Za-z][^<>]*\Z")
_LONGEST_TAG = _MOST_OPTIONS = 100  # lines; one without an end is text


def _with_directives(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; those of directives of MyST whose content is Markdown, as code has, are `_Directive`.

    The options of such a directive, if they are in YAML, are one `_Options`, lines of code between colons `_Block`, and
    the terms of a glossary `_Term`.
    """
    fence: re.Pattern[str] | None = None
    is_between_colons = False  # whether that fence is of colons
    ends, has_options, waiting = list[re.Pattern[str]](), False, deque[str]()
    glossary: tuple[int, re.Pattern[str]] | None = None  # the column of its terms, and its end
    while line := waiting.popleft() if waiting else next(lines, ""):
        if has_options and line.strip() == "---" and (options := _options(line, waiting, lines)):
            has_options = False
            yield _Options(options)
            continue
        is_own = has_options = has_options and _OPTION_OF_DIRECTIVE.match(line) is not None
        is_code = fence is not None and is_between_colons
        glossary = None if glossary and fence is None and glossary[1].match(line) else glossary
        is_term = glossary and fence is None and _TERM.match(line) and _column(line) <= glossary[0]
        if fence is not None:
            fence = None if fence.search(line) else fence
        elif ends and ends[-1].match(line):
            ends.pop()
            is_own = True
        elif (directive := _DIRECTIVE.match(line)) and (directive["prose"] or directive["mark"][0] == ":"):
            mark = directive["mark"]
            end = re.compile(rf"\s*{mark[0]}{{{len(mark)},}}\s*\Z")
            if directive["code"]:
                fence, is_between_colons, is_code, has_options = end, True, True, True
            else:
                is_own = has_options = True
                ends += [end] if mark[0] != ":" else []
                glossary = (_column(line), end) if directive["prose"] == "glossary" else glossary
        elif _FENCE.match(line):
            fence, is_between_colons, is_term = _opening(line), False, False
            has_options = directive is not None and directive["code"] is not None
        yield _Directive(line) if is_own else _Block(line) if is_code else _Term(line) if is_term else line


def _with_captions(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; one that begins the caption of a table of pandoc, which is beside it, is a `_Caption`."""
    waiting = deque[str]()
    begins = True  # whether the line before is blank
    is_table = has_columns = False  # of the block before; whether the dashes that end its columns are missing
    while line := waiting.popleft() if waiting else next(lines, ""):
        is_caption = begins and _CAPTION_OF_TABLE.match(line) and (is_table or _is_before_table(waiting, lines))
        yield _Caption(line) if is_caption else line
        is_blank = not line.strip()
        if not is_blank:
            is_end = has_columns and _DASHES.match(line) is not None
            is_table = (is_table and not begins) or _is_of_table(line) or is_end
            has_columns = (has_columns and not is_end) or _COLUMNS.match(line) is not None
        begins = is_blank


def _is_before_table(waiting: deque[str], lines: Iterator[str]) -> bool:
    """Return whether a table follows the rest of a paragraph; its first lines have rules or bars."""
    read, n_lines = list[str](), 0
    for line in itertools.islice(chain(_taken(waiting), lines), _LONGEST_PARAGRAPH):
        read.append(line)
        is_first = len(read) > 1 and not read[-2].strip()
        n_lines += bool(line.strip() and (n_lines or is_first))
        if n_lines and (not line.strip() or _is_of_table(line) or n_lines == _LONGEST_HEAD):
            break
    waiting.extendleft(reversed(read))
    return n_lines > 0 and _is_of_table(read[-1])


def _is_of_table(line: str) -> bool:
    """Return whether a line has bars or rules as only tables have."""
    return line.lstrip().startswith("|") or any(rule.match(line) for rule in (_DELIMITER, _COLUMNS, grids.RULE))


def _with_options(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; the options of a block of PyMdown or mkdocstrings are each a `_Block`."""
    indent, is_option = None, False  # of the line that may have options
    for line in lines:
        inner = line.removeprefix(indent) if indent is not None and line.startswith(indent) else ""
        is_option = (is_option and inner.startswith(_INDENT_OF_CODE)) or _FIRST_OPTION.match(inner) is not None
        block = None if is_option else _HAS_OPTIONS.match(line)
        indent = indent if is_option else block["indent"] if block else None
        yield _Block(line) if is_option else line


def _column(line: str) -> int:
    """Return how far a line is indented."""
    return len(line) - len(line.lstrip(" "))


def _options(first: str, waiting: deque[str], lines: Iterator[str]) -> str:
    """Return the options in YAML that a line begins, with the lines around them; "" if they have no end."""
    read = [first]
    while len(read) < _MOST_OPTIONS and (line := waiting.popleft() if waiting else next(lines, "")):
        read.append(line)
        if line.strip() == "---":
            return "".join(read)
        if not line.strip():
            break
    waiting.extendleft(reversed(read[1:]))
    return ""


def _with_tags(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; those of a tag that begins a line and goes on in the next ones are one."""
    waiting = deque[str]()
    while line := waiting.popleft() if waiting else next(lines, ""):
        if isinstance(line, _Block | _Options | _Term) or not _BEGINS_TAG.match(line):
            yield line
            continue
        read = [line]
        if tag := _whole_tag(read, chain(_taken(waiting), lines)):
            yield tag.string if tag.string[tag.end() :].strip() else _Tag(tag.string)
        else:
            waiting.extendleft(reversed(read[1:]))
            yield line


def _whole_tag(read: list[str], lines: Iterator[str]) -> re.Match[str] | None:
    """Return the tag that begins the first line read; lines are read to its end, or to a blank line if it has none."""
    while read[-1].strip() and len(read) < _LONGEST_TAG:
        read.append(next(lines, ""))
        if ">" in read[-1] and (tag := _WHOLE_TAG.match("".join(read))):
            return tag
    return None


def read_mdx(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a page in Markdown with JSX; imports, exports and expressions between blocks are copied."""
    return _linked(
        lines,
        lambda lines: _read(
            _with_blocks(_with_grids(_with_kept(_with_tags(_with_directives(_with_options(_with_captions(lines)))))))
        ),
    )


def _with_blocks(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; a statement, up to a blank line, or an expression on lines of its own is one `_Block`."""
    fence: re.Pattern[str] | None = None
    previous, waiting = "", deque[str]()
    is_front_matter = None  # before the first line
    while line := waiting.popleft() if waiting else next(lines, ""):
        is_statement = not previous.strip() and _STATEMENT.match(line)
        block: list[str] = []
        if isinstance(line, _Block | _Options | _Page | _Term | _Grid):
            pass
        elif fence is not None:
            fence = None if fence.search(line) else fence
        elif _FENCE.match(line) and not isinstance(line, _Directive):
            fence = _opening(line)
        elif is_statement or line.lstrip(" ").startswith("{"):
            read = [line]
            n_lines = _length(read, chain(_taken(waiting), lines), to_blank=bool(is_statement))
            is_alone = n_lines > 0 and read[n_lines - 1].rstrip().endswith("}")
            block = read[:n_lines] if is_statement or is_alone else []
            waiting.extendleft(reversed(read[len(block) or 1 :]))
        is_end = bool(is_front_matter) and _END_OF_FRONT_MATTER.match(line) is not None
        is_front_matter = line.strip() in _FRONT_MATTER if is_front_matter is None else is_front_matter and not is_end
        previous = "" if block or is_end else line
        yield _Block("".join(block)) if block else line


def _with_kept(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; those of an element that is not translated, or of a formula, are one.

    They are a `_Page` if the element begins a line, and a `_Block` if they are a formula in TeX.
    """
    fence: re.Pattern[str] | None = None
    waiting, unclosed = deque[str](), set[str]()
    while line := waiting.popleft() if waiting else next(lines, ""):
        tag = _BEGINS_ELEMENT.match(line)
        is_page = tag is not None and (_ON_A_PAGE.fullmatch(tag[1]) or NOT_TRANSLATED.search(tag[2])) is not None
        name = tag[1] if tag and is_page else "math" if "<math" in line else ""
        if isinstance(line, _Block | _Options | _Term):
            pass
        elif fence is not None:
            fence = None if fence.search(line) else fence
        elif _FENCE.match(line) and not isinstance(line, _Directive):
            fence = _opening(line)
        elif name and name not in unclosed and not _VOID.fullmatch(name.lower()):
            read, depth = [line], _depth(name, line)
            while (
                depth > 0
                and len(read) < _LONGEST_BLOCK
                and (following := waiting.popleft() if waiting else next(lines, ""))
            ):
                read.append(following)
                depth += _depth(name, following)
            if depth == 0 and len(read) > 1:
                is_in_sentence = name.lower() == "math" and not read[-1].rstrip().endswith(">")
                line = _Page("".join(read)) if is_page and not is_in_sentence else "".join(read)
            else:
                unclosed |= {name} if depth else set()  # looking for the end of each would take quadratic time
                waiting.extendleft(reversed(read[1:]))
        elif (formula := _BEGINS_FORMULA.match(line)) and formula[0].strip(" \t>") not in unclosed:
            read = [line]
            end = _end_of_formula(formula, read, chain(_taken(waiting), lines))
            rest = end.string[end.end() :] if end else ""
            if end and (len(read) > 1 or not rest.strip()):  # otherwise it is part of a sentence
                waiting.extendleft([rest] if rest.strip() else [])
                line = _Block("".join(read).removesuffix(rest if rest.strip() else ""))
            else:
                unclosed |= {formula[0].strip(" \t>")} if not end and read[-1].strip() else set()
                waiting.extendleft(reversed(read[1:]))
        yield line


def _end_of_formula(formula: re.Match[str], read: list[str], lines: Iterator[str]) -> re.Match[str] | None:
    """Return the end of a formula or environment, to which lines are read; None if it has none.

    Only an environment and a formula that begins on a line of its own may have blank lines.
    """
    has_blank_lines = formula["environment"] or not formula.string[formula.end() :].strip()
    ending = re.compile(_END_OF_FORMULA.get(formula.lastgroup or "") or rf"\\end{re.escape(formula['environment'])}")
    end = ending.search(formula.string, formula.end())
    while end is None and len(read) < _LONGEST_BLOCK and (has_blank_lines or read[-1].strip()):
        if not (following := next(lines, "")):
            break
        read.append(following)
        end = ending.search(following)
    return end


def _with_grids(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; those of a grid table are one `_Grid`, or a `_Block` if its cells are not in columns."""
    fence: re.Pattern[str] | None = None
    waiting = deque[str]()
    while line := waiting.popleft() if waiting else next(lines, ""):
        if isinstance(line, _Block | _Options | _Page | _Term | _Directive):
            pass
        elif fence is not None:
            fence = None if fence.search(line) else fence
        elif _FENCE.match(line):
            fence = _opening(line)
        elif grids.RULE.match(line):
            read, goes_on = [line], re.compile(re.escape(line[: line.index("+")]) + "[|+]")
            while (following := next(lines, "")) and goes_on.match(following) and len(read) < _LONGEST_BLOCK:
                read.append(following)
            waiting += [following] if following else []
            if len(read) > 2:
                table = "".join(read)
                line = _Grid(table) if grids.is_grid(table) else _Block(table)
            else:
                waiting.extendleft(reversed(read[1:]))
        yield line


def _depth(name: str, line: str) -> int:
    """Return how many more elements of a name begin than end in a line."""
    tags = re.finditer(rf"<(/?){re.escape(name)}(?=[\s/>])[^<>]*?(/?)>", line, re.IGNORECASE)
    return sum(-1 if tag[1] else not tag[2] for tag in tags)


def _taken(lines: deque[str]) -> Iterator[str]:
    while lines:
        yield lines.popleft()


def _length(read: list[str], lines: Iterator[str], *, to_blank: bool) -> int:
    """Return how many lines a statement or expression has, which is read to its end; 0 if it has none.

    Args:
        read: its first line, to which the lines that are read are added.
        to_blank: whether it goes on to a blank line, before which each of its brackets is closed.
    """
    depth, within = 0, ""
    for n in range(1, _LONGEST_BLOCK):
        depth, within = _nested(read[-1], depth, within)
        if depth <= 0 and not within and (not to_blank or not read[-1].strip()):
            return n
        if not (line := next(lines, "")):
            break
        read.append(line)
    if depth <= 0 and not within:
        return len(read)
    return next((n for n, line in enumerate(read) if not line.strip()), len(read)) if to_blank else 0


def _nested(line: str, depth: int, within: str) -> tuple[int, str]:
    """Return how many brackets are open after a line of code, and the pattern of what ends a text or comment."""
    start = 0
    while token := re.search(within, line[start:]) if within else _CODE.search(line, start):
        if within:
            start, within = start + token.end(), ""
        else:
            start = token.end()
            within = {"`": r"(?<!\\)`", "/*": r"\*/"}.get(token["begins"] or "", "")
            depth += bool(token["opens"]) - bool(token["closes"])
    return depth, within


def _front_matter(lines: Iterator[str]) -> tuple[list[str], Iterator[str]]:
    """Return the lines of front matter and the other lines. Without an end there is none, and its mark is a rule."""
    read: list[str] = []
    n_characters = 0
    for line in lines:
        read.append(line)
        n_characters += len(line)
        may_go_on = _METADATA.match(line) if len(read) == 2 else len(read) > 2 or line.rstrip() in _FRONT_MATTER
        if len(read) > 1 and _END_OF_FRONT_MATTER.match(line):
            return read, lines
        if not may_go_on or n_characters > _LONGEST_FRONT_MATTER:
            break
    return [], chain(read, lines)


def _metadata(lines: list[str]) -> Iterator[Piece]:
    """Yield the pieces of front matter; strings that people read are translated, and the code of the language."""
    syntax: Syntax = "toml" if lines and lines[0].startswith("+++") else "yaml"
    waiting = deque(lines)
    while waiting:
        line = waiting.popleft()
        if code := _READ_CODE.match(line):
            yield from _around(line, *code.span("code"), "code")
        elif syntax == "toml" and (opened := _OPENS_STRING.match(line)):
            yield from _long_string(line, opened, waiting)
        elif (value := _READ_VALUE.match(line)) and not _is_target(value, lines[0]):
            n_below = _n_below(waiting, len(value["before"])) if syntax == "yaml" else 0
            below = [waiting.popleft() for _ in range(n_below)]
            if below and _BLOCK_OF_YAML.fullmatch(value["value"]):
                yield Piece(line, translate=False)
                yield from _indented_blocks(below)
            else:
                text = "".join([line, *below])
                stop = _end_of_scalar(text, value.start("value")) if below else value.end("value")
                yield from _scalar(text, value.start("value"), stop, syntax)
        elif syntax == "yaml" and (key := _READ_KEY.match(line)) and not _is_target(key, lines[0]):
            n_below = _n_below(waiting, len(key["before"]))
            text = "".join(itertools.islice(waiting, n_below))
            yield Piece(line, translate=False)
            start = len(text) - len(text.lstrip())
            if text and not _BEGINS_NODE.match(text, start):
                for _ in range(n_below):
                    waiting.popleft()
                yield from _scalar(text, start, _end_of_scalar(text, start), syntax)
        else:
            yield Piece(line, translate=False)


def _is_target(value: re.Match[str], mark: str) -> bool:
    """Return whether a value is the name of a page or directive of MyST, whose options a mark begins."""
    return value["key"] == "label" and len(value["before"]) == len(mark) - len(mark.lstrip(" "))


def _n_below(lines: Iterable[str], column: int) -> int:
    """Return with how many of the next lines the value of a key in a column goes on; the last of them is not blank."""
    n_below = 0
    for n, line in enumerate(lines, start=1):
        if line.strip():
            if _column(line) <= column:
                break
            n_below = n
    return n_below


def _scalar(text: str, start: int, stop: int, syntax: "Syntax") -> Iterator[Piece]:
    """Yield the pieces of a text with a value, which may have several lines; one that is no string is copied."""
    from translate.text.scalars import text_of  # imports PyYAML, which few texts need

    value = text_of(text[start:stop], syntax)
    is_read = value and value == text_of(text[start:], syntax) and "\n" not in value and re.search(r"[^\W\d_]", value)
    yield from _around(text, start, stop, syntax) if is_read else [Piece(text, translate=False)]


def _long_string(line: str, opened: re.Match[str], waiting: deque[str]) -> Iterator[Piece]:
    """Yield the pieces of a string of TOML in several lines, of which the first is given; its text is Markdown.

    A string with escapes is copied, unless its lines are one that continues.
    """
    start, ending = opened.end(), _ENDS_STRING[opened["quote"][0]]
    inner, rest = list[str](), line[start:]
    while not (end := ending.match(rest)) and waiting:
        inner.append(rest)
        rest = waiting.popleft()
    text, after = "".join([*inner, end["text"] if end else rest]), rest[end.end("text") :] if end else ""
    if not opened["read"] or not end:
        yield Piece(line[:start] + text + after, translate=False)
    elif opened["quote"] == "'''" or "\\" not in text:
        yield Piece(line[:start], translate=False)
        yield from _indented_blocks(text.splitlines(keepends=True))
        yield Piece(after, translate=False)
    else:
        whole = line[:start] + text + after
        yield from _scalar(whole, start - 3, len(line[:start] + text) + 3, "toml")


def _indented_blocks(lines: Sequence[str]) -> Iterator[Piece]:
    """Yield the pieces of Markdown that is indented as its first line."""
    first = next((line for line in lines if line.strip()), "")
    return _blocks(iter(lines), _column(first))


def _end_of_scalar(text: str, start: int) -> int:
    """Return where a string of YAML in several lines ends, before the comment that may follow it."""
    if quoted := _QUOTED.match(text, start):
        return quoted.end()
    comment = _COMMENT.search(text, start)
    return len(text[: comment.start() if comment else len(text)].rstrip())


def _around(line: str, start: int, stop: int, form: Literal["code", "yaml", "toml"]) -> Iterator[Piece]:
    """Yield a part of a line to translate, and what is around it."""
    yield Piece(line[:start], translate=False)
    yield Piece(line[start:stop], True, form)
    if stop < len(line):
        yield Piece(line[stop:], translate=False)


def _kept(line: str, containers: Iterable[re.Pattern[str]]) -> tuple[int, int]:
    """Return how many of the containers of the line before go on in this one, and the column of the text in them.

    A container (https://spec.commonmark.org/0.31.2/#container-blocks) is a pattern that its later lines match.
    """
    n_kept = column = 0
    for container in containers:
        if not (match := container.match(line, column)):
            break
        n_kept, column = n_kept + 1, match.end()
    return n_kept, column


def _opened(line: str, column: int) -> tuple[list[re.Pattern[str]], int]:
    """Return the containers that begin in a column of a line, and the column of the text in them."""
    opened: list[re.Pattern[str]] = []
    while not (opened and line.startswith(_INDENT_OF_CODE, column)) and (mark := _CONTAINER.match(line, column)):
        width = 4 if mark[1] else mark.end() - column  # the text of a footnote is indented by 4 spaces
        opened.append(_QUOTATION if ">" in mark[0] else re.compile(rf" {{{width}}}|\s*\Z"))
        column = mark.end()
    return opened, column


def _opening(line: str) -> re.Pattern[str] | None:
    """Return the pattern of the end of the code or raw text that begins in this line, if any."""
    if fence := _FENCE.match(line):
        mark = fence[1]
        return re.compile(rf"\A\s*{mark[0]}{{{len(mark)},}}\s*\Z")
    if raw := _RAW.match(line.lstrip()):
        return _end_of_raw(raw)
    if template := _CODE_OF_TEMPLATE.match(line):
        return _end_of_template(template)
    return None


def _end_of_template(beginning: re.Match[str]) -> re.Pattern[str] | None:
    """Return the pattern of the line that ends code between tags of a template; None if it ends in its first line."""
    tag, shortcode = beginning["tag"], beginning["shortcode"]
    last = rf"\{{%-?\s*end{tag}\s*-?%\}}" if tag else rf"\{{\{{[<%]\s*/\s*{shortcode}\s*[>%]\}}\}}"
    ends_here = re.search(rf"{last}|/[>%]\}}\}}", beginning.string)
    return None if ends_here else re.compile(rf"\A.*{last}")


def _end_of_raw(beginning: re.Match[str]) -> re.Pattern[str]:
    return re.compile("-->" if beginning[2] else rf"</{beginning[1]}\s*>", re.IGNORECASE)


def _raw(line: str, end: re.Pattern[str]) -> tuple[list[Piece], re.Pattern[str] | None]:
    """Return the pieces of a line of raw text, and the pattern of its end if it goes on in the next line.

    Text behind the end is translated, unless other raw text begins there.
    """
    start = 0
    while found := end.search(line, start):
        again = _RAW.search(line, found.end())
        if again is None:
            return [Piece(line[: found.end()], translate=False), *paragraph(line[found.end() :])], None
        end, start = _end_of_raw(again), again.end()
    return [Piece(line, translate=False)], end


def _is_layout(line: str) -> bool:
    """Return whether a line is copied: blank, a rule, attributes, or the target of a link."""
    return bool(not line.strip() or _RULE.match(line) or _ATTRIBUTES.match(line))


def _layout(line: str) -> Iterator[Piece]:
    """Yield the pieces of a line that is copied, but for titles in it and attributes of its tags."""
    if title := _TITLE_OF_LINE.search(line):
        found = pieces(line, [title.span(title.lastgroup or 0)])
        form = _FORMS_OF_TITLES.get(title.lastgroup or "")
        yield from (replace(piece, form=form) if piece.translate and form else piece for piece in found)
    elif any(
        branches(tag[0]) for tag in chain.from_iterable(re.finditer(tag, line) for tag in (_TOKEN, _TAG, SHORTCODE))
    ):
        yield from paragraph(line)
    else:
        yield Piece(line, translate=False)


def _row(line: str) -> Iterator[Piece]:
    """Yield the cells and bars of a row of a table, which may stand in a quotation."""
    marks = QUOTE.match(line)
    start = marks.end() if marks else 0
    if start:
        yield Piece(line[:start], translate=False)
    for cell, bar in _CELL.findall(line[start:]):
        if bar:
            yield Piece(bar, translate=False)
        else:
            yield from _paragraph(cell)


_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")
_TEXT_OF_DRAWING = re.compile("text|title|desc|foreignobject")
_LINE_OF_DRAWING = re.compile(r"\sd?[xy]\s*=")  # an attribute of an element of text with a place of its own
_FLAT = re.compile("script|(?:mj-)?style|textarea|title")  # tags and comments inside them are text; of MJML too
_COPIED = re.compile("script|(?:mj-)?style|pre|code|textarea|kbd|samp|var|svg|math|xml")  # settings of Office
# A comment or declaration without an end goes on to the end of the text, as in a browser. Otherwise the text behind
# each of many such comments would be read once per comment. A long one comes in portions.
_FORMULA_OF_LINES = FORMULA.replace(r"\n", "")
_TOKEN = re.compile(
    rf"{_FORMULA_OF_LINES}|"
    r"<!--\[if\s[^\]<>]*\]>(?:<!-->)?|"  # for one program alone, such as Outlook; what follows is a page for it
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?(?:php|=).*?\?>|<(?!!--|!\[CDATA\[|\?(?:php|=))[!?][^>]*>"
    r"|<(/?)([A-Za-z][\w:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>|(?P<open><[!?].*)",
    re.DOTALL,
)
_REMARK = re.compile(r"<!--[^\n]{0,200}-->")  # in a line of text, as React and Vue write between texts
_PHP = re.compile(r"<\?(?:php|=).*\?>", re.DOTALL)
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?php": "?>", "<?=": "?>"}
# A tag that may go on in the next line, also within a quotation.
_UNFINISHED = r"|(?P<unfinished></?[A-Za-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*+(?:\"[^\"]*|'[^']*)?\Z)"
_UNFINISHED_FORMULA = re.compile(_FORMULA_OF_LINES.removesuffix("</math>") + r"(?:</?[a-z-]*)?\Z")
# Elements whose end tag may be missing, and those that end them, as the end of the element around them does.
_ENDED_BY = {"p": "p", "li": "li", "option": "option|optgroup", "tr": "tr"}
_ENDED_BY |= dict.fromkeys(("dt", "dd"), "d[dt]") | dict.fromkeys(("td", "th"), "t[dhr]")
_AROUND = re.compile("ul|ol|menu|dl|table|select|div|section|article|main|body")
# Between an inline element and the next one without white space: the end tag, and what is seen before and after it.
_BETWEEN = re.compile(
    r"(?P<before>[^\s<>])(?:</[A-Za-z][^<>]*>)*</(?P<closed>[A-Za-z][\w:-]*)\s*>"
    r"(?=<(?P<opened>[A-Za-z][\w:-]*)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>(?:<[A-Za-z][^<>]*>)*(?P<after>[^\s<>]))",
    re.IGNORECASE,
)
LINKS = ("a", "label", "button")  # elements whose text stands alone in a menu
_WHOLE = re.compile(f"{_FORMULA_OF_LINES}|{KEPT_ELEMENT.pattern}")  # no text ends within one
_LINK = re.compile(
    rf"<(?:{'|'.join(LINKS)})(?=[\s>])(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>"
    rf"(?P<text>(?:[^<]|<(?!/?(?:{'|'.join(LINKS)})[\s>]))*+)</(?:{'|'.join(LINKS)})\s*>",
    re.IGNORECASE,
)
_TAG_OR_ENTITY = re.compile(r"<[^<>]*>|&#?\w+;")
# In an attribute, or in an element `meta` that is about the language.
LANGUAGE = re.compile(
    r"""(?i)(\s(?:xml:)?lang\s*=\s*["']?"""
    r"""|\A<meta\s[^<>]*?=\s*["']?(?:content-language|og:locale|(?:dc\.)?language)["']?\s+content\s*=\s*["']?)"""
    r"""([a-z]{2,3})([-_][\w-]*)?(?=["'\s/>])"""
)
_LONGEST_RUN = 2**14  # characters of a tag or of a run of text; a longer one is divided


@dataclass(slots=True)
class _Element:
    """An open element whose content is copied, or one within such an element whose content is translated.

    Attributes:
        is_drawing: whether its content is copied but for the texts of a drawing.
        depth: number of nested elements of that name.
        n_around: number of open elements inside it that may hold elements of that name.
    """

    name: str
    is_copied: bool = True
    is_drawing: bool = False
    depth: int = 1
    n_around: int = 0

    def ends_before(self, name: str, *, is_end: bool) -> bool:
        """Return whether it ends before a tag, as its own end tag may be missing."""
        if self.name not in _ENDED_BY:
            return False
        self.n_around += (-1 if is_end else 1) if _AROUND.fullmatch(name) else 0
        return self.n_around < 0 or (
            self.n_around == 0 and not is_end and re.fullmatch(_ENDED_BY[self.name], name) is not None
        )

    def pieces(self, run: str) -> list[Piece]:
        """Return the pieces of a run in it."""
        if not self.is_copied:
            return _texts(run)
        return [Piece(run, translate=False)] if run else []

    def translates(self, name: str, attributes: str) -> bool:
        """Return whether the content of an element in it, whose own content is copied, is translated."""
        is_text = self.is_drawing and _TEXT_OF_DRAWING.fullmatch(name)
        return bool(is_text or TRANSLATED.search(attributes)) and not NOT_TRANSLATED.search(attributes)


def read_html(lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of a page; a tag may span lines."""
    run = ""  # of text and inline tags, or of an element that is being copied
    opened: list[_Element] = []  # the innermost last
    for text, tag in _tokens(lines):
        run += text
        name = (tag[2] or "").lower() if tag else ""
        attributes = (tag[3] or "") if tag else ""
        is_alone = tag is not None and tag[0].endswith("/>")
        begins = tag is not None and bool(name) and not tag[1] and not is_alone and not _VOID.fullmatch(name)
        while tag and opened and opened[-1].ends_before(name, is_end=bool(tag[1])):
            yield from opened.pop().pieces(run)
            run = ""
        element = opened[-1] if opened else None
        if element and element.is_copied and tag and not tag[1] and element.translates(name, attributes):
            yield from (*element.pieces(run), _tag(tag[0]))
            run = ""
            opened += [_Element(name, is_copied=False)] if begins else []
            continue
        if element and tag and name == element.name and not is_alone:
            element.depth += -1 if tag[1] else not _FLAT.fullmatch(name)
        if element and element.is_copied:
            if tag and element.is_drawing and branches(tag[0]):
                yield from (*element.pieces(run), _tag(tag[0]))
                run = ""
            else:
                run += tag[0] if tag else ""
            if not element.depth or len(run) >= _LONGEST_RUN:
                yield from element.pieces(run)
                run = ""
            if not element.depth:
                opened.pop()
            elif begins and element.is_drawing and NOT_TRANSLATED.search(attributes):
                opened.append(_Element(name))
            continue
        if element and not element.depth:
            yield from opened.pop().pieces(run)
            run = tag[0] if tag else ""
            continue
        if len(run) >= _LONGEST_RUN:
            yield from _texts(run)
            run = ""
        if tag is None:
            continue
        is_code = _PHP.fullmatch(tag[0]) or (not name and re.fullmatch(_FORMULA_OF_LINES, tag[0]))
        is_remark = _REMARK.fullmatch(tag[0]) and run.rpartition("\n")[2].strip()
        is_inline = bool(_INLINE.fullmatch(name) or is_code or is_remark or _is_part_of_line(name, tag[0], run))
        placeholder = is_inline and KEPT_ELEMENT.match(tag.string, tag.start())
        is_kept = NOT_TRANSLATED.search(attributes) is not None
        if begins and not placeholder and (_COPIED.fullmatch(name) or is_kept):
            yield from _texts(run)
            run = tag[0]
            opened.append(_Element(name, is_drawing=name == "svg" and not is_kept))
            if branches(run):
                yield Piece(run, translate=True)
                run = ""
        elif is_inline:
            run += tag[0]
        else:
            yield from (*_texts(run), _tag(tag[0]))
            run = ""
    yield from opened[-1].pieces(run) if opened else _texts(run)


def _tag(tag: str) -> Piece:
    """Return the piece of a tag that stands between texts."""
    if LANGUAGE.search(tag) and not tag.startswith("</"):
        return Piece(tag, True, "language")
    return _tag_alone(tag)


def _tag_alone(tag: str) -> Piece:
    """Return the piece of a tag, which is translated if it has attributes that people see or hear."""
    return Piece(tag, translate=bool(branches(tag)))


def _is_part_of_line(name: str, tag: str, run: str) -> bool:
    """Return whether a tag in a drawing is in a line of text, which begins where an element has a place of its own."""
    if name != "tspan":
        return False
    return run.count("<tspan") > run.count("</tspan") if tag.startswith("</") else not _LINE_OF_DRAWING.search(tag)


def with_language(tag: str, source: str, target: str) -> str:
    """Return a tag, or a code, that states the language of a translation in the place of that of its source.

    The region of the source is left out, as it says nothing about the target.
    """
    base, code = re.split("[-_]", source.lower())[0], target.replace("_", "-")

    def stated(language: str, region: str) -> str:
        own = code.replace("-", "_") if region.startswith("_") else code
        return own if language.lower() == base else language + region

    if not tag.startswith("<"):
        language = re.split("[-_]", tag)[0]
        return stated(language, tag.removeprefix(language))
    return LANGUAGE.sub(lambda match: match[1] + stated(match[2], match[3] or ""), tag)


def _texts(run: str) -> list[Piece]:
    """Return the texts of a run of text and inline tags: a page may set them apart without white space between them.

    So it does with links beside each other, and with elements where a capital letter follows a word. Where all words
    are in links, as in menus, each link is a text.
    """
    places = {0, *_ends_of_links(run)}
    shown = _WHOLE.sub(lambda kept: " " * len(kept[0]), run) if "><" in run else ""
    for between in _BETWEEN.finditer(shown):
        are_links = between["closed"].lower() in LINKS and between["opened"].lower() in LINKS
        if are_links or (not between["before"].isupper() and between["after"].isupper()):
            places.add(between.end())
    return pieces(run, list(itertools.pairwise([*sorted(places), len(run)])))


def _ends_of_links(run: str, link: re.Pattern[str] = _LINK) -> list[int]:
    """Return where links end that others follow, if all words of a run are in links."""
    links = list(link.finditer(run)) if "<" in run or "](" in run else []
    if len(links) < 2 or re.search(r"\w", _TAG_OR_ENTITY.sub("", link.sub("", run))):
        return []
    return [
        one.end()
        for one, other in itertools.pairwise(links)
        if are_apart(_TAG_OR_ENTITY.sub("", run[one.end() : other.start()]), _TAG_OR_ENTITY.sub("", other["text"]))
    ]


def are_apart(between: str, following: str) -> bool:
    """Return whether two links are texts of their own, in a text all of whose words are in links.

    White space and a small letter may go on in the sentence.

    Args:
        between: the text between them.
        following: that of the second one.
    """
    return bool(between.strip()) or not following.lstrip()[:1].islower()


def _tokens(lines: Iterable[str]) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Yield text and the tag or comment that follows it; None at the end of a line outside a tag."""
    waiting, token = "", _TOKEN
    wanted = 0  # characters before an unfinished tag is read again; a little more each time would take quadratic time
    for line in chain(lines, [""]):
        waiting += line
        goes_on = bool(line) and len(waiting) < _LONGEST_RUN
        if goes_on and len(waiting) < wanted:
            continue
        start = 0
        while match := (_with_unfinished(token) if goes_on else token).search(waiting, start):
            is_open = match.lastgroup in ("open", "unfinished") or _UNFINISHED_FORMULA.match(waiting, match.start())
            if goes_on and is_open:
                break
            yield waiting[start : match.start()], match
            start, token = match.end(), _next_token(match)
        stop = match.start() if match else len(waiting)
        yield waiting[start:stop], None
        waiting, wanted = waiting[stop:], 2 * (len(waiting) - stop)


@functools.cache
def _rest_of(end: str) -> re.Pattern[str]:
    """Return the pattern of the rest of a comment or declaration, in portions; its groups are those of `_TOKEN`."""
    return re.compile(rf"()()()(?:(?P<rest>.*?{re.escape(end)})|(?P<open>.+))", re.DOTALL)


@functools.cache
def _with_unfinished(token: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(token.pattern + _UNFINISHED, token.flags)


def _next_token(tag: re.Match[str]) -> re.Pattern[str]:
    """Return the pattern of the tokens after a tag: in a script, for example, only its end tag is one."""
    if tag.lastgroup == "open":
        if "rest" in tag.re.groupindex:
            return tag.re
        return _rest_of(next((end for start, end in _ENDS.items() if tag[0].startswith(start)), ">"))
    name = (tag[2] or "").lower()
    if not _FLAT.fullmatch(name) or tag[1] or tag[0].endswith("/>"):
        return _TOKEN
    return re.compile(rf"<(/)({name})(?=[\s/>])([^<>]*)>", re.IGNORECASE)
