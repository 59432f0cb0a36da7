"""Other searches than the paper's: samples, forced prefixes, required terms, ensembles, coverage, alternatives.

Each line is one sentence, and no check follows.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from unicodedata import normalize

import torch

from transformer.search.alternatives import Alternatives, token_alternatives
from transformer.search.beam import Step, WithoutRepeats, beam_search
from transformer.search.constraints import ForcedPrefix, constrained_search
from transformer.search.coverage import with_coverage
from transformer.search.ensemble import EnsembleStep
from transformer.search.hypothesis import Hypothesis, SearchConfig
from transformer.search.model_step import ModelStep, source_batch
from transformer.search.sampling import Sampling, sample
from translate.corpus.tokenizer import Tokenizer
from translate.errors import OptionError, UserError
from translate.inference.engine import Found, Sources
from translate.inference.search import BATCH_HYPOTHESES, Ids
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import DEFAULT_OPTIONS, Translation, TranslationOptions

_ALTERNATIVES_BATCH = 32  # translations per batch
_NEVER = -5000  # below this is the bias of a token that an imported model cannot write


@dataclass(frozen=True)
class Term:
    """A rule: the translation of a sentence that contains `source` must contain `target`.

    An empty `source` is in every sentence.
    """

    source: str
    target: str

    def occurs_in(self, sentence: str) -> bool:
        """Return whether the sentence contains the source as whole words."""
        if self.source not in sentence:  # most terms are in few sentences, and to compile a pattern takes long
            return False
        pattern = rf"(?<![^\W_]){re.escape(self.source)}(?![^\W_])"
        return not self.source or re.search(pattern, sentence) is not None


def read_terms(lines: Iterable[str], name: Path) -> Iterator[Term]:
    """Yield the terms of a file: SOURCE, a tab and TARGET, or TARGET alone if it must occur in every translation.

    Their letters are composed (NFC), as in nearly all text that models are trained on.

    Args:
        lines: the lines of the file; blank lines are skipped.
        name: of the file, for messages. UserError for a line with more tabs or without a target.
    """
    for n, line in enumerate(lines, start=1):
        *source, target = (normalize("NFC", column.strip()) for column in line.split("\t"))
        if not line.strip():
            continue
        if len(source) > 1 or not target:
            raise UserError(f"{name}, line {n}: not a term; write SOURCE, a tab and TARGET, or TARGET alone")
        yield Term("".join(source), target)


def forced_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the token ids of a text that a translation must contain, with composed letters (NFC).

    UserError if the vocabulary cannot write it.
    """
    ids = tokenizer.encode(normalize("NFC", text.strip()))
    if tokenizer.unk in ids:
        raise UserError(f"{text.strip()!r}: has characters that the model's vocabulary has no pieces for; leave it out")
    return ids


@dataclass(frozen=True, kw_only=True)
class SearchRules:
    """The rules of a search. UserError if rules exclude each other.

    Attributes:
        sampling: sample translations instead of searching for the best; None searches.
        seed: of the samples. A sample depends only on the seed, its sentence and its number.
        no_repeat: no n-gram of this many tokens may occur twice; 0 allows all.
        terms: words that must occur.
        terms_alpha: exponent of the length penalty of sentences with terms; None is the model's, at most the paper's. A
            forced word may be improbable, and with a greater exponent a longer output makes up for it.
        coverage: weight of the coverage penalty, by which finished hypotheses are ranked; 0 does not use it.
        prefixes: token ids of a source, and the token ids that its translation must start with.
    """

    sampling: Sampling | None = None
    seed: int = 0
    no_repeat: int = 0
    terms: Sequence[Term] = ()
    terms_alpha: float | None = None
    coverage: float = 0.0
    prefixes: dict[Ids, Ids] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sampling and (self.terms or self.coverage):
            raise UserError("terms and a coverage penalty need a search; leave them out, or the sampling")
        if not 0 <= self.coverage < float("inf"):
            raise OptionError("coverage", self.coverage, "must be a finite number of at least 0")


