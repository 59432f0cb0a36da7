"""`translate import`: the folder, the result of the check, and errors."""

import json
from pathlib import Path

import pytest

from translate.commands.main import main
from translate.exchange.verification import Proof
from translate.models.folder import TranslationSpec


def test_a_marian_folder_is_imported_and_the_check_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    from tests.translate.exchange.test_marian_import import marian

    monkeypatch.chdir(tmp_path)
    marian(tmp_path / "theirs")
    Path("some.de").write_text("der Hund.\n\n die Katze\n das Kind", encoding="utf-8")
    arguments = ["import", "theirs", "--out", "new/ours", "--from", "de", "--sentences", "some.de"]
    assert main(arguments) == 0
    error = capsys.readouterr().err
    assert "wrote new/ours: 3 of 3 sentences have the same greedy output" in error
    assert main(["der Hund", "--model", "new/ours"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["import", "gone", "--out", "other"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("other").exists()


def test_a_model_is_checked_on_sentences_of_its_source_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    from tests.translate.exchange.test_marian_import import marian
    from translate.commands import import_model
    from translate.exchange import marian as marian_module

    seen: list[list[str]] = []

    def note(folder: Path, out: Path, texts: list[str], *_: object, **__: object) -> Proof:
        seen.append(texts)
        return Proof(len(texts), 0.0, 0.0, 0.0, len(texts))

    monkeypatch.setattr(marian_module, "import_marian", note)
    settings = marian(tmp_path / "theirs") / "tokenizer_config.json"
    for named, arguments in (("en", []), ("de", []), ("de", ["--from", "en"])):
        settings.write_text(json.dumps({"source_lang": named, "target_lang": "fr"}), encoding="utf-8")
        assert main(["import", str(tmp_path / "theirs"), "--out", str(tmp_path / "ours"), *arguments]) == 0
    english, german = (import_model.sentences_for_check(None, language) for language in ("en", "de"))
    assert seen == [english, german, english]


def test_folders_of_fairseq_and_joeynmt_are_known_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.translate.exchange.test_fairseq_import import fairseq
    from tests.translate.exchange.test_joeynmt_import import CONFIG, joey

    monkeypatch.chdir(tmp_path)
    fairseq(tmp_path / "fairseq")
    joey(tmp_path / "joey", CONFIG)
    for name in ("fairseq", "joey"):
        assert main(["import", name, "--out", f"{name}-ours"]) == 0
        assert "it was not compared with the original" in capsys.readouterr().err
        assert main(["der Hund", "--model", f"{name}-ours"]) == 0
        assert capsys.readouterr().out.count("\n") == 1
        assert main(["import", name, "--out", "other", "--sentences", "some.de"]) == 2
        assert "--sentences" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["import", "empty", "--out", "other"]) == 2
    assert "has neither config.json" in capsys.readouterr().err
    for file in ("config.json", "model.bin"):
        (tmp_path / "empty" / file).write_text("{}", encoding="utf-8")
    assert main(["import", "empty", "--out", "other"]) == 2
    assert "is a CTranslate2 folder" in capsys.readouterr().err
    for name, problem in (
        ("gone", "no such folder"),
        ("fairseq/spm.model", "no such folder"),
        ("joey-ours", "already"),
    ):
        assert main(["import", name, "--out", "other"]) == 2
        assert problem in capsys.readouterr().err


@pytest.mark.parametrize("asked", ["pt-br", "pt_BR"])
def test_a_language_finds_its_tag_however_both_are_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    from tests.translate.exchange.marian_files import marian_files

    monkeypatch.setattr("translate.exchange.marian.find_spec", lambda name: None)
    monkeypatch.setattr("transformer.search.alignment.sharpest_layer", lambda model: 0)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name, content in marian_files(codes=("por_br", "zho_cn"), languages=("deu", "roa")).items():
        (theirs / name).write_bytes(content)
    assert main(["import", str(theirs), "--out", str(tmp_path / "ours"), "--to", asked]) == 0
    assert TranslationSpec.load(tmp_path / "ours").tag == ">>por_br<<"
