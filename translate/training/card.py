"""The run card: one Markdown page on a run and its results, for an appendix.

It is made from the files of the run directory. A table shows the best validation and a selection of the others.
"""

import datetime
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from transformer.checkpoint_io import load_config
from translate.config.load import parse
from translate.errors import UserError
from translate.files import sha256, write_text
from translate.training.cost import Cost, cost_of
from translate.training.reproduction import verdict
from translate.training.run import Record, Run, load_json, writing

CURVE = 12  # validations shown beside the best one

_METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
_SO = "there is no run card"


def card(run: Path) -> str:
    """Return the page on a run directory; parts that the run does not have yet are left out.

    Raises UserError if a file of the run is damaged or of another version.
    """
    chapters = {
        "": _summary,
        "Scores": _scores,
        "Sample": _sample,
        "Validation": _validation,
        "Warnings": _warnings,
        "Settings": _settings,
        "Data": _data,
        "Environment": _environment,
    }
    page = [f"# Run card: {_cell(run.resolve().name)}"]
    try:
        found = _Found(Run(run))
        for title, chapter in chapters.items():
            if body := list(chapter(found)):
                page += [f"## {title}", *body] if title else body
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UserError(f"{run}: a file of the run is damaged or of another version, so {_SO}: {error!r}") from error
    return "\n\n".join(page) + "\n"


def write(run: Run) -> None:
    """Write RUN/card.md; UserError as for `card`, or if the file cannot be written."""
    with writing(run.card, "the run card"):
        write_text(run.card, card(run.folder))


class _Found:
    """The content of a run directory; `weights` is the SHA-256 of the final model."""

    def __init__(self, run: Run) -> None:
        weights = run.model / "model.safetensors"
        self.run, self.records = run, run.records()
        self.config = parse(load_json(run.config, so=_SO), str(run.config))
        self.manifest = load_json(run.manifest, so=_SO)
        self.scores = load_json(run.scores, so=_SO) if run.scores.exists() else {}
        self.weights = sha256(weights) if weights.exists() else None
        self.final = next(reversed(self.of_kind("final")), None)

    def of_kind(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["kind"] == kind]


def _summary(found: _Found) -> Iterator[str]:
    data, manifest = found.config.data, found.manifest
    facts = {
        "languages": f"{data.source} to {data.target}",
        "model": f"preset {found.config.model.preset}, {manifest['parameters']:,} parameters",
        "products": manifest["dtype"],
        "seed": f"{manifest['seed']}, of initialisation, dropout and the order of batches",
    }
    if parent := manifest.get("parent"):
        facts["began from"] = f"{parent['path']}, SHA-256 {parent['weights_sha256']}"
    if found.run.reproduction.exists():
        facts["repeats"] = f"a run; the model is {verdict(load_json(found.run.reproduction, so=_SO))}"
    yield _facts(facts | _training(found))
    if found.run.model.is_dir():
        yield "The architecture:"
        yield _block(f"{key} = {json.dumps(value)}" for key, value in asdict(load_config(found.run.model)).items())


def _training(found: _Found) -> dict[str, str]:
    """Return the facts on training: length, cost, final model."""
    if not found.records:
        return {"training": "has not begun"}
    last, facts = found.records[-1], {}
    facts["training"] = f"{last['step']:,} updates, {last['epoch']:,} epochs" + ("" if found.final else ", not ended")
    if updates := found.of_kind("train"):
        facts["training"] += f", {updates[-1]['tokens']:,} tokens"
    cost, total = cost_of(found.run)
    facts["cost"] = _cost(cost)
    if found.manifest.get("parent"):
        facts["cost with that of all parents"] = _cost(total)
    if found.final:
        steps = ", ".join(f"{step:,}" for step in found.final["averaged"])
        facts["final model"] = f"made of the checkpoints of updates {steps}"
    if found.weights:
        facts["SHA-256 of the model"] = found.weights
    return facts


