"""CTranslate2 in our text pipeline gives the same translations as our search."""

import dataclasses
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import translate
from tests.translate.conftest import requests
from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from transformer.config import SearchConfig, length_penalty
from translate.commands.main import main
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange.ctranslate2_folder import export
from translate.inference.ctranslate2_engine import CTranslate2Engine, _power
from translate.inference.search import Engine
from translate.inference.translator import Translator, open_engine
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.text.translation import Opening, Search

pytest.importorskip("ctranslate2")

LINES = [*TEXTS, "", "  {x} der Hund. Die Katze schläft!  ", "7", "der Hund " * 70]


@pytest.fixture(scope="module")
def parts(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """An open model folder with its CTranslate2 folder beside it."""
    folder = tmp_path_factory.mktemp("models") / "ours"
    parts = tiny_parts(dataclasses.replace(BASE, attention_bias=True), tokenizer, folder)
    export(parts, folder.parent / "theirs", TEXTS)
    return parts


@pytest.fixture
def folder(parts: ModelFolder) -> Path:
    return parts.folder.parent / "theirs"


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_and_log_probabilities_are_those_of_our_own_search(
    beam_size: int, parts: ModelFolder, folder: Path
) -> None:
    engine: Engine = CTranslate2Engine.open(folder)
    theirs = list(Translator(engine, Search(beam_size=beam_size)).translate_lines(LINES))
    ours = list(Translator(parts, Search(beam_size=beam_size)).translate_lines(LINES))
    assert 0 < sum("length" in a.flags for a in ours) < len(LINES)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.text, a.tokens, a.flags) == (b.text, b.tokens, b.flags)
        assert b.log_prob == pytest.approx(a.log_prob, rel=1e-6, abs=1e-4)
        assert b.score == pytest.approx(a.score, rel=1e-6, abs=1e-4)


def test_a_ctranslate2_folder_reranks_as_the_model_that_it_was_made_of(
    parts: ModelFolder, folder: Path, tmp_path: Path
) -> None:
    opposite = dataclasses.replace(parts.spec, source="en", target="de")
    model_folder.save(parts.model, parts.tokenizer, opposite, tmp_path / "ours")
    export(ModelFolder.open(tmp_path / "ours"), tmp_path / "theirs", TEXTS)
    ours, theirs = (
        [one.text for one in Translator.load(parts.folder, Search(rerank=tmp_path / name)).translate_lines(TEXTS)]
        for name in ("ours", "theirs")
    )
    assert ours == theirs
    with pytest.raises(UserError, match="needs a model for en-de"):
        Translator.load(parts.folder, Search(rerank=folder))


def test_the_power_of_a_source_follows_the_paper_s_penalty() -> None:
    """Measured by finite differences at the typical lengths."""
    for n_source, length in ((3, 4), (20, 20), (70, 20)):
        config, step = SearchConfig(alpha=0.7), 1e-4
        rise = math.log(length_penalty(length * math.exp(step), 0.7)) - math.log(length_penalty(length, 0.7))  # type: ignore[arg-type]
        assert _power(config, n_source) == pytest.approx(rise / step, rel=1e-3)


def test_short_and_long_sources_of_a_batch_are_searched_as_if_alone() -> None:
    translator = Translator.load("de-en", Search(alpha=2.0, beam_size=5), opening=Opening(engine="ctranslate2"))
    texts = ["regnet", "Der Zug nach Hamburg fährt heute leider erst um halb neun ab.", "Rosen", "Ja, das stimmt."]
    together = [[best.text for best in found] for found in translator.n_best(texts, 3)]
    assert together == [[best.text for best in found] for text in texts for found in translator.n_best([text], 3)]


def test_short_outputs_are_kept_if_more_finish_than_the_beam_is_wide() -> None:
    """With alpha 2, by length^alpha the best output would be dropped."""
    ours, theirs = (
        next(
            Translator.load(
                "de-en", Search(alpha=2.0, beam_size=5), opening=Opening(engine=engine, precision="fp32")
            ).n_best(["regnet"], 1)
        )[0]
        for engine in ("torch", "ctranslate2")
    )
    assert (ours.text, ours.tokens) == (theirs.text, theirs.tokens)


def test_no_output_is_longer_than_its_own_source_allows(folder: Path) -> None:
    engine = CTranslate2Engine.open(folder)
    sources = engine.tokenizer.encode_batch(["der Hund", "die Katze im Garten"])
    for n, no_repeat in ((3, 0), (1, 2)):
        found = engine.search(requests(sources, [2, 9]), SearchConfig(beam_size=3, n_best=n, no_repeat=no_repeat))
        assert all(len(hypotheses) == n for hypotheses in found)
        assert max(len(hypothesis.tokens) for hypothesis in found[0]) <= 1
        assert max(len(hypothesis.tokens) for hypothesis in found[1]) <= 8
        assert [h.score for h in found[1]] == sorted((h.score for h in found[1]), reverse=True)


