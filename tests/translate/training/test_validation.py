"""Validation reads text as training does, and within the same limits."""

import pytest
import torch

from tests.translate.training.test_faults import LONG, SHORT, write_pairs
from tests.translate.training.test_loop import metrics
from tests.translate.training.test_oom_splitter import OUT_OF_MEMORY
from transformer.model import Transformer
from translate.corpus.prepare import Prepared
from translate.errors import UserError
from translate.training.train import preflight
from translate.training.update import read_stats
from translate.training.validation import encode

KEPT = [
    ("siehe https://a.example/b und rot", "see https://a.example/b and red"),
    ("rot an hund@b.example", "red to hund@b.example"),
]


def fail_above(model: Transformer, n_sentences: int) -> list[int]:
    """Let forward passes over more sentences run out of memory; return the list of the sizes that were tried."""
    tried: list[int] = []

    def watch(layer: torch.nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        tried.append(len(output))
        if len(output) > n_sentences:
            raise OUT_OF_MEMORY[1]

    model.encoder[0].register_forward_hook(watch)
    return tried


def test_validation_pairs_have_the_tokens_that_they_have_in_training(toy):
    """With placeholders on both sides, which `prepare` substitutes in training pairs."""
    toy.settings["tokenizer"] = {"vocab_size": 330, "placeholders": 4}
    with (toy.folder / "train.de").open("a") as german, (toy.folder / "train.en").open("a") as english:
        for source, target in KEPT:
            german.write(source + "\n")
            english.write(target + "\n")
    prepared: Prepared = toy.trainer("run", max_tokens=60).parts.prepared
    trained = {(tuple(prepared.train.src(i)), tuple(prepared.train.tgt(i))) for i in range(prepared.train.n_pairs)}
    pairs = encode(KEPT, prepared.tokenizer)
    for i in range(len(KEPT)):
        assert (tuple(pairs.src(i)), tuple(pairs.tgt(i))) in trained


def test_the_loss_of_a_trained_pair_is_that_of_training(toy):
    """A set to validate on that is the set to train on has the loss of training without dropout and smoothing."""
    toy.settings["tokenizer"] = {"vocab_size": 300, "placeholders": 4}
    toy.settings["cleaning"] = {"test_overlap": False}
    toy.settings["model"] |= {"dropout": 0.0}
    for name in ("train", "valid"):
        write_pairs(toy, name, KEPT)
    trainer = toy.trainer("run", max_tokens=60, label_smoothing=0.0, valid_every=1, max_steps=1, batch_tokens=999)
    batch = trainer.parts.feed.largest(0)
    assert len(batch.src) == len(KEPT)
    expected = read_stats([trainer.parts.updater.step([batch], lr=0.0)])[0].nll
    assert trainer.parts.validator.scores(trainer.model).nll == pytest.approx(expected, rel=1e-5)


def test_long_validation_pairs_are_skipped_and_counted(toy):
    write_pairs(toy, "valid", [LONG, SHORT[0]])
    seen = []
    score = lambda model, pairs: seen.append(pairs) or 1.0  # noqa: E731
    trainer = toy.trainer("run", score_bleu=score, max_steps=2, valid_every=1, valid_bleu_sentences=5)
    trainer.train()
    assert list(map(tuple, seen[0])) == [SHORT[0]]
    (warning,) = (line for line in metrics(toy.folder / "run", "warning") if line["about"] == "validation too long")
    assert warning["message"].startswith("1 of 2 validation pairs are longer than training.max_tokens = 20 tokens")


def test_a_validation_set_of_long_pairs_alone_is_refused(toy):
    write_pairs(toy, "valid", [LONG])
    with pytest.raises(UserError, match=r"no sentence pair of data.valid has at most training.max_tokens = 20"):
        toy.trainer("run")


def test_validation_batches_that_do_not_fit_are_halved_with_the_same_scores(toy):
    whole = toy.trainer("whole", batch_tokens=999)
    expected = whole.parts.validator.scores(whole.model.eval())
    small = toy.trainer("small", batch_tokens=999)
    tried = fail_above(small.model, 2)
    scores = small.parts.validator.scores(small.model)
    assert max(tried) > 2
    assert small.parts.updater.splitter.n_splits > 0
    assert scores.nll == pytest.approx(expected.nll, rel=1e-6)
    assert scores.source_gain == pytest.approx(expected.source_gain, abs=1e-5)


def test_a_validation_batch_that_does_not_fit_is_found_before_the_first_update(toy):
    """It is larger than every training batch; of smaller ones it is known that they fit."""
    toy.settings["cleaning"] = {"test_overlap": False}
    for side in ("de", "en"):
        lines = (toy.folder / f"train.{side}").read_text().splitlines(keepends=True)
        (toy.folder / f"valid.{side}").write_text("".join(lines))
        (toy.folder / f"train.{side}").write_text("".join(lines[:30]))
    trainer = toy.trainer("run", batch_tokens=999)
    largest = max(trainer.parts.validator.batches, key=lambda batch: batch.n_positions)
    n = len(largest.src)
    assert largest.n_positions > trainer.parts.feed.largest(0).n_positions
    assert n > len(trainer.parts.feed.largest(0).src)
    hook = trainer.model.decoder[0].register_forward_hook(
        lambda layer, inputs, output: (
            (_ for _ in ()).throw(MemoryError) if not layer.training and len(output) >= n else None
        )
    )
    preflight(trainer.state, trainer.parts)
    assert trainer.parts.updater.splitter.n_splits > 0
    hook.remove()
    trainer.train()


def test_a_validation_batch_that_is_no_larger_than_a_training_batch_is_not_tried_in_advance(toy):
    trainer = toy.trainer("run", batch_tokens=999)
    assert trainer.parts.feed.largest(0).n_positions >= max(b.n_positions for b in trainer.parts.validator.batches)
    tried = fail_above(trainer.model.eval(), 0)
    trainer.parts.validator.warm_up(trainer.model, beyond=trainer.parts.feed.largest(0).n_positions)
    assert not tried


def test_ids_of_the_validation_set_stay_in_order(toy):
    """Skipping long pairs must not mix up sources and targets."""
    pairs = [SHORT[0], LONG, ("katze", "cat"), LONG, ("haus und haus", "house and house")]
    write_pairs(toy, "valid", pairs)
    trainer = toy.trainer("run")
    decode = trainer.parts.prepared.tokenizer.decode
    found = set()
    for batch in trainer.parts.validator.batches:
        for src, tgt in zip(batch.src.tolist(), batch.tgt_out.tolist(), strict=True):
            found.add((decode(src), decode(tgt)))
    assert found == {SHORT[0], ("katze", "cat"), ("haus und haus", "house and house")}
