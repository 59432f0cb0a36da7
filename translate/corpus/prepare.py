"""Prepare a corpus: from sources to a folder with everything that training reads.

    manifest.json            settings, the SHA-256 of every input, counts, versions, and the size of every file
    report.json              dropped pairs by cleaning rule, with examples
    tokenizer.model          SentencePiece
    train.src.ids.npy        ids of all source sentences, concatenated, without <s> and </s>; uint16 or uint32
    train.src.offsets.npy    int64, number of pairs + 1: sentence i is ids[offsets[i]:offsets[i + 1]]
    train.tgt.*.npy          the same for the target side
    valid.jsonl, test.NAME.jsonl    one [source, target] per line, unchanged

The content depends only on the settings and the inputs: not on the time, the machine or the path of the data. This file
has `prepare` first, then the manifest, then the token ids.
"""

import contextlib
import importlib.metadata
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from translate.config.load import Stored, validated
from translate.config.schema import DataConfig, ExperimentConfig, MonoSource, WordsSource, is_synthetic
from translate.corpus.sources import (
    LANGPAIRS,
    TAG,
    Pair,
    below,
    describe,
    identity,
    read_pair_lines,
    read_pairs,
    without_place,
    write_pairs,
)
from translate.corpus.tokenizer import Tokenizer, affordable, train
from translate.errors import Say, UserError, reason
from translate.files import cannot_read, json_sha256, locked, new_folder, read_json, recover_folder, write_json
from translate.machine import release_memory
from translate.text.formality import LANGUAGE, TAGS

if TYPE_CHECKING:
    from translate.corpus.cleaning import Report
    from translate.corpus.stages import Clean, CleanPairs, Encoded

Manifest = dict[str, Any]

FORMAT = 1
_TEST_NAME = r"^[\w.+-]+$"  # a part of the name of a file
_MAX_DIFFERENCES = 6  # listed when a folder is out of date
_MAX_VALUE = 30  # characters of a setting or hash in that list


