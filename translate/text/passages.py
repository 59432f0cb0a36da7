"""Passages of several sentences: parted, guarded, translated together, and joined again.

What translates a plain sentence is a function, so that this module knows no model.

    split          longer than the model reads at once, so translated in parts
    copied         nothing to translate: numbers, punctuation, emoji; left as it is
    language       not in the source language; left as it is
    capitals       all in capitals, so read in small letters and put back; or a few German words all in small letters,
                   so read with capitals
    placeholders   the text around placeholders was translated in pieces, or the model invented one
    repetition     the model repeated itself; the search was made again without repetitions
    length         the translation reached the length that its source allows, so it was cut off
    numbers        a number was missing, so the search was made again with all numbers in their places
    missing        a number of the source is not in the translation
    echo           most words of the translation are those of the source
    confidence     the model thinks little of it

`SUSPICIOUS` are those that say something about the quality of the translation.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from translate.text import clocks, guards, numbers, placeholders, quotes, sentences
from translate.text.characters import readable
from translate.text.pieces import Piece
from translate.text.placeholders import Protected

SUSPICIOUS = frozenset({"language", "repetition", "length", "missing", "echo", "confidence"})

_INVENTED = re.compile(rf"\s?{placeholders.SYMBOL.pattern}")


@dataclass(frozen=True)
class Sentence:
    """A translated sentence, a part of one, or several joined.

    Attributes:
        text: the translation.
        log_prob: natural logarithm of the probability of all tokens, ends included.
        tokens: its pieces, without ends.
        n_parts: how many searches made it, each with an end of its own; 0 where no model was asked.
        flags: what happened to it.
        coverage: the coverage penalty, where it was asked for.
    """

    text: str
    log_prob: float = 0.0
    tokens: tuple[str, ...] = ()
    n_parts: int = 0
    flags: frozenset[str] = field(default=frozenset())
    coverage: float = 0.0

    @property
    def confidence(self) -> float:
        """Mean log-probability of a token, ends included; 0 where no model was asked."""
        return self.log_prob / max(1, len(self.tokens) + self.n_parts)

    def flagged(self, *flags: str) -> "Sentence":
        """The same with more flags."""
        return replace(self, flags=self.flags | set(flags))


def join(parts: Sequence[Sentence]) -> Sentence:
    """The parts in a row."""
    return Sentence(
        "".join(part.text for part in parts),
        sum(part.log_prob for part in parts),
        tuple(token for part in parts for token in part.tokens),
        sum(part.n_parts for part in parts),
        frozenset[str]().union(*(part.flags for part in parts)),
        sum(part.coverage for part in parts),
    )


@dataclass(frozen=True)
class Passages:
    """Translates passages by translating sentences.

    Attributes:
        render: translates sentences without placeholders; its second argument is the length of token sequences that
            may not occur twice, 0 for no such rule. It may keep white space around them.
        source, target: the languages.
        n_symbols: how many placeholder symbols the model knows.
        guarded: whether the guards are on; without them, sentences are only split and placeholders kept.
        splits: whether a passage may hold several sentences.
        markup: what the placeholders are.
    """

    render: Callable[[Sequence[str], int], dict[str, Sentence]]
    source: str
    target: str
    n_symbols: int = 0
    guarded: bool = True
    splits: bool = True
    markup: re.Pattern[str] = placeholders.PLACEHOLDER

    def translate(self, texts: Sequence[str]) -> list[Sentence]:
        """The translation of each passage; each distinct sentence is translated once."""
        passages = [self._split(text) if self.splits else [Piece(text, True)] for text in texts]
        found = self._sentences(_distinct(p.text for passage in passages for p in passage if p.translate))
        return [join([found[p.text] if p.translate else Sentence(p.text) for p in passage]) for passage in passages]

    def _split(self, text: str) -> list[Piece]:
        return sentences.split(text, self.source, self.markup)

    def _sentences(self, texts: Sequence[str]) -> dict[str, Sentence]:
        """Sentences that may hold placeholders."""
        markup = placeholders.with_names(self.markup) if self.n_symbols and self._knows_names() else self.markup
        protected = {text: self._framed(placeholders.protect(text, markup)) for text in texts}
        usual = {text: frame for text, frame in protected.items() if len(frame[1].originals) <= self.n_symbols}
        rendered = self._plain(_distinct(p.text for _, p, _ in usual.values()))
        found = {}
        for text, (before, p, after) in usual.items():
            restored = placeholders.restore(placeholders.tightened(rendered[p.text].text, p), p.originals)
            if restored is not None:
                found[text] = replace(rendered[p.text], text=before + restored + after)
        lost = [text for text in texts if text not in found]
        return found | self._around(lost) if lost else found

    def _framed(self, protected: Protected) -> tuple[str, Protected, str]:
        """What stands before the sentence, the sentence, and what stands after it, as the target has it."""
        before, inner, after = placeholders.unframed(protected)
        opening, text, closing = quotes.parted(inner.text, self.target) if self.guarded else ("", inner.text, "")
        return before + opening, replace(inner, text=text), closing + after

    def _knows_names(self) -> bool:
        return {self.source, self.target} == {"de", "en"}

    def _around(self, texts: Sequence[str]) -> dict[str, Sentence]:
        """Sentences whose placeholders stay where they are, and the text between them is translated piece by piece."""
        parted = {text: placeholders.between(text, self.markup) for text in texts}
        rendered = self._plain(_distinct(p.text for pieces in parted.values() for p in pieces if p.translate))
        found = {}
        for text, pieces in parted.items():
            whole = join([_without_symbols(rendered[p.text]) if p.translate else Sentence(p.text) for p in pieces])
            found[text] = replace(whole, flags=whole.flags - {"copied"}).flagged("placeholders")
        return found

    def _plain(self, texts: Sequence[str]) -> dict[str, Sentence]:
        """Sentences without placeholders, as far as they are for the model."""
        kept = {text: flag for text in texts if self.guarded and (flag := self._reason_to_keep(text))}
        read = {text: readable(text) for text in texts if text not in kept}
        known = self._read(_distinct(read.values()))
        return {text: known[own] for text, own in read.items()} | {
            text: Sentence(text).flagged(flag) for text, flag in kept.items()
        }

    def _read(self, texts: Sequence[str]) -> dict[str, Sentence]:
        """Sentences for the model, in characters that it knows."""
        if not self.guarded:
            return self.render(texts, 0)
        other = {text: guards.unshouted(text) for text in texts if guards.is_shouted(text)}
        if self.source == "de":
            other |= {text: guards.with_capitals(text) for text in texts if guards.is_small_talk(text)}
        rendered = _distinct([*texts, *other.values()])
        found = self._with_numbers(self._without_loops(rendered), rendered)
        for text, variant in other.items():
            if found[variant].confidence > found[text].confidence:
                said = found[variant].text
                said = said.upper() if guards.is_shouted(text) else said
                found[text] = replace(found[variant], text=said).flagged("capitals")
        return found | {text: found[text].flagged("echo") for text in texts if guards.echoes(found[text].text, text)}

    def _with_numbers(self, found: dict[str, Sentence], texts: Sequence[str]) -> dict[str, Sentence]:
        """The translations, each with the numbers of its source, as far as the model puts symbols where they belong."""
        languages = self.source, self.target
        lost = []
        for text in texts:
            output = clocks.set_right(found[text].text, text, *languages)
            found[text] = replace(found[text], text=numbers.localised(output, text, *languages))
            if not numbers.are_there(found[text].text, text, *languages):
                lost.append(text)
                found[text] = found[text].flagged("missing")
        protected = {text: numbers.protect(text, *languages) for text in lost}
        known = [text for text in lost if len(protected[text].originals) <= self.n_symbols]
        again = self.render(_distinct(protected[text].text for text in known), 0) if known else {}
        for text in known:
            sentence = again[protected[text].text]
            restored = placeholders.restore(sentence.text, protected[text].originals)
            if restored is not None and not _is_bad(sentence, text):
                found[text] = replace(sentence, text=restored).flagged("numbers")
        return found

    def _reason_to_keep(self, text: str) -> str | None:
        """The flag of a text that is no matter for the model."""
        if not guards.has_words(text):
            return "copied"
        return "language" if guards.is_foreign(text, self.source) else None

    def _without_loops(self, texts: Sequence[str]) -> dict[str, Sentence]:
        """The best translations, or where they repeat themselves or find no end, the best without repetition."""
        found = self.render(texts, 0)
        bad = [text for text in texts if _is_bad(found[text], text)]
        again = self.render(bad, guards.NO_REPEAT) if bad else {}
        for text in bad:
            mended = not _is_bad(again[text], text)
            found[text] = (again[text] if mended else found[text]).flagged("repetition")
        return found


def _without_symbols(sentence: Sentence) -> Sentence:
    """The translation of text that holds no placeholder without those that the model invented."""
    return replace(sentence, text=_INVENTED.sub("", sentence.text))


def _is_bad(sentence: Sentence, source: str) -> bool:
    return "length" in sentence.flags or guards.loops(sentence.text, source)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
