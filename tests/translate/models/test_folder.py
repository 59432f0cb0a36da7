"""A model folder is complete, its parts belong together, and a run directory leads to its model."""

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import SafetensorError
from safetensors.torch import load_file

from transformer.config import CheckpointError
from translate.commands.main import main
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import Tokenizer, train
from translate.errors import UserError
from translate.files import new_folder
from translate.models import folder as model_folder
from translate.models.folder import FILES, ModelFolder, TranslationSpec, Weights


def fail(message: str) -> None:
    pytest.fail(f"nothing was to be said, but: {message}")


def copy(parts: ModelFolder, folder: Path) -> Path:
    shutil.copytree(parts.folder, folder)
    return folder


def test_opening_restores_the_saved_model(parts: ModelFolder, tokenizer: Tokenizer) -> None:
    assert sorted(path.name for path in parts.folder.iterdir()) == sorted(FILES)
    assert parts.tokenizer.serialized == tokenizer.serialized
    assert (parts.spec.source, parts.spec.target, parts.spec.decoding.beam_size) == ("de", "en", 2)
    assert not parts.model.training


def test_saving_never_replaces_a_folder(parts: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UserError, match="exists already"):
        model_folder.save(parts.model, parts.tokenizer, parts.spec, tmp_path / "x")


@pytest.mark.parametrize("error", [UserError("no"), KeyboardInterrupt()])
def test_a_failure_leaves_no_files(tmp_path: Path, error: BaseException) -> None:
    def fail_half_way() -> None:
        with model_folder.writing(tmp_path / "model"), new_folder(tmp_path / "model") as folder:
            (folder / "a").write_text("b", encoding="utf-8")
            raise error

    with pytest.raises(type(error)):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_as_one_whoever_says_it(parts: ModelFolder, tmp_path: Path) -> None:
    said = f"Error while serializing: I/O error: No space left on device (os error {errno.ENOSPC})"
    for error in (SafetensorError(said), OSError(errno.ENOSPC, "No space left on device")):
        with pytest.raises(UserError) as caught, model_folder.writing(tmp_path / "model"):
            raise error
        expected = "No space left on device; free space on the disk"
        assert f"{tmp_path / 'model'}: cannot write the model: {expected}; nothing" in str(caught.value)
    with pytest.raises(UserError, match="cannot write the model: no such header"), model_folder.writing(tmp_path / "x"):
        raise SafetensorError("no such header")


def test_a_disk_error_gives_a_one_sentence_error(parts: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot write the model"):
        model_folder.save(parts.model, parts.tokenizer, parts.spec, tmp_path / "file" / "model")


def test_a_disk_that_is_full_leaves_nothing(
    parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Tokenizer, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Tokenizer, "save", full)
    with pytest.raises(UserError, match="No space left on device"):
        model_folder.save(parts.model, parts.tokenizer, parts.spec, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_another_tokenizer_does_not_belong_to_the_model(parts: ModelFolder, tmp_path: Path) -> None:
    folder = copy(parts, tmp_path / "x")
    train(["eins zwei drei vier"] * 3, TokenizerConfig(vocab_size=277)).save(folder / "tokenizer.model")
    with pytest.raises(UserError, match="they do not belong together"):
        ModelFolder.open(folder)


def test_a_truncated_model_is_refused(parts: ModelFolder, tmp_path: Path) -> None:
    path = copy(parts, tmp_path / "x") / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        ModelFolder.open(tmp_path / "x")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 1, "source": "de", "target": "en", "decoding": {"x": 1}}']
)
def test_a_foreign_translation_file_is_refused(parts: ModelFolder, tmp_path: Path, content: str) -> None:
    path = copy(parts, tmp_path / "x") / "translation.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"translation\.json: damaged"):
        ModelFolder.open(tmp_path / "x")


@pytest.mark.parametrize("key", ["max_extra", "beam_size", "alpha", "max_source_tokens"])
@pytest.mark.parametrize("value", [10**9, 10**30, 1e30, -1, "x" * 10**6, [[]], True])
def test_a_value_out_of_its_bounds_is_named_with_its_key(
    parts: ModelFolder, tmp_path: Path, key: str, value: object
) -> None:
    path = copy(parts, tmp_path / "x") / "translation.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    (values["decoding"] if key in values["decoding"] else values)[key] = value
    path.write_text(json.dumps(values), encoding="utf-8")
    if key == "max_source_tokens" and type(value) is int and value > 0:
        pytest.skip("has no upper bound")
    with pytest.raises(UserError, match=rf"translation\.json: damaged, .* \({key} = .{{1,70}}: should be") as caught:
        ModelFolder.open(tmp_path / "x")
    assert len(str(caught.value)) < 400 + len(str(path))