def _scores(found: _Found) -> Iterator[str]:
    if found.final:
        nll, perplexity, bleu = (found.final[key] for key in ("nll", "perplexity", "bleu"))
        greedy = "" if bleu is None else f", BLEU {_number(bleu, 2)} by greedy search"
        yield f"Validation, final model: {_number(nll, 4)} nats a token, perplexity {_number(perplexity, 3)}{greedy}."
    if not found.scores:
        return
    rows = [(name, f"{of['lines']:,}", *_values(of), _search(of)) for name, of in found.scores.items()]
    yield _table(("set", "lines", *_METRICS.values(), "search"), rows)
    signatures = [(_METRICS[key], of[key]["signature"]) for of in found.scores.values() for key in _METRICS]
    yield _block(f"{name:5}{signature}" for name, signature in dict.fromkeys(signatures))
    others = [name for name, of in found.scores.items() if of.get("model_sha256", found.weights) != found.weights]
    if others:
        yield f"Not scored with the final model: {_cell(', '.join(others))}."


def _values(scores: Record) -> Iterator[str]:
    """Yield each metric, with its 95 % interval if there is one."""
    for key in _METRICS:
        interval = scores[key].get("interval")
        yield f"{scores[key]['score']:.2f}" + ("" if interval is None else f" +- {interval:.2f}")


def _search(scores: Record) -> str:
    decoding = scores.get("decoding", {})
    plain = decoding.get("length_penalty", "gnmt") == "gnmt"
    names = {"beam_size": "beam"} | ({"alpha": "alpha"} if plain else {"length_penalty": "length penalty"})
    return ", ".join(f"{name} {decoding[key]}" for key, name in names.items() if key in decoding)


def _sample(found: _Found) -> Iterator[str]:
    for name, scores in found.scores.items():
        if sample := scores.get("sample"):
            yield f"Of {_cell(name)}, at even distances:"
            texts = [[f"{key:12}{value}" for key, value in entry.items()] for entry in sample]
            yield _block(line for text in texts for line in (*text, ""))


def _validation(found: _Found) -> Iterator[str]:
    valid = found.of_kind("valid")
    if not valid:
        return
    best = _best(valid, found.config.training.best_by)
    rows = [
        (
            f"{record['step']:,}{' (best)' if record is best else ''}",
            f"{record['epoch']:,}",
            _time(record["seconds"]),
            _number(_loss_before(found, record["step"]), 4),
            _number(record["nll"], 4),
            _number(record["perplexity"], 3),
            _number(record["bleu"], 2),
        )
        for record in _spread(valid, best)
    ]
    yield _table(("update", "epoch", "time", "training loss", "nll", "perplexity", "BLEU"), rows)
    yield f"{len(rows)} of {len(valid)} validations; loss (smoothed) and nll in nats a token."


def _best(valid: Sequence[Record], best_by: str) -> Record:
    """Return the first of the best validations, or the last one if none has a score."""
    key, sign = ("bleu", -1) if best_by == "bleu" else ("nll", 1)
    return min((r for r in valid if r[key] is not None), key=lambda r: sign * r[key], default=valid[-1])