class SearchEngine(TorchEngine):
    """An engine for `Translator` that searches by the given rules.

    Args:
        members: open model folders with the same vocabulary and languages; decoding is that of the first.

    UserError if the members' vocabularies or languages differ, or for a term that the vocabulary cannot write.
    """

    def __init__(self, members: Sequence[ModelFolder], rules: SearchRules | None = None) -> None:
        super().__init__(members[0])
        self._model = members[0].model
        self.members, self.rules = members, rules or SearchRules()
        self.max_positions = min(filter(None, (m.model.config.max_positions for m in members)), default=None)
        for member in members[1:]:
            if member.tokenizer.serialized != self.tokenizer.serialized:
                raise UserError(
                    f"{member.folder}: has another vocabulary than {self.folder}; an ensemble needs models that share "
                    "a tokenizer"
                )
            one, other = ((spec.source, spec.target) for spec in (members[0].spec, member.spec))
            if one != other:
                raise UserError(
                    f"{member.folder}: translates from {other[0]} to {other[1]}, and {self.folder} from {one[0]} to "
                    f"{one[1]}; an ensemble needs models for the same languages"
                )
        for term in self.rules.terms:
            self.forced_ids(term.target)

    def forced_ids(self, text: str) -> list[int]:
        """Return the token ids of a text that a translation must contain; UserError if the models cannot write it."""
        ids = forced_ids(self.tokenizer, text)
        for bias_V in (member.model.output_bias_V for member in self.members):
            if bias_V is not None and ids and bias_V[ids].min() < _NEVER:
                raise UserError(
                    f"{text.strip()!r}: has pieces that the target vocabulary of the imported model lacks; leave it out"
                )
        return ids

    @torch.inference_mode()
    def search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the n best hypotheses of each source, best first; samples are in the order of their numbers.

        UserError if forced tokens leave no room, or if no translation obeys the rules.
        """
        if not self.rules.coverage:
            return self._search(sources, max_lengths, config)
        # All finished hypotheses are ranked: an earlier stop would miss some that cover more.
        found = self._search(sources, max_lengths, replace(config, n_best=config.beam_size))
        ranked = with_coverage([member.model for member in self.members], sources, found, self.rules.coverage)
        return [hypotheses[: config.n_best] for hypotheses in ranked]

    def _search(self, sources: Sources, max_lengths: Sequence[int], config: SearchConfig) -> Found:
        """Return the result of `search` without the coverage penalty.

        Sources with equally many forced tokens are searched together: the others need another search or beam.
        """
        phrases = [self._phrases(ids) for ids in sources]
        n_forced = [sum(map(len, forced)) for forced in phrases]
        found: dict[int, list[Hypothesis]] = {}
        for n in sorted(set(n_forced)):
            group = [i for i in range(len(sources)) if n_forced[i] == n]
            size = max(1, BATCH_HYPOTHESES // (config.beam_size * (n + 1)))
            for start in range(0, len(group), size):
                part = group[start : start + size]
                own, lengths = [sources[i] for i in part], [max_lengths[i] for i in part]
                found |= zip(part, self._searched(own, lengths, [phrases[i] for i in part], config), strict=True)
        return [found[i] for i in range(len(sources))]

    def _searched(
        self,
        sources: Sources,
        max_lengths: Sequence[int],
        phrases: Sequence[Sequence[Sequence[int]]],
        config: SearchConfig,
    ) -> Found:
        """Return the result of `_search` for sources that all have phrases or all have none."""
        rules = self.rules
        prefixes = [rules.prefixes.get(tuple(ids), ()) for ids in sources]
        for ids, prefix, forced, length in zip(sources, prefixes, phrases, max_lengths, strict=True):
            if (needed := len(prefix) + sum(map(len, forced)) + 1) > length:
                self._refuse(ids, f"forced words need {needed} tokens, but it may have {length}; force less")
        step = self._step(sources, prefixes, config.no_repeat or rules.no_repeat)
        config, device = self._with_ends(config), self._model.device
        if rules.sampling:
            seeds = [[f"{rules.seed} {k} {list(ids)}" for k in range(config.n_best)] for ids in sources]
            found = sample(step, max_lengths, seeds, config, sampling=rules.sampling, device=device)
        elif any(phrases):
            alpha = rules.terms_alpha
            config = replace(config, alpha=min(config.alpha, SearchConfig().alpha) if alpha is None else alpha)
            found = constrained_search(step, max_lengths, phrases, config, device=device)
        else:
            found = beam_search(step, max_lengths, config, device=device)
        for ids, prefix, forced, hypotheses in zip(sources, prefixes, phrases, found, strict=True):
            if not hypotheses and (prefix or forced):
                self._refuse(ids, "no translation obeys all rules; ask for less")
        return found

    @torch.inference_mode()
    def alternatives(
        self, sources: Sources, outputs: Sequence[Sequence[int]], prefixes: Sequence[Ids], n: int
    ) -> list[list[Alternatives]]:
        """Return the n most probable other tokens at each position of each output, eos included.

        Args:
            sources, outputs: token ids of each pair, without eos.
            prefixes: token ids that each output was forced to start with.
        """
        step = self._step(sources, prefixes, self.rules.no_repeat)
        return token_alternatives(step, outputs, n, self._with_ends(SearchConfig()), device=self._model.device)

    def _step(self, sources: Sources, prefixes: Sequence[Ids], no_repeat: int) -> Step:
        steps = [ModelStep(member.model, source_batch(member.model, sources)) for member in self.members]
        step: Step = steps[0] if len(steps) == 1 else EnsembleStep(steps)
        step = ForcedPrefix(step, prefixes) if any(prefixes) else step
        return WithoutRepeats(step, no_repeat) if no_repeat else step

    def _with_ends(self, config: SearchConfig) -> SearchConfig:
        """Return the settings with the model's bos and eos."""
        return replace(config, bos=self._model.config.bos, eos=self._model.config.eos)

    def _phrases(self, ids: Sequence[int]) -> list[list[int]]:
        """Return the token ids of the terms that the translation of a source must contain."""
        if not self.rules.terms:
            return []
        sentence = normalize("NFC", self.tokenizer.decode(ids))
        return [self.forced_ids(term.target) for term in self.rules.terms if term.occurs_in(sentence)]

    def _refuse(self, ids: Sequence[int], reason: str) -> None:
        raise UserError(f"the translation of {self.tokenizer.decode(ids)!r}: {reason}")


