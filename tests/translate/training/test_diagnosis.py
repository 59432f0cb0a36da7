"""When a run gets a warning, and when it does not."""

import itertools
import json

import numpy as np
import pytest
import torch

from tests.toys import TINY, toy_model
from translate.corpus.batches import collate
from translate.corpus.prepare import EncodedPairs
from translate.training import validation
from translate.training.reporting import LEAST_GAIN, source_warning, unknown_warning
from translate.training.validation import mean_nll, with_exchanged_sources


def warnings_of(folder):
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == "warning"]


def make(pairs, index):
    return collate(pairs, index, pad=TINY.pad, bos=TINY.bos, eos=TINY.eos)


def gain_of(pairs, model):
    wrong, right = with_exchanged_sources(pairs, np.arange(pairs.n_pairs), 50, make)
    return mean_nll(model, wrong, torch.float32) - mean_nll(model, right, torch.float32)


def test_a_model_that_cannot_see_its_source_has_a_gain_of_exactly_zero():
    pairs = EncodedPairs.of([[3 + i] * (1 + i % 3) for i in range(11)], [[4 + i, 5] for i in range(11)])
    model = toy_model()
    assert abs(gain_of(pairs, model)) > 1e-4
    with torch.no_grad():
        for layer in model.decoder:
            for parameter in layer.cross_attn.parameters():
                parameter.zero_()
    assert gain_of(pairs, model) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("n_most", "chosen"), [(9, [0, 1, 2, 3, 4]), (3, [0, 2, 4])])
def test_the_gain_is_the_loss_with_the_sources_of_neighbours_minus_that_with_their_own(monkeypatch, n_most, chosen):
    monkeypatch.setattr(validation, "SAMPLE", n_most)
    model, src, tgt = toy_model(), [[3 + i] * (1 + i % 3) for i in range(5)], [[4 + i, 5] for i in range(5)]

    def loss(sources):
        pairs = EncodedPairs.of([src[i] for i in sources], [tgt[i] for i in chosen])
        return mean_nll(model, [make(pairs, np.arange(len(chosen)))], torch.float32)

    expected = loss([chosen[-1], *chosen[:-1]]) - loss(chosen)
    assert abs(expected) > 1e-4
    assert gain_of(EncodedPairs.of(src, tgt), model) == pytest.approx(expected, abs=1e-6)


def test_the_gain_is_undefined_if_all_sources_are_equal():
    for pairs in (EncodedPairs.of([[5, 6]] * 3, [[7], [8], [9, 9]]), EncodedPairs.of([[5, 6]], [[7]])):
        assert with_exchanged_sources(pairs, np.arange(pairs.n_pairs), 50, make) is None


def test_the_warning_is_given_only_after_enough_steps():
    assert source_warning(0.0, step=400, warmup_steps=5, last_step=900) is None
    assert source_warning(0.0, step=900, warmup_steps=500, last_step=1000) is None
    assert source_warning(None, step=900, warmup_steps=5, last_step=900) is None
    assert source_warning(2 * LEAST_GAIN, step=900, warmup_steps=5, last_step=900) is None
    for step, warmup in ((500, 5), (1000, 500), (1200, 5000)):
        assert "ignores its source" in source_warning(0.0, step=step, warmup_steps=warmup, last_step=1200)


def test_training_on_shuffled_pairs_gets_a_warning_and_normal_training_does_not(toy):
    toy.settings["model"]["n_decoder_layers"] = 2  # one is too slow to learn what it reads
    settings = {"max_steps": 90, "valid_every": 30, "lr": 0.03}
    toy.trainer("good", **settings).train()
    lines = (toy.folder / "good/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    gains = [record["source_gain"] for record in map(json.loads, lines) if record["kind"] == "valid"]
    assert gains[-1] > 5 * LEAST_GAIN
    assert not warnings_of(toy.folder / "good")

    english = [" ".join(words) for words in itertools.product(("red", "dog", "and"), repeat=3)]
    (toy.folder / "train.de").write_text("".join(f"{s}\n" for s in ["rot", "hund"] * 300), encoding="utf-8")
    (toy.folder / "train.en").write_text("".join(f"{s}\n" for s in (english * 23)[:600]), encoding="utf-8")
    toy.settings["cleaning"] = {"duplicates": False, "max_ratio": 99.0}
    toy.settings["tokenizer"] = {"vocab_size": 290}
    toy.trainer("bad", **settings).train()
    # The validation pairs are not shuffled, so the loss may also be no better than random guessing.
    about = [record["about"] for record in warnings_of(toy.folder / "bad") if record["about"] != "divergence"]
    assert about == ["source ignored"]
    assert sum("ignores its source" in line for line in toy.said) == 1


def test_unknown_tokens_are_counted_and_an_example_is_shown():
    pairs = EncodedPairs.of([[5]] * 5, [[5, 6], [7, 0], [8], [0, 0], [9]])
    assert "2 of 5 references of the training set, first in pair 2," in unknown_warning("training", pairs, unk=0)
    assert unknown_warning("training", pairs, unk=11) is None


def test_references_with_unknown_tokens_are_named_once_in_a_run(toy):
    toy.settings["tokenizer"] = {"vocab_size": 40, "byte_fallback": False}
    with (toy.folder / "valid.de").open("a", encoding="utf-8") as german:
        german.write("rot hund\n")
    with (toy.folder / "valid.en").open("a", encoding="utf-8") as english:
        english.write("red 犬\n")
    n = len((toy.folder / "valid.en").read_text(encoding="utf-8").splitlines())
    toy.trainer("run", max_steps=8).train()
    toy.trainer("run", max_steps=12, resume=True).train()
    (record,) = (r for r in warnings_of(toy.folder / "run") if r["about"] == "unknown validation")
    assert f"1 of {n} references of the validation set, first in pair {n}," in record["message"]
    assert sum("<unk> stands in" in line for line in toy.said) == 1
