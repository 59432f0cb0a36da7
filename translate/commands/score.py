"""`translate score`: the probability of given translations."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from translate.commands.lines import writable
from translate.config.schema import TextSource
from translate.corpus.sources import read_pairs
from translate.errors import say
from translate.machine import choose_device, set_up_torch
from translate.models import registry
from translate.models.folder import ModelFolder
from translate.options import JsonLines, Model, argument, nested
from translate.text.translation import Opening, Search


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Compute the probability of given translations.

    Each line of output is the log-probability, the number of tokens, and the log-probability per token.
    """

    source: Annotated[Path, argument("SOURCE", "Source sentences, one per line.")]
    reference: Annotated[Path, argument("REFERENCE", "Their translations.")]
    model: Model = None
    as_json: JsonLines = False
    search: Annotated[Search, nested("formality")] = Search()
    opening: Annotated[Opening, nested("threads")] = Opening()


def run(options: ScoreOptions) -> None:
    """Print log-probability, number of tokens and log-probability per token for each pair of lines.

    The files may be compressed. As JSON, the output has the log-probability of each token too. Raises UserError for
    wrong input.
    """
    folder = registry.find_model(options.model, say)
    # Read completely first, so that files of different lengths are refused before anything is printed.
    files = TextSource(source=str(options.source), target=str(options.reference))
    pairs = list(read_pairs(files, Path()))
    set_up_torch(options.opening.threads)
    from translate.inference.scoring import score

    log_prob, n_tokens = 0.0, 0
    with writable(None) as out:
        for scored in score(ModelFolder.open(folder, choose_device()), pairs, options.search.formality):
            if options.as_json:
                record = asdict(scored) | {"normalised": scored.normalised}
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
            else:
                out.write(f"{scored.log_prob:.4f}\t{scored.n_tokens}\t{scored.normalised:.4f}\n")
            log_prob += scored.log_prob
            n_tokens += scored.n_tokens
    if n_tokens:
        say(f"{n_tokens:,} tokens, perplexity {math.exp(min(700.0, -log_prob / n_tokens)):.4g}")
