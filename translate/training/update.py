"""One update (sections 5.3 and 5.4), and validation: loss, BLEU and the use of the source.

The loss is a mean over the target tokens of the whole update, however the update is split into micro-batches: sums and
counts are kept together and divided once. The validation set is encoded as training encodes its pairs: with
placeholders, and without pairs that are too long.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.cost import forward_flops
from transformer.loss import linear_divergence, linear_smoothed_nll
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.corpus.augmentation import with_symbols
from translate.corpus.batches import Batch, Index, by_length, eligible, halves
from translate.corpus.prepare import EncodedPairs, Prepared
from translate.corpus.sources import Pair
from translate.corpus.tokenizer import Tokenizer
from translate.errors import Say, UserError
from translate.machine import is_out_of_memory, release_memory
from translate.training.distributed import SINGLE_PROCESS, Ranks, full

T = TypeVar("T")
Shape = tuple[int, int, int]  # sentences, source positions, target positions
ScoreBleu = Callable[[Transformer, Sequence[Pair]], float]
Collate = Callable[[EncodedPairs, Index], Batch]
Nll = Callable[[Transformer, Sequence[Batch]], float]

SAMPLE = 256  # sentences for the source gain


@dataclass(frozen=True)
class StepStats:
    """Statistics of one update over all ranks.

    Attributes:
        loss, nll: mean smoothed loss and mean negative log-likelihood, nats a target token.
        grad_norm: norm of the gradient before clipping.
    """

    loss: float
    nll: float
    grad_norm: float

    @property
    def finite(self) -> bool:
        """Whether all three are finite, and so the parameters were updated."""
        return all(map(math.isfinite, (self.loss, self.nll, self.grad_norm)))


@dataclass(frozen=True)
class Update:
    """One update, whose statistics are still on the device.

    Attributes:
        values_3: loss, nll and grad_norm of `StepStats`, in float64.
        n_tokens: source and target tokens together, padding not counted.
    """

    values_3: Tensor
    n_tokens: int

    @property
    def finite(self) -> Tensor:
        """`StepStats.finite`, on the device."""
        return self.values_3.isfinite().all()


def read(updates: Sequence[Update]) -> list[StepStats]:
    """Return the statistics of the updates; the host waits for the device, once for all of them."""
    return [StepStats(*row) for row in torch.stack([update.values_3 for update in updates]).tolist()] if updates else []


def precision(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Return a context that computes in `dtype`; parameters, gradients and Adam's moments stay float32.

    With bfloat16 on a CPU, all activations are bfloat16: the residual stream, norms, and in `batch_loss` the logits and
    their softmax. CUDA computes norms in float32. Sums over tokens are float32 everywhere.
    """
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)


