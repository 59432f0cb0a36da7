"""The options of `translate decode`, grouped by subject; each group checks itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from translate.errors import UserError

if TYPE_CHECKING:
    from transformer.search.hypothesis import LengthRule
    from translate.inference.engine import Precision


@dataclass(frozen=True)
class SearchOptions:
    """Search and computation.

    Attributes:
        beam_size, alpha, length_penalty: of beam search (6.1); None takes the model's default.
        paper: use the settings of the paper instead of the model's.
        no_repeat: no sequence of this many tokens occurs twice; 0 turns the rule off.
        coverage: weight of the coverage penalty; 0 turns it off.
        ensemble: paths or names of additional models.
        terms: file of terms that the translations must contain.
        threads: CPU threads; None takes torch's default.
        precision: of the computation.
    """

    beam_size: int | None = None
    alpha: float | None = None
    length_penalty: "LengthRule | None" = None
    paper: bool = False
    no_repeat: int = 0
    coverage: float = 0.0
    ensemble: Sequence[str] = ()
    terms: Path | None = None
    threads: int | None = None
    precision: "Precision" = "fp32"

    def check(self) -> None:
        """Raise UserError for options that exclude each other."""
        if self.paper and (self.beam_size, self.alpha, self.length_penalty) != (None, None, None):
            raise UserError("--paper sets the beam and the length penalty; leave out --beam, --alpha, --length-penalty")


@dataclass(frozen=True)
class SamplingOptions:
    """Sampling instead of search.

    Attributes:
        sample: draw translations.
        mbr: draw this many samples, and return the one most similar to the others; 0 turns it off.
        temperature, top_k, top_p: see `transformer.search.sampling.Sampling`.
        seed: of the random numbers.
    """

    sample: bool = False
    mbr: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    @property
    def active(self) -> bool:
        """True if translations are drawn."""
        return self.sample or self.mbr > 0

    def check(self) -> None:
        """Raise UserError for options that exclude each other."""
        if not self.active and self != SamplingOptions():
            raise UserError("--temperature, --top-k, --top-p and --seed belong to sampling; add --sample")
        if self.sample and self.mbr:
            raise UserError("--mbr draws its own samples; leave out --sample")


@dataclass(frozen=True)
class PrefixOptions:
    """Forced beginnings of the translations.

    Attributes:
        prefix: the beginning of every translation.
        prefixes: a file with one beginning per input line.
        column: whether each input line is SOURCE, a tab, PREFIX.
    """

    prefix: str | None = None
    prefixes: Path | None = None
    column: bool = False

    def check(self) -> None:
        """Raise UserError for options that exclude each other."""
        if (self.prefix is not None) + (self.prefixes is not None) + self.column > 1:
            raise UserError("--prefix, --prefixes and --prefix-column exclude each other; keep one of them")


@dataclass(frozen=True)
class OutputOptions:
    """Content of the output.

    Attributes:
        as_json: write one JSON object per line.
        n_best: number of translations listed in each object; 0 lists none.
        align: add word alignments.
        alternatives: number of other tokens listed at each position; 0 lists none.
        alternatives_at: list the translations that continue from the other tokens at this position, counted from 0.
    """

    as_json: bool = False
    n_best: int = 0
    align: bool = False
    alternatives: int = 0
    alternatives_at: int | None = None

    def check(self) -> None:
        """Raise UserError for options that exclude each other."""
        if (self.n_best or self.alternatives) and not self.as_json:
            raise UserError("--n-best and --alternatives list several translations or tokens per line; add --json")
        if self.alternatives_at is not None and not self.alternatives:
            raise UserError("--alternatives-at continues from other tokens; add --alternatives")
        if self.alternatives_at is not None and self.n_best:
            raise UserError("--alternatives-at and --n-best fill the same list; leave one out")


def check(search: SearchOptions, sampling: SamplingOptions, prefixes: PrefixOptions, output: OutputOptions) -> None:
    """Raise UserError for options that exclude each other, within a group or across groups."""
    for group in (search, sampling, prefixes, output):
        group.check()
    if sampling.active and (search.paper or search.beam_size is not None or search.terms or search.coverage):
        raise UserError(
            "--sample and --mbr draw and do not search; leave out --paper, --beam, --constrain and --coverage"
        )
    if sampling.active and output.alternatives_at is not None:
        raise UserError("--alternatives-at searches; leave out --sample and --mbr")
    if sampling.mbr and output.n_best:
        raise UserError("--mbr returns one of its samples; leave out --n-best")
