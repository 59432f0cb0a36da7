"""The feed yields each sentence once an epoch, with its normal or sampled pieces."""

from collections import Counter

from translate.corpus.batches import Position


def epoch(trainer, n):
    """The rows of one epoch, without padding, by source text."""
    stream = trainer.feed.updates(Position(n, 0))
    rows = []
    for _ in trainer.feed.sampler.batches(n):
        for batch in next(stream)[0]:
            rows += zip(batch.src.tolist(), batch.tgt_out.tolist(), strict=True)
    rows = [tuple(tuple(id for id in side if id) for side in row) for row in rows]
    decode = trainer.prepared.tokenizer.decode
    return {(decode(src), decode(tgt)): (src, tgt) for src, tgt in rows}, Counter(len(src + tgt) for src, tgt in rows)


def test_subword_dropout_changes_pieces_in_every_epoch_but_no_text(toy):
    plain, _ = epoch(toy.trainer("plain"), 0)
    trainer = toy.trainer("dropped", subword_dropout=0.5)
    (first, lengths), (second, _) = epoch(trainer, 0), epoch(trainer, 1)
    assert plain.keys() == first.keys() == second.keys()
    assert max(lengths) <= 2 * 20
    for epochs in ((plain, first), (plain, second), (first, second)):
        changed = sum(epochs[0][pair] != epochs[1][pair] for pair in plain)
        assert changed > len(plain) / 2


def test_the_same_position_has_the_same_batches(toy):
    trainer = toy.trainer("run", subword_dropout=0.5)
    a, b = (next(trainer.feed.updates(Position(3, 1)))[0][0] for _ in range(2))
    assert a.src.equal(b.src)
    assert a.tgt_out.equal(b.tgt_out)