def test_a_newer_format_is_named(parts: ModelFolder, tmp_path: Path) -> None:
    path = copy(parts, tmp_path / "x") / "translation.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"format": 1', '"format": 7'), encoding="utf-8")
    with pytest.raises(UserError, match="format 7"):
        TranslationSpec.load(path.parent)


def test_a_run_directory_selects_its_final_model(parts: ModelFolder, tmp_path: Path) -> None:
    copy(parts, tmp_path / "model")
    copy(parts, tmp_path / "checkpoints" / "step-00000007")
    assert model_folder.resolve(tmp_path, fail) == tmp_path / "model"
    assert model_folder.resolve(tmp_path / "model", fail) == tmp_path / "model"


def test_a_run_without_final_model_selects_its_newest_complete_checkpoint(parts: ModelFolder, tmp_path: Path) -> None:
    for step in (3, 70, 500):
        copy(parts, tmp_path / "checkpoints" / f"step-{step:08}")
    (tmp_path / "checkpoints" / "step-00000500" / "tokenizer.model").unlink()
    said: list[str] = []
    assert model_folder.resolve(tmp_path, said.append).name == "step-00000070"
    assert len(said) == 1
    assert "step-00000070" in said[0]


def test_an_incomplete_folder_is_named_with_what_it_lacks(parts: ModelFolder, tmp_path: Path) -> None:
    (copy(parts, tmp_path / "x") / "tokenizer.model").unlink()
    with pytest.raises(UserError, match=r"it has no tokenizer\.model"):
        model_folder.resolve(tmp_path / "x", fail)
    with pytest.raises(UserError, match="no such folder"):
        model_folder.resolve(tmp_path / "y", fail)
    with pytest.raises(UserError, match="neither a model folder nor a run"):
        model_folder.resolve(tmp_path, fail)


