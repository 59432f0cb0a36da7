"""Word alignments of translations, by the attention of either engine."""

import dataclasses
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import translate
from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from transformer.config import Attention
from transformer.search.alignment import cross_attention
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange.ctranslate2_folder import export
from translate.inference.alignment import align, pharaoh, word_attention, word_numbers
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator, open_engine
from translate.models import registry
from translate.models.folder import ModelFolder, TranslationSpec
from translate.text.translation import Opening

LINES = ["der Hund singt im Haus.", "", "  die Katze schläft am See. "]
PAIRS = [
    ("Kannst du mir helfen, diesen Satz zu übersetzen?", "Can you help me translate this sentence?"),
    ("Ein Bäcker lädt euch ein.", "A baker is inviting you."),
    ("Ja.", "Yes, of course, but only if it does not rain tomorrow."),
    ("Ein Becher steht auf einem Tisch.", ""),
    ("", "Nothing"),
    ("", ""),
]


def difference(a: Attention, b: Attention) -> float:
    """Return the largest difference of two weights; the shapes are equal."""
    assert [len(row) for row in a] == [len(row) for row in b]
    return max(
        (abs(x - y) for row, other in zip(a, b, strict=True) for x, y in zip(row, other, strict=True)), default=0
    )


def test_an_alignment_has_words_of_both_sides(parts: ModelFolder, translator: Translator) -> None:
    engine = TorchEngine(parts)
    for line, translation in zip(LINES, [*translator.translate_lines(LINES)], strict=True):
        pairs = align(engine, line, translation.tokens)
        assert pairs == sorted(set(pairs))
        assert all(s < len(line.split()) and t < len(translation.text.split()) for s, t in pairs)
    with pytest.raises(UserError, match="needs all of it"):
        align(engine, "Ja. " * 40, ["a"])
    assert pharaoh([(0, 0), (1, 2)]) == "0-0 1-2"


def test_tokens_are_assigned_to_their_words(tokenizer: Tokenizer) -> None:
    for text in ("der Hund singt im Haus.", "a  b", " x", ""):
        words = word_numbers(tokenizer.tokens(tokenizer.encode(text)))
        assert sorted({word for word in words if word is not None}) == list(range(len(text.split())))
    assert word_numbers(["\u2581a", "\u2581", "\u2581b", "c"]) == [0, None, 1, 1]


@given(lengths=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=7))
def test_attention_in_pytorch_does_not_depend_on_the_batch(parts: ModelFolder, lengths: list[tuple[int, int]]) -> None:
    sources, targets = (
        [[5 + (i * n) % 7 for i in range(n)] for n in side] for side in zip((0, 0), *lengths, strict=True)
    )
    found = TorchEngine(parts).align(sources, targets)
    for weights, source, target in zip(found, sources, targets, strict=True):
        (expected,) = cross_attention(parts.model, [source], [target])
        assert (len(weights), difference(weights, expected.tolist()) < 1e-5) == (len(target), True)


