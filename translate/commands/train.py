"""`translate train`: prepare where needed, train, and leave a run directory that explains itself."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from translate.config import ExperimentConfig, load

if TYPE_CHECKING:
    from translate.corpus.store import Prepared
    from translate.training.loop import Trainer
    from translate.training.run import Run


def train(config_path: Path, *, run: Path | None, overrides: list[str], resume: bool) -> None:
    """Run the experiment in `config_path`; the run directory is runs/<name of the config> unless `run` names one.

    Ctrl-C and SIGTERM save, say how to go on, and leave with KeyboardInterrupt; a mistake raises UserError.
    """
    from translate.commands.prepare import default_folder
    from translate.corpus.store import prepare
    from translate.training.loop import Interrupted
    from translate.training.machine import tune_malloc
    from translate.training.run import Run

    config = load(config_path, overrides)
    tune_malloc()
    prepared = prepare(config, default_folder(config_path), _say)
    trainer = new_trainer(config, prepared, Run(run or Path("runs") / config_path.stem), resume=resume)
    if resume:
        trainer.resume()
    try:
        trainer.train()
    except Interrupted:
        _say(f"stopped and saved at step {trainer.state.step:,}; go on with the same command and --resume")
        raise


def new_trainer(config: ExperimentConfig, prepared: "Prepared", run: "Run", *, resume: bool) -> "Trainer":
    """A model as the seed makes it, in a run directory that is begun or found to be of the same experiment."""
    import torch

    from transformer.model import Transformer
    from transformer.presets import resolve
    from translate.evaluation.validation import greedy_bleu
    from translate.model_folder import ModelFolder, Task, write_model
    from translate.training.loop import Trainer
    from translate.training.machine import choose_device, choose_dtype

    device = choose_device()
    torch.manual_seed(config.training.seed)
    overrides = config.model.model_dump(exclude={"preset"})
    model = Transformer(resolve(config.model.preset, overrides, prepared.tokenizer.vocab_size)).to(device)
    dtype = run.recorded_dtype() or choose_dtype(config.training.precision, device)
    run.begin(config, prepared, model, dtype, resume=resume)
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    _say(f"{run.folder}: {size:.2f} M parameters, {device.type}, {str(dtype).removeprefix('torch.')} products")
    tokenizer, task = prepared.tokenizer, Task(config.data.source, config.data.target, config.decoding)
    sample = prepared.valid[: config.training.valid_bleu_sentences]
    return Trainer(
        run=run,
        config=config.training,
        prepared=prepared,
        model=model,
        dtype=dtype,
        write_model=lambda model, folder: write_model(model, tokenizer, task, folder),
        bleu=(lambda model: greedy_bleu(ModelFolder(run.folder, model, tokenizer, task), sample)) if sample else None,
        say=_say,
    )


def _say(message: str) -> None:
    """A line on stderr that leaves the progress bar whole."""
    from tqdm import tqdm

    tqdm.write(message, file=sys.stderr)
