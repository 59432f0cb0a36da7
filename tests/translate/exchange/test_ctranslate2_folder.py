"""CTranslate2 gives the same results with an exported folder as the original model."""

import dataclasses
from pathlib import Path

import pytest
import torch

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from tests.translate.exchange.plain import spm
from transformer.config import ModelConfig
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange import verification
from translate.exchange.ctranslate2_folder import export
from translate.exchange.foreign_model import produced, rearranged
from translate.inference.translator import open_engine
from translate.models import conversion
from translate.text.translation import Opening, Precision

ctranslate2 = pytest.importorskip("ctranslate2")

SAME_FUNCTION = {
    "paper": BASE,
    "pre-norm": dataclasses.replace(BASE, norm="pre"),
    "block order": dataclasses.replace(BASE, positions="sinusoidal-blocks"),
    "learned positions, target tied": dataclasses.replace(BASE, positions="learned", tying="target"),
    "nothing tied": dataclasses.replace(BASE, positions="learned", tying="none"),
    "biases": dataclasses.replace(BASE, attention_bias=True),
    "output bias and swish": dataclasses.replace(BASE, output_bias=True, activation="swish"),
    "a large epsilon": dataclasses.replace(BASE, norm="pre", norm_eps=0.3),
    "narrow heads": dataclasses.replace(BASE, d_k=7, d_v=5),
}


@pytest.mark.parametrize("config", SAME_FUNCTION.values(), ids=list(SAME_FUNCTION))
def test_probabilities_and_greedy_output_are_those_of_the_original(
    config: ModelConfig, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    proof = export(parts, tmp_path / "theirs", TEXTS)
    assert proof.n_same == proof.n_sentences == len(TEXTS)
    assert proof.largest <= 1e-4


def test_text_through_ctranslate2_alone_is_our_greedy_translation(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Uses CTranslate2 only, as a user of the folder would."""
    from sentencepiece import SentencePieceProcessor

    from transformer.config import SearchConfig
    from transformer.search.model_step import translate_ids

    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    export(parts, tmp_path / "theirs", TEXTS)
    processor = SentencePieceProcessor(model_file=str(tmp_path / "theirs" / "tokenizer.model"))
    translator = ctranslate2.Translator(str(tmp_path / "theirs"))
    results = translator.translate_batch(
        processor.encode(TEXTS[:5], out_type=str), beam_size=1, max_decoding_length=11, min_decoding_length=0
    )
    expected = translate_ids(
        parts.model, tokenizer.encode_batch(TEXTS[:5]), SearchConfig(beam_size=1), max_lengths=[12] * 5
    )
    assert [processor.decode(result.hypotheses[0]) for result in results] == [
        tokenizer.decode(best[0].tokens) for best in expected
    ]


def test_sentences_without_tokens_are_left_out_of_the_check(tmp_path: Path) -> None:
    """A tokenizer with SentencePiece's default normalisation, as imported models have, drops zero-width spaces."""
    serialized = spm(SENTENCES, 60)
    tokenizer = Tokenizer(rearranged(serialized, ["<pad>", "<s>", "</s>", "<unk>", *produced(serialized)]))
    config = dataclasses.replace(BASE, vocab_size=tokenizer.vocab_size)
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    assert export(parts, tmp_path / "theirs", [SENTENCES[0], "\u200b", SENTENCES[1]]).n_sentences == 2
    with pytest.raises(UserError, match="there is no sentence"):
        export(parts, tmp_path / "other", ["\u200b"])


def test_int8_is_smaller_and_close_and_the_original_stays_as_it_was(tokenizer: Tokenizer, tmp_path: Path) -> None:
    quiet = dataclasses.replace(BASE, d_model=60, n_heads=5)
    parts = tiny_parts(quiet, tokenizer, tmp_path / "ours")
    with torch.no_grad():
        for parameter in parts.model.parameters():
            parameter *= 0.3
    before = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
    proof = export(parts, tmp_path / "small", TEXTS, int8=True)
    export(parts, tmp_path / "large", TEXTS)
    assert 0 < proof.mean <= 0.05
    small, large = (sum(path.stat().st_size for path in (tmp_path / name).iterdir()) for name in ("small", "large"))
    assert small < large
    assert all(torch.equal(tensor, before[name]) for name, tensor in parts.model.state_dict().items())
    kinds: list[tuple[str, Precision, Precision]] = [("small", "int8", "fp32"), ("large", "fp32", "int8")]
    for name, precision, other in kinds:
        assert open_engine(tmp_path / name, Opening(precision=precision)).precision == precision
        with pytest.raises(UserError, match="a precision of its own"):
            open_engine(tmp_path / name, Opening(precision=other))


def test_features_missing_in_ctranslate2_are_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    for number, (change, named) in enumerate([({"window": 3}, "model.window"), ({"d_v": 11}, "d_v = 11")]):
        config = dataclasses.replace(BASE, **change)  # type: ignore[arg-type]
        parts = tiny_parts(config, tokenizer, tmp_path / str(number))
        with pytest.raises(UserError, match=named):
            export(parts, tmp_path / "theirs", TEXTS)
    assert not (tmp_path / "theirs").exists()


@pytest.mark.parametrize("int8", [False, True])
def test_a_model_that_differs_is_refused_and_leaves_no_files(
    int8: bool, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    if int8:
        monkeypatch.setattr(verification, "TOLERANCE_INT8", 1e-9)
    else:
        monkeypatch.setattr(conversion, "_NEVER", 1.0)
    with pytest.raises(UserError, match="int8" if int8 else "is not the original"):
        export(parts, tmp_path / "theirs", TEXTS, int8=int8)
    assert list(tmp_path.iterdir()) == [tmp_path / "ours"]


@pytest.mark.slow
def test_a_thousand_sentences(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from translate.corpus.grammar import generate

    texts = [german for german, _ in generate("test", 1000, 7)]
    proof = export(tiny_parts(BASE, tokenizer, tmp_path / "ours"), tmp_path / "theirs", texts)
    assert (proof.n_sentences, proof.n_same) == (1000, 1000)
