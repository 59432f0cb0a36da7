"""Export to a CTranslate2 folder that also contains the tokenizer.

Dimension key: T target positions.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from translate.corpus.tokenizer import Tokenizer
from translate.exchange.verification import Ids, Proof, compare_log_probs, n_positions, require_close, require_equal
from translate.files import new_folder
from translate.inference.ctranslate2_engine import package
from translate.models import conversion
from translate.models.folder import ModelFolder, write_text_parts, writing


def export(folder: ModelFolder, to: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write the folder `to` and compare it with the original.

    Args:
        int8: as for `fill`.

    Raises UserError as `fill`, and if `to` exists or cannot be written; then nothing is left at `to`.
    """
    with writing(to), new_folder(to) as new:
        return fill(folder, new, texts, int8=int8)


def fill(folder: ModelFolder, new: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write the files into the empty folder `new` and compare them with the original.

    Args:
        int8: store the weights as 8-bit integers; the float32 export is compared first.

    Raises UserError if the package `ctranslate2` is not installed, if CTranslate2 has no such architecture, or if the
    models differ, and OSError.
    """
    package()
    folder = replace(folder, spec=folder.spec.with_alignment_layer(folder.model))
    proof = _written(folder, new, texts, int8=False)
    require_equal(proof)
    if int8:
        proof = _written(folder, new, texts, int8=True)
        require_close(proof)
    write_text_parts(folder.tokenizer, folder.spec, new)
    return proof


def _written(folder: ModelFolder, new: Path, texts: Sequence[str], *, int8: bool) -> Proof:
    """Write the model into the folder `new` and compare it with the original."""
    config = folder.model.config
    tensors = {name: tensor.detach().float().cpu().numpy() for name, tensor in folder.model.state_dict().items()}
    conversion.convert(
        config, tensors, folder.tokenizer, folder.spec.alignment_layer, new, n_positions(config), int8=int8
    )
    return compare_log_probs(folder, CTranslate2Folder(new, folder.tokenizer), texts)


class CTranslate2Folder:
    """A CTranslate2 folder loaded by CTranslate2; a `verification.Exported`."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        engine = package()
        self.tokenizer = tokenizer
        self.ids: Sequence[int] = range(tokenizer.vocab_size)
        self.translator = engine.Translator(str(folder), device="cpu", intra_threads=torch.get_num_threads())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return token ids without eos; the tokenizer is the original one."""
        return self.tokenizer.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""
        return self.tokenizer.decode(ids)

    def values(self, src: Ids, tgt: Ids) -> list[Tensor]:
        """Return the log-probability of each target token and of eos, (T + 1) for each pair."""
        scored = self.translator.score_batch(self._tokens(src), self._tokens(tgt), max_input_length=0)
        return [torch.tensor(result.log_probs) for result in scored]

    def greedy(self, src: Ids, limit: int) -> list[list[int]]:
        """Return greedy outputs without eos, of at most limit - 1 tokens."""
        settings = {"beam_size": 1, "max_input_length": 0, "min_decoding_length": 0}
        results = self.translator.translate_batch(self._tokens(src), max_decoding_length=limit - 1, **settings)
        return [self.tokenizer.ids(result.hypotheses[0]) for result in results]

    def _tokens(self, sentences: Ids) -> list[list[str]]:
        return [self.tokenizer.tokens(ids) for ids in sentences]
