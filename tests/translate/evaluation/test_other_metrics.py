"""COMET is run as an external program; the paper's BLEU splits compounds and is labelled as not comparable."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import sacrebleu

from translate.errors import UserError
from translate.evaluation.other_metrics import comet, paper_bleu, split_compounds

FAKE = """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=1)
parser.add_argument("-s"); parser.add_argument("-t"); parser.add_argument("-r")
parser.add_argument("--only_system", action="store_true"); parser.add_argument("--quiet", action="store_true")
args = parser.parse_args()
source, output, reference = (open(path, encoding="utf-8").read().split("\\n")[:-1] for path in (args.s, args.t, args.r))
assert len(source) == len(output) == len(reference), "lines"
assert args.only_system
same = sum(a == b for a, b in zip(output, reference))
sys.stdout.buffer.write(b"Downloading \\xff 1 of 1\\n"); sys.stdout.flush()
print(f"{args.t}\\tscore: {same / len(output) - args.gpus:.4f}")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "fake comet.py").write_text(FAKE, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'fake comet.py'))}"


def test_the_score_is_that_of_the_program_with_its_options(program: str) -> None:
    score = comet(f"{program} --gpus 0", ["eins", "zwei\u2028drei", ""], ["one", "two", "x"], ["one", "2", "x"])
    assert score.value == 0.6667
    assert score.signature == f"command:{program} --gpus 0"
    assert comet(program, ["eins"], ["one"], ["two"]).value == -1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/no/such/program", "cannot be run"),
        (f"{shlex.quote(sys.executable)} -c 'raise SystemExit(\"no GPU\")'", "exit code 1: no GPU"),
        (f"{shlex.quote(sys.executable)} -c 'print(5)'", "printed no score"),
        ("unclosed 'quote", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_failing_program_gives_a_one_sentence_error(command: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        comet(command, ["a"], ["b"], ["c"])
    assert "\n" not in str(caught.value)


NEEDS_MOSES = pytest.mark.skipif(find_spec("sacremoses") is None, reason="needs sacremoses")

REFERENCES = ["Das Rich-Text-Format ist alt.", "Er sagte: \u201eDas ist gut\u201c, z.B. heute."]


@NEEDS_MOSES
def test_compounds_are_split_as_by_the_script_of_tensor2tensor() -> None:
    assert split_compounds("ein rich-text format - neu") == "ein rich ##AT##-##AT## text format - neu"
    assert split_compounds("a-b-c") == "a ##AT##-##AT## b-c", "perl continues behind the match, and so must this"


@NEEDS_MOSES
def test_a_perfect_translation_scores_100() -> None:
    assert paper_bleu(REFERENCES, REFERENCES, "de").value == pytest.approx(100)


@NEEDS_MOSES
@pytest.mark.parametrize("target", ["de-AT", "de_DE"])
def test_a_region_does_not_change_the_score(target: str) -> None:
    """In German, unlike English, the full stop of an ordinal number belongs to its word."""
    output, references = ["Am 5. Mai kommt er bzw. sie.", "Ja."], ["Am 7. Mai kommt er bzw. sie.", "Ja."]
    assert paper_bleu(output, references, target) == paper_bleu(output, references, "de")
    assert paper_bleu(output, references, "de").value != paper_bleu(output, references, "en").value


@NEEDS_MOSES
def test_a_part_of_a_compound_counts_as_a_word() -> None:
    """sacreBLEU treats the compound as one word, which is then wrong as a whole."""
    output = ["Das alte E-Mail-Format hier.", "Das alte Fax-Format hier."]
    expected = ["Das alte Post-Format hier."] * 2
    theirs = sacrebleu.corpus_bleu(output, [expected], tokenize="none", smooth_method="none").score
    assert paper_bleu(output, expected, "de").value != pytest.approx(theirs)


@NEEDS_MOSES
def test_no_match_of_four_words_is_zero_as_in_multi_bleu() -> None:
    assert paper_bleu(["a b c x y z"], ["a b c d e f"], "en").value == 0


@NEEDS_MOSES
def test_the_paper_bleu_is_labelled() -> None:
    signature = paper_bleu(REFERENCES, REFERENCES, "de").signature
    assert "not comparable with sacreBLEU" in signature
    assert "tok:moses-de" in signature
