"""The BLEU of the paper: words of the Moses tokeniser, compounds split at hyphens.

The scores of table 2 were computed in this way, by `get_ende_bleu.sh` of tensor2tensor. They are not comparable with
those of sacreBLEU: one output of tensor2tensor has 29.0 by the script and 27.5 by sacreBLEU.
"""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from translate.evaluation.scores import Score, check_counts
from translate.optional import optional_package

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = "not comparable with sacreBLEU"

_COMPOUND = re.compile(r"(\S)-(\S)")


def paper_bleu(hypotheses: Sequence[str], references: Sequence[str], target: str) -> Score:
    """Return tokenised, compound-split BLEU as in the paper.

    Args:
        hypotheses, references: detokenised texts in the same order.
        target: language code, which chooses the abbreviations of the tokeniser.

    Raises UserError if sacremoses is missing, if there is nothing to score or if the counts differ.
    """
    check_counts(hypotheses, references)
    moses = optional_package("sacremoses", "paper")
    from sacrebleu import BLEU

    tokenised = _tokeniser(moses, target)
    # Like multi-bleu.perl: words are what stands between spaces, and nothing is smoothed.
    bleu = BLEU(tokenize="none", smooth_method="none", force=True)
    result = bleu.corpus_score([tokenised(line) for line in hypotheses], [[tokenised(line) for line in references]])
    signature = f"tok:moses-{target}|compounds:split|case:mixed|smooth:none|sacremoses:{version('sacremoses')}|{NOTE}"
    return Score(float(result.score), signature)


def split_compounds(tokenised: str) -> str:
    """Return a tokenised line with hyphens inside words as words of their own."""
    return _COMPOUND.sub(r"\1 ##AT##-##AT## \2", tokenised)


def _tokeniser(moses: object, target: str) -> "Callable[[str], str]":
    """The steps of the script: ASCII punctuation, Moses tokens, split compounds."""
    normalizer = moses.MosesPunctNormalizer(lang=target)  # type: ignore[attr-defined]
    tokenizer = moses.MosesTokenizer(lang=target)  # type: ignore[attr-defined]

    def tokenised(line: str) -> str:
        words = tokenizer.tokenize(normalizer.replace_unicode_punct(line), return_str=True)
        return split_compounds(words)

    return tokenised
