"""Placeholders: markup, variables, addresses, code and other parts of a text that stay unchanged in a translation.

A placeholder is replaced by a symbol before the search. A model trained with the symbols copies them to the right
places; `restore` puts the originals back, byte for byte, if each symbol occurs exactly once. Only what is certain to be
no prose is a placeholder; `placeholders.toml` lists the kinds.
"""

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SYMBOL = re.compile("\u27e6([1-9][0-9]?)\u27e7")  # a number in white brackets, which are on no keyboard
MOST_SYMBOLS = 99

_TABLE = tomllib.loads(Path(__file__).with_name("placeholders.toml").read_text(encoding="utf-8"))
_PARTS: dict[str, str] = _TABLE["parts"]
KINDS = {name: re.sub(r"<<(\w+)>>", lambda part: _PARTS[part[1]], kind) for name, kind in _TABLE["kinds"].items()}

# Where no kind begins: at a space, and at a Latin letter within a word. One look there saves some sixty others.
_NO_START = r"(?! |(?<=[^\W_])[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f])"
PLACEHOLDER = re.compile(f"{_NO_START}(?:{'|'.join(KINDS.values())})", re.DOTALL)
KEPT_ELEMENT = re.compile("|".join(KINDS[f"{kind}_element"] for kind in ("code", "kept", "formula", "ruby")))
FORMULA = KINDS["math_element"]
BBCODE = re.compile(_PARTS["bbcode"])  # a certain tag, without its brackets
# The tags of the texts of documents, which stand for formatting and objects of any kind.
DOCUMENT_TAG = re.compile(r"<(/?)(g+x*\d+)(/?)>")
PROSE_ENTITY = re.compile(f"&(?:{_PARTS['prose_entities']});")


@dataclass(frozen=True)
class Protected:
    """A sentence with symbols, and the originals in the order of the symbols' numbers."""

    text: str
    originals: tuple[str, ...]


def symbol(i: int) -> str:
    """Return symbol `i`, counted from 0; a single token of a tokenizer with more than `i` placeholders."""
    return f"\u27e6{i + 1}\u27e7"


def without_symbols(text: str) -> str:
    """Return a text with spaces in place of symbols, so that what is found in it has the same place in both."""
    return SYMBOL.sub(lambda match: " " * len(match[0]), text)


