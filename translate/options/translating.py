"""Verbs that translate: text, decode."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from translate.errors import UserError
from translate.options import declaring
from translate.options.declaring import COMPUTING, FILES, MODEL, OUTPUT, SEARCH, argument, file, flag, value

PREFIXES, SAMPLING = "Forced prefixes", "Sampling"


@dataclass(frozen=True, kw_only=True)
class Translating:
    """The options that both verbs have: the model, the text, and where its translation goes."""

    sentences: Annotated[list[str] | None, argument("SENTENCE", "Text to translate [default: standard input].")] = None
    model: declaring.Model = None
    from_language: Annotated[
        str | None, value(MODEL, "LANGUAGE", "Language of the text; auto guesses it.", "--from")
    ] = None
    to_language: Annotated[str | None, value(MODEL, "LANGUAGE", "Language to translate into.", "--to")] = None
    input: Annotated[Path | None, file("--input", "Read this file.")] = None
    output: Annotated[Path | None, file("--output", "Write this file.")] = None
    force: Annotated[bool, flag(FILES, "--force", "Overwrite the output file.")] = False
    as_json: declaring.JsonLines = False
    beam: declaring.Beam = None
    threads: declaring.Threads = None


@dataclass(frozen=True, kw_only=True)
class Text(Translating):
    """Translate sentences, a file or standard input.

    Layout and markup stay. For research options see translate decode --help.
    """

    resume: Annotated[bool, flag(FILES, "--resume", "Write in place, and continue after an interruption.")] = False
    format: Annotated[
        str | None,
        value(
            FILES,
            "FORMAT",
            "text, lines (one sentence per line), markdown, html, srt, vtt or tsv [default: by the file name].",
        ),
    ] = None
    column: Annotated[int, value(FILES, "N", "Column of a TSV file, counted from 1.", min=1)] = 1
    checks: Annotated[
        bool, flag(OUTPUT, "--checks/--no-checks", "Check each translation, and search again after some mistakes.")
    ] = True
    rerank: declaring.Rerank = None
    engine: declaring.Engine = "auto"
    precision: declaring.Precision = None


@dataclass(frozen=True, kw_only=True)
class Decode(Translating):
    """Translate line by line, with options for research.

    Line n of the output is the translation of line n; no guards check it.
    """

    precision: Annotated[Literal["fp32", "bf16"], value(COMPUTING, "TYPE", "fp32, or bf16: faster on some CPUs.")] = (
        "fp32"
    )
    n_best: Annotated[int, value(OUTPUT, "N", "With --json, list the N best.", min=0, max=256)] = 0
    align: Annotated[bool, flag(OUTPUT, "--align", "Add word alignments, such as 0-0 1-2.")] = False
    alternatives: Annotated[
        int, value(OUTPUT, "N", "With --json, list the N most probable other tokens at each position.", min=0, max=256)
    ] = 0
    alternatives_at: Annotated[
        int | None,
        value(
            OUTPUT, "K", "With --alternatives, list the translations that continue from the others at token K.", min=0
        ),
    ] = None
    paper: Annotated[
        bool,
        flag(SEARCH, "--paper", "The paper's settings: beam 4, alpha 0.6, at most 50 tokens more than the source."),
    ] = False
    alpha: declaring.Alpha = None
    length_penalty: declaring.LengthPenalty = None
    coverage: Annotated[float, value(SEARCH, "BETA", "Weight of the coverage penalty of GNMT.")] = 0.0
    no_repeat: Annotated[int, value(SEARCH, "N", "Never repeat a sequence of N tokens.", min=0)] = 0
    constrain: Annotated[
        Path | None, value(SEARCH, "FILE", "Terms that must appear; each line is TARGET, or SOURCE, a tab, TARGET.")
    ] = None
    ensemble: Annotated[list[str] | None, value(SEARCH, "MODEL", "Average with this model too; repeatable.")] = None
    prefix: Annotated[str | None, value(PREFIXES, "TEXT", "Beginning of every translation.")] = None
    prefixes: Annotated[Path | None, value(PREFIXES, "FILE", "Beginning of each translation, line by line.")] = None
    prefix_column: Annotated[bool, flag(PREFIXES, "--prefix-column", "Each input line is SOURCE, a tab, PREFIX.")] = (
        False
    )
    sample: Annotated[bool, flag(SAMPLING, "--sample", "Draw translations instead of searching.")] = False
    mbr: Annotated[
        int,
        value(
            SAMPLING,
            "N",
            "Minimum Bayes risk: draw N, return the one most similar to the others (chrF).",
            min=0,
            max=256,
        ),
    ] = 0
    temperature: Annotated[float, value(SAMPLING, "X", "Divide the logits by X.")] = 1.0
    top_k: Annotated[int, value(SAMPLING, "N", "Draw from the N most probable tokens [default: all].", min=0)] = 0
    top_p: Annotated[float, value(SAMPLING, "X", "Draw from the most probable tokens that make up the share X.")] = 1.0
    seed: Annotated[int, value(SAMPLING, "N", "Random seed [default: 0].")] = 0

    @property
    def draws(self) -> bool:
        """True if translations are drawn instead of searched."""
        return self.sample or self.mbr > 0

    def check(self) -> None:
        """Raise UserError for options that exclude each other."""
        if self.paper and (self.beam, self.alpha, self.length_penalty) != (None, None, None):
            raise UserError("--paper sets the beam and the length penalty; leave out --beam, --alpha, --length-penalty")
        if not self.draws and (self.temperature, self.top_k, self.top_p, self.seed) != (1.0, 0, 1.0, 0):
            raise UserError("--temperature, --top-k, --top-p and --seed belong to sampling; add --sample")
        if self.sample and self.mbr:
            raise UserError("--mbr draws its own samples; leave out --sample")
        if (self.prefix is not None) + (self.prefixes is not None) + self.prefix_column > 1:
            raise UserError("--prefix, --prefixes and --prefix-column exclude each other; keep one of them")
        if (self.n_best or self.alternatives) and not self.as_json:
            raise UserError("--n-best and --alternatives list several translations or tokens per line; add --json")
        if self.alternatives_at is not None and not self.alternatives:
            raise UserError("--alternatives-at continues from other tokens; add --alternatives")
        if self.alternatives_at is not None and self.n_best:
            raise UserError("--alternatives-at and --n-best fill the same list; leave one out")
        if self.draws and (self.paper or self.beam is not None or self.constrain or self.coverage):
            raise UserError(
                "--sample and --mbr draw and do not search; leave out --paper, --beam, --constrain and --coverage"
            )
        if self.draws and self.alternatives_at is not None:
            raise UserError("--alternatives-at searches; leave out --sample and --mbr")
        if self.mbr and self.n_best:
            raise UserError("--mbr returns one of its samples; leave out --n-best")