@pytest.mark.parametrize("int8", [False, True])
def test_an_exported_folder_aligns_with_the_layer_of_its_description(
    int8: bool, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """The attention is that of PyTorch: any layer, any lengths, whatever the batch."""
    pytest.importorskip("ctranslate2")
    config = dataclasses.replace(BASE, d_model=60, n_heads=5)
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    for parameter in parts.model.parameters():
        parameter.data *= 0.3  # int8 changes little
    sources, targets = (tokenizer.encode_batch(side) for side in (TEXTS, TEXTS[::-1]))
    for layer in range(3):
        described = dataclasses.replace(parts, spec=dataclasses.replace(parts.spec, alignment_layer=layer))
        export(described, tmp_path / str(layer), TEXTS, int8=int8)
        engine = open_engine(tmp_path / str(layer))
        found = engine.align([*sources, []], [*targets, []])
        assert found.pop() == []
        expected = cross_attention(parts.model, sources, targets, layer=layer)
        for weights, weights_TS in zip(found, expected, strict=True):
            assert difference(weights, weights_TS.tolist()) < (0.01 if int8 else 1e-5)
        assert max(difference(a, b) for a, b in zip(found, engine.align(sources, targets), strict=True)) == 0


def test_a_folder_that_was_exported_without_a_layer_asks_for_another_export(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    pytest.importorskip("ctranslate2")
    export(tiny_parts(BASE, tokenizer, tmp_path / "ours"), tmp_path / "theirs", TEXTS)
    spec = json.loads((tmp_path / "theirs" / "translation.json").read_bytes())
    assert spec.pop("alignment_layer") in range(3)
    (tmp_path / "theirs" / "translation.json").write_text(json.dumps(spec), encoding="utf-8")
    with pytest.raises(UserError, match="without a layer for alignments; export it again"):
        open_engine(tmp_path / "theirs").align([[5]], [[7]])
    said: list[str] = []
    translator = Translator.load(tmp_path / "theirs", say=said.append)
    assert [note for note in said if "formatting stays within sentences" in note] == said[-1:]
    assert sorted(re.findall("<[^>]*>", translator("der <b>Hund</b> singt"))) == ["</b>", "<b>"]


@pytest.mark.parametrize("name", ["de-en", "en-de"])
def test_shipped_models_align_with_the_engine_that_translates(name: str) -> None:
    """CTranslate2's numbers are those of PyTorch; int8 rounds them."""
    pytest.importorskip("ctranslate2")
    folder = registry.locate(Path(name), print)
    engine, reference = open_engine(folder), ModelFolder.open(folder)
    assert TranslationSpec.load(folder) == dataclasses.replace(
        reference.spec, alignment_layer=None
    ).with_alignment_layer(reference.model)
    sources, targets = (engine.tokenizer.encode_batch(side) for side in zip(*PAIRS, strict=True))
    if name == "en-de":
        sources, targets = targets, sources
    found = engine.align(sources, targets)
    expected = cross_attention(reference.model, sources, targets, layer=engine.spec.alignment_layer)
    for weights, weights_TS, source, target in zip(found, expected, sources, targets, strict=True):
        assert engine.align([source], [target]) == [weights]  # int8 is exact whatever the batch
        assert difference(weights, weights_TS.tolist()) < 0.05
        assert all(sum(row) < 1 for row in weights)
    for permuted in itertools.islice(itertools.permutations(range(len(PAIRS))), 7):
        again = engine.align([sources[i] for i in permuted], [targets[i] for i in permuted])
        assert again == [found[i] for i in permuted]


def test_the_attention_of_words_finds_the_source_word() -> None:
    for engine in (
        open_engine(registry.locate(Path("de-en"), print), Opening(engine=name)) for name in ("auto", "torch")
    ):
        encode = engine.tokenizer.encode
        (weights,) = engine.align(*([encode(text)] for text in PAIRS[1]))
        words = word_attention(engine.tokenizer, *PAIRS[1], weights)
        row = words.weights[words.target.index("baker")]
        assert words.source[row.index(max(row))] == "Bäcker"


def test_attention_between_words_is_the_mean_of_the_sums_over_their_pieces(parts: ModelFolder) -> None:
    source, target = "der Hund singt im Haus.", "the dog, sings"
    encode = parts.tokenizer.encode
    (weights,) = TorchEngine(parts).align([encode(source)], [encode(target)])
    found = word_attention(parts.tokenizer, source, target, weights)
    assert (found.source, found.target) == (["der", "Hund", "singt", "im", "Haus", "."], ["the", "dog", ",", "sings"])
    n_der, n_the, n_dog = (len(encode(text)) for text in ("der", "the", "the dog"))
    assert n_dog > n_the + 1  # a word with several pieces
    sums = [sum(row[:n_der]) for row in weights[n_the:n_dog]]
    assert found.weights[1][0] == pytest.approx(sum(sums) / len(sums), abs=1e-6)


def test_text_without_words_has_no_weights(tokenizer: Tokenizer) -> None:
    assert word_attention(tokenizer, "", "the dog", [[] for _ in tokenizer.encode("the dog")]).weights == [[], []]
    assert word_attention(tokenizer, "der", "", []).weights == []


def test_aligning_imports_neither_torch_nor_numpy(tmp_path: Path) -> None:
    """A started translation that places formatting needs this too."""
    pytest.importorskip("ctranslate2")
    program = """
import sys
from pathlib import Path
from translate.inference.alignment import word_attention
from translate.inference.translator import open_engine
from translate.models.registry import locate
engine = open_engine(locate(Path("de-en"), print))
(weights,) = engine.align([engine.tokenizer.encode("Guten Morgen.")], [engine.tokenizer.encode("Good morning.")])
word_attention(engine.tokenizer, "Guten Morgen.", "Good morning.", weights)
sys.exit(len({"torch", "numpy"} & {*sys.modules}))
"""
    environment = {"PYTHONPATH": str(Path(translate.__file__).parents[1]), "XDG_CACHE_HOME": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", program], env=os.environ | environment, timeout=100).returncode == 0
