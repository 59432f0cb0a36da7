"""Every shipped experiment loads, builds its model, states its command, and matches the values of the paper."""

import functools
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from transformer.config import ModelConfig
from translate.config.load import load, read_library
from translate.config.schema import ExperimentConfig, HubSource, TextSource, TsvSource
from translate.corpus.sources import describe
from translate.experiments.grid import Grid, load_grid

ROOT = Path(__file__).parents[1]
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "configs").rglob("*.toml"))
TABLE3 = "configs/paper/table3.toml"
GRIDS = [path.as_posix() for path in FILES if path.parent.name == "grids"] + [TABLE3]
CONFIGS = [path.as_posix() for path in FILES if path.parent.name != "data" and path.as_posix() not in GRIDS]
PAPER = json.loads((ROOT / "tests" / "transformer" / "paper.json").read_text(encoding="utf-8"))
ROWS = [row["row"] for row in PAPER["table3"]]
WMT = ["wmt14-en-de-base", "wmt14-en-de-big", "wmt14-en-fr-big", *ROWS]

every_config = pytest.mark.parametrize("name", CONFIGS)
every_wmt_config = pytest.mark.parametrize("name", WMT)


def experiment(name: str) -> ExperimentConfig:
    return load(ROOT / name)


@functools.cache
def table3() -> Grid:
    return load_grid(ROOT / TABLE3, [])


def wmt(name: str) -> ExperimentConfig:
    """An experiment of the paper: a file, or a row of table 3."""
    rows = {cell.row[0]: cell.config for cell in table3().cells}
    return rows[name] if name in rows else experiment(f"configs/paper/{name}.toml")


def model(config: ExperimentConfig) -> ModelConfig:
    return config.model.architecture(config.tokenizer.vocab_size)


