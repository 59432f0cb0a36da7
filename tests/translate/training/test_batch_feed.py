"""The feed yields each sentence once an epoch, with its normal or sampled pieces."""

import itertools
import threading
import time
from collections import Counter

import pytest

from translate.corpus.batches import AHEAD, Position, prefetched


def epoch(trainer, n):
    """The rows of one epoch, without padding, by source text."""
    stream = trainer.parts.feed.updates(Position(n, 0))
    rows = []
    for _ in trainer.parts.feed.sampler.batches(n):
        for batch in next(stream)[0]:
            rows += zip(batch.src.tolist(), batch.tgt_out.tolist(), strict=True)
    rows = [tuple(tuple(id for id in side if id) for side in row) for row in rows]
    decode = trainer.parts.prepared.tokenizer.decode
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


def test_prefetched_items_keep_their_order_and_are_bounded():
    made = []

    def items():
        for i in itertools.count():
            made.append(i)
            yield i

    stream = prefetched(items(), AHEAD)
    for i in range(20):
        assert next(stream) == i
        time.sleep(0.001)
        assert len(made) <= i + AHEAD + 2  # those in the queue, and one that waits for room
    stream.close()
    assert not any(thread.name.startswith("batches") and thread.is_alive() for thread in threading.enumerate())
    n = len(made)
    time.sleep(0.05)
    assert len(made) == n, "the thread has ended"


def test_the_end_and_an_error_come_at_their_places():
    assert list(prefetched(iter(range(5)), 2)) == [0, 1, 2, 3, 4]

    def failing():
        yield 1
        raise OSError("gone")

    stream = prefetched(failing(), 2)
    assert next(stream) == 1
    with pytest.raises(OSError, match="gone"):
        next(stream)


def test_prefetching_changes_no_batch(toy):
    trainer = toy.trainer("run", subword_dropout=0.3, accumulate=2)
    feed, start = trainer.parts.feed, Position(1, 2)
    pairs = zip(prefetched(feed.updates(start)), feed.updates(start), strict=False)
    for (ahead, position), (plain, expected) in itertools.islice(pairs, 9):
        assert position == expected
        for a, b in zip(ahead, plain, strict=True):
            assert a.src.equal(b.src)
            assert a.tgt_out.equal(b.tgt_out)
