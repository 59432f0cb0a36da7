"""The cost of an experiment, against every figure of tables 1 and 2 of the paper."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.translate.experiments.conftest import EXPERIMENT
from transformer.config import model_config, presets
from translate.commands.main import main
from translate.config.load import load
from translate.corpus.batches import Sampler
from translate.corpus.prepare import Prepared, mixture
from translate.errors import UserError
from translate.experiments import cost
from translate.experiments.cost import CostedTraining

ROOT = Path(__file__).parents[3]
PAPER = json.loads((ROOT / "tests" / "transformer" / "paper.json").read_text(encoding="utf-8"))


BASE = "paper/wmt14-en-de-base.toml"


def paper_plan(name: str, steps: int) -> CostedTraining:
    return CostedTraining(model_config(f"paper-{name}", vocab_size=37_000), steps * 25_000, 30)


def printed(name: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["cost", str(ROOT / "configs" / name), "--hardware", "P100", *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("name", "steps"), [("base", 100_000), ("big", 300_000)])
def test_training_flops_are_those_of_table_2(name: str, steps: int) -> None:
    plan = paper_plan(name, steps)
    assert plan.published
    assert f"{plan.paper_flops:.1e}" == f"{PAPER['table2_training_flops'][name]:.1e}"
    assert plan.training_flops < plan.paper_flops  # the paper counts every second at the sustained rate


@pytest.mark.parametrize("name", ["base", "big"])
def test_the_command_prints_the_papers_figure_for_its_rows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(f"paper/wmt14-en-de-{name}.toml", capsys)
    line = next(line for line in shown.splitlines() if line.startswith("training FLOPs as table 2 counts"))
    assert float(line.split()[-1]) == PAPER["table2_training_flops"][name]
    assert "time x GPUs x sustained" in line


def test_table_2_is_the_papers() -> None:
    *rows, ours = cost.comparison_rows(paper_plan("base", 100_000))
    for row, expected in zip(rows, PAPER["table2"], strict=True):
        model, *figures = row.values()
        assert [model, *(float(figure) if figure else None for figure in figures)] == expected
    assert ours["model"] == "this configuration"


def test_table_1_is_the_papers_with_numbers_for_the_configuration() -> None:
    n, d, k, r = 30, 512, cost.KERNEL, cost.NEIGHBOURHOOD
    rows = cost.layer_rows(paper_plan("base", 1))
    formulas = [[row[name][2:-1] for name in ("complexity", "sequential", "path")] for row in rows]
    assert formulas == PAPER["table1"]
    assert [float(row["operations"]) for row in rows] == pytest.approx(
        [n * n * d, n * d * d, k * n * d * d, r * n * d], rel=1e-2
    )
    assert [(row["steps"], row["length"]) for row in rows] == [("1", "1"), ("30", "30"), ("1", "4"), ("1", "2")]


def test_sustained_operations_are_those_of_the_footnote() -> None:
    found = cost.devices()
    assert {name: found[name].flops for name in PAPER["sustained_flops"]} == PAPER["sustained_flops"]
    assert all(device.source for device in found.values())


def test_the_papers_training_time_follows_from_its_utilisation() -> None:
    plan = paper_plan("base", 100_000)
    (row,) = cost.hardware_rows(plan, cost.find_devices("P100"), cost.base_utilisation())
    assert float(row["days on one"]) == pytest.approx(8 * 12 / 24, rel=1e-2)
    assert float(row["kWh"]) == pytest.approx(8 * 12 * 0.3, rel=1e-2)


def test_other_sizes_are_estimated_at_the_utilisation_of_base(capsys: pytest.CaptureFixture[str]) -> None:
    plan = paper_plan("C-N2", 100_000)
    assert not plan.published
    assert plan.paper_flops * cost.base_utilisation() == pytest.approx(plan.training_flops)
    assert "at the utilisation of the paper's base run" in printed(BASE, capsys, "--set", "model.preset=paper-C-N2")


def test_the_days_grow_with_the_operations_of_longer_sentences() -> None:
    short, long = (CostedTraining(model_config("paper-base", vocab_size=37_000), 1e9, length) for length in (30, 3000))
    days = [
        float(cost.hardware_rows(plan, cost.find_devices("P100"), cost.base_utilisation())[0]["days on one"])
        for plan in (short, long)
    ]
    assert days[1] / days[0] == pytest.approx(long.training_flops / short.training_flops, rel=0.05)
    assert days[1] > 1.5 * days[0]


@pytest.mark.parametrize("name", presets())
def test_parts_add_up_for_every_preset(name: str) -> None:
    rows = cost.parameter_rows(CostedTraining(model_config(name, vocab_size=8000), 1e6, 7))
    *parts, total = [int(row["parameters"].replace(",", "")) for row in rows]
    assert sum(parts) == total


def test_markdown_has_a_heading_and_a_table_for_each_subject(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(BASE, capsys, "--markdown", "--utilisation", "0.5")
    assert len(re.findall(r"^## ", shown, re.MULTILINE)) == len(re.findall(r"^\|-", shown, re.MULTILINE)) == 5
    assert "## Hardware, at a utilisation of 50%" in shown


def test_tokens_and_length_may_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed("recipes/multi30k-de-en.toml", capsys, "--tokens", "3e7", "--length", "14")
    assert re.search(r"^tokens, each side +3e\+07$", shown, re.MULTILINE)
    assert "n = 14, d = 128" in shown


def test_epochs_of_an_unknown_corpus_need_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["cost", str(ROOT / "configs" / "recipes" / "multi30k-de-en.toml")]) == 2
    assert "run `translate prepare` first, or give --tokens" in capsys.readouterr().err


def test_unknown_hardware_is_refused() -> None:
    with pytest.raises(UserError, match="--hardware H300: not known; choose K80, .*H200, here"):
        cost.find_devices("H300")


@pytest.mark.parametrize("name", ["P100", "p100"])
def test_hardware_is_known_in_any_case(name: str) -> None:
    assert [device.name for device in cost.find_devices(name)] == ["P100"]


def test_this_machine_is_measured() -> None:
    (here,) = cost.find_devices("here")
    assert here.flops > 1e8
    assert here.watts is None


def test_a_window_sees_its_position_and_as_many_on_each_side() -> None:
    model = model_config("paper-base", {"window": 2}, vocab_size=37_000)
    assert CostedTraining(model, 1e6, 30).neighbourhood == 5
    restricted = next(row for row in cost.layer_rows(CostedTraining(model, 1e6, 30)) if "restricted" in row["layer"])
    assert float(restricted["operations"]) == pytest.approx(5 * 30 * 512, rel=1e-2)


def test_a_run_with_narrower_keys_is_not_the_published_one() -> None:
    model = model_config("paper-base", {"d_k": 16}, vocab_size=37_000)
    assert not CostedTraining(model, 1e6, 30).published


def test_only_a_corpus_of_the_same_settings_gives_the_number_of_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text(EXPERIMENT.replace("max_steps = 6", "max_epochs = 6"), encoding="utf-8")
    assert main(["prepare", "toy.toml"]) == 0
    command = ["cost", "toy.toml", "--hardware", "P100"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--set", "cleaning.identical=false"]) == 2
    said = capsys.readouterr().err
    assert "prepared/toy is not used, as it was made with other settings (cleaning.identical)" in said
    assert "give --tokens" in said


def test_an_epoch_has_only_a_sample_of_the_replayed_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train = 'train = [{ kind = "grammar", split = "train", pairs = 70, weight = 3 }]'
    old = 'replay = { share = 0.3, sources = [{ kind = "grammar", split = "train", pairs = 1500, seed = 7 }] }'
    text = EXPERIMENT.replace("max_steps = 6", "max_epochs = 6").replace(EXPERIMENT.split("\n")[4], f"{train}\n{old}")
    Path("toy.toml").write_text(text, encoding="utf-8")
    assert main(["prepare", "toy.toml"]) == 0
    capsys.readouterr()
    assert main(["cost", "toy.toml", "--hardware", "P100"]) == 0
    tokens = float(re.search(r"^tokens, each side +(\S+)$", capsys.readouterr().out, re.MULTILINE)[1])
    corpus = Prepared.open(Path("prepared/toy"))
    pairs, data = corpus.train, load(Path("toy.toml")).data
    epoch = np.concatenate(Sampler(pairs, 300, 60, 1, mixture(corpus.manifest, data)).batches(0))
    expected = 6 * (max(pairs.src_lengths[epoch].sum(), pairs.tgt_lengths[epoch].sum()) + len(epoch))  # and the ends
    assert tokens == pytest.approx(expected, rel=0.05)


def test_r_drop_doubles_the_work_but_not_the_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text(EXPERIMENT, encoding="utf-8")

    def quantity(name: str, *arguments: str) -> float:
        assert main(["cost", "toy.toml", "--hardware", "P100", *arguments]) == 0
        return float(re.search(rf"^{name} +(\S+)$", capsys.readouterr().out, re.MULTILINE)[1])

    for name, factor in (("tokens, each side", 1), ("training FLOPs", 2), (r"training FLOPs as table 2 .*\)", 2)):
        assert quantity(name, "--set", "training.r_drop=5.0") == pytest.approx(factor * quantity(name), rel=0.05)


def test_a_stage_without_a_tokenizer_has_the_vocabulary_of_the_model_that_it_starts_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.toml").write_text(EXPERIMENT.replace("max_steps = 6", "max_steps = 1"), encoding="utf-8")
    Path("two.toml").write_text(EXPERIMENT.replace("[tokenizer]\nvocab_size = 400\n", ""), encoding="utf-8")
    assert main(["train", "one.toml"]) == 0

    def parameters(*arguments: str) -> str:
        capsys.readouterr()
        assert main(["cost", *arguments, "--hardware", "P100"]) == 0
        return capsys.readouterr().out.partition("\n\nTable 1")[0]

    expected = parameters("one.toml")
    assert parameters("two.toml") != expected
    assert parameters("two.toml", "--from", "runs/one") == expected


def test_every_stage_of_the_shipped_models_has_the_vocabulary_of_the_first() -> None:
    sizes = {load(path).tokenizer.vocab_size for path in (ROOT / "configs" / "shipped").glob("*.toml")}
    assert sizes == {12_000}
