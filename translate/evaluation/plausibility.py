"""Checks that hypotheses are text of the kind that the metrics expect: whole words, cased like the references."""

import re
from collections.abc import Sequence

from translate.errors import UserError

# Marks of subwords by the tool that writes them, as they stand in a line.
SUBWORDS = {
    "SentencePiece": re.compile("\u2581"),
    "BPE": re.compile(r"\S@@(?=\s|$)"),
    "WordPiece": re.compile(r"(?<=\s)##\w"),
    "OpenNMT": re.compile("\uffed"),
}
MIN_CASED = 5  # references with a capital letter below which a lack of capitals proves nothing


def check_hypotheses(
    name: str, hypotheses: Sequence[str], references: Sequence[str], *, ignore_case: bool = False
) -> None:
    """Raise UserError if the scores of these hypotheses would mislead.

    That is the case if the numbers of lines differ, if the hypotheses but not the references contain marks of
    subwords, or if only the references contain capital letters.

    Args:
        name: of the system, for the message.
        hypotheses, references: line n of one belongs to line n of the other.
        ignore_case: allow hypotheses without capitals.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{name}: has {len(hypotheses)} lines, but the references have {len(references)}; line n of one must "
            "belong to line n of the other"
        )
    _check_subwords(name, hypotheses, references)
    n_cased = sum(line != line.lower() for line in references)
    lower_cased = all(line == line.lower() for line in hypotheses) and any(map(_has_case, hypotheses))
    if lower_cased and n_cased >= MIN_CASED and not ignore_case:
        raise UserError(
            f"{name}: has no capital letter, but {n_cased} references have; restore the case, or compare in lower case "
            "with --ignore-case"
        )


def _check_subwords(name: str, hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for tool, mark in SUBWORDS.items():
        n = next((n for n, line in enumerate(hypotheses, start=1) if mark.search(line)), None)
        if n is not None and not any(map(mark.search, references)):
            raise UserError(
                f"{name}, line {n}: still holds subwords, with marks of {tool}; join them to words before scoring"
            )


def _has_case(line: str) -> bool:
    return line != line.upper()
