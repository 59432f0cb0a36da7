"""Both engines give the same translations, and choosing between them imports neither torch nor CTranslate2."""

import gzip
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from math import nan
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import translate
from tests import forks
from tests.conftest import CORPORA
from tests.translate.conftest import MAX_LENGTH, SENTENCES, requests
from transformer.config import CheckpointError, SearchConfig
from transformer.search.scoring import score_ids
from translate.commands import compress
from translate.commands.compress import CompressOptions
from translate.corpus.grammar import generate
from translate.errors import UserError
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator, open_engine, open_scorer
from translate.models import registry
from translate.models.conversion import convert
from translate.models.folder import ModelFolder, TranslationSpec
from translate.text.translation import EngineName, Opening, Precision, Search

ctranslate2 = pytest.importorskip("ctranslate2")

from translate.inference.ctranslate2_engine import CTranslate2Engine, cache_folder  # noqa: E402

LINES = [*SENTENCES[::3], "", "  {x} der Hund. Die Katze schläft!  ", "7 Hunde", "der Hund " * 700]
MODELS = [name for name, _ in registry.installed() if name in ("de-en", "en-de")]
ROOT = str(Path(translate.__file__).parents[1])
HEAVY = {"torch", "pydantic", "datasets", "numpy", "tqdm", "pyarrow", "sacrebleu", "fasttext"}

SETUP = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None  # its import fails
from translate.commands.main import main
code = main(sys.argv[2:])
print(json.dumps(sorted({name.partition(".")[0] for name, module in sys.modules.items() if module})))
sys.exit(code)
"""


def command(
    *arguments: str, blocked: tuple[str, ...] = (), cwd: Path | None = None, **environment: str
) -> tuple[list[str], set[str]]:
    """Run the command in a new process; return the printed lines and the imported packages."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", SETUP, json.dumps(blocked), *arguments],
        env=os.environ | {"PYTHONPATH": ROOT} | environment, cwd=cwd,
        capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, modules = done.stdout.splitlines()
    return lines, set(json.loads(modules))


def both(folder: Path, beam_size: int) -> tuple[Translator, Translator]:
    engines = (
        open_engine(folder, Opening(engine="torch")),
        open_engine(folder, Opening(precision="fp32")),
    )
    assert [type(engine) for engine in engines] == [TorchEngine, CTranslate2Engine]
    ours, theirs = (Translator(engine, Search(beam_size=beam_size)) for engine in engines)
    return ours, theirs


def require_equal(ours: Translator, theirs: Translator, lines: list[str]) -> None:
    """Compare translations, pieces, flags and scores, with and without the checks."""
    for way in (Translator.translate_lines, Translator.passages):
        for a, b in zip(way(ours, lines), way(theirs, lines), strict=True):
            assert (a.text, a.tokens, a.flags) == (b.text, b.tokens, b.flags)
            assert b.log_prob == pytest.approx(a.log_prob, rel=1e-6, abs=2e-4)
            assert b.score == pytest.approx(a.score, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_are_those_of_pytorch(parts: ModelFolder, beam_size: int) -> None:
    """With random weights, most outputs reach their maximum length."""
    require_equal(*both(parts.folder, beam_size), LINES)


def test_n_best_lists_are_those_of_pytorch(parts: ModelFolder) -> None:
    lists = [list(translator.n_best(SENTENCES[:20], 3)) for translator in both(parts.folder, 3)]
    assert [[t.text for t in ranking] for ranking in lists[0]] == [[t.text for t in ranking] for ranking in lists[1]]


def sentences(name: str, n: int) -> list[str]:
    path = CORPORA / "tatoeba" / f"test.{name[:2]}.gz"
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.removesuffix("\n") for line, _ in zip(file, range(n), strict=False)]


@pytest.mark.parametrize("name", MODELS)
def test_shipped_models_translate_alike_with_both_engines(name: str) -> None:
    """Uses sentences of the embedded grammar; real ones are in the slow test."""
    pairs = generate("test", 3, 7)
    require_equal(*both(registry.locate(Path(name), print), 5), [pair[name != "de-en"] for pair in pairs])


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("name", MODELS)
def test_shipped_models_translate_a_thousand_sentences_alike(name: str, beam_size: int) -> None:
    ours, theirs = both(registry.locate(Path(name), print), beam_size)
    require_equal(ours, theirs, sentences(name, 1000))


