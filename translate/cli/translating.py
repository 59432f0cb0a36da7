"""Verbs that translate: text, decode."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from translate.cli.options import (
    COMPUTING,
    FILES,
    OUTPUT,
    SEARCH,
    Alpha,
    Beam,
    Force,
    From,
    Input,
    JsonLines,
    LengthPenalty,
    Model,
    Output,
    Precision,
    Sentences,
    Threads,
    To,
)

PREFIXES, SAMPLING = "Forced prefixes", "Sampling"


def text(
    sentences: Sentences = None,
    model: Model = None,
    from_language: From = None,
    to_language: To = None,
    source: Input = None,
    output: Output = None,
    force: Force = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Write in place, and continue after an interruption.", rich_help_panel=FILES),
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, lines (one sentence per line), markdown, html, srt, vtt or tsv [default: by the file name].",
            rich_help_panel=FILES,
        ),
    ] = None,
    column: Annotated[
        int, typer.Option(min=1, metavar="N", help="Column of a TSV file, counted from 1.", rich_help_panel=FILES)
    ] = 1,
    as_json: JsonLines = False,
    no_guards: Annotated[
        bool,
        typer.Option(
            "--no-guards", help="Turn off the checks of language, copies and numbers.", rich_help_panel=OUTPUT
        ),
    ] = False,
    beam: Beam = None,
    threads: Threads = None,
    engine: Annotated[
        Literal["torch", "ctranslate2"],
        typer.Option(metavar="NAME", help="torch, or ctranslate2 (exported).", rich_help_panel=COMPUTING),
    ] = "torch",
    precision: Precision = "fp32",
) -> None:
    """Translate sentences, a file or standard input.

    Layout and markup stay. For research options see translate decode --help.
    """
    from translate.commands.opening import ModelChoice
    from translate.commands.paths import Paths
    from translate.commands.text import Options
    from translate.commands.text import text as run

    options = Options(
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
    run(sentences or [], options, choice, Paths(source, output, force, resume))


def decode(
    sentences: Sentences = None,
    model: Model = None,
    from_language: From = None,
    to_language: To = None,
    source: Input = None,
    output: Output = None,
    force: Force = False,
    as_json: JsonLines = False,
    n_best: Annotated[
        int,
        typer.Option(min=0, max=256, metavar="N", help="With --json, list the N best.", rich_help_panel=OUTPUT),
    ] = 0,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments, such as 0-0 1-2.", rich_help_panel=OUTPUT)
    ] = False,
    alternatives: Annotated[
        int,
        typer.Option(
            min=0,
            max=256,
            metavar="N",
            help="With --json, list the N most probable other tokens at each position.",
            rich_help_panel=OUTPUT,
        ),
    ] = 0,
    alternatives_at: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="K",
            help="With --alternatives, list the translations that continue from the others at token K.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="The paper's search: beam 4, alpha 0.6, at most 50 tokens longer than the source.",
            rich_help_panel=SEARCH,
        ),
    ] = False,
    beam: Beam = None,
    alpha: Alpha = None,
    length_penalty: LengthPenalty = None,
    coverage: Annotated[
        float,
        typer.Option(metavar="BETA", help="Weight of the coverage penalty of GNMT.", rich_help_panel=SEARCH),
    ] = 0.0,
    no_repeat: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Never repeat a sequence of N tokens.", rich_help_panel=SEARCH),
    ] = 0,
    constrain: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Terms that must appear; each line is TARGET, or SOURCE, a tab, TARGET.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    ensemble: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Average with this model too; repeatable.", rich_help_panel=SEARCH),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Beginning of every translation.", rich_help_panel=PREFIXES)
    ] = None,
    prefixes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Beginning of each translation, line by line.", rich_help_panel=PREFIXES),
    ] = None,
    prefix_column: Annotated[
        bool,
        typer.Option("--prefix-column", help="Each input line is SOURCE, a tab, PREFIX.", rich_help_panel=PREFIXES),
    ] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw translations instead of searching.", rich_help_panel=SAMPLING)
    ] = False,
    mbr: Annotated[
        int,
        typer.Option(
            min=0,
            max=256,
            metavar="N",
            help="Minimum Bayes risk: draw N, return the one most similar to the others (chrF).",
            rich_help_panel=SAMPLING,
        ),
    ] = 0,
    temperature: Annotated[
        float, typer.Option(metavar="X", help="Divide the logits by X.", rich_help_panel=SAMPLING)
    ] = 1.0,
    top_k: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Draw from the N most probable tokens [default: all].", rich_help_panel=SAMPLING
        ),
    ] = 0,
    top_p: Annotated[
        float,
        typer.Option(
            metavar="X", help="Draw from the most probable tokens that make up the share X.", rich_help_panel=SAMPLING
        ),
    ] = 1.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed [default: 0].", rich_help_panel=SAMPLING)] = 0,
    threads: Threads = None,
    precision: Precision = "fp32",
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
        search=SearchOptions(
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
        sampling=SamplingOptions(sample=sample, mbr=mbr, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed),
        prefixes=PrefixOptions(prefix=prefix, prefixes=prefixes, column=prefix_column),
        output=OutputOptions(
            as_json=as_json,
            n_best=n_best,
            align=align,
            alternatives=alternatives,
            alternatives_at=alternatives_at,
        ),
    )
