"""The manifest of a prepared corpus: the settings and inputs that determine it, its counts and its files."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from translate.config.schema import DataConfig, ExperimentConfig, WordsSource
from translate.corpus.sources import LANGPAIRS, identity
from translate.errors import UserError
from translate.files import read_json

FORMAT = 1

_KEYS = {"config", "inputs", "fingerprint", "counts", "tokenizer", "versions", "files"}
_MAX_DIFFERENCES = 6  # listed when a folder is out of date
_MAX_VALUE = 30  # characters of a setting or hash in that list

Manifest = dict[str, Any]


class Span(NamedTuple):
    """The pairs of one source, in a row.

    Attributes:
        n_pairs: number of pairs.
        weight: how often an epoch has each of them, on average.
        replayed: whether they belong to an older corpus, whose weights are scaled to its share.
    """

    n_pairs: int
    weight: float = 1.0
    replayed: bool = False


class Mixture(NamedTuple):
    """How often an epoch has the pairs of each source.

    Attributes:
        spans: the sources in the order of the corpus; () is one source with weight 1.
        replay_share: share of the replayed spans in an epoch.
    """

    spans: Sequence[Span] = ()
    replay_share: float = 0.0


def mixture(manifest: Manifest, data: DataConfig) -> Mixture:
    """Return how often an epoch has the pairs of each source of a prepared corpus, by the weights of `data`."""
    share, counts = 0.0 if data.replay is None else data.replay.share, manifest["counts"]
    if "pairs" not in counts:  # made before sources had weights: copies of pairs stand in the corpus
        n_replayed = counts.get("replay", 0)
        n_pairs = counts["kept"] + sum(counts.get("added", {}).values()) + counts.get("upsample", 0)
        return Mixture([Span(n_pairs - n_replayed), Span(n_replayed, replayed=True)], share)
    sources = [(source, False) for source in data.train] + [(source, True) for source in data.replay_sources]
    spans = [Span(n, source.weight, replayed) for n, (source, replayed) in zip(counts["pairs"], sources, strict=True)]
    return Mixture(spans, share)


def plan(config: ExperimentConfig, tokenizer_sha256: str | None = None) -> Manifest:
    """Return the part of the manifest that determines the corpus: settings, inputs and their fingerprint.

    Versions of libraries are excluded on purpose: an upgrade must not retrain the tokenizer of a trained model.

    Args:
        config: the experiment.
        tokenizer_sha256: digest of the tokenizer that replaces the one of the section tokenizer, if there is one.

    Raises UserError if a source cannot be read.
    """
    plan: Manifest = {
        "format": FORMAT,
        "config": corpus_settings(config, tokenizer_sha256),
        "inputs": input_hashes(config),
    }
    fingerprint = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()
    return {**plan, "fingerprint": fingerprint}


def corpus_settings(config: ExperimentConfig, tokenizer_sha256: str | None = None) -> dict[str, Any]:
    """Return the settings that determine the corpus; the arguments are those of `plan`."""
    settings = config.model_dump(mode="json", include={"data", "cleaning", "tokenizer", "augmentation"})
    del settings["data"]["root"]
    data = settings["data"]
    # Keys of later versions must not change fingerprints of old corpora.
    for key in ("names", "spelling"):
        if not settings["augmentation"][key]:
            del settings["augmentation"][key]
    sources = [*data["train"], data["valid"], *data["test"].values()]
    if data["replay"]:
        del data["replay"]["share"]  # used in training alone
        sources += data["replay"]["sources"]
    for source in sources:
        del source["weight"]  # used in training alone
        source["upsample"] = 1  # a key of old corpora
        for key in ("keep_identical", "beam_size", "rerank"):  # keys of later versions
            if not source.get(key, True):
                del source[key]
    if not settings["tokenizer"]["tags"]:
        del settings["tokenizer"]["tags"]
    if tokenizer_sha256 is not None:
        settings["tokenizer"] = {"sha256": tokenizer_sha256}
    return settings


def input_hashes(config: ExperimentConfig) -> dict[str, str]:
    """Return the SHA-256 or revision of each input, by its name in the experiment file.

    UserError if a source cannot be read.
    """
    data, root = config.data, Path(config.data.root)
    inputs: dict[str, str] = {}
    for source in (*data.train, *data.replay_sources, data.valid, *data.test.values()):
        inputs |= identity(source, root, data.langpair)
    if (config.augmentation.markup or config.augmentation.names) and data.langpair in LANGPAIRS:
        inputs |= identity(WordsSource(kind="words"), root)
    return inputs


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a prepared folder.

    UserError if there is none, if it is damaged or of another format, or if the size of a file is not the recorded one.
    """
    path = folder / "manifest.json"
    try:
        manifest: Manifest = read_json(path)
        known = manifest["format"]
    except OSError as error:
        raise UserError(f"{folder}: no prepared corpus there; run `translate prepare` first") from error
    except (ValueError, KeyError) as error:
        raise UserError(f"{path}: damaged, or not written by `translate prepare`") from error
    if known != FORMAT:
        raise UserError(f"{path}: has format {known}, and this version reads {FORMAT}; run `translate prepare` again")
    if missing := sorted(_KEYS - manifest.keys()):
        raise UserError(f"{path}: damaged: it lacks {', '.join(missing)}; run `translate prepare` again")
    for name, size in manifest["files"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise UserError(f"{file}: missing, or its size is not {size} bytes; run `translate prepare` again")
    return manifest


def summary(manifest: Manifest) -> str:
    """Return the size of the corpus as text: pairs, tokens and pieces."""
    counts, pieces = manifest["counts"], manifest["tokenizer"]["pieces"]
    n_pairs = counts["kept"] + sum(counts.get("added", {}).values())
    source, target = (manifest["config"]["data"][side] for side in ("source", "target"))
    return (
        f"{n_pairs:,} training pairs, {counts['tokens']['src']:,} {source} and {counts['tokens']['tgt']:,} "
        f"{target} tokens, {pieces:,} pieces"
    )


def differences(old: Manifest, new: Manifest) -> list[str]:
    """Return the differences between the plans of two manifests, one phrase each, for the user."""
    changed = differing(*({**plan["inputs"], **plan["config"]} for plan in (old, new)))
    phrases = [f"{key} was {_short(was)} and is {_short(now)}" for key, (was, now) in changed.items()]
    more = len(phrases) - _MAX_DIFFERENCES
    return [*phrases[:_MAX_DIFFERENCES], f"and {more} more"] if more > 0 else phrases


def _short(value: object) -> str:
    text = "absent" if value is None else json.dumps(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."


def differing(before: dict[str, Any], now: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """Return the values that differ between two nested tables, before and now, by dotted key; None if one lacks it."""
    old, new = _flat(before), _flat(now)
    return {key: (old.get(key), new.get(key)) for key in old | new if old.get(key) != new.get(key)}


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, object]:
    """Return nested tables as one table with dotted keys."""
    flat: dict[str, object] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat
