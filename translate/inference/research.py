"""A model folder, or several, searched in other ways than the paper's: what a researcher asks of search.

All of it takes a line for a sentence, and no guard looks on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import torch

from transformer.model import Transformer
from transformer.search.alignment import alignment, cross_attention
from transformer.search.alternatives import Alternatives, token_alternatives
from transformer.search.beam import Step, beam_search
from transformer.search.constraints import ForcedPrefix, WithoutRepeats, constrained_search
from transformer.search.coverage import with_coverage
from transformer.search.ensemble import EnsembleStep, Mean
from transformer.search.hypothesis import Hypothesis, LengthRule, SearchConfig
from transformer.search.model_step import ModelStep, source_batch
from transformer.search.sampling import Sampling, sample
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.engine import Batch, Found, Search, TorchEngine
from translate.inference.translator import Translation, Translator
from translate.models.folder import ModelFolder, TranslationSpec

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """Where `source` occurs in a sentence, `target` has to occur in its translation; an empty source always does."""

    source: str
    target: str


@dataclass(frozen=True)
class SearchEngine:
    """An engine for `Translator` that searches by these rules.

    Attributes:
        members: open model folders of one vocabulary; the first one's languages and decoding hold.
        mean: how the members are averaged.
        sampling: draw translations instead of searching for the best; None searches.
        seed: of the samples. A sample depends on it, on the sentence and on its own number alone.
        no_repeat: no sequence of so many tokens twice; 0 is no such rule.
        terms: words that have to appear.
        coverage: beta of the coverage penalty by which what the search found is ranked; 0 is
            no such penalty.
        prefixes: how the translations of these sources begin, both as token ids.

    UserError if the members' vocabularies differ, if rules exclude each other, or for a term with unknown pieces.
    """

    members: Sequence[ModelFolder]
    mean: Mean = "log-probs"
    sampling: Sampling | None = None
    seed: int = 0
    no_repeat: int = 0
    terms: Sequence[Term] = ()
    coverage: float = 0.0
    prefixes: dict[Ids, Ids] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for member in self.members[1:]:
            if member.tokenizer.serialized != self.tokenizer.serialized:
                raise UserError(
                    f"{member.folder}: has another vocabulary than {self.folder}; only models that share a tokenizer "
                    "can be asked together"
                )
        if self.sampling and self.terms:
            raise UserError("terms are searched for, and samples are not; leave one of them out")
        if not 0 <= self.coverage < float("inf"):
            raise UserError(f"coverage = {self.coverage}: must be a number that is not below 0")
        if self.sampling and self.coverage:
            raise UserError(
                "a coverage penalty ranks what was searched for, and samples are not; leave one of them out"
            )
        for term in self.terms:
            forced_ids(self.tokenizer, term.target)

    @property
    def folder(self) -> Path:
        """Where the first model is."""
        return self.members[0].folder

    @property
    def tokenizer(self) -> Tokenizer:
        """Text to ids and back."""
        return self.members[0].tokenizer

    @property
    def spec(self) -> TranslationSpec:
        """Languages and decoding of the first model."""
        return self.members[0].spec

    @property
    def max_positions(self) -> int | None:
        """Of the member that has fewest; None where none has a limit."""
        limits = [limit for member in self.members if (limit := TorchEngine(member).max_positions) is not None]
        return min(limits, default=None)

    @property
    def n_workers(self) -> int:
        """As `TorchEngine`."""
        return self._first.n_workers

    def each(self, search: Search, batches: Sequence[Batch]) -> list[Found]:
        """The results for each batch, as `TorchEngine`."""
        return self._first.each(search, batches)

    @cached_property
    def _first(self) -> TorchEngine:
        return TorchEngine(self.members[0])

    @torch.inference_mode()
    def search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source, best first; samples in the order in which they were drawn.

        UserError if what is forced leaves no room or rules everything out.
        """
        if self.coverage:
            # Whatever search finds is ranked: one that stopped early would have left out some that cover more.
            found = self._search(sources, max_lengths, replace(config, n_best=config.beam_size))
            ranked = with_coverage([member.model for member in self.members], sources, found, self.coverage)
            return [hypotheses[: config.n_best] for hypotheses in ranked]
        return self._search(sources, max_lengths, config)

    def _search(
        self, sources: Sequence[Sequence[int]], max_lengths: Sequence[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """As `search`, without the coverage penalty."""
        config = self._with_ends(config)
        prefixes = [self.prefixes.get(tuple(ids), ()) for ids in sources]
        phrases = [self._phrases(ids) for ids in sources]
        for ids, prefix, own, length in zip(sources, prefixes, phrases, max_lengths, strict=True):
            if (needed := len(prefix) + sum(map(len, own)) + 1) > length:
                self._refuse(ids, f"what is forced needs {needed} tokens, of which it may have {length}; force less")
        step = self._step(sources, prefixes, config.no_repeat or self.no_repeat)
        found = self._found(step, sources, max_lengths, phrases, config)
        for ids, hypotheses in zip(sources, found, strict=True):
            if not hypotheses and (self.prefixes or self.terms or self.no_repeat):
                self._refuse(ids, "no translation keeps to what is forced and forbidden; ask for less")
        return found

    def _found(
        self,
        step: Step,
        sources: Sequence[Sequence[int]],
        max_lengths: Sequence[int],
        phrases: Sequence[Sequence[Sequence[int]]],
        config: SearchConfig,
    ) -> list[list[Hypothesis]]:
        """Samples, or constrained search if there are phrases, or beam search."""
        if self.sampling:
            seeds = [[f"{self.seed} {k} {list(ids)}" for k in range(config.n_best)] for ids in sources]
            return sample(step, max_lengths, seeds, config, sampling=self.sampling, device=self._model.device)
        if any(phrases):
            return constrained_search(step, max_lengths, phrases, config, device=self._model.device)
        return beam_search(step, max_lengths, config, device=self._model.device)

    @torch.inference_mode()
    def others(
        self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], prefixes: Sequence[Ids], n: int
    ) -> list[list[Alternatives]]:
        """The n likeliest other tokens at each place of each output and at its end, as what is searched has them.

        What `prefixes` force, one for each source, and `no_repeat` forbids holds here too.
        """
        step = self._step(sources, prefixes, self.no_repeat)
        return token_alternatives(step, outputs, n, self._with_ends(SearchConfig()), device=self._model.device)

    def _step(self, sources: Sequence[Sequence[int]], prefixes: Sequence[Ids], no_repeat: int) -> Step:
        steps = [ModelStep(member.model, source_batch(member.model, sources)) for member in self.members]
        step: Step = steps[0] if len(steps) == 1 else EnsembleStep(steps, self.mean)
        step = ForcedPrefix(step, prefixes) if any(prefixes) else step
        return WithoutRepeats(step, no_repeat) if no_repeat else step

    def _with_ends(self, config: SearchConfig) -> SearchConfig:
        """The settings with bos and eos of the models."""
        return replace(config, bos=self._model.config.bos, eos=self._model.config.eos)

    @property
    def _model(self) -> Transformer:
        return self.members[0].model

    def _phrases(self, ids: Sequence[int]) -> list[list[int]]:
        """What has to appear in the translation of a source."""
        if not self.terms:
            return []
        text = f" {self.tokenizer.decode(ids)} "
        return [forced_ids(self.tokenizer, term.target) for term in self.terms if _occurs(term.source, text)]

    def _refuse(self, ids: Sequence[int], why: str) -> None:
        raise UserError(f"the translation of {self.tokenizer.decode(ids)!r}: {why}")


def forced_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The token ids of what a translation must hold; UserError if the vocabulary has no pieces for it."""
    ids = tokenizer.encode(text.strip())
    if tokenizer.unk in ids:
        raise UserError(f"{text.strip()!r}: has characters that the model's vocabulary has no pieces for; leave it out")
    return ids


def translate_lines(
    engine: SearchEngine,
    lines: Sequence[str],
    prefixes: Sequence[str] | None = None,
    *,
    n_best: int = 1,
    beam_size: int | None = None,
    alpha: float | None = None,
    length_penalty: LengthRule | None = None,
) -> list[list[Translation]]:
    """Up to n_best translations of each line as one sentence, each of which begins with the line's prefix.

    A prefix is cut at its white space on both sides, and its last word may go on. UserError for a line that has a
    prefix and is longer than the model reads at once.
    """
    wanted = [tuple(forced_ids(engine.tokenizer, prefix)) for prefix in prefixes or [""] * len(lines)]
    opened = partial(Translator, beam_size=beam_size, alpha=alpha, length_penalty=length_penalty)
    return translate_from(engine, lines, wanted, n_best=n_best, opened=opened)


def translate_from(
    engine: SearchEngine,
    lines: Sequence[str],
    wanted: Sequence[Ids],
    *,
    n_best: int = 1,
    opened: Callable[[SearchEngine], Translator] = Translator,
) -> list[list[Translation]]:
    """As `translate_lines`, with prefixes of token ids and any way to make a translator of an engine."""
    encode = engine.tokenizer.encode
    found: dict[int, list[Translation]] = {}
    waiting = list(range(len(lines)))
    while waiting:
        # A source has one prefix at a time; what has another one waits for the next turn.
        table: dict[Ids, Ids] = {}
        now = [i for i in waiting if table.setdefault(tuple(encode(lines[i].strip())), wanted[i]) == wanted[i]]
        translator = opened(replace(engine, prefixes=table))
        for i in now:
            if wanted[i] and len(encode(lines[i].strip())) > translator.limit:
                raise UserError(
                    f"{lines[i].strip()[:30]!r}...: is longer than the model reads at once, so it cannot have a prefix"
                )
        found.update(zip(now, translator.n_best([lines[i] for i in now], n_best), strict=True))
        waiting = [i for i in waiting if i not in found]
    return [found[i] for i in range(len(lines))]


def align(parts: ModelFolder, source: str, pieces: Sequence[str], *, layer: int | None = None) -> list[tuple[int, int]]:
    """(source word, target word) pairs, counted from 0, in order: words between spaces, joined by any of their pieces.

    Args:
        parts: the model that made the translation.
        source: the source sentence.
        pieces: `tokens` of its translation.
        layer: of the decoder; as `transformer.search.alignment.cross_attention`.

    UserError if the source is longer than the model reads at once.
    """
    src, tgt = parts.tokenizer.encode(source.strip()), parts.tokenizer.ids(pieces)
    limit = TorchEngine(parts).max_positions
    if limit is not None and max(len(src), len(tgt)) >= limit:
        raise UserError(f"{source.strip()[:30]!r}...: is longer than the model reads at once; an alignment needs all")
    (weights,) = cross_attention(parts.model, [src], [tgt], layer=layer)
    words = _words(parts.tokenizer.pieces(src)), _words(pieces)
    pairs = {(words[0][s], words[1][t]) for s, t in alignment(weights)}
    return sorted((s, t) for s, t in pairs if s is not None and t is not None)


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """An alignment as it is written in files: "0-0 1-2"."""
    return " ".join(f"{s}-{t}" for s, t in pairs)


def read_terms(lines: Iterable[str], name: Path) -> Iterator[Term]:
    """The terms of a file: source and target with a tab between, or a target alone that has to appear everywhere.

    UserError for a line with more tabs or without a target.
    """
    for n, line in enumerate(lines, start=1):
        *source, target = (column.strip() for column in line.split("\t"))
        if not line.strip():
            continue
        if len(source) > 1 or not target:
            raise UserError(f"{name}, line {n}: is no term; write SOURCE, a tab and TARGET, or TARGET alone")
        yield Term("".join(source), target)


def _words(pieces: Sequence[str]) -> list[int | None]:
    """The word between spaces that each piece ends in; None for spaces alone."""
    n, inside, words = -1, False, list[int | None]()
    for piece in pieces:
        for character in piece.replace("\u2581", " "):
            n += not inside and not character.isspace()
            inside = not character.isspace()
        words.append(n if inside else None)
    return words


def _occurs(word: str, text: str) -> bool:
    """Whether a word stands in a text as a whole word."""
    start = text.find(word)
    while word and start >= 0:
        end = start + len(word)
        if not text[start - 1].isalnum() and not text[end].isalnum():
            return True
        start = text.find(word, start + 1)
    return not word
