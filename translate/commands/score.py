"""`translate score`: the probability of given translations."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path

from translate.commands.messages import say
from translate.config.schema import TextSource
from translate.corpus.sources import read_pairs
from translate.models import registry as installed
from translate.models.folder import ModelFolder


def score(source: Path, reference: Path, *, model: Path | None, as_json: bool, threads: int | None) -> None:
    """Print log-probability, tokens and log-probability per token of each line of `reference` given that of `source`.

    Args:
        source, reference: files of as many lines, plain or compressed.
        model: name or path of a model; None looks for one.
        as_json: one JSON object a line, with the log-probability of each token, instead of three columns.
        threads: CPU threads; None leaves them to torch.

    Raises UserError for what the user can mend.
    """
    folder = installed.find(model, say)
    # All at once, so that files of different lengths are refused before anything is printed.
    pairs = list(read_pairs(TextSource(source=str(source), target=str(reference)), Path()))
    import torch

    from translate.inference.scoring import score as scores
    from translate.machine import choose_device

    if threads is not None:
        torch.set_num_threads(threads)
    log_prob, n_tokens = 0.0, 0
    for scored in scores(ModelFolder.open(folder, choose_device()), pairs):
        if as_json:
            record = asdict(scored) | {"normalised": scored.normalised}
            sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(f"{scored.log_prob:.4f}\t{scored.n_tokens}\t{scored.normalised:.4f}\n")
        log_prob += scored.log_prob
        n_tokens += scored.n_tokens
    if n_tokens:
        say(f"{n_tokens:,} tokens, perplexity {math.exp(min(700.0, -log_prob / n_tokens)):.4g}")
