"""The decoding benchmark, on a model of a few thousand parameters and a handful of lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from records import table

from tests.programs import SCRIPTS, case, program
from tests.translate.conftest import SENTENCES
from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec

LINES = ["der Hund", "die Katze und das Kind", "ein Hund", "das Kind"] * 4


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """The command on an untrained model and a few lines."""
    pytest.importorskip("ctranslate2")
    tokenizer = train(SENTENCES, TokenizerConfig(vocab_size=331))
    sizes = {"d_model": 14, "n_heads": 2, "d_ff": 22, "n_encoder_layers": 1, "n_decoder_layers": 2}
    model = Transformer(ModelConfig(vocab_size=tokenizer.vocab_size, **sizes)).eval()
    model_folder.save(model, tokenizer, TranslationSpec("de", "en"), tmp_path / "model")
    for name in ("source", "reference"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return [
        sys.executable,
        str(SCRIPTS / "bench.py"),
        "decode",
        *(str(tmp_path / name) for name in ("model", "source", "reference")),
    ]


@pytest.fixture
def measured(command: list[str]) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    names = ["ours", "ours-bf16", "ct2", "ct2-int8"]
    settings = ["--against", *names[2:], "--beam", "2", "--rounds", "2", "--batch", "3"]
    return subprocess.run([*command, *settings], capture_output=True, text=True, timeout=200), names


@pytest.mark.slow
def test_every_contender_is_timed_and_scored_on_the_same_lines(measured) -> None:
    done, names = measured
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert list(record["contenders"]) == names
    for name, values in record["contenders"].items():
        least, most = values["sentences_per_s_least"], values["sentences_per_s_most"]
        assert 0 < least <= values["sentences_per_s"] <= most
        assert values["single_ms"] > 0
        assert values["peak_mb"] > 50
        assert ("cold_s" in values) == (name in ("ours", "ct2"))
        assert 0 <= values["bleu"] <= 100
    assert record["contenders"]["ours"]["ours_is_times"] == record["contenders"]["ours-bf16"]["ours_bf16_is_times"] == 1
    shown = table(case("decode").rows(record)).splitlines()
    assert len(shown) == 2 + len(names)
    assert {row.count("|") for row in shown} == {11}


@pytest.mark.slow
def test_the_curve_has_a_point_for_each_contender_beam_and_test_set(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = command[3]
    for name in ("one", "two"):
        for side, file in (("de", "source"), ("en", "reference")):
            (tmp_path / f"{name}.{side}").write_bytes((tmp_path / file).read_bytes())
    options = ["--suffix", "", "--beams", "1", "4", "--rounds", "1", "--lines", "3", "--folder", folder]
    words = [*command[:2], "curve", folder, *(str(tmp_path / name) for name in ("one", "two")), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    points = [of for points in json.loads(last)["sets"].values() for of in points]
    expected = [(name, beam) for name in ("default", "pytorch", "ctranslate2", folder) for beam in (1, 4)]
    assert [(of["contender"], of["beam"]) for of in points] == 2 * expected
    for of in points:
        assert of["lines_per_s_least"] <= of["lines_per_s"] <= of["lines_per_s_most"]
        assert of["cpu_ms"] > 0
        assert (of["contender"] != "ctranslate2") or of["of_ctranslate2"] == 1
    figures = program("figures")
    (tmp_path / "curve.json").write_text(last, encoding="utf-8")
    monkeypatch.setattr(figures, "CURVE", tmp_path / "curve.json")
    from translate.pictures.plotting import rendered

    drawing = rendered(figures.curve(), "svg").decode()
    assert drawing.count("4 (default)") == 2  # once for each test set
