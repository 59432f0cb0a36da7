"""An .argosmodel file holds what Argos Translate reads, which is reimplemented here because that package is large."""

import dataclasses
import errno
import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from transformer.config import SearchConfig
from transformer.search.model_step import translate_ids
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange import ctranslate2_folder
from translate.exchange.argos_package import export
from translate.models import conversion

ctranslate2 = pytest.importorskip("ctranslate2")


def test_it_unpacks_to_what_argos_translate_loads_and_translates(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from sentencepiece import SentencePieceProcessor

    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    proof = export(parts, tmp_path / "new" / "de_en.argosmodel", TEXTS, int8=False)
    assert proof.n_same == len(TEXTS)
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "de_en.argosmodel"]
    with zipfile.ZipFile(tmp_path / "new" / "de_en.argosmodel") as package:
        package.extractall(tmp_path / "packages")
    (folder,) = (tmp_path / "packages").iterdir()
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    assert (metadata["from_code"], metadata["to_code"], metadata["from_name"]) == ("de", "en", "German")
    assert not (folder / "README.md").exists()
    processor = SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    results = ctranslate2.Translator(str(folder / "model")).translate_batch(
        processor.encode(TEXTS[:5], out_type=str), beam_size=1, max_decoding_length=11, min_decoding_length=0,
        replace_unknowns=True,
    )  # fmt: skip
    expected = translate_ids(
        parts.model, tokenizer.encode_batch(TEXTS[:5]), SearchConfig(beam_size=1), max_lengths=[12] * 5
    )
    assert [processor.decode_pieces(result.hypotheses[0]) for result in results] == [
        tokenizer.decode(best[0].tokens) for best in expected
    ]


@pytest.mark.parametrize("code", ["../../x", "d/e", "d\\e", "/de", "..", "", "de\n", "d e"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_language_that_is_no_code_reaches_no_name_in_the_package(
    code: str, side: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    with pytest.raises(UserError, match="should be a language code"):
        export(
            dataclasses.replace(parts, spec=dataclasses.replace(parts.spec, **{side: code})),
            tmp_path / "new.argosmodel",
            TEXTS,
        )
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_the_card_of_the_model_goes_with_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    (parts.folder / "README.md").write_text("# Übersetzer\n", encoding="utf-8")
    export(parts, tmp_path / "a.argosmodel", TEXTS[:2])
    with zipfile.ZipFile(tmp_path / "a.argosmodel") as package:
        assert package.read("translate-de_en-1_0/README.md").decode("utf-8") == "# Übersetzer\n"


def test_mistakes_and_models_that_differ_leave_no_files(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    with pytest.raises(UserError, match=r"end in \.argosmodel"):
        export(parts, tmp_path / "a", TEXTS)
    (tmp_path / "b.argosmodel").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="exists already"):
        export(parts, tmp_path / "b.argosmodel", TEXTS)
    with pytest.raises(UserError, match="cannot write"):
        export(parts, tmp_path / "b.argosmodel" / "c.argosmodel", TEXTS)
    with monkeypatch.context() as patch:
        patch.setattr(ctranslate2_folder, "_written", full)
        with pytest.raises(
            UserError, match=f"^{re.escape(str(tmp_path))}/c.argosmodel: cannot write the model: No space"
        ):
            export(parts, tmp_path / "c.argosmodel", TEXTS)
    monkeypatch.setattr(conversion, "_NEVER", 1.0)
    with pytest.raises(UserError, match="is not the original"):
        export(parts, tmp_path / "d.argosmodel", TEXTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.argosmodel", "ours"]
