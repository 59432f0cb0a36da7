"""Nearest words and analogies in an embedding with known neighbours; drawings of positions."""

import copy
from dataclasses import replace

import pytest
import torch

from translate.errors import UserError
from translate.models.folder import ModelFolder
from translate.pictures.embeddings import WordSpace, analogy_picture, neighbours_picture, positions_picture


@pytest.fixture
def planted(parts: ModelFolder) -> ModelFolder:
    """A model whose embedding has house next to Haus and lake next to Garten."""
    model = copy.deepcopy(parts.model)
    weight = model.tgt_embedding.weight_VD.data
    for word, like in (("house", "Haus"), ("lake", "Garten")):
        (i,), (j,) = parts.tokenizer.encode(word), parts.tokenizer.encode(like)
        weight[i] = weight[j] + 0.01
    return replace(parts, model=model)


@pytest.mark.parametrize(("word", "nearest"), [("Haus", "house"), ("house", "Haus"), (" lake ", "Garten")])
def test_the_nearest_word_comes_first_and_never_the_word_itself(planted: ModelFolder, word: str, nearest: str) -> None:
    picture = neighbours_picture(planted, word)
    names, similarities = zip(*picture.words, strict=True)
    assert names[0] == nearest
    assert word.strip() not in names
    assert list(similarities) == sorted(similarities, reverse=True)
    assert max(similarities) <= 1.0001


def test_an_analogy_adds_a_difference(planted: ModelFolder) -> None:
    picture = analogy_picture(planted, ("Haus", "Garten", "house"))
    assert picture.title == "Haus is to Garten as house is to"
    assert picture.words[0][0] == "lake"


def test_only_whole_words_are_offered(planted: ModelFolder) -> None:
    space = WordSpace(planted)
    offered = space.nearest(torch.randn(14), [], n=1000)
    assert 5 < len(offered) == int(space.is_word.sum())
    assert all(word.isalpha() and len(planted.tokenizer.encode(word)) == 1 for word, _ in offered)


def test_a_word_of_several_tokens_is_refused(planted: ModelFolder) -> None:
    with pytest.raises(UserError, match=r"'Gartenhaus': is not one token of the model's vocabulary \(.*\)"):
        neighbours_picture(planted, "Gartenhaus")


def test_a_vocabulary_without_another_word_is_an_error(planted: ModelFolder) -> None:
    """One of single characters, for example."""
    with pytest.raises(UserError, match="the model's vocabulary has no other whole word"):
        WordSpace(planted).nearest(torch.randn(14), range(planted.tokenizer.vocab_size))


def test_positions_are_those_of_the_model(parts: ModelFolder) -> None:
    picture = positions_picture(parts)
    torch.testing.assert_close(picture.encodings, parts.model.src_positions(0, 61))
    assert len(picture.text().splitlines()) == 26