def prepare(
    config: ExperimentConfig,
    folder: Path,
    say: Say,
    tokenizer: Tokenizer | None = None,
    clean: "Clean | None" = None,
    *,
    planned: Manifest | None = None,
    lock: contextlib.ExitStack | None = None,
) -> "Prepared":
    """Write the prepared corpus of `config` to `folder`, unless it is there already, and open it.

    The corpus is built in another folder, which replaces `folder` when complete. At any time, `folder` is the old
    corpus, the new one, or absent. A folder with any other content is never changed.

    Args:
        config: the experiment; its sections data, cleaning, tokenizer and augmentation matter.
        tokenizer: encodes the pairs, instead of a new one trained as the section tokenizer says.
        clean: where the pairs are cleaned and encoded; None does both in this process. The corpus is the same.
        planned: what `plan_corpus` returned, for an experiment that `check_corpus` has checked; None does both.
        lock: receives the lock of the corpus, which no other process replaces until it is released; None releases it
            when the corpus is open.

    Raises UserError if a source cannot be used, the corpus is empty, the vocabulary does not fit, or the destination
    cannot be written.
    """
    # A link to a folder stays a link: the folder that it points to is replaced. Messages name the link.
    place = Path(os.path.realpath(folder))
    with _writing(folder), contextlib.ExitStack() as own_lock:
        place.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"waiting for another process that prepares a corpus in {place.parent}"
        (lock or own_lock).enter_context(locked(place.parent, lambda: say(waiting)))
        recover_folder(place)
        if planned is None:
            check_corpus(config, tokenizer)
            planned = plan_corpus(config, tokenizer.sha256 if tokenizer else None)
        present, said = _present(folder, planned) if (place / "manifest.json").exists() else (None, "")
        if present is None:
            _refuse_foreign(folder, place)
        if said:
            say(said)
        if present is not None:
            return present
        with new_folder(place, replace=True) as partial:
            manifest = {**planned, **_build(config, partial, say, tokenizer, clean)}
            _require_unchanged(planned["inputs"], input_hashes(config))
            write_json(partial / "manifest.json", manifest)
        say(f"wrote {folder}: {summary(manifest)}")
        return Prepared.open(folder)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn an OSError into a UserError: the corpus cannot be written."""
    try:
        yield
    except BrokenPipeError:  # of `say`: stdout was closed
        raise
    except OSError as error:
        raise UserError(f"{folder}: cannot write the prepared corpus: {reason(error)}") from error


def _present(folder: Path, planned: Manifest) -> "tuple[Prepared | None, str]":
    """Return the corpus that is there if it is the planned one, or None, and a message that says which and why."""
    try:
        present = Prepared.open(folder)
    except UserError as error:
        return None, f"preparing again: {error}"
    if present.manifest["fingerprint"] != planned["fingerprint"]:
        return None, f"{folder} is out of date: {'; '.join(differences(present.manifest, planned))}"
    return present, f"{folder} is up to date: {summary(present.manifest)}"


def check_corpus(config: ExperimentConfig, tokenizer: Tokenizer | None = None) -> None:
    """Check what `prepare` needs, without reading text or the synthetic side of sources in one language.

    Args:
        tokenizer: as for `prepare`.

    Raises UserError if the name of a test set cannot be that of a file, if a file is missing, or if the tokenizer lacks
    a tag or placeholders.
    """
    _check_test_names(config)
    n_symbols = _n_symbols(config, tokenizer)
    augmentation = config.augmentation
    if augmentation.symbols and n_symbols < 2:
        raise UserError(
            f"augmentation.symbols = {augmentation.symbols} needs a tokenizer with two placeholders or more, and "
            f"this one has {n_symbols}; set tokenizer.placeholders, or augmentation.symbols to 0"
        )
    if augmentation.values and config.data.langpair not in LANGPAIRS:
        raise UserError(
            f"augmentation.values = {augmentation.values} is for German and English, not {config.data.langpair}; "
            "set it to 0"
        )
    if augmentation.formality and config.data.target != LANGUAGE:
        raise UserError(
            f"augmentation.formality = {augmentation.formality} is for German targets, not {config.data.target}; "
            "set it to 0"
        )
    for tag in source_tags(config):
        # A new tokenizer is trained with the tags.
        if tokenizer is not None and tag not in (pieces := tokenizer.tokens(tokenizer.encode(tag))):
            remedy = 'tag = false in the sources of kind "mono"' if tag == TAG else "augmentation.formality to 0"
            raise UserError(
                f"sources begin with {tag}, which the tokenizer splits into {' '.join(pieces)}: set {remedy}, or start "
                "from a model whose tokenizer has the tag"
            )
    data = config.data
    for source in data.sources:
        if not is_synthetic(source):
            read_pairs(source, Path(data.root), data.langpair)  # finds the files and reads none


def _check_test_names(config: ExperimentConfig) -> None:
    for name in config.data.test:
        if name == "valid" or not re.fullmatch(_TEST_NAME, name):
            raise UserError(
                f"data.test.{name}: the name becomes part of a file name; use letters, digits, '.', '_', '-', but not "
                "just valid, which is the validation set"
            )


def source_tags(config: ExperimentConfig) -> list[str]:
    """Return the tokens that begin sources: of synthetic ones, and of those with a form of address."""
    sources = config.data.training_sources
    synthetic = any(isinstance(s, MonoSource) and s.tag and s.side == "target" for s in sources)
    return [TAG] * synthetic + [*TAGS.values()] * bool(config.augmentation.formality)


def _n_symbols(config: ExperimentConfig, tokenizer: Tokenizer | None) -> int:
    """Return the number of placeholders of the tokenizer, or of the one that will be trained."""
    return config.tokenizer.placeholders if tokenizer is None else tokenizer.n_placeholders


# Names of the files of a prepared corpus.
_OWN = re.compile(r"manifest\.json|report\.json|tokenizer\.model|valid\.jsonl|test\..+\.jsonl|train\..+\.npy")


def _refuse_foreign(folder: Path, place: Path) -> None:
    """Raise UserError if `place` holds anything but a prepared corpus, such as a run, whose manifest has that name."""
    names = [path.name for path in place.iterdir()] if place.is_dir() else []
    foreign = [name for name in names if not _OWN.fullmatch(name)]
    if foreign or (names and "manifest.json" not in names) or place.is_file() or place.is_symlink():
        what = f" (it has {max(foreign)})" if foreign else ""  # a hidden file only if there is no other
        raise UserError(f"{folder}: exists and is not a prepared corpus{what}; name another folder, or remove it")


def _build(
    config: ExperimentConfig, folder: Path, say: Say, tokenizer: Tokenizer | None, clean: "Clean | None"
) -> Manifest:
    """Fill the empty `folder`, except for the manifest, and return the rest of the manifest."""
    # Needed only where a corpus is made, and not where one is read.
    from translate.corpus import stages

    held_out = {name: _held_out(config, name) for name in ("valid", *config.data.test)}
    for name, pairs in held_out.items():
        write_pairs(_held_out_file(folder, name), pairs)
    more = (read_pairs(source, Path(config.data.root), config.data.langpair) for source in config.data.held_out)
    recipe = stages.Recipe.of(config, [*itertools.chain(*held_out.values(), *more)], _n_symbols(config, tokenizer))
    found = (clean or stages.clean)(recipe, folder)
    report, n_pairs, n_replayed = found.report, sum(found.counts), sum(found.counts[len(config.data.train) :])
    _say_report(found, say)
    _check_not_empty(config, report, n_pairs - n_replayed, n_replayed)
    write_json(folder / "report.json", report.as_dict())
    if tokenizer is None:
        n_used = min(config.tokenizer.max_sentences, affordable(found.size, 2 * n_pairs))
        tokenizer = train(found.sample(n_used), config.tokenizer, {*config.tokenizer.tags, *source_tags(config)})
        release_memory()  # all that SentencePiece used
    tokenizer.save(folder / "tokenizer.model")
    tokens = write_tokens(found.encoded(tokenizer), n_pairs, np.dtype(tokenizer.id_type), folder)
    return {
        "counts": {
            "read": report.read,
            "kept": report.kept,
            **({"added": found.added} if found.added else {}),
            "pairs": found.counts,
            "dropped": report.dropped,
            "valid": len(held_out["valid"]),
            "test": {name: len(held_out[name]) for name in config.data.test},
            "tokens": tokens,
            "tokens_per_sentence": {side: round(n / n_pairs, 3) for side, n in tokens.items()},
        },
        "tokenizer": {
            "sha256": tokenizer.sha256,
            "pieces": tokenizer.vocab_size,
            "valid_unknown_rate": _unknown_rates(tokenizer, held_out["valid"], say),
        },
        "versions": {name: importlib.metadata.version(name) for name in ("sentencepiece", "datasets", "numpy")},
        "files": {path.name: path.stat().st_size for path in sorted(folder.iterdir())},
    }


def _held_out(config: ExperimentConfig, name: str) -> list[Pair]:
    """Return the validation pairs, or those of the test set `name`."""
    data = config.data
    source = data.valid if name == "valid" else data.test[name]
    pairs = list(read_pairs(source, Path(data.root), data.langpair))
    if not any(all(map(str.strip, pair)) for pair in pairs):
        what = "only pairs with a blank side" if pairs else "no pairs"
        raise UserError(f"{describe(source)}: holds {what} to validate or test on; name another source")
    return pairs


def _held_out_file(folder: Path, name: str) -> Path:
    return folder / ("valid.jsonl" if name == "valid" else f"test.{name}.jsonl")


def _say_report(found: "CleanPairs", say: Say) -> None:
    report = found.report
    for origin, counts in report.origins.items():
        say(f"  {origin}: {counts['read']:,} pairs read, {counts['kept']:,} kept")
    say(f"{report.read:,} pairs read, {report.kept:,} kept, dropped: {_dropped(report)}")
    if found.added:
        say(f"variants added: {', '.join(f'{n:,} {kind}' for kind, n in found.added.items())}")
    if found.refused:
        say(f"variants skipped, as they are validation or test pairs: {found.refused:,}")


def _check_not_empty(config: ExperimentConfig, report: "Report", n_new: int, n_replayed: int) -> None:
    for name, n_pairs in (("data.train", n_new), ("data.replay", n_replayed if config.data.replay else 1)):
        if not n_pairs and not any(report.dropped.values()):
            raise UserError(f"{name} has no pairs; see its sources")
        if not n_pairs:
            raise UserError(f"{name} is empty after cleaning: {_dropped(report)}; see its sources and [cleaning]")


def _dropped(report: "Report") -> str:
    return ", ".join(f"{n:,} {rule}" for rule, n in report.dropped.items() if n) or "none"


def _unknown_rates(tokenizer: Tokenizer, valid: Sequence[Pair], say: Say) -> dict[str, float]:
    """Return the share of <unk> among the validation tokens of each side, with a warning if there are any."""
    rates = {}
    for side, texts in zip(SIDES, zip(*valid, strict=True), strict=True):
        ids = list(itertools.chain.from_iterable(tokenizer.encode_batch(texts)))
        unknown = ids.count(tokenizer.unk)
        rates[side] = unknown / max(len(ids), 1)
        if unknown:
            say(
                f"warning: {unknown:,} of {len(ids):,} validation tokens ({side}) are unknown to the tokenizer and "
                "cannot be translated; set tokenizer.byte_fallback = true"
            )
    return rates


def _require_unchanged(before: dict[str, str], now: dict[str, str]) -> None:
    """Raise UserError if inputs changed while they were read: the digests before would name other text."""
    if changed := sorted(differing(before, now)):
        raise UserError(
            f"{', '.join(changed)}: changed while the corpus was prepared; start again when nothing writes there"
        )


@dataclass(frozen=True)
class Prepared:
    """A prepared folder, open.

    Attributes:
        train: the training pairs as token ids, in the order of the sources; those of data.replay come last.
        test: the test sets as text, by name.
        tokenizer: encoded the training pairs.
    """

    folder: Path
    manifest: Manifest
    train: "EncodedPairs"
    valid: list[Pair]
    test: dict[str, list[Pair]]
    tokenizer: Tokenizer

    @classmethod
    def open(cls, folder: Path) -> "Prepared":
        """Open a folder that `prepare` wrote; UserError if it is none, or if a file differs from the manifest."""
        manifest, train = read_manifest(folder), read_tokens(folder)
        if sum(manifest["counts"]["pairs"]) != train.n_pairs:
            raise UserError(
                f"{folder / 'manifest.json'}: damaged: counts other pairs than there are; run `translate prepare` again"
            )
        return cls(
            folder=folder,
            manifest=manifest,
            train=train,
            valid=list(read_pair_lines(_held_out_file(folder, "valid"))),
            test={name: list(read_pair_lines(_held_out_file(folder, name))) for name in manifest["counts"]["test"]},
            tokenizer=Tokenizer.load(folder / "tokenizer.model"),
        )


# The manifest


def plan_corpus(config: ExperimentConfig, tokenizer_sha256: str | None = None) -> Manifest:
    """Return the part of the manifest that determines the corpus: settings, inputs and their fingerprint.

    Versions of libraries are excluded on purpose: an upgrade must not retrain the tokenizer of a trained model.

    Args:
        tokenizer_sha256: digest of the tokenizer to use; None if one is trained as the section tokenizer says.

    Raises UserError if a source cannot be read, or if the name of a test set cannot be that of a file.
    """
    _check_test_names(config)
    plan: Manifest = {
        "format": FORMAT,
        "config": corpus_settings(config, tokenizer_sha256),
        "inputs": input_hashes(config),
    }
    return {**plan, "fingerprint": json_sha256(plan)}


def plan_moved_corpus(config: ExperimentConfig, folder: Path, tokenizer_sha256: str | None = None) -> Manifest | None:
    """Return the plan of a corpus that was prepared on another machine; None if its data can be read on this one.

    The inputs are those that were read there.

    Args:
        folder: the prepared corpus.
        tokenizer_sha256: as for `plan_corpus`.

    Raises UserError if the corpus was prepared with other settings or is damaged, or if data.root is "~NAME" of an
    unknown user.
    """
    is_remote = any(source.kind == "hub" for source in config.data.sources)
    if is_remote or below(".", Path(config.data.root)).exists() or not (folder / "manifest.json").exists():
        return None
    manifest = read_manifest(folder)
    settings = json.loads(json.dumps(corpus_settings(config, tokenizer_sha256)))
    if settings != manifest["config"]:
        changed = differences(manifest, {**manifest, "config": settings})
        raise UserError(
            f"{folder}: was prepared with other settings, and there is no {config.data.root} to prepare it again: "
            f"{'; '.join(changed)}"
        )
    return {key: manifest[key] for key in ("format", "config", "inputs", "fingerprint")}


def corpus_settings(config: ExperimentConfig, tokenizer_sha256: str | None = None) -> dict[str, Any]:
    """Return the settings that determine the corpus; the arguments are those of `plan_corpus`."""
    settings = config.model_dump(mode="json", include={"data", "cleaning", "tokenizer", "augmentation"})
    del settings["data"]["root"]
    data = settings["data"]
    # Keys of later versions must not change fingerprints of old corpora.
    for key in ("title", "capitals", "symbols", "names", "spelling", "typos", "values", "formality"):
        if not settings["augmentation"][key]:
            del settings["augmentation"][key]
    settings["augmentation"]["markup"] = 0.0  # a key of old corpora
    sources = [*data["train"], data["valid"], *data["test"].values(), *data["held_out"]]
    if not data["held_out"]:
        del data["held_out"]
    if data["replay"]:
        del data["replay"]["share"]  # used in training alone
        sources += data["replay"]["sources"]
    for source in sources:
        del source["weight"]  # used in training alone
        source["upsample"] = 1  # a key of old corpora
        of_pairs = () if source["kind"] == "mono" else ("model", "lines", "synthetic")
        for key in ("keep_identical", "beam_size", "rerank", *of_pairs):  # keys of later versions
            if not source.get(key, True):
                del source[key]
        if source.get("synthetic"):
            source["synthetic"] = without_place(source["synthetic"])
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
    for source in data.sources:
        inputs |= identity(source, root, data.langpair)
    if (config.augmentation.symbols or config.augmentation.names) and data.langpair in LANGPAIRS:
        inputs |= identity(WordsSource(kind="words"), root)
    return inputs


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


def summary(manifest: Manifest) -> str:
    """Return the size of the corpus as text: pairs, tokens and pieces."""
    counts, pieces = manifest["counts"], manifest["tokenizer"]["pieces"]
    n_pairs = counts["kept"] + sum(counts.get("added", {}).values())
    source, target = (manifest["config"]["data"][side] for side in ("source", "target"))
    return (
        f"{n_pairs:,} training pairs, {counts['tokens']['src']:,} {source} and {counts['tokens']['tgt']:,} "
        f"{target} tokens, {pieces:,} pieces"
    )


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a prepared folder.

    UserError if there is none, if it is damaged or of another format, or if the size of a file is not the recorded one.
    """
    path = folder / "manifest.json"
    try:
        manifest: Manifest = read_json(path)
        known = manifest["format"]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{folder}: no prepared corpus there; run `translate prepare` first") from error
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error
    except (ValueError, KeyError) as error:
        raise UserError(f"{path}: damaged, or not written by `translate prepare`; run it again") from error
    if known != FORMAT:
        raise UserError(f"{path}: has format {known}, and this version reads {FORMAT}; run `translate prepare` again")
    try:
        validated(_Manifest, manifest, f"{path}: damaged")
    except UserError as error:
        raise UserError(f"{error}; run `translate prepare` again") from error
    for name, size in manifest["files"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise UserError(f"{file}: missing, or its size is not {size} bytes; run `translate prepare` again")
    return manifest


_Count = Annotated[int, Field(ge=0)]


class _Languages(Stored):
    source: str
    target: str


class _Settings(Stored):
    data: _Languages
    tokenizer: dict[str, Any]


class _Sides(Stored):
    src: _Count
    tgt: _Count


class _Lengths(Stored):
    src: float = Field(ge=0, le=2**31)
    tgt: float = Field(ge=0, le=2**31)


class _Counts(Stored):
    kept: _Count
    added: dict[str, _Count] = Field(default_factory=dict)
    pairs: list[_Count]
    dropped: dict[str, _Count]
    valid: _Count
    test: dict[Annotated[str, Field(pattern=_TEST_NAME)], _Count]
    tokens: _Sides
    tokens_per_sentence: _Lengths


class _Pieces(Stored):
    sha256: str
    pieces: _Count


class _Manifest(Stored):
    """The part of a manifest that its readers need."""

    config: _Settings
    inputs: dict[str, str]
    fingerprint: str
    counts: _Counts
    tokenizer: _Pieces
    versions: dict[str, str]
    files: dict[str, _Count]


class Component(NamedTuple):
    """One source in a mixture: pairs that are in a row in the corpus.

    Attributes:
        weight: how often an epoch has each of them, on average.
        replayed: whether they belong to an older corpus, whose weights are scaled to its share.
    """

    n_pairs: int
    weight: float = 1.0
    replayed: bool = False


class Mixture(NamedTuple):
    """The number of times that an epoch has the pairs of each source.

    Attributes:
        components: the sources in the order of the corpus; () is one source with weight 1.
        replay_share: share of the replayed components in an epoch.
    """

    components: Sequence[Component] = ()
    replay_share: float = 0.0


def mixture(manifest: Manifest, data: DataConfig) -> Mixture:
    """Return how often an epoch has the pairs of each source of a prepared corpus, by the weights of `data`.

    UserError if the corpus has another number of sources.
    """
    sources = [(source, False) for source in data.train] + [(source, True) for source in data.replay_sources]
    n_pairs = manifest["counts"]["pairs"]
    if len(n_pairs) != len(sources):
        raise UserError(
            f"the manifest of the prepared corpus counts the pairs of {len(n_pairs)} sources, and the experiment has "
            f"{len(sources)}; run `translate prepare` again"
        )
    components = [Component(n, source.weight, replayed) for n, (source, replayed) in zip(n_pairs, sources, strict=True)]
    return Mixture(components, 0.0 if data.replay is None else data.replay.share)


# The token ids

SIDES = ("src", "tgt")
_PART = 2**18  # offsets that are read together


class Side(NamedTuple):
    """One side of sentence pairs as token ids, without bos and eos.

    Attributes:
        ids: of all sentences in a row.
        offsets: (n_pairs + 1,), of each sentence in `ids`, and their number: sentence i is
            ids[offsets[i] : offsets[i + 1]].
        lengths: (n_pairs,), tokens of each sentence.
    """

    ids: NDArray[np.integer]
    offsets: NDArray[np.integer]
    lengths: NDArray[np.int32]


class EncodedPairs:
    """Sentence pairs as token ids, without bos and eos.

    Attributes:
        src_side, tgt_side: the sides.
        src_lengths, tgt_lengths: (n_pairs,) int32, tokens of each sentence.
    """

    def __init__(self, src: Side, tgt: Side) -> None:
        self.src_side, self.tgt_side = src, tgt
        self.src_lengths, self.tgt_lengths = src.lengths, tgt.lengths
        self.n_pairs = len(self.src_lengths)

    @classmethod
    def of(cls, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]) -> "EncodedPairs":
        """Return the pairs of lists of token ids; ValueError if the sides have different numbers of sentences."""
        if len(src) != len(tgt):
            raise ValueError(f"{len(src)} source sentences but {len(tgt)} target sentences")
        return cls(_side(src), _side(tgt))

    def src(self, i: int) -> NDArray[np.integer]:
        """Return the ids of source sentence i, a view."""
        ids, offsets, _ = self.src_side
        return ids[offsets[i] : offsets[i + 1]]

    def tgt(self, i: int) -> NDArray[np.integer]:
        """Return the ids of target sentence i, a view."""
        ids, offsets, _ = self.tgt_side
        return ids[offsets[i] : offsets[i + 1]]


