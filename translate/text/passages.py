"""Passages of several sentences: split, translated sentence by sentence, checked by the guards and joined.

A function translates plain sentences, so this module knows no model. Guards flag a translation or search again; they
never edit it. `translate.text.translation` lists the flags.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from translate.text import guards, identification, languages, numbers, placeholders, quotes, sentences
from translate.text.characters import capitalised, lowered, readable
from translate.text.pieces import Piece
from translate.text.placeholders import Protected
from translate.text.translation import Translation, join

_INVENTED = re.compile(rf"\s?{placeholders.SYMBOL.pattern}")


@dataclass(frozen=True)
class Passages:
    """Translates passages by translating their sentences.

    Attributes:
        search: translates sentences without placeholders. Its second argument is the length of the token sequences
            that may not occur twice, or 0. It may keep white space around a sentence.
        source, target: language codes.
        n_symbols: number of placeholder symbols that the model knows.
        guarded: whether the guards are on; without them, sentences are only split and placeholders kept.
        splits: whether a passage may contain several sentences.
        markup: matches placeholders.
    """

    search: Callable[[Sequence[str], int], dict[str, Translation]]
    source: str
    target: str
    n_symbols: int = 0
    guarded: bool = True
    splits: bool = True
    markup: re.Pattern[str] = placeholders.PLACEHOLDER

    def translate(self, texts: Sequence[str]) -> list[Translation]:
        """Translate each passage; each distinct sentence is translated once."""
        split = partial(sentences.split, language=self.source, markup=self.markup)
        passages = [split(text) if self.splits else [Piece(text, True)] for text in texts]
        found = self._sentences(_distinct(p.text for passage in passages for p in passage if p.translate))
        return [
            self._joined([(p.text, found[p.text] if p.translate else Translation(p.text)) for p in passage])
            for passage in passages
        ]

    def _joined(self, pairs: Sequence[tuple[str, Translation]]) -> Translation:
        """Return the translation of a passage, given source and translation of each part."""
        sources, found = zip(*pairs, strict=True) if pairs else ((), ())
        if self.guarded and self.splits:
            texts = quotes.paired(sources, [translation.text for translation in found], self.markup, self.target)
            found = tuple(replace(one, text=text) for one, text in zip(found, texts, strict=True))
        return replace(join(found), sentences=tuple(zip(sources, found, strict=True)))

    def _sentences(self, texts: Sequence[str]) -> dict[str, Translation]:
        """Translate sentences that may contain placeholders."""
        protected = {text: self._framed(self._protected(text)) for text in texts}
        usual = {text: frame for text, frame in protected.items() if len(frame[1].originals) <= self.n_symbols}
        translated = self._plain(_distinct(p.text for _, p, _ in usual.values()))
        found = {}
        for text, (before, p, after) in usual.items():
            restored = placeholders.restore(placeholders.tightened(translated[p.text].text, p), p.originals)
            if restored is not None and not placeholders.is_emptied(translated[p.text].text, p):
                found[text] = replace(translated[p.text], text=before + restored + after)
        lost = [text for text in texts if text not in found]
        return found | self._around(lost) if lost else found

    def _protected(self, text: str) -> Protected:
        """Return the sentence with symbols, also for names that neither language can spell."""
        clean, markup = self._marked(text)
        source, target = languages.find(self.source), languages.find(self.target)
        if self.n_symbols and source and target:
            markup = placeholders.with_names(markup, source.letters + target.letters)
        return placeholders.protect(clean, markup)

    def _marked(self, text: str) -> tuple[str, re.Pattern[str]]:
        """Return the sentence with composed letters, and the pattern of its placeholders."""
        clean = unicodedata.normalize("NFC", text)  # an accent by itself would end a name
        if clean.isascii() or not placeholders.OTHER_SCRIPT.search(clean):
            return clean, self.markup
        rules = [languages.find(code) for code in (self.source, self.target)]
        # A sentence that is all in another script is no name, but a mistake that the guards name.
        is_latin = all(one and one.script == "LATIN" for one in rules) and identification.is_in_script(clean, "LATIN")
        return clean, placeholders.with_other_scripts(self.markup) if is_latin else self.markup

    def _framed(self, protected: Protected) -> tuple[str, Protected, str]:
        """Return the layout before the sentence, the sentence, and the layout after it."""
        before, inner, after = placeholders.unframed(protected)
        # A line that is not split has no other sentence with the partner of a quotation mark.
        is_part = self.guarded and self.splits
        opening, text, closing = quotes.parted(inner.text, self.target) if is_part else ("", inner.text, "")
        return before + opening, replace(inner, text=text), closing + after

    def _around(self, texts: Sequence[str]) -> dict[str, Translation]:
        """Translate the text between placeholders piece by piece; the placeholders stay in place."""
        parted = {text: placeholders.between(*self._marked(text)) for text in texts}
        translated = self._plain(_distinct(p.text for pieces in parted.values() for p in pieces if p.translate))
        found = {}
        for text, pieces in parted.items():
            whole = join([_without_symbols(translated[p.text]) if p.translate else Translation(p.text) for p in pieces])
            flags = tuple(flag for flag in whole.flags if flag != "copied")
            found[text] = replace(whole, flags=flags).flagged("placeholders")
        return found

    def _plain(self, texts: Sequence[str]) -> dict[str, Translation]:
        """Translate sentences without placeholders; copy those that need no translation."""
        clean = {text: readable(text) for text in texts}
        copied = {text: flag for text in texts if (flag := self._flag_of_copy(clean[text]))}
        prepared = {text: clean[text] for text in texts if text not in copied}
        distinct = _distinct(prepared.values())
        found = self._checked(distinct) if self.guarded else self.search(distinct, 0)
        return {text: found[read] for text, read in prepared.items()} | {
            text: self._converted(Translation(text).flagged(flag), text) for text, flag in copied.items()
        }

    def _flag_of_copy(self, text: str) -> str | None:
        """Return the reason to copy a sentence instead of translating it; None without one, or without guards."""
        if not self.guarded:
            return None
        if not guards.has_words(text):
            return "copied"
        return "language" if identification.is_foreign(text, self.source) else None

    def _checked(self, texts: Sequence[str]) -> dict[str, Translation]:
        """Translate sentences in the capitalisation that the model knows best; search again to correct mistakes."""
        rules = languages.find(self.source)
        capitalise = capitalised if rules and rules.capitalises_nouns else str
        # As written last: it wins only with a higher confidence, as a name or a code does.
        readings = {text: _distinct([(lower := lowered(text)), capitalise(lower), text]) for text in texts}
        distinct = _distinct(chain.from_iterable(readings.values()))
        found = self._with_numbers(self._with_words(self._without_loops(distinct)))
        best = {}
        for text, variants in readings.items():
            chosen = max(variants, key=lambda variant: found[variant].confidence)
            flags = ["capitals"] * (chosen != text) + ["echo"] * guards.echoes(found[chosen].text, text)
            best[text] = found[chosen].flagged(*flags)
        return best

    def _without_loops(self, texts: Sequence[str]) -> dict[str, Translation]:
        """Translate sentences; search again without repetitions for those that repeat themselves or do not end."""
        found = self.search(texts, 0)
        bad = [text for text in texts if _is_bad(found[text], text)]
        again = self.search(bad, guards.NO_REPEAT) if bad else {}
        for text in bad:
            best = found[text] if _is_bad(again[text], text) else again[text]
            found[text] = best.flagged("repetition")
        return found

    def _with_words(self, found: dict[str, Translation]) -> dict[str, Translation]:
        """Search again, with another first letter, for what got an empty translation; copy what gets one again."""
        others = {text: text[:1].swapcase() + text[1:] for text in found if not found[text].text.strip()}
        again = self.search(_distinct(others.values()), 0) if others else {}
        for text, other in others.items():
            found[text] = (again[other] if again[other].text.strip() else Translation(text)).flagged("empty")
        return found

    def _with_numbers(self, found: dict[str, Translation]) -> dict[str, Translation]:
        """Search again with symbols for the missing numbers, then for all numbers; flag what stays wrong.

        If the translation has a number that the source does not have, all numbers are searched again.
        """
        pair = self.source, self.target
        lost: dict[str, set[int] | None] = {
            text: gaps for text in found if (gaps := numbers.missing(found[text].text, text, *pair))
        }
        lost |= {text: None for text in found if text not in lost and numbers.added(found[text].text, text, *pair)}
        best = found | {text: found[text].flagged("missing") for text in lost}
        protected: dict[str, Protected] = {}
        for only in (lost, dict.fromkeys(lost)):
            before, protected = protected, {text: numbers.protect(text, *pair, only[text]) for text in lost}
            # Not if there are none, or if all were missing.
            new = [text for text in lost if protected[text].originals and protected[text] != before.get(text)]
            known = [text for text in new if len(protected[text].originals) <= self.n_symbols]
            again = self.search(_distinct(protected[text].text for text in known), 0) if known else {}
            for text in known:
                translation = again[protected[text].text]
                restored = placeholders.restore(translation.text, protected[text].originals)
                complete = restored is not None and not any(
                    check(restored, text, *pair) for check in (numbers.missing, numbers.added)
                )
                if restored is not None and complete and not _is_bad(translation, text):
                    best[text] = replace(translation, text=restored).flagged("numbers")
                    del lost[text]
        return {text: self._converted(translation, text) for text, translation in best.items()}

    def _converted(self, translation: Translation, source: str) -> Translation:
        """Return the translation with the numbers that the model copied in the convention of the target language."""
        text = numbers.converted(translation.text, source, self.source, self.target)
        return translation if text == translation.text else replace(translation, text=text).flagged("numbers")


def _without_symbols(translation: Translation) -> Translation:
    """Return the translation of a text without placeholders without the symbols that the model invented."""
    return replace(translation, text=_INVENTED.sub("", translation.text))


def _is_bad(translation: Translation, source: str) -> bool:
    return "length" in translation.flags or guards.loops(translation.text, source)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
