"""The command `translate`: parsing, and one line on stderr for every mistake.

Commands are imported when they run, so that `--help` needs nothing heavy.
"""

import difflib
import os
import sys
from collections.abc import Sequence
from enum import Enum
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal

import typer

from transformer.config import ConfigError
from translate.commands.messages import say
from translate.errors import Terminated, UserError

EXIT_DIFFERENT, EXIT_MISTAKE = 1, 2
EXIT_INTERRUPTED, EXIT_PIPE_CLOSED, EXIT_TERMINATED = 130, 141, 143  # 128 + the signal, as in a shell

# typer has no public name for the class of all usage errors, the parent of BadParameter.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="translate",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Experiment file (TOML).")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Replace one setting of the file; repeatable."),
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="Name of an installed model, run directory or model folder [default: $TRANSLATE_MODEL, or de-en where it "
        "is installed, or the newest model in runs/].",
    ),
]
# The bounds are those of DecodingConfig, which takes longer to import than all of the help.
Beam = Annotated[
    int | None,
    typer.Option(min=1, max=256, metavar="N", help="Hypotheses kept per step [default: the model's]."),
]
Alpha = Annotated[
    float | None,
    typer.Option(min=0.0, max=10.0, metavar="X", help="Of the length penalty [default: the model's]."),
]
LengthPenalty = Annotated[
    Literal["gnmt", "average", "none"] | None,
    typer.Option(help="Divide by the paper's, which has the alpha, by the length, or not [default: the model's]."),
]
Stored = Enum("Stored", {"INT8": "int8", "BF16": "bf16", "FP32": "fp32"})
Format = Enum("Format", {"CTRANSLATE2": "ctranslate2", "MARIAN": "marian", "ARGOS": "argos"})
Engines = Enum("Engines", {"TORCH": "torch", "CTRANSLATE2": "ctranslate2"})
Threads = Annotated[int | None, typer.Option(min=1, metavar="N", help="CPU threads [default: one a core].")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]


@app.callback(
    epilog='What begins with no verb is translated: translate "Guten Morgen" is translate text "Guten Morgen".'
)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; as TRANSLATE_DEBUG=1 does.")] = False,
) -> None:
    """Train a Transformer on your own text and translate with it."""


def _unless_standard(name: str) -> Path | None:
    """A hyphen is stdin or stdout, as it is elsewhere; ./- is a file."""
    return None if name == "-" else Path(name)


@app.command()
def text(
    sentences: Annotated[
        list[str] | None, typer.Argument(metavar="SENTENCE", help="Without any, stdin is read.")
    ] = None,
    model: Model = None,
    from_language: Annotated[
        str | None,
        typer.Option("--from", metavar="LANGUAGE", help='Choose an installed model by language; "auto" guesses.'),
    ] = None,
    to_language: Annotated[
        str | None, typer.Option("--to", metavar="LANGUAGE", help="The same for the target.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", parser=_unless_standard, help="Read this file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=_unless_standard, help="Write to this file instead of stdout."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Write the output in place, and go on where it ends after any stop.")
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, lines (a line is a sentence), markdown, html, srt, vtt or tsv "
            "[default: by the name of the input file, else text].",
        ),
    ] = None,
    column: Annotated[
        int, typer.Option(min=1, metavar="N", help="Column of a TSV file to translate, counted from 1.")
    ] = 1,
    no_guards: Annotated[
        bool, typer.Option("--no-guards", help="Translate whatever is there, and trust the model.")
    ] = False,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's search alone: lines, and no guards.")] = False,
    as_json: Json = False,
    n_best: Annotated[
        int, typer.Option("--n-best", min=0, max=256, metavar="N", help="With --json, the N best of each line.")
    ] = 0,
    beam: Beam = None,
    alpha: Alpha = None,
    length_penalty: LengthPenalty = None,
    threads: Threads = None,
    engine: Annotated[
        Engines, typer.Option(help="What searches; ctranslate2 takes a folder that translate export wrote.")
    ] = Engines.TORCH,
    precision: Annotated[
        Literal["fp32", "bf16"], typer.Option(help="bf16 is faster where the processor has it, and rounds more.")
    ] = "fp32",
    sample: Annotated[bool, typer.Option("--sample", help="Draw translations; this and what follows: lines.")] = False,
    mbr: Annotated[
        int, typer.Option(min=0, max=256, metavar="N", help="Draw N, take the one most like the others (chrF).")
    ] = 0,
    temperature: Annotated[float | None, typer.Option(metavar="X", help="With --sample [default: 1].")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, metavar="N", help="Draw from the N likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(metavar="X", help="Draw from the likeliest, X of the whole.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Of the samples [default: 0].")] = None,
    prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="How every translation begins.")] = None,
    prefixes: Annotated[Path | None, typer.Option(metavar="FILE", help="Line n: how that of line n begins.")] = None,
    ensemble: Annotated[list[str] | None, typer.Option(metavar="MODEL", help="Ask this model too; repeatable.")] = None,
    constrain: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms that have to appear: SOURCE, a tab, TARGET; or TARGET.")
    ] = None,
    no_repeat: Annotated[int, typer.Option(min=0, metavar="N", help="No N tokens twice.")] = 0,
    coverage: Annotated[
        float, typer.Option(metavar="BETA", help="Rank those lower that leave part of the source unread.")
    ] = 0.0,
    align: Annotated[bool, typer.Option("--align", help="Add which word comes from which.")] = False,
    prefix_column: Annotated[
        bool, typer.Option("--prefix-column", help="A line is SOURCE, a tab, and how its translation begins.")
    ] = False,
    alternatives: Annotated[
        int, typer.Option(min=0, max=256, metavar="N", help="With --json, the N likeliest other tokens at each place.")
    ] = 0,
    alternatives_at: Annotated[
        int | None, typer.Option(min=0, metavar="K", help="And the translations that go on from those at token K.")
    ] = None,
) -> None:
    """Translate sentences, a file, or what you type; the layout stays."""
    from translate.commands.search import Request, search
    from translate.commands.text import Options
    from translate.commands.text import text as run

    options = Options(
        format=layout,
        column=column,
        guarded=not no_guards,
        paper=paper,
        as_json=as_json,
        n_best=n_best,
        beam_size=beam,
        alpha=alpha,
        length_penalty=length_penalty,
        threads=threads,
        engine=engine.value,
        precision=precision,
    )
    request = Request(
        sample=sample,
        mbr=mbr,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        prefix=prefix,
        prefixes=prefixes,
        ensemble=ensemble or (),
        terms=constrain,
        no_repeat=no_repeat,
        coverage=coverage,
        align=align,
        prefix_column=prefix_column,
        alternatives=alternatives,
        alternatives_at=alternatives_at,
    )
    translate_text = run if request == Request() else partial(search, request=request)
    translate_text(
        sentences or [],
        options,
        model=model,
        languages=(from_language, to_language),
        source=source,
        output=output,
        force=force,
        resume=resume,
    )