def _side(sentences: Sequence[Sequence[int]]) -> Side:
    ids = np.fromiter(itertools.chain.from_iterable(sentences), dtype=np.int64)
    offsets = np.cumsum([0, *map(len, sentences)])
    return Side(ids, offsets, np.diff(offsets).astype(np.int32))


def read_tokens(folder: Path) -> EncodedPairs:
    """Open the pairs of a prepared folder, memory-mapped: only the sentences that are read take memory.

    UserError if a file is missing or damaged.
    """
    src, tgt = (_read_side(folder, side) for side in SIDES)
    if len(src.lengths) != len(tgt.lengths):
        raise UserError(
            f"{folder}: damaged: its sides have {len(src.lengths):,} and {len(tgt.lengths):,} sentences; run "
            "`translate prepare` again"
        )
    return EncodedPairs(src, tgt)


def _read_side(folder: Path, side: str) -> Side:
    """Return one side; UserError unless the offsets divide the ids into sentences."""
    ids, offsets = (_load_array(folder / f"train.{side}.{part}.npy") for part in ("ids", "offsets"))
    path = folder / f"train.{side}.offsets.npy"
    fits = ids.ndim == offsets.ndim == 1 and ids.dtype.kind == "u" and offsets.dtype == np.int64 and len(offsets)
    lengths = _read_lengths(path, len(offsets) - 1) if fits else None
    if lengths is None or offsets[0] != 0 or offsets[-1] != len(ids):
        raise UserError(f"{path}: damaged: does not divide its ids into sentences; run `translate prepare` again")
    return Side(ids, offsets, lengths)


