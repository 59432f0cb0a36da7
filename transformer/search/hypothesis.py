"""What a search is asked for, its settings, its results, and how requests are divided into batches.

Imports the standard library only, so that engines other than PyTorch can use these types without importing torch.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

if TYPE_CHECKING:
    from torch import Tensor

LengthRule = Literal["gnmt", "average", "none"]
MAX_ALPHA = 10.0  # larger exponents exhaust the range of floats
LIMIT = 1024  # tokens of a source, eos included, if the model has no lower limit
BATCH_HYPOTHESES = 512  # requests times hypotheses; bounds the matrix of scores, which is as wide as the vocabulary
DECODING = ("beam_size", "alpha", "length_penalty", "max_extra")  # settings of `SearchConfig` that a model brings

_BATCH_TOKENS = 8192  # padded source tokens of one batch; greedy search took 1.2 times as long with half of it
_LEAST_TOKENS = 256  # of a batch that is smaller than possible, so that another worker has one too

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, order=True)
class Request:
    """One source to translate.

    Attributes:
        ids: token ids of the source, without eos.
        max_length: maximum number of tokens of an output, eos included.
        prefix: token ids that every output starts with.
        phrases: token ids of the phrases that every output contains.
    """

    ids: tuple[int, ...]
    max_length: int
    prefix: tuple[int, ...] = ()
    phrases: tuple[tuple[int, ...], ...] = ()

    @property
    def n_phrase_tokens(self) -> int:
        """Number of tokens of all phrases."""
        return sum(map(len, self.phrases))


@dataclass(frozen=True)
class Hypothesis:
    """One finished output.

    Attributes:
        tokens: token ids, without eos.
        log_prob: log P(tokens, eos).
        score: `log_prob` divided by the length penalty, plus `coverage`.
        coverage: the coverage penalty (`transformer.search.coverage`); 0 if it is not used.
    """

    tokens: list[int]
    log_prob: float
    score: float
    coverage: float = 0.0


Ids = tuple[int, ...]
TokenIds = Sequence[Sequence[int]]  # of each sentence, without eos
Hypotheses = list[list[Hypothesis]]  # of each request, best first
Attention = list[list[float]]  # of a pair: a row for each target token, with a weight for each source token


def length_penalty(length: int, alpha: float, rule: LengthRule = "gnmt") -> float:
    """Return the divisor that turns a log-probability into a score; it never decreases with the length.

    Args:
        length: number of tokens, eos included.
        alpha: exponent of "gnmt"; the other rules ignore it.
        rule: "gnmt" is ((5 + length) / 6)^alpha of Wu et al. (2016), which section 6.1 uses; "average" is the length
            (length normalisation); "none" is 1.
    """
    if rule == "gnmt":
        return float(((5 + length) / 6) ** alpha)
    return float(length) if rule == "average" else 1.0


@dataclass(frozen=True)
class Sampling:
    """The distribution to sample from; ValueError if a value is out of range.

    Attributes:
        temperature: divisor of the logits; below 1, probable tokens become more probable.
        top_k: keep only the k most probable tokens (Fan et al., 2018) and ties of the last one; 0 keeps all.
        top_p: keep only the smallest set of most probable tokens with at least this probability (Holtzman et al.,
            2020); applied after `top_k`.
        seed: of the random generators.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature = {self.temperature}: must be above 0")
        if self.top_k < 0:
            raise ValueError(f"top_k = {self.top_k}: must not be negative")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p = {self.top_p}: must be above 0 and at most 1")

    def probabilities(self, log_prob_NV: "Tensor") -> "Tensor":
        """Return the restricted distribution, (N, V) in float64."""
        # A row's maximum becomes 0 and stays so when a tiny temperature makes all other values infinite.
        scaled_NV = (log_prob_NV.double() - log_prob_NV.amax(dim=1, keepdim=True)) / self.temperature
        if 0 < self.top_k < scaled_NV.size(1):
            threshold_N1 = scaled_NV.topk(self.top_k, dim=1).values[:, -1:]
            scaled_NV = scaled_NV.masked_fill(scaled_NV < threshold_N1, float("-inf"))
        prob_NV = scaled_NV.softmax(dim=1)
        if self.top_p == 1:
            return prob_NV
        sorted_NV, index_NV = prob_NV.sort(dim=1, descending=True, stable=True)
        before_NV = sorted_NV.cumsum(dim=1) - sorted_NV
        kept_NV = prob_NV.new_zeros(prob_NV.shape).scatter(
            1, index_NV, sorted_NV.masked_fill(before_NV >= self.top_p, 0.0)
        )
        return kept_NV / kept_NV.sum(dim=1, keepdim=True)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Settings of a search; ValueError if one is out of range. The defaults are those of section 6.1.

    Attributes:
        bos, eos: ids of the tokens that start and end an output. Functions that also receive a model use its ids.
        beam_size: hypotheses per sentence; in constrained search, hypotheses per bank. 1 is greedy search.
        alpha: exponent of the length penalty "gnmt", from 0.
        length_penalty: divisor of the log-probability; see the function of this name.
        max_extra: an output may have this many tokens more than its source, eos included.
        n_best: hypotheses to return per sentence, from 1 to beam_size; fewer if fewer finish. The number of samples.
        no_repeat: no n-gram of this many tokens may occur twice in an output; 0 allows all.
        coverage: weight of the coverage penalty (`transformer.search.coverage`), by which finished hypotheses are
            ranked; 0 does not use it.
        sampling: the distribution to sample from; None searches.
        phrase_alpha: alpha of outputs that must contain phrases; None is `alpha`, at most that of section 6.1: a phrase
            may be improbable, and with a greater exponent a longer output would make up for it.
    """

    bos: int = 1
    eos: int = 2
    beam_size: int = 4
    alpha: float = 0.6
    length_penalty: LengthRule = "gnmt"
    max_extra: int = 50
    n_best: int = 1
    no_repeat: int = 0
    coverage: float = 0.0
    sampling: Sampling | None = None
    phrase_alpha: float | None = None

    def __post_init__(self) -> None:
        for name in ("bos", "eos", "beam_size", "max_extra", "n_best", "no_repeat"):
            if type(value := getattr(self, name)) is not int:
                raise ValueError(f"{name} = {value!r} must be a whole number")
        if min(self.bos, self.eos) < 0 or self.bos == self.eos:
            raise ValueError(f"bos, eos = {self.bos}, {self.eos} must be two different token ids")
        if not 1 <= self.n_best <= self.beam_size:
            raise ValueError(f"n_best = {self.n_best} must be between 1 and beam_size = {self.beam_size}")
        if not 0 <= self.alpha <= MAX_ALPHA:
            raise ValueError(f"alpha = {self.alpha} must be between 0 and {MAX_ALPHA:g}")
        if self.phrase_alpha is not None and not 0 <= self.phrase_alpha <= MAX_ALPHA:
            raise ValueError(f"phrase_alpha = {self.phrase_alpha} must be between 0 and {MAX_ALPHA:g}")
        if self.length_penalty not in get_args(LengthRule):
            raise ValueError(f"length_penalty = {self.length_penalty!r} is none of: {', '.join(get_args(LengthRule))}")
        if self.max_extra < 1:
            raise ValueError(f"max_extra = {self.max_extra} must be at least 1")
        if self.no_repeat < 0:
            raise ValueError(f"no_repeat = {self.no_repeat} must not be negative")
        if not 0 <= self.coverage < float("inf"):
            raise ValueError(f"coverage = {self.coverage} must be a finite number of at least 0")

    def decoding(self) -> dict[str, Any]:
        """Return the settings that a model brings with it, by name."""
        return {name: getattr(self, name) for name in DECODING}

    def penalty(self, length: int) -> float:
        """Return the length penalty of an output of `length` tokens, eos included."""
        return length_penalty(length, self.alpha, self.length_penalty)

    def hypothesis(self, tokens: list[int], log_prob: float) -> Hypothesis:
        """Return the finished hypothesis with its score; `tokens` come without eos."""
        return Hypothesis(tokens, log_prob, log_prob / self.penalty(len(tokens) + 1))


def in_order(requests: Iterable[Request]) -> list[Request]:
    """Return the distinct requests, shortest first.

    Ties are broken by content, so that batches, and with them all rounding, do not depend on the order of lines.
    """
    return sorted(set(requests), key=lambda request: (len(request.ids), request))


def batches(
    requests: Iterable[Request], config: SearchConfig, n_workers: int, *, mixes_lengths: bool = True
) -> list[list[Request]]:
    """Divide the distinct requests into batches within the bounds on tokens and hypotheses.

    If possible, each worker gets equally many batches with equally many tokens, so that all finish at about the same
    time. Requests with phrases have a grid of beams each.
    """
    found: list[list[Request]] = []
    ordered = in_order(requests)
    for n_phrase_tokens in sorted({request.n_phrase_tokens for request in ordered}):
        alike = [request for request in ordered if request.n_phrase_tokens == n_phrase_tokens]
        most = max(1, BATCH_HYPOTHESES // (config.beam_size * (n_phrase_tokens + 1)))
        n_batches = len(divided(alike, _length, _BATCH_TOKENS, most=most))
        n_tokens = sum(_length(request) + 1 for request in alike)
        share = max(_LEAST_TOKENS, n_tokens / max(1, -(-n_batches // n_workers) * n_workers))
        groups = [alike] if mixes_lengths else [list(group) for _, group in groupby(alike, _length)]
        found += [batch for group in groups for batch in divided(group, _length, _BATCH_TOKENS, most=most, share=share)]
    return found


def _length(request: Request) -> int:
    return len(request.ids)


def answers(
    requests: Iterable[Request], batches: Iterable[Sequence[Request]], found: Iterable[Hypotheses]
) -> Hypotheses:
    """Return the hypotheses of each request, given those of each batch."""
    known = {
        request: hypotheses
        for batch, results in zip(batches, found, strict=True)
        for request, hypotheses in zip(batch, results, strict=True)
    }
    return [known[request] for request in requests]


def side_by_side(
    compute: Callable[[list[T]], R],
    batches: Sequence[list[T]],
    n_tokens: Callable[[T], int],
    n_workers: int,
    initializer: Callable[[], None] | None = None,
) -> list[R]:
    """Return `compute(batch)` for each batch, computed in `n_workers` threads; each first calls `initializer`.

    The batches with the most tokens start first, so that all threads end at about the same time.

    Args:
        n_tokens: returns the number of tokens of an item of a batch.
    """
    from concurrent.futures import ThreadPoolExecutor  # imports logging, which the help of a command need not wait for

    order = sorted(range(len(batches)), key=lambda i: -sum(map(n_tokens, batches[i])))
    pool = ThreadPoolExecutor(n_workers, initializer=initializer)
    try:
        found = dict(zip(order, pool.map(compute, [batches[i] for i in order]), strict=True))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, do not wait for the batches in progress
    return [found[i] for i in range(len(batches))]


def divided(
    items: Iterable[T], length: Callable[[T], int], padded: int, *, most: float = math.inf, share: float = math.inf
) -> list[list[T]]:
    """Divide items, shortest first, into batches.

    Args:
        items: in ascending order of length.
        length: number of tokens of an item, eos excluded.
        padded: maximum number of tokens of a batch, padding included, unless one item alone has more.
        most: maximum number of items of a batch.
        share: a batch with this many tokens is complete.
    """
    batches: list[list[T]] = []
    n_tokens = 0
    for item in items:
        width = length(item) + 1
        full = batches and (len(batches[-1]) == most or (len(batches[-1]) + 1) * width > padded)
        if not batches or full or n_tokens >= share:
            batches.append([])
            n_tokens = 0
        batches[-1].append(item)
        n_tokens += width
    return batches