def protect(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> Protected:
    """Replace every match of `pattern` by a symbol, numbered in order of appearance."""
    return _replaced(sentence, ((*span, sentence[slice(*span)]) for span in placeholder_spans(sentence, pattern)))


def mask(text: str, spans: Iterable[tuple[int, int] | tuple[int, int, str]]) -> Protected:
    """Replace spans of a protected text by symbols, numbered after those that it contains, which stay symbols.

    A symbol stands for the text of its span, or for the text that is given with it.
    """
    before = [symbol(i) for i in range(len(SYMBOL.findall(text)))]
    given = [(*span[:2], span[2] if len(span) > 2 else text[slice(*span)]) for span in spans]
    return _replaced(text, given, before)


def mask_as(protected: Protected, spans: Iterable[tuple[int, int, str]]) -> Protected:
    """Replace spans of a protected text by symbols that stand for other texts.

    All symbols are numbered in order of appearance. If there are more than `SYMBOL` has numbers for, the text stays.
    """
    spans = list(spans)
    if not spans:
        return protected
    if len(protected.originals) + len(spans) > MOST_SYMBOLS:
        return Protected(protected.text, (*protected.originals, *(original for _, _, original in spans)))
    held = [(*match.span(), protected.originals[int(match[1]) - 1]) for match in SYMBOL.finditer(protected.text)]
    return _replaced(protected.text, sorted([*held, *spans]))


def _replaced(text: str, spans: Iterable[tuple[int, int, str]], before: Sequence[str] = ()) -> Protected:
    """Return the text with symbols for spans, each with its original; `before` are the originals of lower numbers."""
    parts, originals, end = list[str](), [*before], 0
    for start, stop, original in spans:
        parts += [text[end:start], symbol(len(originals))]
        originals.append(original)
        end = stop
    return Protected("".join([*parts, text[end:]]), tuple(originals))


def restore(translation: str, originals: tuple[str, ...]) -> str | None:
    """Return the translation with the originals in place of the symbols; None unless each occurs exactly once."""
    found = [int(number) - 1 for number in SYMBOL.findall(translation)]
    if sorted(found) != list(range(len(originals))):
        return None
    return SYMBOL.sub(lambda match: originals[int(match[1]) - 1], translation)


# An ampersand between words, which models read, is written as an entity in HTML: books &amp; music, R&amp;D. In code
# and addresses it is part of a placeholder, and in A&amp;LT; the sign would begin another entity.
_ENTITY_OF_AMPERSAND = re.compile(
    r"(?:(?<![^\s>])|(?<=&nbsp;))&(?:amp|#0{0,3}38);(?=[\s<]|&nbsp;|\Z)"
    r"|(?<=[A-Z])&(?:amp|#0{0,3}38);(?=[A-Z])(?!\w{2,31};)"
)
_AMPERSAND = re.compile(r"&(?!(?:#|\w)\w{1,31};)")


def with_ampersands(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with signs in place of entities between words; one with other ampersands stays."""
    if not _ENTITY_OF_AMPERSAND.search(text) or any(_AMPERSAND.search(part) for part, _ in _outside(text, pattern)):
        return text
    whole = {*placeholder_spans(text, pattern)}
    return _ENTITY_OF_AMPERSAND.sub(lambda entity: "&" if entity.span() in whole else entity[0], text)


def with_entities(text: str, source: str, pattern: re.Pattern[str]) -> str:
    """Return a text with the entity that its source has in place of each ampersand outside of its placeholders."""
    entity = _ENTITY_OF_AMPERSAND.search(source)
    return "".join(_AMPERSAND.sub(entity[0] if entity else "&", part) + held for part, held in _outside(text, pattern))


_BREAK = re.compile(r"(?i)<br\b[^<>]*>")


def with_spaces_at_breaks(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with spaces around each <br>, which divides words; a text that has some of them stays."""
    if without_spaces_at_breaks(text, text, pattern) != text:
        return text
    parts = _at_breaks(text, pattern)
    last = len(parts) - 1
    spaces = [(" " * (n > 0), " " * (n < last)) if part and n % 2 == 0 else ("", "") for n, part in enumerate(parts)]
    return "".join(f"{before}{part}{after}" for part, (before, after) in zip(parts, spaces, strict=True))


def without_spaces_at_breaks(text: str, source: str, pattern: re.Pattern[str]) -> str:
    """Return a text without the spaces around each <br>, as its source has none."""
    first, *inner = _at_breaks(text, pattern)
    if not inner:
        return text
    *inner, last = inner
    return first.rstrip() + "".join(part.strip() for part in inner) + last.lstrip()


def _at_breaks(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Divide a text at each <br>, which are every second part."""
    spans = placeholder_spans(text, pattern) if _BREAK.search(text) else []
    places = [place for span in spans if _BREAK.fullmatch(text, *span) for place in span]
    return [text[start:stop] for start, stop in itertools.pairwise([0, *places, len(text)])]


def _outside(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield each part of a text outside of placeholders, and the placeholder after it, "" after the last one."""
    end = 0
    for start, stop in [*placeholder_spans(text, pattern), (len(text), len(text))]:
        yield text[end:start], text[start:stop]
        end = stop


# Finding placeholders

# Forms of a plural as Symfony, Laravel and vue-i18n have them: a whole text with bars, {0} None|[1,*] Some. So are the
# kinds of files with their patterns in dialogs of .NET, Text files|*.txt|All files|*.*
_SELECTOR = r"(?:\{\d+\}|[\[\]]\s?-?(?:\d+|Inf)\s?,\s?(?:\d+|\*|\+?Inf)\s?[\[\]])"
_CODES_IN_FORM = r"\{\{?\s?[\w.$]+\s?\}\}?|<g+x*\d+/>|</?(?!g+x*\d)[A-Za-z][^<>|\n]*>"
_FORM = rf"(?=\s*(?:{_SELECTOR}|\*\.)|[^|\n]*?[^\W\d_]{{3}})(?:[^|\n<{{}}]|{_CODES_IN_FORM})++"
_FORMS = rf"\A(?![`$\\*!\]])(?![^\n]*?\[\[[^\[\]|\n]*\|)(?=[^\n]*?(?:\S\||\|\S)){_FORM}(?:\|{_FORM})+\Z"
# Of Qt: Images (*.png *.jpg);;All files (*)
_FILTER = r"[^;|()<>{}\n]{1,200}\((?=[^()\n]{0,500}\*)[\w.*?\[\],; +-]{1,500}\)"
_FILTERS = rf"\A{_FILTER}(?:;;{_FILTER})+\Z"
_NAME_OF_FILTER = re.compile(r"(?:\A|;;)\s*(?P<text>[^;|()<>{}\n]*?)\s*\((?=[^()]*\*)")
_FORM_WITH_TEXT = re.compile(rf"(?:\s*{_SELECTOR})?\s*(?P<text>[^|]*?)\s*(?:\||\Z)")
# Of MediaWiki: {{PLURAL:$1|one page|$1 pages}}, {{GENDER:$2|his|her|their}}; a form may be that of a number, 0=none
_FORMS_OF_WIKI = re.compile(r"\{\{(?:PLURAL|GENDER):[^{}|]*(?P<forms>(?:\|[^{}|]*)+)\}\}")
_VARIABLE_OF_WIKI, _IN_BRACES = re.compile(r"(?<![\w$])\$([1-9])(?!\w)"), re.compile(r"\$\{([1-9])\}")
_FORM_OF_WIKI = re.compile(r"\|\s*(?:\d+\s*=)?\s*(?P<text>(?:[^\s|}]++|\s++(?![|}]))*+)")
# Every placeholder, also of Markdown, contains one of these. Most sentences contain none, and this search is fast.
_SIGN = re.compile(
    rf"[\u27e6`<&@{{[_%$*/\\#|\d\u20e3\u00b2\u00b3\u00ab\u0294{_PARTS['signs']}{_PARTS['face']}]|--|BIC|SWIFT|www\.|\.(?:\w|\.{{6}})"
    r"|[:;=^>~\u00b0+-][^\s\w]|:[a-z]|[:;o][DPpOoXxS]|\^\^|[xX]D|[oO][._]"
)
_SIGNED = [PLACEHOLDER]  # patterns each match of which contains one


def signed(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return a pattern each match of which contains a sign of placeholders: text without one is not searched."""
    _SIGNED.append(pattern)
    return pattern


def placeholder_spans(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[tuple[int, int]]:
    """Return where the placeholders of a sentence start and stop.

    They are found in composed letters, as an accent by itself would end a name.
    """
    if not may_match(sentence, pattern):
        return []
    shown, places = composed(sentence)
    return [(places[match.start()], places[match.end()]) for match in pattern.finditer(shown)]


# A tag that begins or ends a block (https://html.spec.whatwg.org/#flow-content), or a line.
_BLOCK = re.compile(
    r"</?(?:address|article|aside|blockquote|(?P<break>br)|caption|center|dd|details|dialog|div|dl|dt|fieldset"
    r"|figcaption|figure|footer|form|h[1-6]|header|hr|legend|li|main|menu|nav|ol|option|p|section|summary|table|tbody"
    r"|td|tfoot|th|thead|tr|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"(?:<[^<>]{0,200}>|_|[^\w<{&%$]){0,20}(\w)")  # after marks and tags


def block_spans(text: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[tuple[int, int]]:
    """Return where the tags of blocks of HTML are, which end sentences; <br> does unless a small letter follows it.

    Args:
        pattern: matches placeholders.
    """
    if "<" not in text or not _BLOCK.search(text):
        return []
    tags = (_BLOCK.fullmatch(text, *span) for span in placeholder_spans(text, pattern))
    return [tag.span() for tag in tags if tag and not (tag["break"] and _is_followed_by_small_letter(text, tag.end()))]


def _is_followed_by_small_letter(text: str, place: int) -> bool:
    word = _NEXT_WORD.match(text, place)
    return word is not None and word[1].islower()


def may_match(text: str, pattern: re.Pattern[str]) -> bool:
    """Return False for text that is quickly seen to have no match of `pattern`, such as most sentences."""
    return not _is_signed(pattern) or _SIGN.search(text) is not None


def _is_signed(pattern: re.Pattern[str]) -> bool:
    return any(pattern is other for other in _SIGNED)


def composed(text: str) -> tuple[str, Sequence[int]]:
    """Return the text with composed letters, and the place in `text` of each of its characters and of its end."""
    if unicodedata.is_normalized("NFC", text):
        return text, range(len(text) + 1)
    starts = [i for i, character in enumerate(text) if not i or not unicodedata.combining(character)]
    composed = [unicodedata.normalize("NFC", text[i:j]) for i, j in itertools.pairwise([*starts, len(text)])]
    places = [i for i, letters in zip(starts, composed, strict=True) for _ in letters]
    return "".join(composed), [*places, len(text)]


@cache  # compiling it takes milliseconds, which only documents should cost
def tagged() -> re.Pattern[str]:
    """Return the pattern of placeholders in a text of a document, in which a pair of tags around nothing is two."""
    return signed(re.compile(f"{_FORMS}|{_FILTERS}|{DOCUMENT_TAG.pattern}|{PLACEHOLDER.pattern}", re.DOTALL))


def in_language(pattern: re.Pattern[str], code: str) -> re.Pattern[str]:
    """Return the pattern of placeholders for texts in a language, without what is prose in it."""
    from translate.text import languages  # symbols and glossaries do without

    prose = (languages.find(code) or languages.general()).prose
    return pattern if prose is None else _without(pattern, prose)


@cache
def _without(pattern: re.Pattern[str], prose: re.Pattern[str]) -> re.Pattern[str]:
    found = re.compile(f"(?!{prose.pattern})(?:{pattern.pattern})", pattern.flags)
    return signed(found) if _is_signed(pattern) else found


# Placeholders at the ends of a sentence, and marks of formatting in pairs

_ALONE = re.compile(
    "|".join(KINDS[kind] for kind in ("signs", "empty_element", "reference", "emoticon", "face"))
    + r"|[\d#*]\ufe0f?\u20e3|#\w+|\[\*\]|\{\\(?![ibus][01]\})[^{}]+\}"
)
TAG = re.compile(rf"[<\[](/?)(\w[\w:-]*)(?:{_PARTS['tag_end']}|(?:[=\s][^\]]*)?\])")  # of HTML or BBCode
MAY_BE_MARKED = re.compile(r"[<\[\]*_~=]|\{\{%|\+\+")  # every mark of formatting has one, and most sentences have none
LINK_ENDS = ("](", "][", "]{")  # before a target, the label of a reference, and attributes
EMPHASIS = frozenset(["*", "**", "***", "_", "__", "___", "~~", "=="])

# Of CriticMarkup: {++added++} {==marked==} {~~old~>new~~}, the start of which holds what is deleted.
CRITIC = re.compile(r"(?P<start>\{(?:\+\+|==|~~[^{}~\n]{0,200}~>))|(?P<end>(?:\+\+|==|~~)\})")


def unframed(protected: Protected) -> tuple[str, Protected, str]:
    """Return the layout before the sentence, the sentence, and the layout after it.

    Layout is signs such as emoji and bars, references, empty elements and pictures without white space beside them at
    either end, and emphasis, a link or an element around the whole sentence.
    """
    text, originals = protected.text, protected.originals
    before = after = ""
    while len(originals) <= MOST_SYMBOLS:
        first = re.match(rf"{symbol(0)}\s*", text) if originals else None
        last = re.search(rf"\s*{symbol(len(originals) - 1)}\Z", text) if originals else None
        is_pair = first and last and _is_pair(originals)
        takes_first = first and (is_pair or _is_alone(originals[0], first[0]))
        takes_last = last and (is_pair or (_is_alone(originals[-1], last[0]) and not takes_first))
        if takes_last and last:
            after = last[0].replace(symbol(len(originals) - 1), originals[-1]) + after
            text, originals = text[: last.start()], originals[:-1]
        if takes_first and first:
            before += first[0].replace(symbol(0), originals[0])
            text = SYMBOL.sub(lambda match: symbol(int(match[1]) - 2), text[first.end() :])
            originals = originals[1:]
        if not (takes_first or takes_last):
            break
    return before, Protected(text, originals), after


def _is_alone(original: str, held: str) -> bool:
    """Return whether a placeholder at one end of a sentence is no part of it.

    Args:
        held: its symbol with the white space beside it.
    """
    is_beside_word = BEGINS_PICTURE.match(original) and not held[:1].isspace() and not held[-1:].isspace()
    return bool(_ALONE.fullmatch(original) or is_beside_word)


def is_emptied(translation: str, protected: Protected) -> bool:
    """Return whether two marks around words, such as those of emphasis or a link, are around nothing any more."""
    empty = [re.compile(rf"{symbol(i)}\s*{symbol(j)}") for i, j in _pairs(protected.originals) if j == i + 1]
    return any(marks.search(translation) and not marks.search(protected.text) for marks in empty)


def without_space_in_marks(translation: str, protected: Protected) -> str:
    """Return a translation with symbols without white space inside pairs of marks where the sentence has none.

    A model's tokens begin with a space, so it may write one after an opening mark; Markdown then shows the marks.
    """
    for i, j in _pairs(protected.originals):
        if re.search(rf"{symbol(i)}\S", protected.text):
            translation = re.sub(rf"{symbol(i)}\s+", symbol(i), translation)
        if re.search(rf"\S{symbol(j)}", protected.text):
            translation = re.sub(rf"\s+{symbol(j)}", symbol(j), translation)
    return translation


def _pairs(marks: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of each opening mark and of the mark that closes it, which opens no other pair."""
    closing = set[int]()
    for i in range(len(marks)):
        ends = (j for j in range(i + 1, len(marks)) if _is_pair(marks[i : j + 1]))
        if i not in closing and (j := next(ends, None)) is not None:
            closing.add(j)
            yield i, j


def _is_pair(marks: Sequence[str]) -> bool:
    """Return whether the first and the last mark are a pair: no mark between them closes or opens one of them."""
    if len(marks) < 2:
        return False
    opening, *between, closing = marks
    if opening in EMPHASIS:
        return opening == closing and opening not in between
    if opening == "[":
        steps = [(mark == "[") - mark.startswith(LINK_ENDS) for mark in between]
        return closing.startswith(LINK_ENDS) and min(itertools.accumulate(steps, initial=0)) == sum(steps) == 0
    if (critic := CRITIC.fullmatch(opening)) and critic["start"]:
        return closing == f"{opening[1:3]}}}" and not any(
            mark[:3] == opening[:3] or mark == closing for mark in between
        )
    tags = [tag for mark in marks if (tag := TAG.fullmatch(mark))]
    names = [tag[2].lower() for tag in tags]
    return (
        len(tags) > 1
        and (tags[0][0], tags[-1][0]) == (opening, closing)
        and (tags[0][1], tags[-1][1]) == ("", "/")
        and names[0] == names[-1]
        and names.count(names[0]) == 2
    )


# Texts in placeholders

MESSAGE = re.compile(f"{KINDS['message']}|{KINDS['choice']}")  # of ICU
_CHOICE = re.compile(KINDS["choice"])
_CHOICE_FORM = re.compile(rf"[,|]{_PARTS['choice_limit']}(?P<text>{_PARTS['choice_text']})")
EXPRESSION = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"  # of JSX
_START_TAG = re.compile(rf"""<(?P<name>[A-Za-z][\w:.-]*)\s(?:[^<>"'{{]++|"[^"]*+"|'[^']*+'|{EXPRESSION}|\{{)*+>""")
_ATTRIBUTE = re.compile(  # or an expression or value in which there is none
    rf"""\s(?P<name>[^\s"'<>/=]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|\{\s*(?:"(?P<jsx>(?:[^"\\]|\\.)*)"|'(?P<jsx_single>(?:[^'\\]|\\.)*)')\s*\})"""
    rf"""|"[^"]*"|'[^']*'|{EXPRESSION}"""
)
# Keys of front matter whose values people read, in Hugo, Jekyll, Docusaurus, MkDocs, Quarto and VitePress, and of data.
READ_KEYS = (
    "title|linkTitle|subtitle|description|summary|excerpt|abstract|lead|tagline|caption|sidebar_label|sidebarTitle"
    "|sidebar_title|pagination_label|nav_title|navTitle|heading|text|details|linkText|label|alt|question|answer"
)
# An expression that is a list of objects: <Tabs values={[{label: "A house", value: "house"}]}>. One with operators,
# calls or functions is code, and an object by itself may have names of classes or styles for a part named "label".
_DATA = re.compile(r"""\{\s*\[(?:[\s\w\[\]{},:.-]++|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')*+""", re.DOTALL)
_READ_MEMBER = rf"""(?P<mark>["']?)(?<![\w.])(?:{READ_KEYS})(?P=mark)\s*:\s*"""
_PART_OF_DATA = re.compile(
    rf"""(?P<bracket>[\[\]{{}}])|{_READ_MEMBER}(?:"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>(?:[^'\\]|\\.)*+)')"""
    r"""|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'""",
    re.DOTALL,
)
_SHOWN_NAME = re.compile(
    r"""(?i)\s(?:alt|title|placeholder|summary|label|aria-\w+|abbr|alttext|value|content|caption)\s*=\s*\{?\s*["']"""
)
_READ_NAME = re.compile(rf"""{_READ_MEMBER}["']""")
# Of Hugo and of Liquid, whose parameters may be text: {{< figure caption="A house" >}}
SHORTCODE = re.compile(
    r"\{\{[<%](?:(?![>%]\}\}).)*[>%]\}\}"
    r"|\{%-?+\s*+(?!(?:assign|set|if|els?if|unless|for|case|when|capture|macro|call|block|with)\b)(?:(?!%\}).)*%\}",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"""\s(?P<name>[\w-]+)\s*=\s*(?:"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>(?:[^'\\]|\\.)*+)')"""
    r"""|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|`[^`]*+`""",
    re.DOTALL,
)
# A role of MyST: {term}`house`, {ref}`another text <target>`
ROLE = r"\{(?P<role>[a-z][\w:+-]{0,40})\}`(?P<shown>[^`<>\n]{1,200}+)(?P<target><[^`<>\n]{1,200}>)?`"
_LINK_TITLE = re.compile(
    r"""\[?\]\(\s*(?:<[^<>]*>|\{\{[^{}\n]{0,200}\}\}|[^\s<>]+)\s+"""
    r"""(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)')\s*\)"""
    r"(?:\{[^{}]*\})?"  # attributes
)
# Of pandoc and Quarto: ![A house](house.png){fig-alt="A red house"}
_READ_ATTRIBUTE = re.compile(
    r"""(?<=[\s{])(?:fig-(?:alt|s?cap)|alt|title|caption)=(?:"(?P<double>[^"{}]*)"|'(?P<single>[^'{}]*)')"""
)
# Of a span of pandoc: [old house]{.underline}
SPAN_ATTRIBUTES = r"\{:?[ ]?(?:[#.][\w-]|[\w-]{1,40}=)[^{}\n]{0,200}\}"
# The second half of a link: its address, maybe with a title, or its label, and attributes; or that of a span
END_OF_LINK = (
    r"\](?:(?:\((?:[^()\n]++|\([^()\n]{0,200}\))*\)|\[[^\[\]\n]{0,200}\])(?:\{(?!%)[^{}\n]{1,200}\})?"
    rf"|{SPAN_ATTRIBUTES})"
)
# A picture of Markdown: ![text](address "title") or ![text][label]
PICTURE = rf"!\[(?P<alt>(?:[^\[\]\n]++|\[[^\[\]\n]{{0,200}}\]){{0,9}}+)(?P<end>{END_OF_LINK})"
BEGINS_PICTURE = re.compile(r"(?i)<img\b|!\[")  # of HTML or Markdown
INLINE_NOTE = r"\^\[(?P<note>(?:[^\[\]\n]++|\[[^\[\]\n]{0,200}\]){1,20}+)\](?![(\[])"  # of pandoc: ^[A note.]
# Of wikis and Obsidian: [[page#section|text]]
WIKI_LINK = re.compile(r"\[\[[^\[\]|\n]{1,200}(?:\|(?P<wiki_text>[^\[\]\n]{1,200}))?\]\]")
# Attributes by which the content of an element of HTML stays; Sphinx writes declarations of code as "sig-object".
KEPT_CLASSES = ("notranslate", "sig-object")
NOT_TRANSLATED = re.compile(
    r"(?<![\w-])(?:translate\s*=\s*(?:\"no\"|'no'|no(?=[\s/]|\Z))"
    rf"|class\s*=\s*(?:(?:{'|'.join(KEPT_CLASSES)})(?=[\s/]|\Z)"
    rf"|[\"'](?:[^\"']*\s)?(?:{'|'.join(KEPT_CLASSES)})[\s\"']))",
    re.IGNORECASE,
)
TRANSLATED = re.compile(r"(?i)(?<![\w-])translate\s*=\s*(?:\"(?:yes)?\"|'(?:yes)?'|yes(?=[\s/]|\Z))")  # as in HTML
# Attributes of HTML that people see or hear, by their elements; "" stands for all.
_SHOWN = {
    "": {
        *("alt", "title", "placeholder", "summary", "label", "aria-label", "aria-description", "aria-placeholder"),
        *("aria-roledescription", "aria-valuetext", "caption"),  # captions are of components and shortcodes
    },
    "th": {"abbr"},
    "math": {"alttext"},
}
_BUTTONS = {"button", "submit", "reset"}
_DESCRIPTIONS = re.compile(r"description|(?:og|twitter):(?:title|description|image:alt)")


def _parameters(shortcode: str) -> list[tuple[int, int]]:
    """Return where the parameters of a shortcode start and stop that people see or hear."""
    if not _SHOWN_NAME.search(shortcode) or not SHORTCODE.fullmatch(shortcode):
        return []
    inside = _PARAMETER.finditer(shortcode, 2, len(shortcode) - 2)
    found = (match for match in inside if match["name"] in _SHOWN[""])
    spans = (match.span(match.lastgroup or 0) for match in found)
    return [(start, stop) for start, stop in spans if any(map(str.isalpha, shortcode[start:stop]))]


def _may_show(text: str) -> bool:
    """Return False for text that is quickly seen to have no tag or shortcode with texts in it."""
    return _SHOWN_NAME.search(text) is not None or ("{" in text and _READ_NAME.search(text) is not None)


def messages(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[str]:
    """Return the distinct placeholders of a sentence that have texts in them; see `branches`."""
    may_have = "|" in sentence or ";;" in sentence or ("{" in sentence and MESSAGE.search(sentence))
    may_have = may_have or _may_show(sentence) or any(sign in sentence for sign in ("}`", "![", "^[", "{>>"))
    if not may_have and not ("](" in sentence and re.search(r"[\"')]\s?\)", sentence)):
        return []
    found = (sentence[slice(*span)] for span in placeholder_spans(sentence, pattern))
    return [code for code in dict.fromkeys(found) if branches(code)]


def branches(code: str) -> list[tuple[int, int]]:
    """Return where the texts in a placeholder start and stop; none in most.

    They are the branches of a message of ICU, its choices included, the forms of a plural between bars, the attributes
    of a tag that people see or hear, the text of a picture, note or remark and the title of a link of Markdown, the
    text of a link of a wiki, and in roles of MyST the text before a target and terms of a glossary.
    """
    if (link := WIKI_LINK.fullmatch(code.removeprefix("!"))) and link["wiki_text"]:
        start, stop = link.span("wiki_text")
        n_before = len(code) - len(link[0])
        return [(start + n_before, stop + n_before)] if any(map(str.isalpha, link["wiki_text"])) else []
    if "|" in code and re.match(_FORMS, code) and not PLACEHOLDER.fullmatch(code):
        forms = _FORM_WITH_TEXT.finditer(code)
        return [form.span("text") for form in forms if form["text"] and not form["text"].startswith("*.")]
    if ";;" in code and re.match(_FILTERS, code):
        return [name.span("text") for name in _NAME_OF_FILTER.finditer(code) if name["text"]]
    if wiki := _FORMS_OF_WIKI.fullmatch(code):
        return [form.span("text") for form in _FORM_OF_WIKI.finditer(code, wiki.start("forms")) if form["text"]]
    if note := re.fullmatch(INLINE_NOTE, code):
        return [note.span("note")]
    if code.startswith("{>>") and code.endswith("<<}"):
        return [(3, len(code) - 3)]
    if code.startswith("<"):
        return _values(code)
    if code.startswith(("{{<", "{{%", "{%")):
        return _parameters(code)
    if code.startswith(("](", "[](")):
        return _title(code)
    if picture := re.fullmatch(PICTURE, code) if code.startswith("![") else None:
        spans = [
            picture.span("alt"),
            *((a + picture.end("alt"), b + picture.end("alt")) for a, b in _title(picture["end"])),
        ]
        return [(start, stop) for start, stop in spans if any(map(str.isalpha, code[start:stop]))]
    if code.endswith("`") and (role := re.fullmatch(ROLE, code)):
        return _texts_of_role(role)
    if _CHOICE.fullmatch(code):
        return [form.span("text") for form in _CHOICE_FORM.finditer(code) if form["text"].strip()]
    if not MESSAGE.fullmatch(code):
        return []
    found, depth, start = list[tuple[int, int]](), 0, 0
    for brace in re.finditer(r"[{}]", code):
        if brace[0] == "{":
            depth += 1
            start = brace.end() if depth == 2 else start
        else:
            found += [(start, brace.start())] if depth == 2 else []
            depth -= 1
    return found


def _title(link: str) -> list[tuple[int, int]]:
    """Return where the title is in what follows the text of a link, and texts in its attributes."""
    title = _LINK_TITLE.fullmatch(link)
    attributes = _READ_ATTRIBUTE.finditer(link, link.rfind("{")) if link.endswith("}") else ()
    found = [*([title] if title else []), *attributes]
    return [match.span(match.lastgroup or 0) for match in found]


def _texts_of_role(role: re.Match[str]) -> list[tuple[int, int]]:
    start, stop = role.span("shown")
    shown = (start, start + len(role["shown"].rstrip()))
    target = [(stop + 1, role.end("target") - 1)] if role["target"] else []
    if role["role"] == "term":
        return [shown, *target]
    return [shown] if target else []


def _values(tag: str) -> list[tuple[int, int]]:
    """Return where the values of the attributes of a tag start and stop that people see or hear."""
    start = _START_TAG.fullmatch(tag)
    if start is None or not _may_show(tag) or NOT_TRANSLATED.search(tag[:-1]):
        return []
    found = [*_ATTRIBUTE.finditer(tag)]
    values = {match["name"].lower(): match[match.lastgroup or 0] for match in found if match["name"]}
    names = shown_attributes(start["name"].lower(), values)
    spans = list[tuple[int, int]]()
    for match in found:
        if match["name"]:
            spans += [match.span(match.lastgroup or 0)] if match["name"].lower() in names else []
        elif _DATA.fullmatch(match[0]):
            spans += ((match.start() + start, match.start() + stop) for start, stop in _texts_of_data(match[0]))
    return [(start, stop) for start, stop in spans if any(map(str.isalpha, tag[start:stop]))]


def _texts_of_data(expression: str) -> Iterator[tuple[int, int]]:
    """Yield where the texts of the objects in lists are that people read."""
    opened = ""
    for part in _PART_OF_DATA.finditer(expression):
        if bracket := part["bracket"]:
            opened = opened + bracket if bracket in "[{" else opened[:-1]
        elif part.lastgroup in ("double", "single") and opened.endswith("[{"):
            yield part.span(part.lastgroup)


def shown_attributes(name: str, attributes: Mapping[str, str]) -> list[str]:
    """Return the names of the attributes of an element of HTML whose values are text, which people see or hear."""
    if name in ("link", "style"):  # which name style sheets
        return []
    shown = {*_SHOWN[""], *_SHOWN.get(name, ())}
    if name == "input" and attributes.get("type", "").lower() in _BUTTONS:
        shown.add("value")
    elif name == "meta" and _DESCRIPTIONS.fullmatch((attributes.get("name") or attributes.get("property", "")).lower()):
        shown.add("content")
    return [name for name in attributes if name in shown]


def branch_text(code: str, start: int, stop: int) -> str:
    """Return a text in a placeholder without the marks that escape its quotation marks.

    In forms of MediaWiki, $1 is a variable; the text has ${1}, which no amount of money is like.
    """
    if _FORMS_OF_WIKI.fullmatch(code):
        return _VARIABLE_OF_WIKI.sub(r"${\1}", code[start:stop])
    quote = _escaped_quote(code, start)
    return code[start:stop].replace(f"\\{quote}", quote) if quote else code[start:stop]


def with_branches(code: str, texts: Sequence[str]) -> str:
    """Return a placeholder with other texts in it; a quotation mark that would end one is escaped."""
    if _CHOICE.fullmatch(code):  # an apostrophe would quote the sign that ends a form
        texts = [text.replace("'", "\u2019") for text in texts]
    if _FORMS_OF_WIKI.fullmatch(code):
        texts = [_IN_BRACES.sub(r"$\1", text) for text in texts]
    parts, end = list[str](), 0
    for (start, stop), text in zip(branches(code), texts, strict=True):
        quote = code[start - 1 : start]
        if _escaped_quote(code, start):
            text = re.sub(rf"(?<!\\){quote}", rf"\\{quote}", text)
        elif quote and quote in "\"'" and code.startswith(("<", "{%")):
            text = re.sub(rf"(?<!\\){quote}" if code[0] == "{" else quote, "&quot;" if quote == '"' else "&#39;", text)
        parts += [code[end:start], text]
        end = stop
    return "".join([*parts, code[end:]])


def _escaped_quote(code: str, start: int) -> str:
    """Return the quotation mark before a text in a placeholder if a backslash escapes it there; "" otherwise."""
    quote, before = code[start - 1 : start], code[: max(0, start - 1)]
    # In titles of links and pictures, in Hugo, and in expressions of JSX and data in them.
    is_jsx = code.startswith("<") and before.rstrip().endswith(("{", ":"))
    is_escaped = is_jsx or code.startswith(("](", "[](", "![", "{{"))
    return quote if quote and quote in "\"'" and is_escaped else ""
