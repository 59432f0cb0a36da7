"""Which words of a sentence each word of its translation comes from, by cross-attention in CTranslate2.

CTranslate2 returns the attention of one decoder layer, the mean over its heads, while it is forced to give a
translation. It needs a copy of the model for that, in which this layer is named. A model that runs in PyTorch has its
attention there.

Dimension key: S source positions, T target positions, V source words, W target words.
"""

import random
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.config import load_config
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.inference.ctranslate2_engine import load_translator
from translate.inference.engine import LIMIT, Engine, TokenIds
from translate.inference.torch_engine import TorchEngine
from translate.machine import release_memory
from translate.models.folder import CTRANSLATE2_FILE

Weights = NDArray[np.float32]

_WORD = re.compile(r"\w(?:\S*\w)?|[^\w\s]+")  # "z.B", "3,5", or marks around it
_LAYER, _HEADS = "decoder/alignment_layer", "decoder/alignment_heads"
_INT16 = 2  # CTranslate2's id of this type
_N_PROBES, _PROBE_LENGTH = 16, 10  # sentences of random tokens that show which layer aligns


@dataclass(frozen=True)
class WordAttention:
    """Attention between the words of a sentence and of its translation.

    Attributes:
        source, target: words and punctuation marks, in order.
        weights: of each target word to each source word; the attention to eos is left out.
    """

    source: list[str]
    target: list[str]
    weights: list[list[float]]


class Aligner:
    """Computes cross-attention for the model of an engine.

    Attributes:
        engine: the loaded model.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self._lock = engine, Lock()
        self._translator: Any = None  # a `ctranslate2.Translator`

    def load(self) -> None:
        """Load what `attention` needs on first use, which takes about a second; UserError as there."""
        with self._lock:
            if self._translator is None and not isinstance(self.engine, TorchEngine):
                self._translator = _aligning(self.engine)

    def attention(self, sources: TokenIds, targets: TokenIds) -> list[Weights]:
        """Return the attention of each target token to each source token, (T, S) for each pair.

        The attention to the source's eos is left out, so rows sum to less than 1.

        Args:
            sources, targets: token ids of each pair, without eos.

        Raises UserError if the files of the model were damaged or removed meanwhile.
        """
        if isinstance(self.engine, TorchEngine):
            from transformer.search.alignment import cross_attention

            return [w.float().numpy() for w in cross_attention(self.engine.model_folder.model, sources, targets)]
        self.load()
        return _forced(
            self._translator, *([self.engine.tokenizer.pieces(ids) for ids in side] for side in (sources, targets))
        )

    def words(self, source: str, target: str, weights_TS: Weights) -> WordAttention:
        """Return the attention between words: the sum over the source pieces, the mean over the target pieces."""
        (words, of_source_VS), (target_words, of_target_WT) = (
            _membership(self.engine.tokenizer, text) for text in (source, target)
        )
        mean_WT = of_target_WT / of_target_WT.sum(axis=1, keepdims=True).clip(min=1)
        return WordAttention(words, target_words, (mean_WT @ weights_TS @ of_source_VS.T).tolist())


def _forced(translator: Any, sources: Sequence[list[str]], targets: Sequence[list[str]]) -> list[Weights]:
    """Return the attention while a translator is forced to give the targets."""
    found = translator.translate_batch(
        sources,
        target_prefix=targets,
        beam_size=1,
        max_input_length=0,
        max_decoding_length=max(1, *map(len, targets)),
        return_attention=True,
    )
    shapes = [(len(target), len(source)) for source, target in zip(sources, targets, strict=True)]
    # A short output goes on after its prefix, as far as the longest one.
    return [
        np.array([row[:n_source] for row in result.attention[0][:n_target]], np.float32).reshape(n_target, n_source)
        for result, (n_target, n_source) in zip(found, shapes, strict=True)
    ]


def _aligning(engine: Engine) -> Any:
    """Return a translator of the same model whose attention is that of the decoder layer that aligns.

    Such a layer attends to one token of the source; other layers attend to its eos or to many tokens. Sentences of
    random tokens show the difference too, so no text is needed.
    """
    from safetensors import SafetensorError

    try:
        contents = _contents(engine)
        n_layers = 1 + max(int(found[1]) for found in re.finditer(rb"decoder/layer_(\d+)/", contents[CTRANSLATE2_FILE]))
        draw, n_pieces = random.Random(0), engine.tokenizer.vocab_size
        length = min(_PROBE_LENGTH, n_pieces // 2)
        probes = [engine.tokenizer.pieces(draw.sample(range(n_pieces), length)) for _ in range(_N_PROBES)]
        first = _loaded(engine.folder, contents, 0)
        found = first.translate_batch(probes, beam_size=1, max_decoding_length=2 * length)
        outputs = [result.hypotheses[0] for result in found]
        sharpness = [_sharpness(first, probes, outputs)]
        for layer in range(1, n_layers):
            sharpness.append(_sharpness(_loaded(engine.folder, contents, layer), probes, outputs))
        return _loaded(engine.folder, contents, sharpness.index(max(sharpness)))
    except (OSError, LookupError, ValueError, RuntimeError, struct.error, SafetensorError) as error:
        raise UserError(f"{engine.folder}: its alignments cannot be computed ({error})") from error
    finally:
        release_memory()


def _sharpness(translator: Any, sources: Sequence[list[str]], targets: Sequence[list[str]]) -> float:
    """Return the greatest attention of each target token to one source token, added up."""
    return float(sum(w_TS.max(axis=1).sum() for w_TS in _forced(translator, sources, targets)))


def _loaded(folder: Path, contents: Mapping[str, bytes], layer: int) -> Any:
    """Return a `ctranslate2.Translator` that returns the attention of a layer."""
    files = {**contents, CTRANSLATE2_FILE: _with_alignment(contents[CTRANSLATE2_FILE], layer)}
    return load_translator(folder, 1, "default", files)


def _contents(engine: Engine) -> dict[str, bytes]:
    """Return the files of an engine's model in the format of CTranslate2, in int8 unless they are stored otherwise."""
    folder = engine.folder
    if (folder / CTRANSLATE2_FILE).is_file():
        names = (CTRANSLATE2_FILE, "config.json", *(path.name for path in folder.glob("*vocabulary.json")))
        return {name: (folder / name).read_bytes() for name in names}
    from translate.models import ctranslate2_files

    config = load_config(folder)
    weights = ctranslate2_files.read_weights(folder / "model.safetensors")
    n_positions = LIMIT + engine.spec.decoding.max_extra
    return ctranslate2_files.files(config, weights, engine.tokenizer, n_positions, int8=True)


