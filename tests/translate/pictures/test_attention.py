"""Grids of attention weights, and the interactive HTML page."""

import json
import re
from dataclasses import replace

import pytest
import torch

from transformer.search.model_step import source_batch, target_batch
from translate.errors import UserError
from translate.models.folder import ModelFolder
from translate.pictures.attention import AttentionPicture, View, attention_picture

SENTENCE = "der Hund schläft."


@pytest.mark.parametrize("part", ["cross", "encoder", "decoder"])
def test_every_token_has_a_row_and_the_weights_of_a_row_sum_to_one(parts: ModelFolder, part: str) -> None:
    picture = attention_picture(parts, SENTENCE, View(part=part))
    n_layers = 1 if part == "encoder" else 2
    assert picture.weights.shape == (n_layers, 2, len(picture.queries), len(picture.keys))
    torch.testing.assert_close(picture.weights.sum(dim=-1), torch.ones(picture.weights.shape[:-1]))


def test_cross_attention_is_that_of_the_model_for_its_translation(parts: ModelFolder) -> None:
    picture = attention_picture(parts, SENTENCE, View())
    ids = parts.tokenizer.ids
    maps = parts.model.attention_maps(
        source_batch(parts.model, [ids(picture.keys[:-1])]), target_batch(parts.model, [ids(picture.queries[:-1])])
    )
    torch.testing.assert_close(picture.weights, torch.cat(maps.cross).detach())
    assert parts.tokenizer.decode(ids(picture.keys)) == SENTENCE


def picture_of(view: View, width: int | None = None) -> AttentionPicture:
    """Attention of three layers and two heads, with two queries and three keys; all weights differ."""
    weights = torch.arange(36.0).view(3, 2, 2, 3).softmax(dim=-1)
    weights += torch.arange(36.0).view(3, 2, 2, 3) / 100
    return AttentionPicture("title", ["\u2581a", "b"], ["\u2581lang", ",", "\u2581\u00fc"], weights, view, width)


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_the_sharpest_layer_and_the_mean_of_its_heads_are_the_default(layer: int) -> None:
    """In `picture_of` the last layer has the highest weights; here it takes each place."""
    picture = replace(picture_of(View()), weights=picture_of(View()).weights.roll(layer, dims=0))
    ((name, weights),) = picture.panels()
    assert name == f"layer {layer} of 3, mean of 2 heads"
    torch.testing.assert_close(weights, picture.weights[layer - 1].mean(dim=0))


def test_layers_and_heads_count_from_one() -> None:
    picture = picture_of(View(layer=3, head=1))
    ((_, weights),) = picture.panels()
    torch.testing.assert_close(weights, picture.weights[2, 0])
    assert len(list(picture_of(View(every_head=True)).panels())) == 6


@pytest.mark.parametrize(
    ("view", "said"), [(View(layer=4), "--layer 4: .*3 layers"), (View(head=3), "--head 3: .*2 heads")]
)
def test_a_layer_or_head_that_does_not_exist_is_refused(view: View, said: str) -> None:
    with pytest.raises(UserError, match=said):
        picture_of(view)


def test_a_grid_that_is_wider_than_the_terminal_is_refused() -> None:
    assert picture_of(View(), width=11).text()
    with pytest.raises(UserError, match="needs 11 columns, but the terminal has 10; .*--out"):
        picture_of(View(), width=10).text()


def test_the_page_holds_all_weights_and_loads_nothing() -> None:
    picture = picture_of(View(layer=3, head=2))
    page = picture.page()
    assert not re.findall(r"(?:src|href)=|@import|url\(|https?:", page)
    data = json.loads(re.search(r"const data = (.*);\n", page)[1])  # type: ignore[index]
    assert (data["layer"], data["head"], data["heads"]) == (2, 2, ["mean", "1", "2"])
    assert (data["source"], data["target"]) == ([" lang", ",", " \u00fc"], [" a", "b"])
    found = torch.tensor(data["weights"])
    torch.testing.assert_close(found[:, 1:], picture.weights, atol=1e-4, rtol=0)
    torch.testing.assert_close(found[:, 0], picture.weights.mean(dim=1), atol=1e-4, rtol=0)


def test_text_of_a_sentence_cannot_close_the_script_of_its_page() -> None:
    picture = AttentionPicture("<b>", ["</script><b>"], ["&"], torch.ones(1, 1, 1, 1), View())
    assert picture.page().count("</script>") == 1
    assert "<b>" not in picture.page()