def test_neither_the_first_nor_a_later_translation_imports_torch(tmp_path: Path) -> None:
    """The first use converts the model, in another process, which finds no modules in the user's folder."""
    for name in ("numpy", "sentencepiece", "translate"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError", encoding="utf-8")
    question = "Kannst du mir helfen, diesen Satz zu übersetzen?"
    for _ in range(2):
        lines, modules = command("--model", "de-en", question, cwd=tmp_path, XDG_CACHE_HOME="cache")
        assert lines == ["Can you help me translate this sentence?"]
        assert not modules & HEAVY
        assert len([*(tmp_path / "cache" / "translate").iterdir()]) == 1


def test_a_model_of_an_earlier_version_is_measured_at_its_first_use(parts: ModelFolder, tmp_path: Path) -> None:
    """That takes the seconds of importing torch, in another process, once."""
    assert parts.spec.alignment_layer is None
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SETUP, "[]", "--model", str(parts.folder), "Hallo"],
            env=os.environ | {"PYTHONPATH": ROOT, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True, text=True, encoding="utf-8", timeout=100,
        )  # fmt: skip
        assert (done.returncode, "torch" in json.loads(done.stdout.splitlines()[-1])) == (0, False)
        said.append("first use" in done.stderr)
    assert said == [True, False]
    (entry,) = (tmp_path / "translate").iterdir()
    expected = tmp_path / "expected"
    expected.mkdir()
    with_layer = parts.spec.with_alignment_layer(parts.model)
    convert(
        parts.model.config, {name: tensor.numpy() for name, tensor in parts.model.state_dict().items()},
        parts.tokenizer, with_layer.alignment_layer, expected, MAX_LENGTH,
    )  # fmt: skip
    assert (entry / "model.bin").read_bytes() == (expected / "model.bin").read_bytes()


@pytest.mark.parametrize(
    ("change", "named", "layer"),
    [({}, "is missing", None), ({"encoder.0.self_attn.w_o.weight": nan}, "is not finite", 1)],
)
def test_a_conversion_that_fails_gives_one_sentence(
    change: dict[str, float], named: str, layer: int | None, parts: ModelFolder, tmp_path: Path
) -> None:
    tensors = load_file(parts.folder / "model.safetensors")
    changed = {name: tensors[name] * value for name, value in change.items()}
    if not change:
        tensors.popitem()
    for file in parts.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    save_file(tensors | changed, tmp_path / "model.safetensors")
    replace(parts.spec, alignment_layer=layer).save(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SETUP, "[]", "--engine", "ctranslate2", "--model", str(tmp_path), "Hallo"],
        env=os.environ | {"PYTHONPATH": ROOT},
        capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert done.returncode == 2
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1 + (layer is None)  # after the note on the first use


def test_an_architecture_that_ctranslate2_lacks_is_not_prepared_for_it(parts: ModelFolder, tmp_path: Path) -> None:
    for file in parts.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = (tmp_path / "config.json").read_text(encoding="utf-8")
    (tmp_path / "config.json").write_text(config.replace('"window": null', '"window": 3'), encoding="utf-8")
    for engine, code, said in (("auto", 0, ""), ("ctranslate2", 2, "CTranslate2 has no model.window")):
        done = forks.run(["-c", SETUP, "[]", "--engine", engine, "--model", str(tmp_path), "Hallo"])
        assert (done.returncode, said in done.stderr, "first use" in done.stderr) == (code, True, False)


def test_everything_works_without_ctranslate2() -> None:
    lines, modules = command("--model", "de-en", "Guten Morgen.", blocked=("ctranslate2",))
    assert lines == ["Good morning."]
    assert "torch" in modules
    assert "ctranslate2" not in modules


def test_a_broken_package_is_not_used(parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ctranslate2, "Translator")
    assert isinstance(open_engine(parts.folder), TorchEngine)
    with pytest.raises(UserError, match="ctranslate2 is broken"):
        open_engine(parts.folder, Opening(engine="ctranslate2"))