def header(name: str) -> str:
    """The comment at the top of a file."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return text[: re.search(r"^(?!#)", text, re.MULTILINE).start()]  # type: ignore[union-attr]


def test_the_named_experiments_exist() -> None:
    recipes = {"multi30k-de-en", "multi30k-en-de", "tatoeba-de-en", "iwslt14-de-en", "permissive-de-en"}
    assert {"configs/demo.toml", *(f"configs/recipes/{name}.toml" for name in recipes)} <= set(CONFIGS)


def test_the_folder_is_small_and_no_file_extends_one_that_extends_another() -> None:
    assert len(FILES) <= 35
    bases = {path: tomllib.loads((ROOT / path).read_text(encoding="utf-8")).get("extends") for path in FILES}
    chains = [path for path, base in bases.items() if base and bases[Path(os.path.normpath(path.parent / base))]]
    assert chains == []


def test_the_library_names_a_licence_and_an_origin_for_every_corpus() -> None:
    for group in read_library(ROOT / "configs" / "data" / "open.toml").values():
        for name, corpus in group.items():
            assert corpus["licence"], name
            assert corpus["origin"], name


# Public sets that papers report scores on, by the beginning of the name of their files.
PUBLIC_SETS = (
    "covost2 mucow mt-geneval xquad paws-x mgsm ud-pud cocoa-mt contrawsd xnli xsid mlqe-pe newstest flores ntrex wmt "
    "test_2016 dev."
)


@pytest.mark.parametrize(
    "name", [name for name in CONFIGS if name.startswith(("configs/shipped/", "configs/recipes/"))]
)
def test_no_evaluation_set_is_training_text(name: str) -> None:
    """Scores on them would be void."""
    data = experiment(name).data
    used = [
        Path(value).name
        for source in data.training_sources
        for value in vars(source).values()
        if isinstance(value, str)
    ]
    assert [file for file in used if file.startswith(tuple(PUBLIC_SETS.split()))] == []
    if name.startswith("configs/shipped/"):
        held_out = {
            Path(source.source).name.split(".")[0] for source in data.held_out if isinstance(source, TextSource)
        }
        assert {"covost2-de-en-devtest", "mucow", "mt-geneval", "xquad", "contrawsd", "xnli-dev-test"} <= held_out


def test_a_dictionary_of_the_library_is_read_in_the_direction_of_the_experiment() -> None:
    for source, target in (("de", "en"), ("en", "de")):
        config = load(ROOT / "configs/shipped/de-en-1.toml", [f'data.source="{source}"', f'data.target="{target}"'])
        tables = [table for table in config.data.train if isinstance(table, TsvSource)]
        assert tables
        assert {(table.source, table.target) for table in tables} == {((0, 1) if source == "de" else (1, 0))}


@every_config
def test_an_experiment_loads_builds_a_model_and_has_an_end(name: str) -> None:
    config = experiment(name)
    assert model(config).vocab_size == config.tokenizer.vocab_size
    assert config.training.max_steps or config.training.max_epochs
    assert config.data.test


@every_config
def test_its_average_is_over_checkpoints_that_are_kept(name: str) -> None:
    training = experiment(name).training
    assert training.average_last <= training.keep_last


@every_config
def test_it_opens_with_its_command_its_claim_and_where_it_ran(name: str) -> None:
    lines = header(name).splitlines()
    assert any(re.fullmatch(rf"# Run: translate train {re.escape(name)}( --from \S+)?", line) for line in lines)
    assert any(line.startswith("# Claims: ") for line in lines)
    assert any(line.startswith("# Run on: ") for line in lines)


@every_config
def test_its_sources_read_the_language_pair_that_it_names(name: str) -> None:
    data = experiment(name).data
    for source in (*data.train, data.valid, *data.test.values()):
        if isinstance(source, HubSource):
            assert (source.source, source.target) == (f"translation.{data.source}", f"translation.{data.target}")
        elif source.kind == "text":
            sides = [
                re.search(rf"\.{code}[.-]", file)
                for file, code in ((source.source, data.source), (source.target, data.target))
            ]
            assert all(sides)


@every_wmt_config
def test_training_and_decoding_are_the_papers(name: str) -> None:
    """Sections 5.1 to 5.4 and 6.1."""
    config = wmt(name)
    training = config.training.model_dump()
    assert {key: training[key] for key in PAPER["training"]} == {**PAPER["training"], "adam_betas": (0.9, 0.98)}
    assert config.training.lr is None
    assert config.training.clip_norm is None
    assert config.training.weight_decay == 0
    assert config.decoding.model_dump() == PAPER["decoding"]
    assert config.tokenizer.vocab_size == PAPER["vocab_size"][f"{config.data.source}-{config.data.target}"]


@pytest.mark.parametrize("row", PAPER["table3"], ids=ROWS)
def test_a_row_of_table_3_holds_the_papers_values(row: dict[str, Any]) -> None:
    config = wmt(row["row"])
    built = model(config)
    found = {
        **vars(built),
        "d_k": built.d_key,
        "d_v": built.d_value,
        "label_smoothing": config.training.label_smoothing,
        "max_steps": config.training.max_steps,
    }
    expected = {"positions": "sinusoidal", **PAPER["base"], **row["differs"]}
    assert {key: found[key] for key in expected} == expected
    assert (built.norm, built.tying, built.attention_bias, built.window) == ("post", "all", False, None)
    assert built.attention_dropout == built.ffn_dropout == 0
    assert config.training.average_last == 1


def test_the_grid_of_table_3_has_every_row_with_the_papers_scores_on_newstest2013() -> None:
    grid = table3()
    assert [cell.row[0] for cell in grid.cells] == ROWS
    assert grid.score_on == ("valid",)
    assert grid.cells[0].config.data.valid == experiment("configs/paper/wmt14-en-de-base.toml").data.valid
    assert grid.published is not None
    assert grid.published.perplexity == {row["row"]: row["perplexity"] for row in PAPER["table3"]}
    assert grid.published.bleu == {row["row"]: row["bleu"] for row in PAPER["table3"]}


def test_no_two_rows_of_table_3_are_the_same_experiment() -> None:
    assert len({wmt(row).model_dump_json() for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("name", "seconds", "n"), [("base", 0.4, 5), ("big", 1.0, 20)])
def test_checkpoints_are_averaged_that_are_ten_minutes_apart(name: str, seconds: float, n: int) -> None:
    """Section 6.1, with the time of a step of section 5.2."""
    training = wmt(f"wmt14-en-de-{name}").training
    assert training.save_every == 600 / seconds
    assert training.average_last == n <= training.keep_last


@pytest.mark.parametrize(("name", "size"), [("wmt14-en-de-base", "base"), ("wmt14-en-de-big", "big")])
def test_the_models_of_table_2_are_those_of_table_3_with_averaged_checkpoints(name: str, size: str) -> None:
    config, row = wmt(name), wmt(size)
    assert model(config) == model(row)
    assert config.training.max_steps == row.training.max_steps
    assert config.training.average_last == PAPER["average_last"][size]


def test_english_french_differs_from_big_by_vocabulary_and_dropout_alone() -> None:
    german, french = model(wmt("wmt14-en-de-big")), model(wmt("wmt14-en-fr-big"))
    assert {**vars(german), "vocab_size": 32_000, "dropout": 0.1} == vars(french)


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_loads_and_opens_with_its_command(name: str) -> None:
    grid = load_grid(ROOT / name, [])
    assert grid.baseline in grid.rows
    assert len({cell.config.model_dump_json() for cell in grid.cells}) == len(grid.cells) > 2
    assert f"# Run: translate experiment {name}\n" in header(name)


def test_the_named_grids_exist() -> None:
    names = (
        "table3",
        "norm",
        "initialisation",
        "positions",
        "vocabulary",
        "averaging",
        "beam",
        "smoothing",
        "depth",
        "seeds",
    )
    assert {f"configs/grids/{name}.toml" for name in names} <= set(GRIDS)


def test_the_grid_of_table_3_is_the_papers_table_scaled_down() -> None:
    """Widths are divided by 4; heads, d_k and d_v by 2, since their product is d_model; steps by 100."""
    factors = {"d_model": 4, "d_ff": 4, "n_heads": 2, "d_k": 2, "d_v": 2, "max_steps": 100}
    grid = load_grid(ROOT / "configs" / "grids" / "table3.toml", [])
    found = {cell.row[0]: cell.config for cell in grid.cells}
    assert list(found) == ROWS
    assert len(grid.cells) == 2 * len(ROWS)
    for row in PAPER["table3"]:
        config = found[row["row"]]
        built = model(config)
        here = {
            **vars(built),
            "d_k": built.d_key,
            "d_v": built.d_value,
            "label_smoothing": config.training.label_smoothing,
            "max_steps": config.training.max_steps,
        }
        expected = {"positions": "sinusoidal", **PAPER["base"], **row["differs"]}
        scaled = {key: value / factors.get(key, 1) if key in factors else value for key, value in expected.items()}
        if row["row"] == "A1":  # one head cannot be halved
            scaled |= {"n_heads": 1, "d_k": 128, "d_v": 128}
        assert {key: here[key] for key in scaled} == scaled, row["row"]
    assert grid.published is not None
    assert grid.published.perplexity == {row["row"]: row["perplexity"] for row in PAPER["table3"]}
    assert grid.published.bleu == {row["row"]: row["bleu"] for row in PAPER["table3"]}


def test_the_grids_of_search_and_averaging_train_once_per_seed() -> None:
    for name in ("beam", "averaging"):
        assert not any(axis.retrains for axis in load_grid(ROOT / "configs" / "grids" / f"{name}.toml", []).axes)


def test_the_grid_of_seeds_swaps_the_corpus_for_the_other_direction() -> None:
    grid = load_grid(ROOT / "configs" / "grids" / "seeds.toml", [])
    assert {(c.row[0], c.config.data.train[0].source) for c in grid.cells} == {  # type: ignore[union-attr]
        ("de-en", "train.de.gz"),
        ("en-de", "train.en.gz"),
    }


@every_config
def test_no_corpus_is_listed_twice_in_an_experiment(name: str) -> None:
    """A second copy would be dropped as a duplicate; `weight` repeats a corpus."""
    data = experiment(name).data
    corpora = [describe(source) for source in (*data.train, *(data.replay.sources if data.replay else ()))]
    assert len(set(corpora)) == len(corpora)
