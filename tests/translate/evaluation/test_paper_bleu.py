"""The paper's BLEU splits compounds after Moses tokenization and is labelled as not comparable."""

import pytest
import sacrebleu

from translate.evaluation.other_metrics import paper_bleu, split_compounds

pytest.importorskip("sacremoses")

REFERENCES = ["Das Rich-Text-Format ist alt.", "Er sagte: \u201eDas ist gut\u201c, z.B. heute."]


def test_compounds_are_split_as_by_the_script_of_tensor2tensor() -> None:
    assert split_compounds("ein rich-text format - neu") == "ein rich ##AT##-##AT## text format - neu"
    assert split_compounds("a-b-c") == "a ##AT##-##AT## b-c", "perl continues behind the match, and so must this"


def test_a_perfect_translation_scores_100() -> None:
    assert paper_bleu(REFERENCES, REFERENCES, "de").value == pytest.approx(100)


def test_a_part_of_a_compound_counts_as_a_word() -> None:
    """sacreBLEU treats the compound as one word, which is then wrong as a whole."""
    output = ["Das alte E-Mail-Format hier.", "Das alte Fax-Format hier."]
    expected = ["Das alte Post-Format hier."] * 2
    theirs = sacrebleu.corpus_bleu(output, [expected], tokenize="none", smooth_method="none").score
    assert paper_bleu(output, expected, "de").value != pytest.approx(theirs)


def test_no_match_of_four_words_is_zero_as_in_multi_bleu() -> None:
    assert paper_bleu(["a b c x y z"], ["a b c d e f"], "en").value == 0


def test_the_paper_bleu_is_labelled() -> None:
    signature = paper_bleu(REFERENCES, REFERENCES, "de").signature
    assert "not comparable with sacreBLEU" in signature
    assert "tok:moses-de" in signature