def test_the_cache_may_be_damaged_deleted_or_read_only(
    parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lines = SENTENCES[:3]
    expected = [t.text for t in Translator(open_engine(parts.folder)).translate_lines(lines)]
    (entry,) = cache_folder().iterdir()
    whole = (entry / "model.bin").read_bytes()
    for damaged in (whole[:99], whole.replace(b"T", b"\xff", 1), whole.replace(b"gamma", b"gamme", 1)):
        (entry / "model.bin").write_bytes(damaged)
        assert [t.text for t in Translator(open_engine(parts.folder)).translate_lines(lines)] == expected
        assert (entry / "model.bin").read_bytes() == whole
    (entry / "shared_vocabulary.json").unlink()
    assert [t.text for t in Translator(open_engine(parts.folder)).translate_lines(lines)] == expected
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert [t.text for t in Translator(open_engine(parts.folder)).translate_lines(lines)] == expected


@pytest.mark.parametrize("name", MODELS[:1])
def test_a_search_without_repetitions_is_scored_by_the_model(name: str) -> None:
    """CTranslate2 renormalises the probabilities where it forbids a token."""
    folder = registry.locate(Path(name), print)
    names: tuple[EngineName, EngineName] = "torch", "ctranslate2"
    ours, theirs = (open_engine(folder, Opening(engine=name, precision="fp32")) for name in names)
    source = ours.tokenizer.encode("Der Hund, der Hund, der Hund, der Hund und der Hund schlafen.")
    config = SearchConfig(beam_size=3, n_best=3, no_repeat=2)
    (found,) = theirs.search(requests([source], [50]), config)
    assert len(found) == 3
    assert sorted(found, key=lambda hypothesis: -hypothesis.score) == found
    assert isinstance(ours, TorchEngine)
    expected = score_ids(ours.model_folder.model, [source] * 3, [hypothesis.tokens for hypothesis in found])
    for hypothesis, log_probs in zip(found, expected, strict=True):
        assert hypothesis.log_prob == pytest.approx(sum(log_probs), abs=1e-4)
        pairs = [*pairwise(hypothesis.tokens)]
        assert len({*pairs}) == len(pairs)


def test_other_weights_get_another_entry(parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in parts.folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    open_engine(parts.folder)
    open_engine(copy)
    assert len([*cache_folder().iterdir()]) == 1
    config = (copy / "config.json").read_text(encoding="utf-8")
    (copy / "config.json").write_text(config.replace('"norm_eps": 1e-05', '"norm_eps": 0.001'), encoding="utf-8")
    open_engine(copy)
    assert len([*cache_folder().iterdir()]) == 2


def test_the_requested_engine_and_precision_are_used(parts: ModelFolder) -> None:
    assert isinstance(open_engine(parts.folder, Opening(precision="bf16")), TorchEngine)
    assert isinstance(open_engine(parts.folder, Opening(device="cpu")), CTranslate2Engine)
    precisions: tuple[Precision, Precision] = "int8", "auto"
    for precision in precisions:
        engine = open_engine(parts.folder, Opening(precision=precision))
        assert isinstance(engine, CTranslate2Engine)
        assert "int8" in engine.translator.compute_type
    with pytest.raises(UserError, match="has no precision"):
        open_engine(parts.folder, Opening(engine="torch", precision="int8"))
    with pytest.raises(UserError, match="computes on the CPU, not on cuda"):
        open_engine(parts.folder, Opening(engine="ctranslate2", device="cuda"))


@pytest.mark.parametrize("device", ["gpu", "cuda:97", "meta"])
def test_a_device_that_this_machine_lacks_is_refused_in_one_sentence(device: str, parts: ModelFolder) -> None:
    with pytest.raises(UserError, match=f"no device {device}"):
        Translator.load(parts.folder, opening=Opening(device=device))


def test_weights_stored_in_int8_are_computed_in_int8_by_ctranslate2(parts: ModelFolder, tmp_path: Path) -> None:
    small = tmp_path / "small"
    compress.run(CompressOptions(model=parts.folder, out=small, dtype="int8"))
    assert TranslationSpec.load(small) == parts.spec.with_alignment_layer(parts.model)
    engines = [open_engine(parts.folder), open_engine(small), open_engine(small, Opening(engine="torch"))]
    assert [engine.precision for engine in engines] == ["fp32", "int8", "fp32"]
    assert open_engine(small, Opening(precision="fp32")).precision == "fp32"


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("precision", ["bf16", "auto"])
def test_scores_are_never_in_bf16(
    engine: EngineName, precision: Precision, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translate.inference.translator.bf16_pays", lambda device: True)
    assert open_scorer(parts.folder, Opening(engine=engine, precision=precision)).precision == "fp32"


@pytest.mark.parametrize("name", ["auto", "ctranslate2", "torch"])
def test_a_folder_of_a_later_format_is_refused(name: EngineName, parts: ModelFolder, tmp_path: Path) -> None:
    for file in parts.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    description = json.loads((parts.folder / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(description | {"format": 2}), encoding="utf-8")
    with pytest.raises((UserError, CheckpointError), match="format 2 is unknown; this version reads 1"):
        open_engine(tmp_path, Opening(engine=name))


def test_a_damaged_folder_gives_the_error_of_the_pytorch_engine(parts: ModelFolder, tmp_path: Path) -> None:
    for file in parts.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"short")
    with pytest.raises(CheckpointError, match="damaged or truncated"):
        open_engine(tmp_path)
    with pytest.raises(UserError, match="damaged"):
        open_engine(tmp_path, Opening(engine="ctranslate2"))


def test_an_engine_can_be_pickled(parts: ModelFolder) -> None:
    engine = open_engine(parts.folder, Opening(threads=1))
    again = pickle.loads(pickle.dumps(engine))
    assert (again.folder, again.n_workers) == (engine.folder, 1)
    assert again.translator.compute_type == engine.translator.compute_type


def test_int8_without_ctranslate2_names_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SETUP, '["ctranslate2"]', "--precision", "int8", "--model", "de-en", "Hallo"],
        env=os.environ | {"PYTHONPATH": ROOT},
        capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert done.returncode == 2
    assert "this needs the package ctranslate2" in done.stderr
