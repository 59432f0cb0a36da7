"""Verbs that translate: text, decode."""

from pathlib import Path
from typing import Annotated, Literal

from translate.cli import options
from translate.cli.options import COMPUTING, FILES, OUTPUT, SEARCH, flag, value

PREFIXES, SAMPLING = "Forced prefixes", "Sampling"


def text(
    sentences: options.Sentences = None,
    model: options.Model = None,
    from_language: options.From = None,
    to_language: options.To = None,
    source: options.Input = None,
    output: options.Output = None,
    force: options.Force = False,
    resume: Annotated[bool, flag(FILES, "--resume", "Write in place, and continue after an interruption.")] = False,
    layout: Annotated[
        str | None,
        value(
            FILES,
            "FORMAT",
            "text, lines (one sentence per line), markdown, html, srt, vtt or tsv [default: by the file name].",
            "--format",
        ),
    ] = None,
    column: Annotated[int, value(FILES, "N", "Column of a TSV file, counted from 1.", min=1)] = 1,
    as_json: options.JsonLines = False,
    no_guards: Annotated[
        bool, flag(OUTPUT, "--no-guards", "Turn off the checks of language, copies and numbers.")
    ] = False,
    beam: options.Beam = None,
    threads: options.Threads = None,
    engine: Annotated[
        Literal["torch", "ctranslate2"], value(COMPUTING, "NAME", "torch, or ctranslate2 (exported).")
    ] = "torch",
    precision: options.Precision = "fp32",
) -> None:
    """Translate sentences, a file or standard input.

    Layout and markup stay. For research options see translate decode --help.
    """
    from translate.commands.opening import ModelChoice
    from translate.commands.paths import Paths
    from translate.commands.text import Options
    from translate.commands.text import text as run

    chosen = Options(
        format=layout,
        column=column,
        guarded=not no_guards,
        as_json=as_json,
        beam_size=beam,
        threads=threads,
        engine=engine,
        precision=precision,
    )
    choice = ModelChoice(model, from_language, to_language)
    run(sentences or [], chosen, choice, Paths(source, output, force, resume))


def decode(
    sentences: options.Sentences = None,
    model: options.Model = None,
    from_language: options.From = None,
    to_language: options.To = None,
    source: options.Input = None,
    output: options.Output = None,
    force: options.Force = False,
    as_json: options.JsonLines = False,
    n_best: Annotated[int, value(OUTPUT, "N", "With --json, list the N best.", min=0, max=256)] = 0,
    align: Annotated[bool, flag(OUTPUT, "--align", "Add word alignments, such as 0-0 1-2.")] = False,
    alternatives: Annotated[
        int, value(OUTPUT, "N", "With --json, list the N most probable other tokens at each position.", min=0, max=256)
    ] = 0,
    alternatives_at: Annotated[
        int | None,
        value(
            OUTPUT, "K", "With --alternatives, list the translations that continue from the others at token K.", min=0
        ),
    ] = None,
    paper: Annotated[
        bool,
        flag(SEARCH, "--paper", "The paper's settings: beam 4, alpha 0.6, at most 50 tokens more than the source."),
    ] = False,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    length_penalty: options.LengthPenalty = None,
    coverage: Annotated[float, value(SEARCH, "BETA", "Weight of the coverage penalty of GNMT.")] = 0.0,
    no_repeat: Annotated[int, value(SEARCH, "N", "Never repeat a sequence of N tokens.", min=0)] = 0,
    constrain: Annotated[
        Path | None, value(SEARCH, "FILE", "Terms that must appear; each line is TARGET, or SOURCE, a tab, TARGET.")
    ] = None,
    ensemble: Annotated[list[str] | None, value(SEARCH, "MODEL", "Average with this model too; repeatable.")] = None,
    prefix: Annotated[str | None, value(PREFIXES, "TEXT", "Beginning of every translation.")] = None,
    prefixes: Annotated[Path | None, value(PREFIXES, "FILE", "Beginning of each translation, line by line.")] = None,
    prefix_column: Annotated[
        bool, flag(PREFIXES, "--prefix-column", "Each input line is SOURCE, a tab, PREFIX.")
    ] = False,
    sample: Annotated[bool, flag(SAMPLING, "--sample", "Draw translations instead of searching.")] = False,
    mbr: Annotated[
        int,
        value(
            SAMPLING,
            "N",
            "Minimum Bayes risk: draw N, return the one most similar to the others (chrF).",
            min=0,
            max=256,
        ),
    ] = 0,
    temperature: Annotated[float, value(SAMPLING, "X", "Divide the logits by X.")] = 1.0,
    top_k: Annotated[int, value(SAMPLING, "N", "Draw from the N most probable tokens [default: all].", min=0)] = 0,
    top_p: Annotated[float, value(SAMPLING, "X", "Draw from the most probable tokens that make up the share X.")] = 1.0,
    seed: Annotated[int, value(SAMPLING, "N", "Random seed [default: 0].")] = 0,
    threads: options.Threads = None,
    precision: options.Precision = "fp32",
) -> None:
    """Translate line by line, with options for research.

    Line n of the output is the translation of line n; no guards check it.
    """
    from translate.commands.decode import decode as run
    from translate.commands.decode_options import OutputOptions, PrefixOptions, SamplingOptions, SearchOptions
    from translate.commands.opening import ModelChoice
    from translate.commands.paths import Paths

    run(
        sentences or [],
        ModelChoice(model, from_language, to_language),
        Paths(source, output, force),
        SearchOptions(
            beam_size=beam,
            alpha=alpha,
            length_penalty=length_penalty,
            paper=paper,
            no_repeat=no_repeat,
            coverage=coverage,
            ensemble=ensemble or (),
            terms=constrain,
            threads=threads,
            precision=precision,
        ),
        SamplingOptions(sample=sample, mbr=mbr, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed),
        PrefixOptions(prefix=prefix, prefixes=prefixes, column=prefix_column),
        OutputOptions(as_json, n_best=n_best, align=align, alternatives=alternatives, alternatives_at=alternatives_at),
    )
