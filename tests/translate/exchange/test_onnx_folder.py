"""ONNX Runtime gives the same results with an exported folder as the original model."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from transformer.config import ModelConfig
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import EOS, UNK, Tokenizer, train
from translate.errors import UserError
from translate.exchange import verification
from translate.exchange.onnx_folder import export
from translate.exchange.tokenizer_json import tokenizer_json

onnxruntime = pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")
tokenizers = pytest.importorskip("tokenizers")
onnx = pytest.importorskip("onnx")

SAME_FUNCTION = {
    "paper": BASE,
    "pre-norm": dataclasses.replace(BASE, norm="pre", norm_eps=0.3),
    "block order": dataclasses.replace(BASE, positions="sinusoidal-blocks"),
    "learned positions, target tied": dataclasses.replace(BASE, positions="learned", tying="target"),
    "nothing tied": dataclasses.replace(BASE, tying="none"),
    "biases, swish": dataclasses.replace(BASE, attention_bias=True, output_bias=True, activation="swish"),
    "narrow heads": dataclasses.replace(BASE, d_k=7, d_v=5),
    "window": dataclasses.replace(BASE, window=3),
}


@pytest.mark.parametrize("config", SAME_FUNCTION.values(), ids=list(SAME_FUNCTION))
def test_probabilities_and_greedy_output_are_those_of_the_original(
    config: ModelConfig, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    proof = export(parts, tmp_path / "theirs", TEXTS)
    assert proof.n_same == proof.n_sentences == len(TEXTS)
    assert proof.largest <= 1e-4


def test_steps_of_any_length_give_the_logits_of_all_at_once(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Uses ONNX Runtime and the settings in the folder only, as other programs do."""
    export(tiny_parts(BASE, tokenizer, tmp_path / "ours"), tmp_path / "theirs", TEXTS[:3])
    settings = json.loads((tmp_path / "theirs" / "config.json").read_bytes())
    encoder, decoder = (
        onnxruntime.InferenceSession(tmp_path / "theirs" / "onnx" / f"{name}.onnx")
        for name in ("encoder_model", "decoder_model_merged")
    )
    ids_BS, mask_BS = np.array([[5, 7, 2, 0, 0], [9, 8, 7, 6, 2]]), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    (memory_BSD,) = encoder.run(None, {"input_ids": ids_BS, "attention_mask": mask_BS})
    heads = settings["decoder_attention_heads"]
    nothing = np.zeros((2, heads, 0, settings["d_model"] // heads), np.float32)
    start = {one.name: nothing for one in decoder.get_inputs() if one.name.startswith("past_key_values")}
    outputs = [one.name.replace("present", "past_key_values") for one in decoder.get_outputs()]
    tgt_BT = np.array([[settings["decoder_start_token_id"], 11, 12, 13, 14, 15]] * 2)

    def logits(*lengths: int) -> np.ndarray:
        found, past, first = [], start, 0
        for n in lengths:
            memory = {"encoder_attention_mask": mask_BS, "encoder_hidden_states": memory_BSD}
            values = decoder.run(None, {"input_ids": tgt_BT[:, first : first + n], **memory, **past})
            found.append(values[0])
            past, first = dict(zip(outputs[1:], values[1:], strict=True)), first + n
        return np.concatenate(found, axis=1)

    for lengths in ((1, 1, 1, 1, 1, 1), (3, 1, 2)):
        np.testing.assert_allclose(logits(*lengths), logits(6), atol=1e-5)
    (alone,) = encoder.run(None, {"input_ids": ids_BS[:1, :3], "attention_mask": mask_BS[:1, :3]})
    np.testing.assert_allclose(memory_BSD[:1, :3], alone, atol=1e-5)  # padding has no influence


def test_int8_is_smaller_and_close(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = dataclasses.replace(BASE, d_model=96, d_ff=250, n_encoder_layers=1, n_decoder_layers=1)
    parts = tiny_parts(config, tokenizer, tmp_path / "ours")
    export(parts, tmp_path / "float", TEXTS[:7])
    quantize = quantization.quantize_dynamic

    def check_and_quantize(path: Path, *args: Any, **options: Any) -> None:
        """Versions before 1.32 transpose the weights of Gemm for every node."""
        nodes = onnx.load(path).graph.node
        for weight in (node.input[1] for node in nodes if node.op_type == "Gemm"):
            assert sum(weight in node.input for node in nodes) == 1
        quantize(path, *args, **options)

    monkeypatch.setattr(quantization, "quantize_dynamic", check_and_quantize)
    proof = export(parts, tmp_path / "int8", TEXTS[:7], int8=True)
    assert 1e-6 < proof.mean < 0.05
    sizes = [sum(path.stat().st_size for path in (tmp_path / name / "onnx").iterdir()) for name in ("float", "int8")]
    assert sizes[1] < sizes[0] / 2
    monkeypatch.setattr(verification, "TOLERANCE_INT8", 1e-9)
    with pytest.raises(UserError, match="leave --int8 out"):
        export(parts, tmp_path / "far", TEXTS[:7], int8=True)
    assert not (tmp_path / "far").exists()


def test_what_the_format_cannot_hold_is_refused_before_anything_is_written(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    wide = tiny_parts(dataclasses.replace(BASE, d_k=11), tokenizer, tmp_path / "wide")
    with pytest.raises(UserError, match="d_k = 11"):
        export(wide, tmp_path / "theirs", TEXTS)
    unigram = train(SENTENCES, TokenizerConfig(vocab_size=301, algorithm="unigram", placeholders=3))
    parts = tiny_parts(dataclasses.replace(BASE, vocab_size=301), unigram, tmp_path / "unigram")
    with pytest.raises(UserError, match=r"tokenizer\.algorithm"):
        export(parts, tmp_path / "theirs", TEXTS)
    assert not (tmp_path / "theirs").exists()


@pytest.fixture(scope="module", params=[True, False], ids=["byte fallback", "unknown token"])
def pair(request: pytest.FixtureRequest) -> "tuple[Tokenizer, tokenizers.Tokenizer]":
    """A tokenizer, and the same one in the package tokenizers."""
    size = 371 if request.param else 97
    config = TokenizerConfig(vocab_size=size, byte_fallback=request.param, placeholders=2)
    ours = train(SENTENCES, config, ["<formal>", "<formal>+"])
    return ours, tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(ours)))


_WORDS = {word for line in SENTENCES[:9] for word in line.split()}
_PARTS = st.sampled_from([*"abeinrst \u2581", *sorted(_WORDS), "\u27e61\u27e7", "<formal>+", " </s>"])


@given(text=st.lists(_PARTS | st.characters(exclude_categories=["Cs"])).map("".join))
def test_the_tokenizer_is_the_same(text: str, pair: "tuple[Tokenizer, tokenizers.Tokenizer]") -> None:
    ours, theirs = pair
    ids = theirs.encode(text).ids
    assert ids == [*ours.encode(text), EOS]
    assert UNK in ids or theirs.decode(ids[:-1]) == text
