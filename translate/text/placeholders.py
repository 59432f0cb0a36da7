"""What a translation must hold unchanged: markup, variables, addresses, code; each becomes a symbol on the way.

A model that was trained with the symbols copies them to where they belong. `restore` counts: each must be there once
and nothing else that looks like one. If not, `between` gives the stretches that can be translated one by one.
"""

import re
from dataclasses import dataclass

from translate.text.pieces import Piece, pieces

SYMBOL = re.compile("\u27e6([1-9][0-9]?)\u27e7")  # white brackets round a number, which no keyboard has

# An element of HTML that is code, or that says itself that it stays as it is.
KEPT_ELEMENT = (
    r"<(?P<code>code|kbd|samp|var)\b[^<>\n]{0,1000}>[^<>\n]{0,1000}</(?P=code)>"
    r"|<(?P<kept>[a-z]{1,9})\s(?:[^<>\n]{0,1000}\s)?translate=[\"']?no\b[^<>\n]{0,1000}>[^<>\n]{0,1000}</(?P=kept)>"
)

# Every repetition that another one could take over is bounded, so that no text takes more than linear time.
_KINDS = (
    r"\u27e6\d{1,3}\u27e7",  # what would be mistaken for a symbol
    r"(?<![\w`])(?P<ticks>`{1,3})(?![\s`])[^\n]{1,200}?(?<![\s`])(?P=ticks)(?![\w`])",  # code
    KEPT_ELEMENT,
    r"<!--.{0,1000}?-->|</?[A-Za-z][^<>\n]{0,1000}>",  # markup
    r"&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",  # entities
    # The sign that ends a sentence or a bracket is none of an address.
    r"""(?:\b(?:https?|ftp|file)://|\bwww\.)[^\s<>"'\u201c-\u201e\u00ab\u00bb]{1,2000}(?<![.,;:!?)\]}])""",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",  # e-mail
    r"\$\{[^{}\n]{1,100}\}|\{\{[^{}\n]{1,100}\}\}|\{[\w.:!,\[\]<>^+#-]{0,60}\}",  # ${x} {{ x }} {x} {0:.2f}
    # %s %(name)d %1$s %-5.2f %1; a sign of per cent has a digit before it or a space after it.
    r"(?<![\d%])%(?:\(\w{1,60}\)|\d{1,2}\$)?[-+#0]{0,3}\d{0,4}(?:\.\d{1,4})?[hlqLjzt]{0,2}[sdiouxXeEfFgGcr](?!\w)",
    r"(?<![\d%])%\d{1,2}(?!\w)",
    r"\$[A-Za-z_]\w{0,60}|(?<![\w-])--[A-Za-z][\w-]{0,60}",  # $HOME --option
    r"(?<![\w/.~-])(?:(?:~|\.{1,2})(?:/[\w.+@-]{0,60}\w){1,40}|(?:/[\w.+@-]{0,60}\w){2,40})/?",  # file paths
    r"(?<!\w)[A-Za-z]:\\[\w.\\+-]{0,200}\w",
)
PLACEHOLDER = re.compile("|".join(_KINDS), re.DOTALL)
# One of these is in each of them. Most sentences have none, and are looked through for these in far less time.
_SIGN = re.compile(r"[\u27e6`<&@{%$/\\]|--|www\.")


@dataclass(frozen=True)
class Protected:
    """A sentence with symbols, and what they stand for, in the order of their numbers."""

    text: str
    originals: tuple[str, ...]


def symbol(i: int) -> str:
    """Symbol `i`, from 0 on; a piece of its own in a tokenizer with as many placeholders."""
    return f"\u27e6{i + 1}\u27e7"


def protect(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> Protected:
    """The sentence with a symbol for every match of `pattern`, numbered in order of appearance."""
    if pattern is PLACEHOLDER and not _SIGN.search(sentence):
        return Protected(sentence, ())
    originals: list[str] = []

    def replace(match: re.Match[str]) -> str:
        originals.append(match[0])
        return symbol(len(originals) - 1)

    return Protected(pattern.sub(replace, sentence), tuple(originals))


def restore(translation: str, originals: tuple[str, ...]) -> str | None:
    """The translation with the originals in place of their symbols; None unless each is there exactly once."""
    found = [int(number) - 1 for number in SYMBOL.findall(translation)]
    if sorted(found) != list(range(len(originals))):
        return None
    return SYMBOL.sub(lambda match: originals[int(match[1]) - 1], translation)


def between(sentence: str, pattern: re.Pattern[str] = PLACEHOLDER) -> list[Piece]:
    """The sentence taken apart: matches are copied, and what stands between them is translated on its own."""
    ends = [0, *(end for match in pattern.finditer(sentence) for end in match.span()), len(sentence)]
    return pieces(sentence, list(zip(ends[::2], ends[1::2], strict=True)))
