"""The run card: one Markdown page on a run and its results, for an appendix.

It is made from the files of the run directory; `card.md.jinja` is its text.
"""

import datetime
import functools
import json
import shlex
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import jinja2

from transformer.config import load_config
from translate.config.load import parse
from translate.errors import UserError
from translate.files import sha256, write_bytes
from translate.training.run import Record, Run, facts, load_json, read_run_manifest, writing

CURVE = 12  # validations shown beside the best one

_METRICS = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER"}
_CONSEQUENCE = "there is no run card"


def card(folder: Path) -> str:
    """Return the page on a run directory; parts that the run does not have yet are skipped.

    Raises UserError if a file of the run is damaged or of another version.
    """
    try:
        return _page().render(_content(Run(folder)))
    except (jinja2.UndefinedError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UserError(
            f"{folder}: a file of the run is damaged or of another version, so {_CONSEQUENCE}: {error!r}"
        ) from error


def write(run: Run) -> None:
    """Write RUN/card.md; UserError as for `card`, or if the file cannot be written."""
    with writing(run.card, "the run card"):
        write_bytes(run.card, card(run.folder).encode("utf-8", "backslashreplace"))  # names of files may be no Unicode


def _content(run: Run) -> dict[str, object]:
    """Return the variables of the page."""
    config = parse(load_json(run.config, consequence=_CONSEQUENCE), str(run.config))
    manifest = read_run_manifest(run.manifest, consequence=_CONSEQUENCE)
    scores = load_json(run.scores, consequence=_CONSEQUENCE) if run.scores.exists() else {}
    records, starts = run.records(), manifest["starts"]
    environments = [facts(start) for start in starts]
    model = run.model / "model.safetensors"
    weights = sha256(model) if model.exists() else None
    return {
        "name": run.folder.resolve().name,
        "config": config,
        "settings": _flat(config.model_dump(mode="json")),
        "chosen": _flat(config.model_dump(mode="json", exclude_defaults=True)),
        "manifest": manifest,
        "comparison": _comparison(run),
        "architecture": asdict(load_config(run.model)) if run.model.is_dir() else None,
        "weights": weights,
        "last": ChainMap(*reversed(records)),  # the newest value of each key
        "final": next((record for record in reversed(records) if record["kind"] == "final"), None),
        "scores": scores,
        "signatures": dict.fromkeys(
            f"{name:7}{of[key]['signature']}" for of in scores.values() for key, name in _METRICS.items() if key in of
        ),
        "metrics": {key: name for key, name in _METRICS.items() if any(key in of for of in scores.values())},
        "others": [name for name, of in scores.items() if of["model_sha256"] != weights],
        **_validations(records, config.training.best_by),
        "records": records,
        "starts": starts,
        "commands": dict.fromkeys(shlex.join(["translate", *start["command"][1:]]) for start in starts),
        "environment": {
            name: dict.fromkeys(of.get(name, "unknown") for of in environments) for name in environments[-1]
        },
    }


def _comparison(run: Run) -> str | None:
    """Return one sentence on the run that this one repeats, or None if it repeats none."""
    if not run.reproduction.exists():
        return None
    from translate.training.reproduction import verdict

    return verdict(load_json(run.reproduction, consequence=_CONSEQUENCE))


def _flat(sections: Record) -> dict[str, str]:
    """Return a table from section.key to the value as JSON."""
    return {f"{name}.{key}": _json(value) for name, section in sections.items() for key, value in section.items()}


def _validations(records: Sequence[Record], best_by: str) -> dict[str, object]:
    """Return the best validation and a selection of all, each with the training loss before it."""
    valid, loss = [], None
    for record in records:
        if record["kind"] == "train":
            loss = record["loss"]
        elif record["kind"] == "valid":
            valid.append((record, loss))
    best = _best([record for record, _ in valid], best_by)
    n = len(valid)
    chosen = {(i + 1) * n // min(n, CURVE) - 1 for i in range(min(n, CURVE))}
    curve = [pair for i, pair in enumerate(valid) if i in chosen or pair[0] is best]
    return {"best": best, "curve": curve, "n_validations": n}


def _best(valid: Sequence[Record], best_by: str) -> Record | None:
    """Return the first of the best validations, or None if none has a score."""
    key, sign = ("bleu", -1) if best_by == "bleu" else ("nll", 1)
    return min((r for r in valid if r[key] is not None), key=lambda r: sign * r[key], default=None)


@functools.cache
def _page() -> jinja2.Template:
    templates = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    templates.filters |= {
        "cell": _cell,
        "counted": lambda counts: ", ".join(f"{name} {n:,}" for name, n in counts.items() if n) or "none",
        "decimals": lambda value, digits: "" if value is None else f"{value:.{digits}f}",
        "json": _json,
        "line": lambda text: " ".join(str(text).splitlines()),
        "thousands": "{:,}".format,
        "time": lambda seconds: str(datetime.timedelta(seconds=round(seconds))),
    }
    return templates.from_string(Path(__file__).with_name("card.md.jinja").read_text(encoding="utf-8"))


def _cell(text: str) -> str:
    """Escape text for one line of Markdown."""
    text = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&" else c for c in text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
