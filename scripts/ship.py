#!/usr/bin/env python3
"""Make a model that ships: train it by the recipe in configs/shipped, compress and score it, and write its card.

    python scripts/ship.py de-en --to translate/models/de-en --weaknesses weaknesses.md    # from the corpora; ten hours
    python scripts/ship.py de-en --to toy --updates 50                                     # the same steps; minutes
    python scripts/ship.py runs/de-en-3 --to translate/models/de-en --weaknesses weaknesses.md    # a run that has ended

The recipe trains in stages. All but the first read text that the other direction translated back, so stages of both
directions take turns, in runs/DIRECTION-STAGE. Each step continues after an interruption. It is skipped if it has ended
and neither what it is made of nor its result has changed, by their SHA-256.

The last run is compressed into RUN/DTYPE and scored there on the run's test sets. The weight of reranking and the
limits of the flag `confidence` are chosen as `bench.py confidence --tune` does, on the validation set and the test sets
with "dev" in their name, with the last model of the other direction or that of --rerank. The card names every corpus of
the run and of the runs before it, with its licence from configs/data/open.toml; a corpus that is not listed there is an
error. A person writes the weaknesses of the model.
"""

import argparse
import functools
import hashlib
import itertools
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from cases.confidence import tuned
from cases.practical import answers, by_topic, chrf, sentences
from records import (
    Record,
    card_before,
    history,
    lineage,
    machine_name,
    score_cells,
    signatures,
    state_of,
    table,
)

from transformer.config import CheckpointError, ConfigError
from translate.commands import compress, evaluate, train
from translate.commands.compress import CompressOptions
from translate.commands.evaluate import EvaluateOptions
from translate.commands.prepare import complete
from translate.commands.train import TrainOptions
from translate.config.load import load, read_library
from translate.config.schema import ExperimentConfig, MonoSource
from translate.corpus.prepare import Prepared, plan_corpus
from translate.corpus.sources import Pair, describe
from translate.errors import UserError, say
from translate.files import json_sha256, new_folder, read_json, sha256, write_json, write_text
from translate.models.folder import FILES, TranslationSpec, Weights, is_complete, refuse_existing
from translate.models.registry import language_name, locate
from translate.options import parse
from translate.text.translation import Opening
from translate.training.parent import Parent

DIRECTIONS = ("de-en", "en-de")
RUNS = Path("runs")  # the recipe names them, relative to the working directory
CONFIGS = Path(__file__).resolve().parents[1] / "configs"
RECIPE = CONFIGS / "shipped"
TOY_LINES = 20  # of each corpus that a model translates
LIBRARY = CONFIGS / "data" / "open.toml"
BLOCK = "Each block shows the source, the reference and the translation."
LICENCE = (
    "The code of this project is under Apache-2.0. "
    "The weights were trained on text under the licenses of this table{}; whether these reach a model is unsettled. "
    "`configs/recipes/permissive-de-en.toml` uses only CC0, CC BY and public-domain text."
)
COPYLEFT = ("CC BY-SA", "MPL", "OSL", "ODbL", "GFDL", "GPL", "AGPL", "EUPL")
ENDED = "ended.json"  # in a run: digests of the inputs of the stage and of its model
MADE_OF = "made-of.json"  # in a compressed model: digest of the model before compression
TUNED = "tuned.json"  # in a compressed model: result of `tuned` and digests of its models
DEVELOPMENT_LINES = 3000  # of each development set; of 1,000, too few have a low log-probability
SAMPLES = 20  # lines of the first test set on the card, evenly spaced, not selected


