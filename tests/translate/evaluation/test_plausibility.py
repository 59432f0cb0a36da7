"""Text that the metrics cannot score sensibly is refused in one sentence."""

import pytest

from translate.errors import UserError
from translate.evaluation.scores import check_hypotheses

REFERENCES = [f"The House number {i} is in Berlin." for i in range(7)]


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("\u2581The \u2581Ho use \u2581is", "SentencePiece"),
        ("The Ho@@ use is", "BPE"),
        ("The House i@@", "BPE"),
        ("The Ho ##use is", "WordPiece"),
        ("The Ho \uffeduse is", "OpenNMT"),
    ],
)
def test_subwords_are_refused_with_the_line(line: str, tool: str) -> None:
    hypotheses = [*REFERENCES[:4], line, *REFERENCES[5:]]
    with pytest.raises(UserError, match=f"out.txt, line 5: still holds subwords, with marks of {tool}"):
        check_hypotheses("out.txt", hypotheses, REFERENCES)
    check_hypotheses("out.txt", hypotheses, [*REFERENCES[:4], line, *REFERENCES[5:]])


@pytest.mark.parametrize("line", ["Mail to a@b.de, or @@ and # 5", "C## is no language", "A@@b"])
def test_other_uses_of_subword_marks_are_accepted(line: str) -> None:
    check_hypotheses("out.txt", [line] * 7, REFERENCES)


def test_lower_cased_output_is_refused_unless_asked() -> None:
    lower = [line.lower() for line in REFERENCES]
    with pytest.raises(UserError, match="out.txt: has no capital letter, but 7 references have.*--ignore-case"):
        check_hypotheses("out.txt", lower, REFERENCES)
    check_hypotheses("out.txt", lower, REFERENCES, ignore_case=True)
    check_hypotheses("out.txt", lower, lower)
    check_hypotheses("out.txt", [*lower[1:], "One"], REFERENCES)


def test_little_evidence_is_not_taken_for_lower_case() -> None:
    check_hypotheses("out.txt", ["1 2 3", "", "\u4e2d\u56fd", "", "", "", ""], REFERENCES)
    check_hypotheses("out.txt", ["one"] * 7, ["One", *["two"] * 6])


def test_unequal_counts_name_the_system_and_both_counts() -> None:
    with pytest.raises(UserError, match="out.txt: has 5 lines, but the references have 7"):
        check_hypotheses("out.txt", REFERENCES[:5], REFERENCES)