def _spread(valid: Sequence[Record], best: Record) -> list[Record]:
    """Return the best, the last, and others at even distances."""
    n = len(valid)
    chosen = {(i + 1) * n // min(n, CURVE) - 1 for i in range(min(n, CURVE))}
    return [record for i, record in enumerate(valid) if i in chosen or record is best]


def _loss_before(found: _Found, step: int) -> float | None:
    losses = (record["loss"] for record in reversed(found.of_kind("train")) if record["step"] <= step)
    return next(losses, None)


def _warnings(found: _Found) -> Iterator[str]:
    lines = [record["message"] for record in found.of_kind("warning")]
    lines += [f"{record['halved']:,} times a batch did not fit into memory" for record in found.of_kind("memory")]
    updates = found.of_kind("train")
    if updates and updates[-1]["skipped"]:
        lines.append(f"{updates[-1]['skipped']:,} updates left out because loss or gradient was not finite")
    if lines:
        yield "\n".join(f"- {_cell(line)}" for line in lines)


def _settings(found: _Found) -> Iterator[str]:
    everything = _flat(found.config.model_dump(mode="json"))
    chosen = _flat(found.config.model_dump(mode="json", exclude_defaults=True))
    yield "Other than the defaults:"
    yield _block(f"{key} = {everything[key]}" for key in chosen)
    yield "As by default:"
    yield _block(f"{key} = {value}" for key, value in everything.items() if key not in chosen)


def _flat(sections: Record) -> dict[str, str]:
    """Return a table from section.key to the value as JSON."""
    return {
        f"{name}.{key}": json.dumps(value, ensure_ascii=False)
        for name, section in sections.items()
        for key, value in section.items()
    }


def _data(found: _Found) -> Iterator[str]:
    data = found.manifest["data"]
    counts = data["counts"]
    dropped = ", ".join(f"{rule} {n:,}" for rule, n in counts["dropped"].items() if n) or "none"
    replayed = f", {counts['replay']:,} of them replayed" if "replay" in counts else ""
    added = "".join(f", {n:,} {kind} variants added" for kind, n in counts.get("added", {}).items())
    copies = f", {counts['upsample']:,} copies" if "upsample" in counts else ""
    facts = {
        "training pairs": f"{counts['kept']:,} of {counts['read']:,}{added}{copies}{replayed}; dropped: {dropped}",
        "validation pairs": f"{counts['valid']:,}",
        "test pairs": ", ".join(f"{name} {n:,}" for name, n in counts["test"].items()) or "none",
        "training tokens": ", ".join(f"{side} {n:,}" for side, n in counts["tokens"].items()),
        "SHA-256 of the plan": data["fingerprint"],
    }
    yield _facts(facts)
    yield "SHA-256, or revision, of the sources:"
    yield _block(f"{digest}  {name}" for name, digest in data["inputs"].items())
    yield "SHA-256 of the prepared files:"
    yield _block(f"{digest}  {name}" for name, digest in data["files"].items())


def _environment(found: _Found) -> Iterator[str]:
    starts = found.manifest["starts"]
    yield "Commands:" if len(starts) > 1 else "Command:"
    yield _block(dict.fromkeys(shlex.join(["translate", *start["command"][1:]]) for start in starts))
    facts = {
        "starts": f"{len(starts):,}: {' ... '.join(dict.fromkeys((starts[0]['time'], starts[-1]['time'])))}",
        "commit": _of_all(starts, _commit),
        "versions": _of_all(starts, lambda start: ", ".join(f"{k} {v}" for k, v in start["versions"].items())),
        "machine": _of_all(starts, _machine),
    }
    yield _facts(facts)


def _of_all(starts: Sequence[Record], fact: Callable[[Record], str]) -> str:
    """Return a fact of every start; equal values appear once."""
    return "; ".join(dict.fromkeys(fact(start) for start in starts))


def _commit(start: Record) -> str:
    if start["commit"] is None:
        return "unknown, as the project was installed without one"
    return f"{start['commit']}, {'with' if start['uncommitted_changes'] else 'no'} uncommitted changes"


def _machine(start: Record) -> str:
    machine = start["machine"]
    device = "" if machine["device"] == "cpu" else f"{machine['device']}, "
    return (
        f"{device}{machine['processor']}; {machine['cores']} cores, "
        f"processes x threads: {machine['processes']} x {machine['threads']}"
    )


def _cost(cost: Cost) -> str:
    """Return time and operations; the parent of a fine-tuned model may come without its run directory."""
    time = "unknown time" if cost.seconds is None else _time(cost.seconds)
    flops = "an unknown number of" if cost.flops is None else f"{cost.flops:.3g}"
    return f"{time} of training and validation, {flops} floating-point operations"


def _time(seconds: float) -> str:
    """Return a time as h:mm:ss."""
    return str(datetime.timedelta(seconds=round(seconds)))


def _number(value: float | None, digits: int) -> str:
    """Return a rounded number; empty if it was not measured or is not finite."""
    return "" if value is None else f"{value:.{digits}f}"


def _facts(facts: Mapping[str, str]) -> str:
    return _table(("", ""), facts.items())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """Escape text for one line of Markdown."""
    text = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&" else c for c in text)


def _block(lines: Iterable[str]) -> str:
    """Return lines as a Markdown code block."""
    return "\n".join(f"    {' '.join(line.splitlines())}".rstrip() for line in lines).rstrip()