def _with_alignment(model: bytes, layer: int) -> bytes:
    """Return a model.bin of CTranslate2 that names the layer whose attention is returned, as the mean of its heads."""
    begin = 4  # the version
    begin += 2 + struct.unpack_from("<H", model, begin)[0]  # the name of the architecture
    begin += 4  # its revision
    (n_variables,) = struct.unpack_from("<I", model, begin)
    kept, at = list[bytes](), begin + 4
    for _ in range(n_variables):
        (n_name,) = struct.unpack_from("<H", model, at)
        name, rank = model[at + 2 : at + 1 + n_name].decode(), model[at + 2 + n_name]
        end = at + 2 + n_name + 1 + 4 * rank + 1 + 4
        end += struct.unpack_from("<I", model, end - 4)[0]
        if name not in (_LAYER, _HEADS):
            kept.append(model[at:end])
        at = end
    for name, value in ((_LAYER, layer), (_HEADS, 0)):
        text = name.encode() + b"\0"
        kept.append(struct.pack("<H", len(text)) + text + struct.pack("<BBIh", 0, _INT16, 2, value))
    return model[:begin] + struct.pack("<I", len(kept)) + b"".join(kept) + model[at:]


def _membership(tokenizer: Tokenizer, text: str) -> tuple[list[str], Weights]:
    """Return the words of a text and a matrix (words, pieces), 1 where they have a character in common."""
    words = list(_WORD.finditer(text))
    spans = np.array([word.span() for word in words], np.int64).reshape(-1, 2)
    pieces = np.array(tokenizer.spans(text), np.int64).reshape(-1, 2)
    matrix = (pieces[:, 0] < spans[:, 1:]) & (spans[:, :1] < pieces[:, 1])
    return [word[0] for word in words], matrix.astype(np.float32)
