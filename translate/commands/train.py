"""`translate train`: prepare where needed, train, and leave a run directory that explains itself."""

import sys
from pathlib import Path

from translate.config import load


def train(config_path: Path, *, run: Path | None, overrides: list[str], resume: bool) -> None:
    """Run the experiment in `config_path`; the run directory is runs/<name of the config> unless `run` names one.

    Ctrl-C saves, says how to go on, and leaves with KeyboardInterrupt; a mistake raises UserError.
    """
    import torch
    from tqdm import tqdm

    from transformer.model import Transformer
    from transformer.presets import resolve
    from translate.commands.prepare import default_folder
    from translate.corpus.store import prepare
    from translate.evaluation.validation import greedy_bleu
    from translate.model_folder import ModelFolder, Task, write_model
    from translate.training.loop import Interrupted, Trainer
    from translate.training.machine import choose_device, choose_dtype, tune_malloc
    from translate.training.run import Run

    def say(message: str) -> None:
        tqdm.write(message, file=sys.stderr)

    config = load(config_path, overrides)
    folder = run or Path("runs") / config_path.stem
    tune_malloc()
    prepared = prepare(config, default_folder(config_path), say)
    torch.manual_seed(config.training.seed)
    overridden = config.model.model_dump(exclude={"preset"})
    model = Transformer(resolve(config.model.preset, overridden, prepared.tokenizer.vocab_size))
    device = choose_device()
    the_run = Run(folder)
    dtype = the_run.recorded_dtype() or choose_dtype(config.training.precision, device)
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    say(f"{folder}: {n_parameters / 1e6:.2f} M parameters, {device.type}, {str(dtype).removeprefix('torch.')} products")
    task = Task(config.data.source, config.data.target, config.decoding)
    sample = prepared.valid[: config.training.valid_bleu_sentences]
    the_run.begin(config, prepared, model, dtype, resume=resume)
    trainer = Trainer(
        run=the_run,
        config=config.training,
        prepared=prepared,
        model=model.to(device),
        dtype=dtype,
        write_model=lambda model, folder: write_model(model, prepared.tokenizer, task, folder),
        bleu=(lambda model: greedy_bleu(ModelFolder(folder, model, prepared.tokenizer, task), sample))
        if sample
        else None,
        say=say,
    )
    if resume:
        trainer.resume()
    try:
        trainer.train()
    except Interrupted:
        say(f"stopped and saved at step {trainer.state.step:,}; go on with the same command and --resume")
        raise