def translate_from(
    engine: SearchEngine,
    lines: Sequence[str],
    prefixes: Sequence[Ids],
    *,
    n_best: int = 1,
    options: TranslationOptions = DEFAULT_OPTIONS,
) -> list[list[Translation]]:
    """Return up to n_best translations of each line as one sentence, best first, each starting with the line's prefix.

    Args:
        engine: the models and the rules; its own prefixes are not used.
        prefixes: token ids for each line; empty for no prefix. UserError if a line with a prefix is longer than the
            model's limit.
    """
    search, stripped = Translator(engine, options).sentences, [line.strip() for line in lines]
    encoded = engine.tokenizer.encode_batch(stripped)
    parts = [search.parts(line, ids, search.limit) for line, ids in zip(stripped, encoded, strict=True)]
    for line, prefix, own in zip(stripped, prefixes, parts, strict=True):
        if prefix and len(own) > 1:
            raise UserError(
                f"{line[:30]!r}...: is longer than the model's limit, so it cannot have a prefix; shorten the line"
            )
    found: dict[int, list[Translation]] = {}
    while waiting := [i for i in range(len(lines)) if i not in found]:
        # A source has one prefix per round; a line with the same source, or part of one, and another prefix waits for
        # the next round.
        table: dict[Ids, Ids] = {}
        now = [i for i in waiting if all(table.setdefault(ids, prefixes[i]) == prefixes[i] for ids in parts[i])]
        translator = Translator(SearchEngine(engine.members, replace(engine.rules, prefixes=table)), options)
        found.update(zip(now, translator.n_best([lines[i] for i in now], n_best), strict=True))
    return [found[i] for i in range(len(lines))]