@app.command()
def prepare(
    config: Config,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="[default: prepared/NAME]")] = None,
    from_model: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Take this model's tokenizer, to fine-tune it with train --from."),
    ] = None,
) -> None:
    """Clean the corpus, train the tokenizer and store token ids."""
    from translate.commands.prepare import prepare as run

    run(config, overrides or [], out, from_model)


@app.command()
def train(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="Experiment file (TOML); none with --reproduce.")
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Run directory [default: runs/NAME].")] = None,
    prepared: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Prepared corpus [default: prepared/NAME].")
    ] = None,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint.")] = False,
    from_model: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Fine-tune this run's model or model folder, with its tokenizer."),
    ] = None,
    original: Annotated[
        Path | None,
        typer.Option(
            "--reproduce",
            metavar="RUN",
            help="Repeat this run, in runs/RUN-again unless --run says otherwise, and say whether the model is "
            "identical to the last bit; exit code 1 if not.",
        ),
    ] = None,
) -> None:
    """Train a model; prepares the corpus first where needed."""
    from translate.commands.train import reproduce
    from translate.commands.train import train as run_training

    if original is None and config is not None:
        run_training(
            config, run=run, prepared=prepared, overrides=overrides or [], resume=resume, from_model=from_model
        )
    elif original is None:
        raise UserError("name an experiment file: translate train CONFIG; or a run to repeat with --reproduce")
    elif config is not None or overrides or from_model is not None:
        raise UserError("--reproduce repeats a run as it was; leave CONFIG, --set and --from out")
    elif not reproduce(original, run=run, prepared=prepared, resume=resume):
        raise typer.Exit(EXIT_DIFFERENT)


@app.command()
def evaluate(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="Run directory, model folder or name of a model [default: $TRANSLATE_MODEL, or the newest in runs/].",
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="Score on this text, a sentence a line.")] = None,
    reference: Annotated[Path | None, typer.Option(metavar="FILE", help="Its translation, line by line.")] = None,
    test_set: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Score on a test set of sacreBLEU; repeatable.")
    ] = None,
    valid: Annotated[bool, typer.Option("--valid", help="Score on the run's validation set.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write [default: the run].")] = None,
    beam: Beam = None,
    alpha: Alpha = None,
    length_penalty: LengthPenalty = None,
    threads: Threads = None,
    confidence: Annotated[bool, typer.Option("--confidence", help="Add 95 % intervals (bootstrap).")] = False,
) -> None:
    """Score by BLEU, chrF and TER, by default on the run's test sets."""
    from translate.commands.evaluate import evaluate as run

    run(
        model,
        source=source,
        reference=reference,
        test_sets=test_set or [],
        valid=valid,
        out=out,
        beam_size=beam,
        alpha=alpha,
        length_penalty=length_penalty,
        threads=threads,
        confidence=confidence,
    )


@app.command()
def score(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A sentence a line.")],
    reference: Annotated[Path, typer.Argument(metavar="REF", help="Its translation, line by line.")],
    model: Model = None,
    as_json: Json = False,
    threads: Threads = None,
) -> None:
    """Show how probable given translations are: log-probability, tokens, and the one by the other."""
    from translate.commands.score import score as run

    run(source, reference, model=model, as_json=as_json, threads=threads)