def _read_lengths(path: Path, n_pairs: int) -> NDArray[np.int32] | None:
    """Return the differences between the offsets in a file; None if one is negative.

    The file is read and not mapped: the pages of a mapped file count as memory of the process once it has read them.
    """
    lengths = np.empty(n_pairs, dtype=np.int32)
    with path.open("rb") as file:
        file.seek(np.load(path, mmap_mode="r").offset)
        last = np.fromfile(file, dtype=np.int64, count=1)
        for start in range(0, n_pairs, _PART):
            offsets = np.concatenate([last, np.fromfile(file, dtype=np.int64, count=_PART)])
            differences = np.diff(offsets)
            if differences.min() < 0:
                return None
            lengths[start : start + _PART] = differences
            last = offsets[-1:]
    return lengths


def _load_array(path: Path) -> np.ndarray:
    try:
        # A plain array over the same mapping: slices of np.memmap itself are several times slower.
        return np.asarray(np.load(path, mmap_mode="r"))
    except PermissionError as error:
        raise UserError(cannot_read(path, error)) from error
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path}: missing or damaged; run `translate prepare` again") from error


def write_tokens(chunks: Iterable["Encoded"], n_pairs: int, dtype: np.dtype, folder: Path) -> dict[str, int]:
    """Write ids and offsets of pairs, with one chunk in memory at a time.

    Args:
        chunks: consecutive pairs, read once.
        n_pairs: their total number.
        dtype: type of the ids.

    Returns the number of tokens of each side.
    """
    n_tokens = dict.fromkeys(SIDES, 0)
    with contextlib.ExitStack() as stack:
        ids, offsets = (
            {side: stack.enter_context((folder / f"train.{side}.{part}.npy").open("wb")) for side in SIDES}
            for part in ("ids", "offsets")
        )
        for side in SIDES:
            _write_header(ids[side], dtype, 0)
            _write_header(offsets[side], np.dtype(np.int64), n_pairs + 1)
            offsets[side].write(bytes(8))
        n_written = 0
        for chunk in chunks:
            for side, encoded in zip(SIDES, chunk, strict=True):
                ids[side].write(encoded.ids.tobytes())
                offsets[side].write((n_tokens[side] + np.cumsum(encoded.lengths)).tobytes())
                n_tokens[side] += len(encoded.ids)
            n_written += len(chunk[0].lengths)
        assert n_written == n_pairs
        for side in SIDES:
            ids[side].seek(0)
            _write_header(ids[side], dtype, n_tokens[side])
    return n_tokens


def _write_header(file: IO[bytes], dtype: np.dtype, length: int) -> None:
    """Write the header of a one-dimensional .npy file; it takes the same room for every length."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)
