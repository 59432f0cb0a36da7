"""A batch whose finished sentences leave in groups.

Every batch size has its own compiled and tuned kernels in the math library, so the batch does not shrink with every
finished sentence: its sizes are 5 to 8 times a power of two, and finished sentences pad it to the next of these.
"""


class ShrinkingBatch:
    """Maps the rows of a batch to sentences and tracks which rows are still active.

    Attributes:
        sentences: index of the sentence in each row.
        active: rows whose sentence is not finished; the caller removes finished ones.
    """

    def __init__(self, n_sentences: int) -> None:
        self.sentences = list(range(n_sentences))
        self.active = set(self.sentences)

    def shrink(self) -> list[int]:
        """Drop finished rows if a smaller size holds all active ones; return the old index of each remaining row."""
        n = _padded_size(len(self.active))
        rows = list(range(len(self.sentences)))
        if not self.active or n >= len(rows):
            return rows
        # Active rows beyond the new end replace finished ones, so that most rows stay in place.
        kept = rows[:n]
        finished = [row for row in kept if row not in self.active]
        for place, row in zip(finished, sorted(self.active - set(kept)), strict=False):
            kept[place] = row
        self.active = {new for new, old in enumerate(kept) if old in self.active}
        self.sentences = [self.sentences[row] for row in kept]
        return kept


def _padded_size(n: int) -> int:
    """Return the smallest m * 2^k >= n with m <= 8."""
    shift = max(0, (n - 1).bit_length() - 3)
    return -(-n >> shift) << shift