@app.command()
def average(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Checkpoints, models, or runs.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The new model folder.")],
    last: Annotated[int, typer.Option(min=1, metavar="N", help="How many checkpoints of each run.")] = 5,
) -> None:
    """Average the weights of checkpoints into one model."""
    from translate.commands.average import average as run

    run(folders, out=out, last=last)


@app.command()
def compress(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Run directory, model folder or name of a model.")],
    out: Annotated[Path, typer.Option("--out", "--to", metavar="FOLDER", help="The new model folder.")],
    dtype: Annotated[Stored, typer.Option(help="How the weights are stored.")] = Stored.INT8,
) -> None:
    """Write a model with weights in fewer bits; it loads as any other."""
    from translate.commands.compress import compress as run

    run(model, to=out, dtype=dtype.value)


@app.command()
def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Run directory, model folder or name of a model.")],
    to: Annotated[Path, typer.Option(metavar="PLACE", help="The new folder, or NAME.argosmodel.")],
    layout: Annotated[Format, typer.Option("--format", help="Who is to read it.")],
    int8: Annotated[bool, typer.Option("--int8", help="Weights in 8 bits; not for Marian.")] = False,
    sentences: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check on these [default: 100 of the embedded grammar].")
    ] = None,
) -> None:
    """Write a model for CTranslate2, Hugging Face Marian or Argos Translate, checked on sentences."""
    from translate.commands.export import export as run

    run(model, to=to, format=layout.value, int8=int8, sentences=sentences)


@app.command("import")
def import_model(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of Hugging Face Marian, fairseq or JoeyNMT.")],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="The new model folder.")],
    source: Annotated[str | None, typer.Option(metavar="LANGUAGE", help="[default: what the folder says]")] = None,
    target: Annotated[str | None, typer.Option(metavar="LANGUAGE", help="[default: what the folder says]")] = None,
    sentences: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check on these [default: 100 of the embedded grammar].")
    ] = None,
) -> None:
    """Make a model folder of a model that another toolkit made, checked on sentences."""
    from translate.commands.import_model import import_model as run

    run(folder, to=to, source=source, target=target, sentences=sentences)


@app.command()
def models(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="Show the card of this one, by name or path.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the installed models, or show the card of one."""
    from translate.commands.models import models as run

    run(model, as_json=as_json)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Show versions, hardware, speed, and what is missing."""
    from translate.commands.doctor import doctor as run

    run(as_json=as_json)


VERBS = [str(command.name or command.callback.__name__) for command in app.registered_commands if command.callback]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0, 1 where a repeated run ends differently, 2 for a mistake, 130 for Ctrl-C, 143 for SIGTERM, 141 where nobody
    reads on.
    """
    _settle_streams()
    arguments, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(with_verb(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except Terminated:
        return EXIT_TERMINATED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_PIPE_CLOSED
    except _mistakes() as error:
        if debug:
            raise
        say(_sentence(error))
        return EXIT_MISTAKE
    finally:
        _settle_stdout()


def with_verb(arguments: list[str]) -> list[str]:
    """The arguments with the verb `text` in front, unless they begin with a verb; UserError for a misspelt one."""
    first = arguments[0] if arguments else ""
    if first in VERBS or first in ("-h", "--help", "--version"):
        return arguments
    if len(arguments) > 1 and (near := difflib.get_close_matches(first, VERBS, n=1, cutoff=0.8)):
        raise UserError(
            f"{first!r} is no verb; did you mean {near[0]!r}? To translate it, write: translate text {first}"
        )
    return ["text", *arguments]


def _run(arguments: list[str]) -> int:
    if arguments[0] == "--version":
        from translate import __version__

        print(f"translate {__version__}")
        return 0
    # Not `app()`: it would turn Ctrl-C and a closed pipe into exit codes and messages of its own.
    command = typer.main.get_command(app)
    try:
        with command.make_context("translate", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:  # --help has code 0
        return int(end.exit_code)
    return 0


def _without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without --debug, which may stand anywhere before "--"; and whether it was there."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    debug = len(kept) < end or os.environ.get("TRANSLATE_DEBUG", "") not in ("", "0")
    return [*kept, *arguments[end:]], debug


def _mistakes() -> tuple[type[Exception], ...]:
    """The exceptions that are a user's to mend."""
    # CheckpointError lives beside torch, so it is looked up only where it can have been raised.
    loaded = sys.modules.get("transformer.checkpoint_io")
    foreign = () if loaded is None else (loaded.CheckpointError,)
    return (UserError, ConfigError, UsageError, OSError, *foreign)


def _sentence(error: Exception) -> str:
    """What to show."""
    if isinstance(error, UsageError):
        return f"{error.format_message()} (see translate --help)"  # type: ignore[attr-defined]
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _settle_streams() -> None:
    """Make messages appear where they belong, or nowhere."""
    if sys.stderr is None:  # closed by the caller: what is printed to None would appear on stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- it stays open until the end
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the name of a file need not be text


def _settle_stdout() -> None:
    """Flush stdout; where that fails, point it nowhere, or Python would try again at exit and complain."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
