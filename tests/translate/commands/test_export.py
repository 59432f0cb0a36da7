"""`translate export`: the folder, the result of the check, and errors."""

from pathlib import Path

import pytest

from tests.translate.exchange.engines import BASE, tiny_parts
from translate.commands.main import main
from translate.corpus.tokenizer import Tokenizer


@pytest.fixture
def model(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tiny_parts(BASE, tokenizer, tmp_path / "model").folder


@pytest.mark.parametrize(
    ("package", "format"), [("ctranslate2", "ctranslate2"), ("transformers", "marian"), ("onnxruntime", "onnx")]
)
def test_a_model_is_exported_and_the_check_is_reported(
    package: str, format: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(package)
    Path("some.de").write_text("der Hund.\n\n die Katze\n das Kind", encoding="utf-8")
    arguments = ["export", "model", "--out", "new/out", "--format", format, "--sentences", "some.de"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "wrote new/out: 3 of 3 sentences have the same greedy output" in captured.err
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--format marian --int8", "--int8 needs"),
        ("--format gguf", "--format"),
        ("--format argos", "end in .argosmodel"),
        ("--format marian --sentences gone.de", "gone.de"),
        ("--format marian --sentences blank.de", "blank.de: has no sentence"),
    ],
)
def test_mistakes_give_a_one_sentence_error(
    arguments: str, named: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "marian" in arguments:
        pytest.importorskip("transformers")
    Path("blank.de").write_text("\n \n", encoding="utf-8")
    assert main(["export", "model", "--out", "out", *arguments.split()]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1
    assert not Path("out").exists()
