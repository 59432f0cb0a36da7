"""The stub translators keep each tag once, and tags nested."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.documents.stubs import MARK, STUBS, Stub, marked, reversed_words, upper
from translate.inference.documents import keeps_tags

WORDS = st.lists(st.sampled_from(["Hund", "Maus.", "<g4/>"]), max_size=3).map(" ".join)
TEXTS = st.recursive(
    WORDS, lambda inner: st.tuples(st.integers(5, 9), inner, WORDS).map(lambda t: f"<g{t[0]}>{t[1]}</g{t[0]}> {t[2]}")
)


@pytest.mark.parametrize("stub", STUBS)
@given(TEXTS)
def test_stubs_keep_tags(stub: Stub, text: str) -> None:
    assert keeps_tags(text, stub(text))


def test_what_the_stubs_do() -> None:
    text = "Der <g1>kleine <g2/> Hund</g1> schläft."
    assert upper(text) == "DER <g1>KLEINE <g2/> HUND</g1> SCHLÄFT."
    assert marked(text) == text + MARK
    assert reversed_words(text) == "schläft. <g1>Hund <g2/> kleine</g1> Der"
    assert reversed_words("<g1>a</g1>b\nc d") == "b<g1>a</g1>\nd c"