def consensus(samples: Sequence[Translation]) -> Translation:
    """Return the sample with the highest mean chrF against all samples (Eikema and Aziz, 2020); the first on a tie.

    Samples represent the model's distribution, so equal samples count several times. ValueError without samples.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    texts = Counter(sample.text for sample in samples)

    def agreement(text: str) -> float:
        return float(sum(n * chrf.sentence_score(text, [other]).score for other, n in texts.items()))

    best = max(texts, key=agreement)
    return next(sample for sample in samples if sample.text == best)


@dataclass(frozen=True)
class Alternative:
    """A token that could have been at a position of a translation.

    Attributes:
        token: its piece; None is eos.
        log_prob: natural log-probability, given the tokens before it.
    """

    token: str | None
    log_prob: float


def alternatives(
    engine: SearchEngine, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> list[list[list[Alternative]]]:
    """Return the n most probable other tokens at each position of each line's translation, most probable first.

    Args:
        lines: the sources; a blank line has no positions. UserError for a line that was translated in parts.
        prefixes: token ids that each translation was forced to start with.
    """
    eos, pieces = engine.model_folder.model.config.eos, engine.tokenizer.pieces
    return [
        [[Alternative(None if i == eos else pieces([i])[0], log_prob) for i, log_prob in position] for position in line]
        for line in _alternative_ids(engine, lines, translations, prefixes, n)
    ]


def branches(
    engine: SearchEngine,
    lines: Sequence[str],
    translations: Sequence[Translation],
    prefixes: Sequence[Ids],
    n: int,
    position: int,
    options: TranslationOptions = DEFAULT_OPTIONS,
) -> list[list[Translation]]:
    """Return up to n translations of each line that equal the given one up to the token `position` and differ there.

    The first continues from the most probable other token, the next from the second, and so on. There are none for a
    translation with fewer tokens, or at the end of one that has its maximum length. An alternative that ends the
    translation is left out.

    Args:
        engine, lines, translations, prefixes: as for `alternatives`.
        position: index of the token.
        options: how the best continuations are searched.
    """
    eos = engine.model_folder.model.config.eos
    starts: list[tuple[int, Ids]] = []  # index of the line, and the tokens that its translation starts with
    found_ids = _alternative_ids(engine, lines, translations, prefixes, n + 1)
    for i, (translation, others) in enumerate(zip(translations, found_ids, strict=True)):
        is_full = position == len(translation.tokens) and "length" in translation.flags
        others_here = others[position] if position < len(others) and not is_full else ()
        tokens = [token for token, _ in others_here if token != eos]
        same = engine.tokenizer.ids(translation.tokens[:position])
        starts += [(i, (*same, token)) for token in tokens[:n]]
    now, starts_now = [lines[i] for i, _ in starts], [start for _, start in starts]
    best = translate_from(engine, now, starts_now, options=options)
    found: list[list[Translation]] = [[] for _ in lines]
    for (i, _), (translation, *_) in zip(starts, best, strict=True):
        found[i].append(translation)
    return found


def _alternative_ids(
    engine: SearchEngine, lines: Sequence[str], translations: Sequence[Translation], prefixes: Sequence[Ids], n: int
) -> list[list[Alternatives]]:
    """Return `SearchEngine.alternatives` of each line; no positions for a blank line."""
    for line, translation in zip(lines, translations, strict=True):
        if translation.split:
            raise UserError(
                f"{line.strip()[:30]!r}...: is longer than the model's limit, so it has no alternatives; shorten it"
            )
    found: list[list[Alternatives]] = [[] for _ in lines]
    filled = [i for i, line in enumerate(lines) if line.strip()]
    for start in range(0, len(filled), _ALTERNATIVES_BATCH):
        batch = filled[start : start + _ALTERNATIVES_BATCH]
        sources = engine.tokenizer.encode_batch([lines[i].strip() for i in batch])
        outputs = [engine.tokenizer.ids(translations[i].tokens) for i in batch]
        results = engine.alternatives(sources, outputs, [prefixes[i] for i in batch], n)
        for i, result in zip(batch, results, strict=True):
            found[i] = result
    return found
