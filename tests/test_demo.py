"""The demonstration reaches its score and answers its question; takes minutes on two cores."""

import json
from pathlib import Path

import pytest

from translate.commands.main import main

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_demonstration_learns_the_grammar_and_answers_the_question(tmp_path, monkeypatch, capsys):
    """BLEU of at least 95 on sentences that share no side with the training data, and the question of the README."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(ROOT / "configs/demo.toml")]) == 0
    assert main(["evaluate", "runs/demo"]) == 0
    scores = json.loads(Path("runs/demo/scores.json").read_text(encoding="utf-8"))
    assert scores["grammar"]["bleu"]["score"] >= 95
    capsys.readouterr()
    assert main(["--model", "runs/demo", "Kannst du mir helfen, diesen Satz zu übersetzen?"]) == 0
    assert capsys.readouterr().out == "Can you help me translate this sentence?\n"
