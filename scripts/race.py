"""A race to marks of BLEU on Multi30k: the clock of one run, and its contenders. `speedrun.py` starts them.

    ours      this toolkit, `translate train` with the settings of an experiment file
    hf        MarianMTModel of Hugging Face transformers in a loop: malloc tuned, bf16, fused AdamW, attention unfused,
              batches of similar length, label smoothing, this toolkit's tokenizer; translates with `generate`
    torch     torch.nn.Transformer in the same loop, with the dropout and initial values of this toolkit; it has no
              cache, so its search computes the prefix in each step

All begin with the raw files and have the sizes, dropout, batches, warm-up and number of epochs of one experiment. The
others have Adam in place of its optimizer, with their own peak of the learning rate.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peers import HuggingFace, PlainTorch, plain_loop
from torch import Tensor, nn

from transformer.config import ModelConfig, SearchConfig
from transformer.search.beam import beam_search, greedy_search
from transformer.search.model_step import pad_batch
from translate.config.schema import ExperimentConfig
from translate.corpus.batches import Position, Sampler, collate
from translate.corpus.prepare import Prepared, prepare
from translate.corpus.sources import Pair, read_pairs
from translate.evaluation.scores import corpus_bleu
from translate.inference.translator import Translator
from translate.machine import choose_device, choose_dtype, keep_kernels, tune_malloc
from translate.models.folder import ModelFolder
from translate.text.translation import Search
from translate.training.checkpoints import TrainState
from translate.training.plan import Start, make_plan
from translate.training.run import Run
from translate.training.train import Schedule, preflight, set_up, train
from translate.training.update import precision

BEAM = 5
NEAR = 2.5  # BLEU: greedy search this far below a mark is followed by beam search, whose score counts
ROWS = 64  # sentences that are translated at once by the others
LENGTH_PENALTY = 1.4  # of `generate`; at 12 tokens as strong as an alpha of 2
TEST = "test_2016_flickr"

Translate = Callable[[Sequence[str], int], list[str]]  # of sentences, with a size of the beam


@dataclass(frozen=True)
class Task:
    """One run of a contender.

    Attributes:
        contender: its name.
        seed: of initialisation, dropout and batch order.
        lr: peak of the learning rate; None is that of the experiment.
        marks: BLEU of the validation set, ascending; the run ends at the last.
        hours: the run ends at the next validation after this time.
        folder: its files.
        tuning: the run only serves to choose a learning rate.
    """

    contender: str
    seed: int
    lr: float | None
    marks: tuple[float, ...]
    hours: float
    folder: str
    tuning: bool = False


class Finished(Exception):  # noqa: N818 -- no error
    """The last mark is reached, or the time is over."""


class Race:
    """The clock, the validations and the marks of one run.

    Every contender is validated alike: the whole validation set is translated greedily and, if that comes near the next
    mark, by beam search, whose BLEU counts. Both are on the clock. The test set is translated only when a mark is
    reached, with the clock stopped.

    Args:
        task: the run.
        begin: when its process was started, by `time.monotonic`; imports count.
        valid, test: the pairs.

    Attributes:
        events: seconds at which something happened, by name: "prepared", "first update".
        checks: the validations.
        marks: what was reached, by mark.
        n_parameters: of the model; None if the contender does not say.
    """

    def __init__(self, task: Task, begin: float, valid: Sequence[Pair], test: Sequence[Pair]) -> None:
        self.task, self.valid, self.test = task, valid, test
        self.events: dict[str, float] = {}
        self.checks: list[dict[str, Any]] = []
        self.marks: dict[str, dict[str, Any]] = {}
        self.n_parameters: int | None = None
        self._begin = begin

    @property
    def seconds(self) -> float:
        """Seconds since the start of the process, without those in which the clock stood."""
        return round(time.monotonic() - self._begin, 2)

    def note(self, event: str) -> None:
        """Record when something happened first."""
        if event not in self.events:
            self.events[event] = self.seconds
            self.say(event)

    def check(self, step: int, translate: Translate) -> None:
        """Validate after update `step`; Finished if the run is over."""
        start = self.seconds
        check: dict[str, Any] = {"step": step, "greedy": self._bleu(self.valid, translate, 1)}
        if (left := self._left()) and check["greedy"] >= left[0] - NEAR:
            check["beam"] = self._bleu(self.valid, translate, BEAM)
        check |= {"seconds": self.seconds, "validation_s": round(self.seconds - start, 2)}
        self.checks.append(check)
        self.say(", ".join(f"{key} {value}" for key, value in check.items()))
        reached = [mark for mark in left if check.get("beam", 0.0) >= mark]
        if reached:
            stopped = time.monotonic()
            score = self._bleu(self.test, translate, BEAM)
            self._begin += time.monotonic() - stopped
            for mark in reached:
                self.marks[str(mark)] = {"seconds": check["seconds"], "step": step, "valid": check["beam"], TEST: score}
                self.say(f"mark {mark} in {check['seconds']:.0f} s, {TEST} {score}")
        if not self._left() or self.seconds > 3600 * self.task.hours:
            raise Finished

    def say(self, message: str) -> None:
        """Write a line of progress to stderr."""
        rate = "" if self.task.lr is None else f" lr {self.task.lr:g}"
        print(f"{self.task.contender}{rate} seed {self.task.seed}, {self.seconds:.0f} s: {message}", file=sys.stderr)

    def _left(self) -> list[float]:
        return [mark for mark in self.task.marks if str(mark) not in self.marks]

    def _bleu(self, pairs: Sequence[Pair], translate: Translate, beam_size: int) -> float:
        source, reference = zip(*pairs, strict=True)
        return round(corpus_bleu(translate(source, beam_size), reference), 3)


def run(task: Task, config: ExperimentConfig, begin: float) -> dict[str, Any]:
    """Return the record of one run.

    Args:
        task: the run.
        config: the experiment of this contender.
        begin: see `Race`.
    """
    data, training = config.data, {"seed": task.seed} | ({} if task.lr is None else {"lr": task.lr})
    config = config.model_copy(update={"training": config.training.model_copy(update=training)})
    valid, test = (list(read_pairs(source, Path(data.root), data.langpair)) for source in (data.valid, data.test[TEST]))
    race = Race(task, begin, valid, test)
    with suppress(Finished):
        CONTENDERS[task.contender](race, config)
    return {
        **{key: value for key, value in asdict(task).items() if key != "folder"},
        "parameters": race.n_parameters,
        "seconds": race.seconds,
        "events": race.events,
        "marks": race.marks,
        "checks": race.checks,
    }


def ours(race: Race, config: ExperimentConfig) -> None:
    """Train as `translate train` does."""
    tune_malloc()
    keep_kernels()
    folder = Path(race.task.folder)
    with ExitStack() as locks:
        start = Start(config, Run(folder / "run"), folder / "prepared")
        plan = make_plan(start, _ignore, run_lock=locks, corpus_lock=locks)
    race.note("prepared")
    started: list[TrainState] = []

    def score(model: ModelFolder, pairs: Sequence[Pair]) -> float:
        def translate(lines: Sequence[str], beam_size: int) -> list[str]:
            translations = Translator(model, Search(beam_size=beam_size)).translate_lines(lines)
            return [translation.text for translation in translations]

        race.check(started[0].step, translate)
        return float(race.checks[-1]["greedy"])

    state, parts = set_up(plan, Prepared.open(plan.corpus), say=_ignore, score_bleu=score)
    started.append(state)
    race.n_parameters = sum(parameter.numel() for parameter in parts.trained.model.parameters())
    parts.updater.optimizer.register_step_post_hook(lambda *_: race.note("first update"))
    preflight(state, parts)
    train(state, parts)


def plain(kind: Callable[[ModelConfig], nn.Module], race: Race, config: ExperimentConfig) -> None:
    """Train a model of another library in a loop."""
    tune_malloc()
    keep_kernels()
    training = config.training
    prepared = prepare(config, Path(race.task.folder) / "prepared", _ignore)
    race.note("prepared")
    device = choose_device()
    dtype = choose_dtype(training.precision, device)
    torch.manual_seed(training.seed)
    architecture = config.model.architecture(prepared.tokenizer.vocab_size)
    model, update = plain_loop(kind, architecture, device, dtype)
    race.n_parameters = sum(parameter.numel() for parameter in model.parameters())
    sampler = Sampler(prepared.train, training.batch_tokens, training.max_tokens, training.seed)
    schedule = Schedule.of(training, architecture.d_model, sampler.n_batches)

    def translate(lines: Sequence[str], beam_size: int) -> list[str]:
        model.eval()
        with torch.inference_mode(), precision(device, dtype):
            found = list(_translated(model, prepared, lines, beam_size, config))
        model.train()
        return found

    torch.backends.mha.set_fastpath_enabled(False)  # of nn.Transformer's encoder; it does not know autocast
    stream = sampler.stream(Position())
    for step in range(1, schedule.last_step + 1):
        index, _ = next(stream)
        update(collate(prepared.train, index, pad=0, bos=1, eos=2).to(device), schedule.lr(step))
        race.note("first update")
        if schedule.validates(step) or step == schedule.last_step:
            race.check(step, translate)


def _translated(
    model: nn.Module, prepared: Prepared, lines: Sequence[str], beam_size: int, config: ExperimentConfig
) -> Iterator[str]:
    """Yield the translation of each line; batches have sentences of similar length."""
    ids = prepared.tokenizer.encode_batch(lines)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found = [""] * len(ids)
    for start in range(0, len(order), ROWS):
        rows = order[start : start + ROWS]
        limits = [len(ids[i]) + config.decoding.max_extra for i in rows]
        src_BS = pad_batch([[*ids[i], 2] for i in rows], 0)
        search = generated if isinstance(model, HuggingFace) else searched
        outputs = search(model, src_BS, limits, beam_size, config.decoding.alpha)
        for i, output in zip(rows, outputs, strict=True):
            found[i] = prepared.tokenizer.decode(output)
    yield from found


def generated(model: nn.Module, src_BS: Tensor, limits: Sequence[int], beam_size: int, alpha: float) -> list[list[int]]:
    """Return the outputs of `generate` for sources; its length penalty is LENGTH_PENALTY, not `alpha`."""
    found = model.model.generate(  # type: ignore[union-attr, operator]
        input_ids=src_BS,
        attention_mask=(src_BS != 0).long(),
        num_beams=beam_size,
        length_penalty=LENGTH_PENALTY if beam_size > 1 else None,
        max_new_tokens=max(limits),
    )
    return [_before_eos(row[1:]) for row in found.tolist()]


def searched(model: nn.Module, src_BS: Tensor, limits: Sequence[int], beam_size: int, alpha: float) -> list[list[int]]:
    """Return the outputs of this toolkit's search for sources."""
    step, config = PrefixStep(model, src_BS), SearchConfig(beam_size=beam_size, alpha=alpha)
    if beam_size == 1:
        return [hypothesis.tokens for hypothesis in greedy_search(step, limits, config)]
    return [hypotheses[0].tokens for hypotheses in beam_search(step, limits, config)]


