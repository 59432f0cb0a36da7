"""`transformers` gives the same results with an exported Marian folder as the original model."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from transformer.config import ModelConfig
from transformer.embedding import sinusoids
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.exchange import marian
from translate.exchange.marian import block_order, export

transformers = pytest.importorskip("transformers")

SAME_FUNCTION = {
    "paper": BASE,
    "target tied": dataclasses.replace(BASE, tying="target"),
    "nothing tied": dataclasses.replace(BASE, tying="none"),
    "biases": dataclasses.replace(BASE, attention_bias=True),
    "output bias and swish": dataclasses.replace(BASE, output_bias=True, activation="swish"),
    "narrow heads": dataclasses.replace(BASE, d_k=7, d_v=5),
}


@pytest.mark.parametrize("config", SAME_FUNCTION.values(), ids=list(SAME_FUNCTION))
def test_logits_and_greedy_output_are_those_of_the_original(
    config: ModelConfig, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    proof = export(parts, tmp_path / "theirs", TEXTS)
    assert proof.n_same == proof.n_sentences == len(TEXTS)
    assert proof.largest <= max(1e-5, 8 * proof.rounding)


def test_text_through_transformers_alone_is_our_greedy_translation(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Uses `transformers` only, as a user of the folder would."""
    from transformer.config import SearchConfig
    from transformer.search.model_step import translate_ids

    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    export(parts, tmp_path / "theirs", TEXTS)
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "theirs")
    generated = model.generate(**theirs(TEXTS[:5], return_tensors="pt", padding=True), num_beams=1, max_length=13)
    expected = translate_ids(
        parts.model, tokenizer.encode_batch(TEXTS[:5]), SearchConfig(beam_size=1), max_lengths=[12] * 5
    )
    assert theirs.batch_decode(generated, skip_special_tokens=True) == [
        tokenizer.decode(best[0].tokens).strip() for best in expected
    ]


@pytest.mark.parametrize("text", ["Das Zeichen </s> hier.", "<pad>", "</s>", "a</s>b<unk>c <s>", "ein <pad> mehr"])
def test_names_of_special_pieces_in_a_text_are_text(text: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """And no end of the sentence, as the tokenizer of `transformers` takes them for."""
    export(tiny_parts(BASE, tokenizer, tmp_path / "ours"), tmp_path / "theirs", [text])
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    assert theirs(text)["input_ids"] == [*tokenizer.encode(text), BASE.eos]


def test_the_permutation_turns_the_papers_positions_into_marians() -> None:
    config = transformers.MarianConfig(
        vocab_size=5, d_model=30, encoder_layers=1, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=2, decoder_ffn_dim=2, max_position_embeddings=97, pad_token_id=0,
    )  # fmt: skip
    table = transformers.MarianMTModel(config).model.encoder.embed_positions.weight
    torch.testing.assert_close(sinusoids(97, 30)[:, block_order(30)], table, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"norm": "pre"}, "model.norm"),
        ({"positions": "sinusoidal-blocks"}, "model.positions"),
        ({"positions": "learned"}, "model.positions"),
        ({"window": 3}, "model.window"),
        ({"norm_eps": 1e-6}, "model.norm_eps"),
        ({"d_k": 11}, "d_k = 11"),
    ],
)
def test_features_missing_in_marian_are_named(
    change: dict[str, object], named: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    parts = tiny_parts(dataclasses.replace(BASE, **change), tokenizer, tmp_path / "ours")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=named):
        export(parts, tmp_path / "theirs", TEXTS)
    assert not (tmp_path / "theirs").exists()


@pytest.fixture
def another_order() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marian, "block_order", torch.arange)
        yield patch


WIDE = dataclasses.replace(BASE, d_model=240, d_ff=900)


def test_more_rounding_of_a_wide_model_is_no_difference(tokenizer: Tokenizer, tmp_path: Path) -> None:
    proof = export(tiny_parts(WIDE, tokenizer, tmp_path / "ours"), tmp_path / "theirs", TEXTS)
    assert proof.rounding > 1e-5
    assert proof.n_same == proof.n_sentences


@pytest.mark.usefixtures("another_order")
@pytest.mark.parametrize("config", [BASE, WIDE])
def test_a_model_that_differs_is_refused_and_leaves_no_files(
    config: ModelConfig, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    with pytest.raises(UserError, match="is not the original"):
        export(parts, tmp_path / "theirs", TEXTS)
    assert list(tmp_path.iterdir()) == [tmp_path / "ours"]


def test_a_sentence_that_the_other_tokenizer_splits_differently_is_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    with pytest.raises(UserError, match="reads this sentence differently"):
        export(parts, tmp_path / "theirs", ["a \u2581 b"])
    with pytest.raises(UserError, match="more than the 96 that fit"):
        export(parts, tmp_path / "theirs", ["x" * 200])
    assert not (tmp_path / "theirs").exists()


@pytest.mark.parametrize("beam_size", [1, 2])
def test_the_folder_says_how_to_decode(beam_size: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    parts = tiny_parts(BASE, tokenizer, tmp_path / "ours")
    decoding = dataclasses.replace(parts.spec.decoding, beam_size=beam_size)
    export(
        dataclasses.replace(parts, spec=dataclasses.replace(parts.spec, decoding=decoding)),
        tmp_path / "theirs",
        TEXTS[:3],
    )
    settings = json.loads((tmp_path / "theirs" / "generation_config.json").read_text(encoding="utf-8"))
    assert (settings.get("num_beams", 1), settings["decoder_start_token_id"]) == (beam_size, BASE.bos)
    assert settings.get("early_stopping", False) == (beam_size > 1)


@pytest.mark.slow
def test_a_thousand_sentences(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from translate.corpus.grammar import generate

    proof = export(
        tiny_parts(dataclasses.replace(BASE, max_length=200), tokenizer, tmp_path / "ours"),
        tmp_path / "theirs",
        [german for german, _ in generate("test", 1000, 7)],
    )
    assert (proof.n_sentences, proof.n_same) == (1000, 1000)
    assert proof.largest <= max(1e-5, 8 * proof.rounding)
