"""Updates on a GPU as CUDA graphs: the host starts one graph where it would start thousands of kernels.

A graph is a recording of kernels with the addresses that they read and write, so everything here lives in tensors that
stay: the batch of each shape, the gradients, the learning rate. Batches have few shapes; see `corpus.batches`.

Weights that are multiplied, activations and gradients have the type of the products. The optimizer works on the model's
own float32 weights and copies them into those after every step.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.model import Transformer
from translate.corpus.batches import Batch
from translate.training.distributed import full
from translate.training.update import Update, Updater

Work = Callable[[], None]


def cuda_graph(run: Work, pool: list[object]) -> Work:
    """Record what `run` does on the GPU, without doing it; return a function that does it.

    Args:
        pool: memory that all graphs share, as no two run at a time; filled by the first call.
    """
    if not pool:
        pool.append(torch.cuda.graph_pool_handle())
    graph = torch.cuda.CUDAGraph()
    # Another thread copies the next batches to the GPU meanwhile, which a recording of all threads would refuse.
    with torch.cuda.graph(graph, pool=pool[0], capture_error_mode="thread_local"):  # type: ignore[arg-type]
        run()
    return graph.replay


@dataclass(frozen=True)
class GraphUpdater(Updater):
    """`Updater` for one process, without R-Drop; it does not halve batches that do not fit into memory.

    Attributes:
        capture: makes a graph of a function; tests run the function itself.
    """

    capture: Callable[[Work, list[object]], Work] = cuda_graph

    def step(self, micro_batches: Sequence[Batch], lr: float) -> Update:
        """Update the parameters once; see `Updater.step`."""
        recorded = self._recorded
        n_src = sum(batch.n_src_tokens for batch in micro_batches)
        n_tgt = sum(batch.n_tgt_tokens for batch in micro_batches)
        recorded.share.fill_(1 / n_tgt)
        recorded.lr.fill_(lr)
        for batch in micro_batches:
            recorded.backward(batch)
        recorded.update()
        return Update(recorded.values_3.clone(), n_src + n_tgt)

    def warm_up(self, batch: Batch) -> None:
        """Compute and discard the gradients of the largest batch to expect; see `Updater.warm_up`."""
        recorded = self._recorded
        with torch.random.fork_rng([batch.src.device] if batch.src.is_cuda else []):
            recorded.aside(lambda: recorded.add_gradients(batch.src, batch.tgt_in, batch.tgt_out))
        recorded.discard()

    @cached_property
    def _recorded(self) -> "_Recorded":
        return _Recorded(self)  # not before the first update: a checkpoint may be loaded until then


class _Recorded:
    """The tensors and graphs of a GraphUpdater.

    Attributes:
        lr, share: learning rate, and 1 / target tokens of the update.
        values_3: loss, nll and gradient norm of the last update.
    """

    def __init__(self, updater: GraphUpdater) -> None:
        self.updater, master = updater, updater.model
        self.model: Transformer = copy.deepcopy(master).to(updater.dtype).train()
        self.masters: list[Tensor] = list(master.parameters())
        self.weights: list[Tensor] = list(self.model.parameters())
        self.master_gradients = [torch.zeros_like(parameter) for parameter in self.masters]
        self.gradients = [torch.zeros_like(weight) for weight in self.weights]
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            weight.grad = gradient  # the backward pass adds to it in place
        device = master.device
        self.lr, self.share = torch.zeros((), device=device), torch.zeros((), device=device)
        self.sums_2 = torch.zeros(2, dtype=torch.float64, device=device)
        self.values_3 = torch.zeros(3, dtype=torch.float64, device=device)
        self.batches: dict[torch.Size, tuple[Tensor, Tensor, Tensor]] = {}
        self.graphs: dict[torch.Size | None, Work] = {}
        self.pool: list[object] = []
        # A step that is skipped changes nothing, but makes the state of the optimizer, which a graph must find.
        self.sums_2.fill_(torch.nan)
        self.aside(self.apply_gradients)
        self.discard()

    def aside(self, run: Work) -> None:
        """Run on a stream of its own, as PyTorch asks of what comes before a recording."""
        if self.sums_2.is_cuda:
            stream, current = torch.cuda.Stream(), torch.cuda.current_stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                run()
            current.wait_stream(stream)
        else:
            run()

    def discard(self) -> None:
        """Set gradients and sums to zero."""
        torch._foreach_zero_(self.gradients)
        self.sums_2.zero_()

    def backward(self, batch: Batch) -> None:
        """Add the gradients of a batch, by the graph of its shape."""
        sides = batch.src, batch.tgt_in, batch.tgt_out
        shape = torch.Size((*batch.src.shape, batch.tgt_in.size(1)))
        if shape in self.batches:
            for kept, side in zip(self.batches[shape], sides, strict=True):
                kept.copy_(side)
        else:
            kept_sides = self.batches[shape] = sides
            self.graphs[shape] = self.updater.capture(lambda: self.add_gradients(*kept_sides), self.pool)
        self.graphs[shape]()

    def update(self) -> None:
        """Apply the gradients to the parameters, and set them to zero."""
        if None not in self.graphs:
            self.graphs[None] = self.updater.capture(self.apply_gradients, self.pool)
        self.graphs[None]()

    def add_gradients(self, src_BS: Tensor, tgt_in_BT: Tensor, tgt_out_BT: Tensor) -> None:
        """Add up the gradients and sums of smoothed loss and nll over all target tokens, times `share`."""
        model, label_smoothing = self.model, self.updater.label_smoothing
        states_BTD = model.decode_states(tgt_in_BT, model.encode(src_BS))
        logits_BTV = F.linear(states_BTD, model.output_weight, model.output_bias_V)
        # All places, with padding: the number of tokens differs between batches of one shape, and a graph cannot.
        log_p_BTV = logits_BTV.log_softmax(dim=-1, dtype=torch.float32)
        gold_BT = log_p_BTV.gather(-1, tgt_out_BT[..., None])[..., 0]
        others = label_smoothing / (log_p_BTV.size(-1) - 1)
        losses_BT = -(others * log_p_BTV.sum(dim=-1) + (1 - label_smoothing - others) * gold_BT)
        weight_BT = (tgt_out_BT != model.config.pad) * self.share
        loss, nll = (losses_BT * weight_BT).sum(), -(gold_BT.detach() * weight_BT).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        self.sums_2 += torch.stack([loss.detach(), nll])

    def apply_gradients(self) -> None:
        """Make a step of the optimizer, unless something is not finite; then set gradients and sums to zero."""
        optimizer, clip_norm = self.updater.optimizer, self.updater.clip_norm
        torch._foreach_copy_(self.master_gradients, self.gradients)
        for parameter, gradient in zip(self.masters, self.master_gradients, strict=True):
            parameter.grad = gradient
        norm = torch.nn.utils.get_total_norm(self.master_gradients)
        if clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(self.masters, clip_norm, norm)
        self.values_3.copy_(torch.cat([self.sums_2, full(norm).to(self.sums_2)[None]]))
        optimizer.found_inf = (~self.values_3.isfinite().all()).float()  # type: ignore[attr-defined]
        before = [(group["lr"], group["capturable"]) for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"], group["capturable"] = self.lr, self.lr.is_cuda
        optimizer.step()
        for group, (lr, capturable) in zip(optimizer.param_groups, before, strict=True):  # as checkpoints store them
            group["lr"], group["capturable"] = lr, capturable
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)
        self.discard()
