"""`translate score`: the probability of given translations."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path

from translate.commands.messages import say
from translate.commands.opening import set_up_torch
from translate.config.data import TextSource
from translate.corpus.sources import read_pairs
from translate.models import registry
from translate.models.folder import ModelFolder


def score(source: Path, reference: Path, *, model: Path | None, as_json: bool, threads: int | None) -> None:
    """Print log-probability, number of tokens and log-probability per token for each pair of lines.

    Args:
        source, reference: files with equally many lines, plain or compressed.
        model: path or name of a model; None chooses one, see `registry.find_model`.
        as_json: print one JSON object per line, with the log-probability of each token, instead of three columns.
        threads: CPU threads; None takes torch's default.

    Raises UserError for wrong input.
    """
    folder = registry.find_model(model, say)
    # Read completely first, so that files of different lengths are refused before anything is printed.
    pairs = list(read_pairs(TextSource(source=str(source), target=str(reference)), Path()))
    set_up_torch(threads)
    from translate.inference.scoring import score as scores
    from translate.machine import choose_device

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
