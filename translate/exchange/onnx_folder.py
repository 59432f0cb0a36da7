"""Export to a folder for ONNX Runtime, in the layout of Hugging Face Optimum and Transformers.js.

Dimension key: B sentences, S source positions, T target positions, V vocabulary.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.config import ModelConfig
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK
from translate.errors import optional_package
from translate.exchange import onnx_graph
from translate.exchange.marian import generation_settings, marian_settings
from translate.exchange.tokenizer_json import tokenizer_json
from translate.exchange.verification import Ids, Proof, compare_log_probs, n_positions, require_close, require_equal
from translate.files import new_folder, write_json
from translate.models.conversion import head_width
from translate.models.folder import ModelFolder, writing

# By the names of their files; merged: for the first and later steps.
_GRAPHS = {"encoder_model": onnx_graph.encoder, "decoder_model_merged": onnx_graph.decoder}

Array = NDArray[Any]


def export(folder: ModelFolder, to: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write the folder `to` and compare it with the original.

    Args:
        int8: store the matrices as 8-bit integers; the float32 export is compared first.

    Raises UserError if the package `onnx`, `onnxruntime` or `tokenizers` is not installed, if the format has no such
    architecture or tokenizer, if `to` exists, or if the models differ; then nothing is left at `to`.
    """
    for name in ("onnx", "onnxruntime", "tokenizers"):
        optional_package(name, "onnx")
    with writing(to), new_folder(to) as new:
        _write_settings(folder, new)
        _write_graphs(folder, new / "onnx", untied=int8)
        proof = compare_log_probs(folder, OnnxFolder(new, folder.model.config), texts)
        require_equal(proof)
        if int8:
            _quantize(new / "onnx")
            proof = compare_log_probs(folder, OnnxFolder(new, folder.model.config, "_quantized"), texts)
            require_close(proof)
    return proof


def _write_settings(folder: ModelFolder, to: Path) -> None:
    """Write the tokenizer and the settings."""
    config, spec, tokenizer = folder.model.config, folder.spec, folder.tokenizer
    pad, bos, eos, unk = tokenizer.tokens((PAD, BOS, EOS, UNK))
    write_json(to / "tokenizer.json", tokenizer_json(tokenizer))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": pad,
        "bos_token": bos,
        "eos_token": eos,
        "unk_token": unk,
        "model_max_length": config.max_length,
        "additional_special_tokens": [pad, bos, eos, unk],  # Transformers.js leaves these out of translations
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # as in the export for Marian
    }
    write_json(to / "tokenizer_config.json", settings)
    # Programs read the widths of keys and values from the settings, which have the names of Marian for all models.
    kind = {"model_type": "marian", "architectures": ["MarianMTModel"], "is_encoder_decoder": True}
    write_json(to / "config.json", kind | marian_settings(config))
    write_json(to / "generation_config.json", generation_settings(spec.decoding, config))


def _write_graphs(folder: ModelFolder, to: Path, *, untied: bool) -> None:
    """Write the graphs in float32.

    Args:
        untied: the output has a matrix of its own. ONNX Runtime before 1.32 transposes that of the output as it
            quantises, also where it is the embedding.
    """
    import onnx

    config = folder.model.config
    tensors = {name: tensor.detach().float().cpu().numpy() for name, tensor in folder.model.state_dict().items()}
    if untied and config.tying != "none":
        embedding = tensors["src_embedding.weight_VD" if config.tying == "all" else "untied_tgt_embedding.weight_VD"]
        tensors |= dict.fromkeys(("untied_tgt_embedding.weight_VD", "untied_output.weight"), embedding)
        config = replace(config, tying="none")
    to.mkdir()
    for name, graph in _GRAPHS.items():
        onnx.save(graph(config, tensors, n_positions(config)), to / f"{name}.onnx")


def _quantize(folder: Path) -> None:
    """Replace the graphs by those with matrices of 8 bits, a scale for each output, under the names of Optimum."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)  # the advice to simplify the graph first, which changes nothing here
    try:
        for name in _GRAPHS:
            path = folder / f"{name}.onnx"
            quantize_dynamic(path, folder / f"{name}_quantized.onnx", per_channel=True, weight_type=QuantType.QUInt8)
            path.unlink()
    finally:
        logging.disable(logging.NOTSET)


class OnnxFolder:
    """A folder loaded by ONNX Runtime and tokenizers; a `verification.Exported`.

    Args:
        config: the architecture of the original.
        suffix: of the names of the graphs.
    """

    def __init__(self, folder: Path, config: ModelConfig, suffix: str = "") -> None:
        import onnxruntime
        from tokenizers import Tokenizer as Fast

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(folder / "onnx" / f"{name}{suffix}.onnx", options) for name in _GRAPHS
        )
        self.tokenizer = Fast.from_file(str(folder / "tokenizer.json"))
        self.ids: Sequence[int] = range(config.vocab_size)
        self._config = config

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return token ids without eos."""
        return [encoding.ids[:-1] for encoding in self.tokenizer.encode_batch(list(texts))]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""
        return str(self.tokenizer.decode(list(ids)))

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return the log-probability of each target token and of eos, (T + 1) for each pair."""
        logits_BTV, _ = self._step(_padded([[BOS, *ids] for ids in tgt]), self._start(src))
        log_probs_BTV = torch.from_numpy(logits_BTV).log_softmax(dim=-1)
        return [row[range(len(ids) + 1), [*ids, EOS]] for row, ids in zip(log_probs_BTV, tgt, strict=True)]

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Return greedy outputs without eos, of at most limit - 1 tokens."""
        inputs, token_B1 = self._start(src), np.full((len(src), 1), BOS)
        tokens, ended_B1 = [token_B1[:, :0]], np.full(token_B1.shape, False)
        while len(tokens) < limit and not ended_B1.all():
            logits_B1V, inputs = self._step(token_B1, inputs)
            token_B1 = logits_B1V.argmax(axis=-1)
            tokens.append(token_B1)
            ended_B1 |= token_B1 == EOS
        rows = np.concatenate([*tokens, np.full_like(token_B1, EOS)], axis=1).tolist()
        return [row[: row.index(EOS)] for row in rows]

    def _start(self, src: Ids) -> dict[str, Array]:
        """Return the inputs of the first step, without its tokens."""
        ids_BS = _padded([[*ids, EOS] for ids in src])
        mask_BS = (ids_BS != PAD).astype(np.int64)
        (memory_BSD,) = self.encoder.run(None, {"input_ids": ids_BS, "attention_mask": mask_BS})
        nothing = np.zeros((len(src), self._config.n_heads, 0, head_width(self._config)), np.float32)
        empty = dict.fromkeys(onnx_graph.past_names(self._config), nothing)
        return {"encoder_attention_mask": mask_BS, "encoder_hidden_states": memory_BSD, **empty}

    def _step(self, ids_BT: Array, inputs: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
        """Return the logits after each token, and the inputs of the next step."""
        logits_BTV, *cache = self.decoder.run(None, {"input_ids": ids_BT, **inputs})
        return logits_BTV, inputs | dict(zip(onnx_graph.past_names(self._config), cache, strict=True))


def _padded(rows: Ids) -> Array:
    """Return rows of token ids with padding on the right."""
    ids = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return ids