def test_loading_leaves_the_threads_of_pytorch_alone(folder: Path) -> None:
    """Training after a back-translation in the same process would run on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        CTranslate2Engine.open(folder, threads=2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_the_command_needs_no_torch(folder: Path) -> None:
    program = """
import sys
from translate.commands.main import main
code = main([*sys.argv[1:]])
sys.exit(code or 7 * ("torch" in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "--engine", "ctranslate2", "--model", str(folder), "der Hund {x}", "", "7"],
        env=os.environ | {"PYTHONPATH": str(Path(translate.__file__).parents[1])},
        capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert len(lines) == 4
    assert "{x}" in lines[0]
    assert lines[1:] == ["", "7", ""]


def test_a_file_translation_can_be_resumed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n".join(LINES), encoding="utf-8")
    arguments = ["--engine", "ctranslate2", "--model", str(folder), "--input", str(tmp_path / "in.txt")]
    assert main([*arguments, "--output", str(tmp_path / "a.txt")]) == 0
    assert main([*arguments, "--output", str(tmp_path / "b.txt"), "--resume"]) == 0
    first, second = ((tmp_path / name).read_text(encoding="utf-8") for name in ("a.txt", "b.txt"))
    assert first == second
    assert first.count("\n") == len(LINES)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--engine", "torch", "--model", "THEIRS"], "an engine and a precision of its own"),
        (["--precision", "int8", "--model", "THEIRS"], "an engine and a precision of its own"),
        (["--engine", "ctranslate2", "--precision", "bf16", "--model", "OURS"], "has no precision bf16"),
        (["--engine", "torch", "--precision", "int8", "--model", "OURS"], "has no precision int8"),
        (["--engine", "ctranslate2", "--model", "THEIRS", "--from", "fr"], "from de to en"),
        (["--engine", "tensorflow", "--model", "THEIRS"], "--engine"),
    ],
)
def test_mistakes_give_a_one_sentence_error(
    arguments: list[str], named: str, parts: ModelFolder, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    places = {"OURS": str(parts.folder), "THEIRS": str(folder)}
    assert main(["text", "Ja", *(places.get(argument, argument) for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "data", "named"),
    [
        ("config.json", b"{}", "cannot load it"),  # as of another program
        ("config.json", b"[]", "missing or damaged"),
        ("config.json", b'{"max_positions": "1024"}', "missing or damaged"),
        ("model.bin", b"short", "cannot load"),
        ("tokenizer.model", b"none", "cannot be used"),
        ("translation.json", b"{}", "damaged"),
    ],
)
def test_a_damaged_folder_gives_a_one_sentence_error(
    name: str, data: bytes, named: str, folder: Path, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(data if path.name == name else path.read_bytes())
    with pytest.raises(UserError, match=named):
        CTranslate2Engine.open(tmp_path)


def test_it_computes_where_it_is_told_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    package = SimpleNamespace(Translator=lambda path, **settings: asked.append(settings))
    monkeypatch.setattr("translate.inference.ctranslate2_engine.package", lambda: package)
    for device in (None, "cpu", "cuda:1"):
        engine = open_engine(folder, Opening(device=device))
        pickle.loads(pickle.dumps(engine))
    places = [(settings["device"], settings["device_index"]) for settings in asked]
    assert places == [("auto", 0), ("auto", 0), ("cpu", 0), ("cpu", 0), ("cuda", 1), ("cuda", 1)]
    with pytest.raises(UserError, match="CPU or with CUDA, not on mps:0; leave the device out"):
        open_engine(folder, Opening(device="mps:0"))


def test_another_tokenizer_is_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    spec = json.loads((tmp_path / "translation.json").read_text(encoding="utf-8"))
    (tmp_path / "translation.json").write_text(json.dumps(spec | {"tokenizer_sha256": "7"}), encoding="utf-8")
    with pytest.raises(UserError, match="do not belong together"):
        CTranslate2Engine.open(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda pieces: pieces[:-1],
        lambda pieces: pieces[:5],
        lambda pieces: [],
        lambda pieces: [*pieces, "more"],
        lambda pieces: [*pieces[:-2], *pieces[:-3:-1]],
        lambda pieces: dict.fromkeys(pieces),
        lambda pieces: None,
    ],
    ids=["one less", "five", "none", "one more", "two swapped", "mapping", "null"],
)
def test_a_vocabulary_that_is_not_that_of_the_tokenizer_is_refused(
    folder: Path, tmp_path: Path, change: Callable[[list[str]], object]
) -> None:
    """CTranslate2 loads it, and fails at the first token that it lacks."""
    for path in folder.iterdir():
        content = path.read_bytes()
        if path.name.endswith("_vocabulary.json"):
            content = json.dumps(change(json.loads(content))).encode()
        (tmp_path / path.name).write_bytes(content)
    with pytest.raises(
        UserError, match="vocabulary is (not that of its tokenizer|missing or damaged); export it again"
    ):
        CTranslate2Engine.open(tmp_path)
