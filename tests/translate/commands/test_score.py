"""`translate score`: three columns or one JSON object per line, the perplexity, and errors."""

import io
import json
import math
import sys
from pathlib import Path

import pytest

from translate.commands.main import main
from translate.inference.scoring import score
from translate.models.folder import ModelFolder

PAIRS = [("der Hund singt.", "the dog sings."), ("", ""), ("am See", "by the lake")]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_MODEL", str(parts.folder))
    Path("src").write_text("".join(f"{source}\n" for source, _ in PAIRS), encoding="utf-8")
    Path("ref").write_text("".join(f"{reference}\n" for _, reference in PAIRS), encoding="utf-8")


def test_the_columns_are_those_of_the_library(parts: ModelFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "src", "ref"]) == 0
    captured = capsys.readouterr()
    expected = list(score(parts, PAIRS))
    assert captured.out == "".join(f"{s.log_prob:.4f}\t{s.n_tokens}\t{s.normalised:.4f}\n" for s in expected)
    total, n = sum(s.log_prob for s in expected), sum(s.n_tokens for s in expected)
    assert captured.err == f"translate: {n} tokens, perplexity {math.exp(-total / n):.4g}\n"


def test_json_holds_every_token(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "src", "ref", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["source"], r["reference"]) for r in records] == PAIRS
    for record in records:
        assert len(record["token_log_probs"]) == record["n_tokens"]
        assert record["log_prob"] == pytest.approx(sum(record["token_log_probs"]))
        assert record["normalised"] == pytest.approx(record["log_prob"] / max(1, record["n_tokens"]))


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("the dog sings.\n\n", "src has 3 lines but bad has 2"),
        ("a\n\n\udcff\n", "bad"),
        ("a\n\n" + "a " * 90, "line 3"),
    ],
)
def test_mistakes_give_a_one_sentence_error(reference: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad").write_text(reference, encoding="utf-8", errors="surrogateescape")
    assert main(["score", "src", "bad"]) == 2
    captured = capsys.readouterr()
    assert (named in captured.err, captured.err.count("\n"), captured.out) == (True, 1, "")


def test_a_file_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "src", "gone"]) == 2
    assert "gone" in capsys.readouterr().err


def test_the_output_is_utf_8_whatever_the_locale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", stdout)
    Path("src").write_text("schläft \U0001f600\n", encoding="utf-8")
    Path("ref").write_text("漢字\n", encoding="utf-8")
    assert main(["score", "src", "ref", "--json"]) == 0
    written = stdout.buffer.getvalue()  # type: ignore[attr-defined]
    assert json.loads(written.decode("utf-8"))["source"] == "schläft \U0001f600"
    assert b"\r" not in written
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["score", "src", "ref"]) == 2
    assert "stdout is closed" in capsys.readouterr().err