def batch_loss(
    model: Transformer, batch: Batch, smoothing: float, dtype: torch.dtype, r_drop: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return smoothed loss and negative log-likelihood of a batch, each a sum over its target tokens.

    With R-Drop, both are means of two passes with other dropout, and the loss also has the divergence of their outputs:
    half of equation 4 of Liang et al. (2021).

    Args:
        batch: sentence pairs on the model's device.
        smoothing: the epsilon of 5.4.
        dtype: type of matrix products; see `precision`.
        r_drop: weight of the divergence, alpha in the article; 0 makes a single pass.
    """
    src_BS, tgt_in_BT, tgt_out_P, index_N = batch.src, batch.tgt_in, batch.tgt_out.flatten(), batch.tgt_index
    if r_drop:
        index_N = torch.cat((index_N, index_N + len(tgt_out_P)))
        src_BS, tgt_in_BT, tgt_out_P = (torch.cat((side, side)) for side in (src_BS, tgt_in_BT, tgt_out_P))
    with precision(src_BS.device, dtype):
        states_BTD = model.decode_states(tgt_in_BT, model.encode(src_BS))
    # By number: for a mask, the host would wait for the device to know how many tokens there are.
    states_ND = states_BTD.flatten(0, 1).index_select(0, index_N).to(dtype)
    weight_VD, bias_V = model.output_weight, model.output_bias_V
    loss, nll = linear_smoothed_nll(states_ND, weight_VD, tgt_out_P.index_select(0, index_N), smoothing, bias_V)
    if not r_drop:
        return loss, nll
    first_ND, second_ND = states_ND.chunk(2)
    return loss / 2 + r_drop / 4 * linear_divergence(first_ND, second_ND, weight_VD, bias_V), nll / 2


class Undivided:
    """Runs a computation on batches; one that does not fit into memory fails.

    Attributes:
        n_splits: number of batches that were halved: 0.
    """

    n_splits = 0

    def each(self, batches: Sequence[Batch], act: Callable[[Batch], T], undo: Callable[[], None]) -> list[T]:
        """Return `act(batch)` for every batch; `undo` is for classes that repeat some."""
        return [act(batch) for batch in batches]


UNDIVIDED = Undivided()


class OomSplitter(Undivided):
    """Runs a computation on batches, and halves those that do not fit into memory.

    The loss of an update is a sum over tokens that is divided once, so splitting its batches changes the gradient only
    by rounding and by the random numbers of dropout. Each rank splits its own batches.

    Args:
        say: receives a message at the first failure.

    Attributes:
        n_splits: number of failures, each followed by halving.
    """

    def __init__(self, say: Say) -> None:
        self.n_splits = 0
        self._say = say
        self._failed: list[Shape] = []

    def each(self, batches: Sequence[Batch], act: Callable[[Batch], T], undo: Callable[[], None]) -> list[T]:
        """Return `act(batch)` for every batch, or for every portion of a batch that does not fit.

        Args:
            act: the computation. If it runs out of memory, the failed portion is halved and everything is done again;
                later batches of that size are halved at once.
            undo: discards the effects of all calls of `act` so far; a failed backward pass leaves partial gradients.

        Raises UserError if a single sentence does not fit.
        """
        while True:
            results: list[T] = []
            for portion in (portion for batch in batches for portion in self._portions(batch)):
                if (result := _attempt(act, portion)) is None:
                    undo()
                    self._remember(portion)
                    break
                results.append(result)
            else:
                return results

    def _portions(self, batch: Batch) -> Iterator[Batch]:
        """Yield the batch in portions smaller than any that has failed."""
        n, s, t = _shape(batch)
        if n > 1 and any(n >= rows and s >= src and t >= tgt for rows, src, tgt in self._failed):
            for half in halves(batch):
                yield from self._portions(half)
        else:
            yield batch

    def _remember(self, portion: Batch) -> None:
        n, s, t = shape = _shape(portion)
        if n == 1:
            raise UserError(
                f"a sentence pair of {s} and {t} tokens does not fit into memory by itself; lower training.max_tokens, "
                "or set training.checkpoint_activations = true"
            )
        release_memory()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if not self._failed:
            self._say(
                f"a batch of {n} x ({s} + {t}) tokens does not fit into memory: batches of this size are halved, "
                "and the update stays the same; a lower training.batch_tokens, with a higher accumulate, is faster"
            )
        self.n_splits += 1
        self._failed.append(shape)


def _attempt(act: Callable[[Batch], T], batch: Batch) -> T | None:
    """Return `act(batch)`, or None if memory does not suffice; its allocations are then released."""
    try:
        return act(batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _shape(batch: Batch) -> Shape:
    return batch.src.size(0), batch.src.size(1), batch.tgt_in.size(1)


@dataclass(frozen=True)
class Updater:
    """The updates of one model.

    Attributes:
        smoothing: the epsilon of 5.4.
        dtype: type of matrix products; see `precision`.
        clip_norm: largest norm of the gradient; None does not clip.
        splitter: runs the batches, and may halve those that do not fit into memory.
        r_drop: see `batch_loss`.
    """

    model: Transformer
    optimizer: torch.optim.Optimizer
    smoothing: float
    dtype: torch.dtype
    clip_norm: float | None = None
    splitter: Undivided = UNDIVIDED
    ranks: Ranks = SINGLE_PROCESS
    r_drop: float = 0.0

    def step(self, micro_batches: Sequence[Batch], lr: float) -> Update:
        """Update the parameters once; if loss or gradient is not finite, leave them and the optimizer unchanged.

        The host reads nothing from the device and does not wait for it; see `read`.

        Args:
            micro_batches: the batches of this rank; loss, gradient and counts are summed over all ranks.
        """
        parameters = list(self.model.parameters())
        n_src = sum(batch.n_src_tokens for batch in micro_batches)
        n_tgt = sum(batch.n_tgt_tokens for batch in micro_batches)
        n_src, n_tgt = map(int, self.ranks.sum(n_src, n_tgt))
        losses_2 = self.ranks.sum_tensor(self._backward(micro_batches, n_tgt))
        self.ranks.sum_gradients(parameters)
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self.clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.clip_norm, norm)
        update = Update(torch.cat([losses_2, full(norm).to(losses_2)[None]]), n_src + n_tgt)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.found_inf = (~update.finite).float()  # type: ignore[attr-defined]
        self.optimizer.step()
        self._discard_gradients()
        return update

    def warm_up(self, batch: Batch) -> None:
        """Compute and discard the gradients of the largest batch to expect: allocator and `splitter` learn its size.

        Parameters, optimizer and random generators stay unchanged.
        """
        self.model.train()
        with torch.random.fork_rng([batch.src.device] if batch.src.is_cuda else []):
            self._backward([batch], batch.n_tgt_tokens)
        self._discard_gradients()

    def _backward(self, micro_batches: Sequence[Batch], n_tokens: int) -> Tensor:
        """Add up the gradients of the smoothed loss; return that loss and the negative log-likelihood, in float64.

        Both are divided by `n_tokens`, the target tokens of the whole update.
        """

        def one(batch: Batch) -> Tensor:
            loss_sum, nll_sum = batch_loss(self.model, batch, self.smoothing, self.dtype, self.r_drop)
            (loss_sum / n_tokens).backward()  # type: ignore[no-untyped-call]
            return torch.stack([loss_sum.detach(), nll_sum.detach()]).double() / n_tokens

        losses = self.splitter.each(micro_batches, one, undo=self._discard_gradients)
        return torch.stack(losses).sum(dim=0)

    def _discard_gradients(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)


def update_flops(config: ModelConfig, batches: Sequence[Batch]) -> int:
    """Return the operations of updates on these batches: three times `cost.forward_flops` of every sentence pair.

    Padding, dropout, softmax, norms, the optimizer and the recomputation of activation checkpointing are not counted.
    """
    # A polynomial of the lengths, so an array of lengths gives an array of counts.
    counts = (forward_flops(config, cast(int, batch.src_lengths), cast(int, batch.tgt_lengths)) for batch in batches)
    return 3 * sum(int(flops_B.sum()) for flops_B in cast(Iterator[np.ndarray], counts))


@torch.no_grad()
def mean_nll(
    model: Transformer,
    batches: Sequence[Batch],
    dtype: torch.dtype,
    ranks: Ranks = SINGLE_PROCESS,
    splitter: Undivided = UNDIVIDED,
) -> float:
    """Return the negative log-likelihood of held-out batches in nats a target token; its exponential is perplexity.

    Args:
        model: in eval mode afterwards; it may be sharded.
        batches: all batches, the same on all ranks; each rank computes its share.
        dtype: type of matrix products; see `precision`.
        splitter: runs the batches, and may halve those that do not fit into memory.
    """

    def one(batch: Batch) -> Tensor:
        return batch_loss(model, batch, 0.0, dtype)[1].double()

    model.eval()
    losses: list[Tensor] = []
    n_tokens = 0
    for start in range(0, len(batches), ranks.size):
        i = start + ranks.rank
        # A sharded model needs all ranks in every pass, so a rank without a batch repeats the last one uncounted.
        batch = batches[min(i, len(batches) - 1)]
        parts = splitter.each([batch], one, undo=lambda: None)
        if i < len(batches):
            losses += parts
            n_tokens += batch.n_tgt_tokens
    total, n = ranks.sum(torch.stack(losses).sum().item() if losses else 0.0, n_tokens)
    return total / n


@dataclass(frozen=True)
class Scores:
    """Scores of a model on the validation set.

    Attributes:
        nll: negative log-likelihood in nats a target token.
        bleu: BLEU of translations by greedy search; None if it is not measured.
        source_gain: see `SourceGain`; None if all sentences have the same source.
    """

    nll: float
    bleu: float | None
    source_gain: float | None


class Validator:
    """Measures `Scores`; the ranks share the batches, and rank 0 alone translates.

    Args:
        prepared: the corpus; the pairs of its validation set that training would not skip are used.
        collate: makes a batch on the device of the model.
        score_bleu: BLEU of a model's translations of some pairs, or None to skip it.
        splitter: runs the batches, and may halve those that do not fit into memory.

    Attributes:
        pairs: the whole validation set, encoded.
        n_too_long: its pairs that are skipped.

    Raises UserError if all pairs are too long.
    """

    def __init__(
        self,
        prepared: Prepared,
        config: TrainingConfig,
        collate: Collate,
        dtype: torch.dtype,
        score_bleu: ScoreBleu | None,
        ranks: Ranks,
        splitter: Undivided,
    ) -> None:
        self.score_bleu, self._ranks = score_bleu, ranks
        self._nll = partial(mean_nll, dtype=dtype, ranks=ranks, splitter=splitter)
        self.pairs = pairs = encode(prepared.valid, prepared.tokenizer)
        short = eligible(pairs, config.max_tokens)
        if not len(short):
            raise UserError(
                f"no sentence pair of data.valid has at most training.max_tokens = {config.max_tokens} tokens on "
                "either side; raise it, or name other validation text"
            )
        self.n_too_long = pairs.n_pairs - len(short)
        self._sample = [prepared.valid[i] for i in short[: config.valid_bleu_sentences]]
        found = by_length(pairs, short, config.batch_tokens)
        self._batches = [collate(pairs, index) for index in found]
        self._source_gain = SourceGain(pairs, np.concatenate(found), config.batch_tokens, collate, self._nll)

    def scores(self, model: Transformer) -> Scores:
        """Score the model, which is left in eval mode; all ranks call this with the same parameters."""
        nll = self._nll(model, self._batches)
        score = self.score_bleu
        bleu = None if score is None else self._ranks.on_rank_0(lambda: score(model, self._sample))
        return Scores(nll, bleu, self._source_gain(model))

    def warm_up(self, model: Transformer) -> None:
        """Score the largest batch and discard the result, so that a lack of memory shows before training."""
        largest = max(self._batches, key=lambda batch: batch.src.numel() + batch.tgt_in.numel())
        self._nll(model, [largest] * self._ranks.size)


class SourceGain:
    """The gain from the sources: the loss with wrong sources minus the loss with the right ones.

    The wrong source of a sentence is that of its neighbour in order of length, so that its length tells little. The
    choice of sentences depends on the data alone.

    Args:
        pairs: the validation set.
        order: its pairs to choose from, in order of length; at most SAMPLE of them, at even distances, are used.
        batch_tokens: padded tokens a side in one batch.
        make: makes a batch of the pairs in an index.
        nll: the loss of a model on batches; see `mean_nll`.
    """

    def __init__(self, pairs: EncodedPairs, order: Index, batch_tokens: int, make: Collate, nll: Nll) -> None:
        self._nll = nll
        order = order[np.unique(np.linspace(0, len(order) - 1, SAMPLE).astype(np.int64))]
        src, tgt = [pairs.src(int(i)).tolist() for i in order], [pairs.tgt(int(i)).tolist() for i in order]
        self._right, self._wrong = (self._batches(rows, tgt, batch_tokens, make) for rows in (src, src[-1:] + src[:-1]))
        self._differ = src[-1:] + src[:-1] != src

    @staticmethod
    def _batches(src: list[list[int]], tgt: list[list[int]], batch_tokens: int, make: Collate) -> list[Batch]:
        pairs = EncodedPairs.of(src, tgt)
        return [make(pairs, index) for index in by_length(pairs, np.arange(pairs.n_pairs), batch_tokens)]

    def __call__(self, model: Transformer) -> float | None:
        """Return the gain in nats a target token, None if all sentences have one source."""
        if not self._differ:
            return None
        return self._nll(model, self._wrong) - self._nll(model, self._right)


def perplexity(nll: float) -> float:
    """Return the exponential of a loss in nats a token, bounded so that a diverged model still gives a number."""
    return math.exp(min(nll, 700.0))


def encode(pairs: Sequence[Pair], tokenizer: Tokenizer) -> EncodedPairs:
    """Return pairs of text as token ids, as `prepare` encodes training pairs: with placeholders on both sides."""
    source, target = zip(*(with_symbols(pair, tokenizer.n_placeholders) for pair in pairs), strict=True)
    return EncodedPairs.of(tokenizer.encode_batch(source), tokenizer.encode_batch(target))