def test_a_checkpoint_may_hold_more_files(parts: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{}", encoding="utf-8")
    model_folder.write_model(parts.model, parts.tokenizer, replace(parts.spec, source="fr"), tmp_path)
    assert ModelFolder.open(tmp_path).spec.source == "fr"
    assert (tmp_path / "state.json").exists()


def test_another_tokenizer_of_equal_size_does_not_belong_to_the_model(parts: ModelFolder, tmp_path: Path) -> None:
    folder = copy(parts, tmp_path / "x")
    stranger = train([f"Wort{i} Ding{i * i}" for i in range(99)], TokenizerConfig(vocab_size=331))
    stranger.save(folder / "tokenizer.model")
    with pytest.raises(UserError, match="not the one that the model was trained with; they do not belong together"):
        ModelFolder.open(folder)


def test_a_newer_format_is_not_reported_as_damage(parts: ModelFolder, tmp_path: Path) -> None:
    path = copy(parts, tmp_path / "x") / "translation.json"
    path.write_text('{"format": 7, "languages": ["de", "en"]}', encoding="utf-8")
    with pytest.raises(UserError, match="has format 7, and this version reads 1"):
        ModelFolder.open(tmp_path / "x")


def test_a_model_is_replaced_whole(parts: ModelFolder, tmp_path: Path) -> None:
    folder = copy(parts, tmp_path / "x")
    (folder / "stale").write_text("", encoding="utf-8")
    model_folder.save(parts.model, parts.tokenizer, replace(parts.spec, source="fr"), folder, replace=True)
    assert ModelFolder.open(folder).spec.source == "fr"
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("step", ["write", "rename"])
def test_a_replacement_that_fails_leaves_the_old_model(
    parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder = copy(parts, tmp_path / "x")
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if step == "write" or self.name == ".x.partial":
            raise OSError(5, "Input/output error", str(self))
        return rename(self, target)

    monkeypatch.setattr(*((Tokenizer, "save", fail) if step == "write" else (Path, "rename", fail)))
    spec = replace(parts.spec, source="fr")
    with pytest.raises(UserError, match="Input/output error"):
        model_folder.save(parts.model, parts.tokenizer, spec, folder, replace=True)
    assert ModelFolder.open(folder).spec == parts.spec
    assert list(tmp_path.iterdir()) == [folder]


def test_a_replacement_that_was_killed_between_its_renames_is_undone(parts: ModelFolder, tmp_path: Path) -> None:
    copy(parts, tmp_path / ".x.old")
    with pytest.raises(UserError, match="exists already"):
        model_folder.save(parts.model, parts.tokenizer, parts.spec, tmp_path / "x")
    assert ModelFolder.open(tmp_path / "x").spec == parts.spec
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_the_longest_source_is_restored_and_may_be_unknown(parts: ModelFolder, tmp_path: Path) -> None:
    assert parts.spec.max_source_tokens is None
    known = replace(parts.spec, max_source_tokens=37)
    for spec in (parts.spec, known, replace(known, best_source_tokens=5), replace(parts.spec, best_source_tokens=5)):
        spec.save(tmp_path)
        assert TranslationSpec.load(tmp_path) == spec


@pytest.mark.parametrize("longest", ["0", "-3", '"37"', "true", "1.5"])
def test_an_invalid_longest_source_is_refused(parts: ModelFolder, tmp_path: Path, longest: str) -> None:
    path = tmp_path / "translation.json"
    replace(parts.spec, max_source_tokens=37).save(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("37", longest), encoding="utf-8")
    with pytest.raises(UserError, match="damaged"):
        TranslationSpec.load(tmp_path)


def test_the_header_of_a_file_tells_size_and_precision(parts: ModelFolder, tmp_path: Path) -> None:
    tensors = load_file(parts.folder / "model.safetensors")
    n_parameters = sum(tensor.numel() for tensor in tensors.values())
    for dtype in ("fp32", "bf16", "int8"):
        assert main(["compress", str(parts.folder), "--out", str(tmp_path / dtype), "--dtype", dtype]) == 0
        weights = Weights.read(tmp_path / dtype)
        assert (weights.n_parameters, weights.precision) == (n_parameters, dtype)


@pytest.mark.parametrize(
    "header",
    ["[]", "{", pytest.param("[" * 200_000, id="nested"), '{"x": {"dtype": "F32", "shape": [3], "data_offsets": [0]}}'],
)
def test_a_damaged_header_is_refused(tmp_path: Path, header: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(12))
    with pytest.raises(UserError, match="damaged, truncated"):
        Weights.read(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\xff" * 99, b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(UserError, match="damaged, truncated"):
        Weights.read(tmp_path)


@pytest.mark.parametrize("max_extra", [10_001, 10**7, 10**18, 10**30])
@pytest.mark.parametrize("engine", ["torch", "ctranslate2", "auto"])
def test_a_limit_that_takes_all_memory_is_refused(
    parts: ModelFolder, tmp_path: Path, engine: str, max_extra: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """CTranslate2 makes a table of all positions up to it."""
    folder = copy(parts, tmp_path / "model")
    spec = json.loads((folder / "translation.json").read_text(encoding="utf-8"))
    spec["decoding"]["max_extra"] = max_extra
    (folder / "translation.json").write_text(json.dumps(spec), encoding="utf-8")
    assert main(["text", "-m", str(folder), "--engine", engine, "der Hund"]) == 2
    assert "translation.json: damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes", [{"d_model": 2_000_000}, {"n_encoder_layers": 10**9}, {"max_length": 10**10}], ids=str
)
@pytest.mark.parametrize("arguments", [["text"], ["text", "--engine", "torch"], ["text", "--engine", "ctranslate2"]])
def test_a_huge_model_of_a_small_file_is_refused_by_every_engine(
    parts: ModelFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    changes: dict[str, int],
) -> None:
    folder = copy(parts, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["model"] |= changes
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert main([*arguments, "-m", str(folder), "der Hund"]) == 2
    assert f"{folder / 'config.json'}: " in capsys.readouterr().err


@pytest.mark.parametrize("too_many", [0, 90, 10**9])
def test_a_layer_that_the_model_lacks_cannot_align(parts: ModelFolder, tmp_path: Path, too_many: int) -> None:
    """CTranslate2 does not look whether it is there."""
    folder, n_layers = copy(parts, tmp_path / "model"), parts.model.config.n_decoder_layers
    replace(parts.spec, alignment_layer=n_layers - 1).save(folder)
    assert TranslationSpec.load(folder).alignment_layer == n_layers - 1
    replace(parts.spec, alignment_layer=n_layers + too_many).save(folder)
    with pytest.raises(UserError, match=f"decoder layer {n_layers + too_many}, counted from 0, of {n_layers}"):
        TranslationSpec.load(folder)


def test_a_language_is_found_however_its_code_is_spelled() -> None:
    spec = TranslationSpec("de", "mul", tags={"pt_BR": ">>a<<", "zh_hans": ">>b<<"})
    assert spec.speaks("DE", "zh-Hans")
    assert not spec.speaks("de", "zh")
    assert (spec.towards("PT-br").target, spec.towards("zh_Hans").target) == ("pt_BR", "zh_hans")