class PrefixStep:
    """PlainTorch as a step function: nn.Transformer keeps no keys and values, so each step decodes the whole prefix.

    Args:
        model: the model.
        src_BS: the sources.
    """

    def __init__(self, model: nn.Module, src_BS: Tensor) -> None:
        assert isinstance(model, PlainTorch)
        self.model, self.padding_BS = model, src_BS == 0
        self.memory_BSD = model.encode(src_BS)
        self.prefix_NT: Tensor | None = None

    def __call__(self, token_N: Tensor) -> Tensor:
        """Return log-probabilities in float32, (N, V)."""
        last_N1 = token_N[:, None]
        self.prefix_NT = last_N1 if self.prefix_NT is None else torch.cat((self.prefix_NT, last_N1), dim=1)
        n_each = len(token_N) // len(self.memory_BSD)
        sources = (side.repeat_interleave(n_each, dim=0) for side in (self.memory_BSD, self.padding_BS))
        states_NTD = self.model.decode(self.prefix_NT, *sources)
        return self.model.logits(states_NTD[:, -1]).float().log_softmax(dim=-1)

    def reorder(self, index_N: Tensor) -> None:
        """Let hypothesis n continue hypothesis index_N[n]."""
        assert self.prefix_NT is not None
        self.prefix_NT = self.prefix_NT[index_N]

    def keep(self, index_B: Tensor) -> None:
        """Keep only these sentences."""
        self.memory_BSD, self.padding_BS = self.memory_BSD[index_B], self.padding_BS[index_B]


def _before_eos(ids: list[int]) -> list[int]:
    return ids[: ids.index(2)] if 2 in ids else [i for i in ids if i != 0]


def _ignore(message: str) -> None:
    """Discard a message."""


CONTENDERS: dict[str, Callable[[Race, ExperimentConfig], None]] = {
    "ours": ours,
    "hf": lambda race, config: plain(HuggingFace, race, config),
    "torch": lambda race, config: plain(PlainTorch, race, config),
}
