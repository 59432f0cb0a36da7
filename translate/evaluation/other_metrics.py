"""Scores that sacreBLEU does not compute: the BLEU of the paper, and COMET.

The paper's BLEU counts words of the Moses tokeniser, with compounds split at hyphens. The scores of table 2 were
computed in this way, by `get_ende_bleu.sh` of tensor2tensor. They are not comparable with those of sacreBLEU: one
output of tensor2tensor has 29.0 by the script and 27.5 by sacreBLEU.

COMET is computed by a program of the user, because its package does not share an environment with other versions of
PyTorch.
"""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from translate.errors import UserError, optional_package
from translate.evaluation.scores import Score, check_counts
from translate.files import write_text
from translate.text.languages import without_region

NOTE = "not comparable with sacreBLEU"

_COMPOUND = re.compile(r"(\S)-(\S)")
_SCORE = re.compile(r"score:\s*(-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)


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

    language = without_region(target)  # for de-AT Moses would take the abbreviations of English
    tokenised = _tokeniser(moses, language)
    # Like multi-bleu.perl: words are what stands between spaces, and nothing is smoothed.
    bleu = BLEU(tokenize="none", smooth_method="none", force=True)
    result = bleu.corpus_score([tokenised(line) for line in hypotheses], [[tokenised(line) for line in references]])
    signature = f"tok:moses-{language}|compounds:split|case:mixed|smooth:none|sacremoses:{version('sacremoses')}|{NOTE}"
    return Score(float(result.score), signature)


def split_compounds(tokenised: str) -> str:
    """Return a tokenised line with hyphens inside words as words of their own."""
    return _COMPOUND.sub(r"\1 ##AT##-##AT## \2", tokenised)


def _tokeniser(moses: object, target: str) -> Callable[[str], str]:
    """The steps of the script: ASCII punctuation, Moses tokens, split compounds."""
    normalizer = moses.MosesPunctNormalizer(lang=target)  # type: ignore[attr-defined]
    tokenizer = moses.MosesTokenizer(lang=target)  # type: ignore[attr-defined]

    def tokenised(line: str) -> str:
        words = tokenizer.tokenize(normalizer.replace_unicode_punct(line), return_str=True)
        return split_compounds(words)

    return tokenised


def comet(command: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Return the score that `comet-score` reports for a system.

    Args:
        command: the program with its options, such as "/opt/comet/bin/comet-score --gpus 0"; the files and
            `--only_system --quiet` are appended.
        sources, hypotheses, references: texts in the same order.

    Raises UserError if the counts differ, or if the program cannot be run, fails or reports no score.
    """
    check_counts(hypotheses, references)
    if len(sources) != len(references):
        raise UserError(
            f"{len(sources)} sources but {len(references)} references: line n of one must belong to the other"
        )
    with tempfile.TemporaryDirectory() as place:
        files = {"-s": sources, "-t": hypotheses, "-r": references}
        arguments = program(command)
        for option, lines in files.items():
            path = Path(place) / f"{option[1]}.txt"
            # A line break inside a sentence would shift all lines after it.
            write_text(path, "".join(f"{' '.join(line.splitlines())}\n" for line in lines))
            arguments += [option, str(path)]
        try:
            arguments += ["--only_system", "--quiet"]
            done = subprocess.run(arguments, capture_output=True, encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"--comet {command}: cannot be run: {error.strerror or error}") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"--comet {command}: ended with exit code {done.returncode}: {reason}; run it alone to see why")
    found = _SCORE.findall(done.stdout)
    if not found:
        raise UserError(f"--comet {command}: printed no score; name comet-score or a program with its options")
    return Score(float(found[-1]), f"command:{command}")


def program(command: str) -> list[str]:
    """Return the program and its options; UserError if there is no such program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--comet {command}: cannot be read as a command: {error}") from error
    if not words:
        raise UserError("--comet: cannot be read as a command; name comet-score or a program with its options")
    if shutil.which(words[0]) is None:
        raise UserError(f"--comet {command}: cannot be run: no such program; name comet-score by its path")
    return words