def main(argv: Sequence[str] | None = None) -> int:
    """Ship a model; return 2 and print one sentence for an error of the user, 130 after Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="de-en or en-de, trained by the recipe; or the folder of a run that has ended")
    parser.add_argument("--to", type=Path, required=True, help="the new model folder")
    parser.add_argument("--dtype", choices=["int8", "bf16"], default="int8", help="default: %(default)s")
    limit = "longer sources are better translated in parts, as dev says"
    parser.add_argument("--best-source-tokens", type=int, metavar="N", help=limit)
    parser.add_argument("--rerank", type=Path, metavar="MODEL", help="of the opposite direction, for tuning")
    parser.add_argument("--weaknesses", type=Path, help="Markdown for the card, written by a person")
    parser.add_argument("--updates", type=int, metavar="N", help="of each stage: a model that only tries the recipe")
    args = parser.parse_args(argv)
    try:
        run, rerank = Path(args.what), args.rerank
        if args.what in DIRECTIONS:
            run = trained(args.what, args.updates)
            rerank = rerank or opposite(args.what)
        ship(run, args.to, args.dtype, args.weaknesses, args.best_source_tokens, rerank)
    except FileNotFoundError as error:
        message = f"{error.filename}: no such file; name a run that has ended"
    except (UserError, CheckpointError, ConfigError, OSError) as error:
        message = str(error)
    except KeyboardInterrupt:
        return 130
    else:
        return 0
    print(f"ship: {message}", file=sys.stderr)
    return 2


def stages(direction: str) -> list[str]:
    """Return the experiments that make a model, each after those whose models it starts from or reads text of."""
    order: dict[str, None] = {}

    def add(name: str) -> None:
        langpair, _, number = name.rpartition("-")
        before = [f"{langpair}-{int(number) - 1}"] if number != "1" else []
        models = map(Path, load(RECIPE / f"{name}.toml").data.models)
        before += [model.name for model in models if model.parent == RUNS]  # another one is there already
        for needed in dict.fromkeys(before):
            if needed not in order:
                add(needed)
        order[name] = None

    add(max(path.stem for path in RECIPE.glob(f"{direction}-[1-9].toml")))
    return [*order]


def opposite(direction: str) -> Path:
    """Return the run of the last stage of the other direction that has a model, or the name of the one that ships."""
    other = "-".join(reversed(direction.split("-")))
    runs = (RUNS / f"{other}-{stage}" for stage in "987654321")
    return next((run for run in runs if is_complete(run / "model")), Path(other))


def trained(direction: str, updates: int | None) -> Path:
    """Train every stage that has not ended, and return the run of the last.

    Args:
        direction: "de-en" or "en-de".
        updates: of each stage, with little synthetic text; None is the number in the recipe.

    Raises UserError if a stage cannot be trained.
    """
    changes = []
    if updates is not None:
        changes = [f"training.{key}={updates}" for key in ("max_steps", "valid_every", "save_every")]
        changes.append("training.warmup_steps=5")
    for stage in stages(direction):
        print(f"# {stage}", flush=True)
        name, _, number = stage.rpartition("-")
        arguments = [os.path.relpath(RECIPE / f"{stage}.toml"), "--resume", "--run", str(RUNS / stage)]
        arguments += [] if number == "1" else ["--from", str(RUNS / f"{name}-{int(number) - 1}")]
        found = load(RECIPE / f"{stage}.toml").data.synthetic_sources if updates is not None else ()
        shared = {f"mono.{source.side}" if isinstance(source, MonoSource) else "text" for source in found}
        few = [f"data.{table}.lines={TOY_LINES}" for table in sorted(shared)]
        arguments += [argument for change in [*changes, *few] for argument in ("--set", change)]
        options = parse(TrainOptions, "train", arguments)
        ended = RUNS / stage / ENDED
        if ended.exists() and read_json(ended) == digests(options):
            print(f"{RUNS / stage}: has ended", flush=True)
        else:
            sys.argv = ["translate", "train", *arguments]  # the run records its command, which is shown on the card
            train.run(options)
            write_json(ended, digests(options))
    return RUNS / stage


def digests(options: TrainOptions) -> dict[str, str | None]:
    """Return the SHA-256 of all that a stage is made of, and of its model.

    That of the corpus is None if a text is missing, that of the model if one of its files is. UserError if the model
    that the stage starts from is gone.
    """
    assert options.config is not None
    assert options.run is not None
    config, parent = load(options.config, options.overrides or []), None
    if options.from_model is not None:
        parent = Parent.open(options.from_model, say)
        config = parent.settings(config, lambda _: None)
    try:
        tokenizer = None if parent is None else parent.record["tokenizer_sha256"]
        corpus = plan_corpus(complete(config, make=False), tokenizer)["fingerprint"]
    except UserError:  # training makes a synthetic text that is missing, and names any other
        corpus = None
    model = options.run / "model"
    return {
        "settings": json_sha256(config.model_dump(mode="json")),
        "corpus": corpus,
        "parent": None if parent is None else parent.record["weights_sha256"],
        "model": digest_of(model) if is_complete(model) else None,
    }


def digest_of(model: Path) -> str:
    """Return one SHA-256 of all files of a model folder."""
    return hashlib.sha256("".join(sha256(model / name) for name in FILES).encode()).hexdigest()


def ship(
    run: Path,
    to: Path,
    dtype: str,
    weaknesses: Path | None,
    best_source_tokens: int | None,
    rerank: Path | None,
) -> None:
    """Compress, score and tune a run, and write the shipped model with its card.

    Args:
        run: the run folder.
        to: the new model folder.
        dtype: precision of the shipped weights.
        weaknesses: Markdown for the card, or None.
        best_source_tokens: longer sources are translated in parts; None for no such limit.
        rerank: model of the opposite direction; None does not tune reranking.

    Raises UserError if `to` exists, if a licence is missing or if the run is incomplete.
    """
    refuse_existing(to)
    small = compressed(run, dtype)
    if not is_scored(small, load(run / "config.json")):
        evaluate.run(EvaluateOptions(systems=[small], out=small, opening=Opening()))
    tune(small, run, rerank)
    known = "" if weaknesses is None else weaknesses.read_text(encoding="utf-8").strip()
    card = "\n\n".join(chapters(run, small, known)) + "\n"
    with new_folder(to) as partial:
        for name in FILES:
            shutil.copyfile(small / name, partial / name)
        replace(TranslationSpec.load(partial), best_source_tokens=best_source_tokens).save(partial)
        write_text(partial / "README.md", card)
    print(f"wrote {to}: {sum(path.stat().st_size for path in to.iterdir()) / 1e6:.1f} MB")


def compressed(run: Path, dtype: str) -> Path:
    """Return the compressed model of a run; made anew if the run has another model since."""
    small, made_of = run / dtype, {"model": digest_of(run / "model")}
    if small.exists() and (not (small / MADE_OF).exists() or read_json(small / MADE_OF) != made_of):
        print(f"{small}: not known to be made of the model of {run}; made anew")
        shutil.rmtree(small)
    if not small.exists():
        compress.run(CompressOptions(model=run, out=small, dtype=dtype))  # type: ignore[arg-type]
        write_json(small / MADE_OF, made_of)
    return small


def is_scored(small: Path, config: ExperimentConfig) -> bool:
    """Return whether a model has scores of its weights on every test set of the experiment."""
    scores = read_json(small / "scores.json") if (small / "scores.json").exists() else {}
    weights = sha256(small / "model.safetensors")
    return all(name in scores and scores[name]["model_sha256"] == weights for name in config.data.test)


def tune(small: Path, run: Path, rerank: Path | None) -> None:
    """Write the limits of the flags and the weight of reranking into translation.json, unless they are there."""
    of = {
        "model_sha256": sha256(small / "model.safetensors"),
        "reranker_sha256": None if rerank is None else sha256(locate(rerank, say) / "model.safetensors"),
    }
    if (small / TUNED).exists() and read_json(small / TUNED)["of"] == of:
        return
    prepared = prepared_for(run)
    sets = {"valid": prepared.valid} | {name: pairs for name, pairs in prepared.test.items() if "dev" in name}
    values = tuned(small, rerank, [pairs[:DEVELOPMENT_LINES] for pairs in sets.values()])
    replace(TranslationSpec.load(small), **asdict(values)).save(small)
    write_json(small / TUNED, {"of": of, "sets": [*sets], "lines": DEVELOPMENT_LINES, **asdict(values)})
    print(f"{small}: {', '.join(f'{name} {value}' for name, value in asdict(values).items())}")


def prepared_for(run: Path) -> Prepared:
    """Open the corpus that a run was trained on."""
    return Prepared.open(Path(read_json(run / "manifest.json")["prepared"]))


def chapters(run: Path, small: Path, weaknesses: str) -> Iterator[str]:
    """Yield the chapters of the card.

    Args:
        run: the run folder.
        small: the compressed model.
        weaknesses: Markdown text, or "".
    """
    config, weights = load(run / "config.json"), Weights.read(small)
    scores = read_json(small / "scores.json")
    source, target = (language_name(code) for code in (config.data.source, config.data.target))
    yield (
        f"# {source} to {target}, {weights.n_parameters / 1e6:.1f} M parameters, {weights.precision}\n\n"
        "Trained by this project, without third-party weights, by the commands listed under Training. "
        f"`python scripts/ship.py {config.data.langpair} --to FOLDER` trains by their recipe. Use it with "
        f'`translate --model {config.data.langpair} "..."` or `Translator.load("{config.data.langpair}")`.'
    )
    rows = [*data_rows(run)]
    yield f"## Data\n\n{licence_note(row['licence'] for row in rows)}\n\n{table(rows)}"
    yield "## Training\n\n" + "\n".join(f"- {line}" for line in training(run))
    rows = [
        {"set": name, "lines": f"{of['lines']:,}", "weights": weights.precision, **score_cells(of)}
        for name, of in scores.items()
    ]
    yield f"## Scores\n\n{search(scores)}\n\n{table(rows)}\n\n" + "  \n".join(signatures(scores.values()))
    if sentences(config.data.langpair).exists():
        yield practical(small)
    if weaknesses:
        yield f"## Weaknesses\n\n{weaknesses}"
    name, pairs = next(iter(prepared_for(run).test.items()))
    yield f"## Samples\n\n{SAMPLES} lines, evenly spaced, not selected. {BLOCK}\n\n" + "\n\n".join(
        samples(pairs, small / "hypotheses" / f"{name}.txt")
    )


def data_rows(run: Path) -> Iterable[dict[str, str]]:
    """Return one row for each corpus that made a model, with its licence.

    The newest run comes first; corpora that only older runs used follow, with the pairs kept then.
    """
    rows: dict[str, dict[str, str]] = {}
    for folder, _ in reversed(lineage(run)):
        kept = read_json(Path(read_json(folder / "manifest.json")["prepared"]) / "report.json")["sources"]
        for name in corpora(load(folder / "config.json")):
            title, licence, origin = (licence_of(name)[key] for key in ("title", "licence", "origin"))
            pairs = f"{kept[name]['kept']:,}"
            rows.setdefault(title, {"corpus": title, "pairs kept": pairs, "licence": licence, "what": origin})
    rows_before = (line for line in lines_of("Data", card_before(run)) if line.startswith("| "))
    header, _, *lines = tuple(rows_before) or ("", "")
    for cells in map(cells_of, lines):
        rows.setdefault(cells[0], dict(zip(cells_of(header), cells, strict=True)))
    return rows.values()


def licence_note(licences: Iterable[str]) -> str:
    """Return what is known of the licences of the weights, given those of the corpora."""
    words = {word for licence in licences for word in re.findall(r"CC BY-SA|[A-Za-z]+", licence)}
    found = [name for name in COPYLEFT if name in words]
    return LICENCE.format(f", of which {', '.join(found)} are copyleft" if found else "")


def cells_of(line: str) -> list[str]:
    """Return the cells of a row of a Markdown table."""
    return line.removeprefix("| ").removesuffix(" |").split(" | ")


def corpora(config: ExperimentConfig) -> list[str]:
    """Return the names of the corpora that a run trains on."""
    old = config.data.replay.sources if config.data.replay is not None else ()
    return [describe(source) for source in (*config.data.train, *old)]


@functools.cache
def licences() -> dict[str, dict[str, str]]:
    """Return name, licence and origin of every corpus by its path, or by its kind if it ships with the project."""
    found = {"grammar": {"title": "grammar", "licence": "Apache-2.0", "origin": "this project"}}
    for group in read_library(LIBRARY).values():
        for name, corpus in group.items():
            paths = corpus.get("paths", {})
            for language, other in (("de", "en"), ("en", "de")):
                key = corpus.get("path", corpus.get("kind", "")).replace("{language}", language)
                if paths:  # of which two corpora may share one
                    key = f"{paths[language]} + {paths[other]}"
                found[key] = {"title": name, "licence": corpus["licence"], "origin": corpus["origin"]}
    return found


def licence_of(corpus: str) -> dict[str, str]:
    """Return title, licence and origin of a corpus by its name in reports; UserError if it is not listed."""
    if (found := licences().get(corpus) or licences().get(corpus.split()[0])) is None:
        raise UserError(f"{corpus}: has no entry in {LIBRARY}; a model ships with all its licences")
    return found


def training(run: Path) -> Iterator[str]:
    """Yield one line for each run that made the model, oldest first, and the result of the last one.

    The chain may begin with a shipped model, whose card has the lines of the runs before.

    Raises UserError if a run is lost.
    """
    card = card_before(run)
    before = itertools.takewhile(lambda line: not line.startswith("- final model"), lines_of("Training", card))
    yield from (line.removeprefix("- ") for line in before)
    for part in lineage(run):
        cost = history(*part)
        yield (
            f"`{cost['command']}`, commit {str(cost['commit'])[:9]}, "
            + ("with uncommitted changes, " if cost["uncommitted_changes"] else "")
            + f"seed {cost['seed']}: {cost['steps']:,} updates, "
            f"{epochs(cost['epochs'])}, {cost['tokens']:,} tokens of both sides; {duration(cost['seconds'])} on "
            f"{machine_name(cost['machine'])}, in {cost['starts']} start{'s' * (cost['starts'] > 1)}"
        )
        yield from cost.get("notes", ())
    end, share = state_of(run), load(run / "config.json").training.parent_share
    steps = [f"{step:,}" for step in end["averaged"]]
    members = f"checkpoint of update {steps[0]}" if len(steps) == 1 else f"mean of the checkpoints {', '.join(steps)}"
    yield (
        f"final model: {members}"
        + (f"; {share:.0%} of the final weights are those of the model that the last run began with" if share else "")
    )
    yield f"validation: {end['nll']:.3f} nats a token"


def duration(seconds: float) -> str:
    """Return a time in hours, or in minutes if it is shorter than one hour."""
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"


def epochs(n: int) -> str:
    """Return a number of whole epochs in words."""
    return "less than one epoch" if n == 0 else f"{n:,} epoch{'s' * (n > 1)}"


def lines_of(title: str, card: str) -> list[str]:
    """Return the lines of a chapter of a card; [] if there is none."""
    return card.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0].splitlines()


def practical(small: Path) -> str:
    """Return the chapter with the scores and translations of the practical sentences."""
    found = answers(small)
    rows = [{"topic": topic, "chrF": str(value)} for topic, value in [*by_topic(found).items(), ("all", chrf(found))]]
    about = (
        f"{len(found)} sentences written for this project, without those that are nearly in its phrase book, "
        f"translated with the settings of `translate text`. {BLOCK}"
    )
    said = "\n\n".join(block(one.source, one.reference, one.translation) for one in found)
    return f"## Practical sentences\n\n{about}\n\n{table(rows)}\n\n{said}"


def search(scores: Record) -> str:
    """Return the search settings of the scores as a sentence."""
    settings = next(iter(scores.values()))["decoding"]
    return f"Beam size {settings['beam_size']}, alpha {settings['alpha']}, each line as one sentence, without checks."


def samples(pairs: Sequence[Pair], translations: Path) -> Iterator[str]:
    """Yield a block for each of SAMPLES pairs of a test set.

    Args:
        translations: file with the translation of each pair.
    """
    lines = translations.read_text(encoding="utf-8").split("\n")
    for i in sorted({(2 * k + 1) * len(pairs) // (2 * SAMPLES) for k in range(SAMPLES)}):
        yield block(*pairs[i], lines[i])


def block(source: str, reference: str, translation: str) -> str:
    """Return a sentence with its reference and its translation, as Markdown."""
    return f"    {source}\n    {reference}\n    {translation}"


if __name__ == "__main__":
    sys.exit(main())
