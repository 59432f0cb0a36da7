"""A tokenizer as tokenizer.json, the format of Hugging Face tokenizers and of Transformers.js.

SentencePiece joins the neighbours whose piece has the highest score, and tokenizers the pair that is first in a list.
So the list has each division of each piece into two, by the score of the piece. Before that, text is divided at spaces,
which pieces have at their start alone, and at symbols, which are looked up as a whole.
"""

import re
from typing import Any

from translate.corpus.tokenizer import EOS, ESCAPE, SPACE_SYMBOL, UNK, Tokenizer
from translate.errors import UserError


def tokenizer_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the content of tokenizer.json.

    Raises UserError unless the tokenizer `splits_at_spaces`; those of imported models often do more.
    """
    if tokenizer.target is not tokenizer or not tokenizer.splits_at_spaces:
        raise UserError(
            "the tokenizer of this model cannot be written as tokenizer.json, which is done for those that `translate` "
            'trains with tokenizer.algorithm = "bpe"; export the model with --format ctranslate2'
        )
    pieces = tokenizer.tokens(range(tokenizer.vocab_size))
    end = pieces[EOS]
    words = {"type": "Metaspace", "replacement": SPACE_SYMBOL, "prepend_scheme": "never", "split": True}
    return {
        "version": "1.0",
        "added_tokens": [],  # which would be found in text, too
        "normalizer": _sequence(
            "normalizers",
            _replace(ESCAPE, ESCAPE * 2),
            _replace(SPACE_SYMBOL, ESCAPE + "_"),
            {"type": "Prepend", "prepend": SPACE_SYMBOL},
            _replace(" ", SPACE_SYMBOL),
        ),
        "pre_tokenizer": _sequence("pretokenizers", *_split(tokenizer.symbols), words),
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}],
            "pair": [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"],
            "special_tokens": {end: {"id": end, "ids": [EOS], "tokens": [end]}},
        },
        "decoder": _sequence(
            "decoders",
            _replace(SPACE_SYMBOL, " "),
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            _replace(ESCAPE + "_", SPACE_SYMBOL),
            _replace(ESCAPE * 2, ESCAPE),
        ),
        "model": {
            "type": "BPE",
            "unk_token": pieces[UNK],
            "fuse_unk": True,
            "byte_fallback": "<0x00>" in pieces,
            "ignore_merges": True,  # a symbol is no result of merges
            "vocab": {piece: i for i, piece in enumerate(pieces)},
            "merges": _merges({piece: score for piece, (_, score) in tokenizer.scores().items()}),
        },
    }


def _merges(scores: dict[str, float]) -> list[tuple[str, str]]:
    """Return the divisions of each piece into two pieces, those of the highest score first."""
    pairs = []
    for piece in sorted(scores, key=scores.__getitem__, reverse=True):
        divided = ((piece[:i], piece[i:]) for i in range(1, len(piece)))
        pairs += [(left, right) for left, right in divided if left in scores and right in scores]
    return pairs


def _split(symbols: list[str]) -> list[dict[str, Any]]:
    """Return the step that takes symbols out of the text, if there are any; the longest one first."""
    pattern = {"Regex": "|".join(map(re.escape, sorted(symbols, key=len, reverse=True)))}
    return [{"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}] if symbols else []


def _replace(text: str, by: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": text}, "content": by}


def _sequence(kind: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", kind: [*steps]}
