"""A prepared corpus on disk: memory-mapped token ids, raw validation and test pairs, and a manifest of what made them.

    manifest.json            the settings and the SHA-256 of every input, counts, versions, and the size of every file
    report.json              what cleaning dropped, by rule, with examples
    tokenizer.model          SentencePiece
    train.src.ids.npy        the ids of all source sentences end to end, without <s> and </s>; uint16 or uint32
    train.src.offsets.npy    int64, one more than there are pairs: sentence i is ids[offsets[i]:offsets[i + 1]]
    train.tgt.*.npy          the same for the target side
    valid.jsonl, test.NAME.jsonl    one [source, target] a line, as they were read

The folder depends on the settings and the inputs alone: no time, no machine, no path of the data. It is built beside
its place and moved there when complete.
"""

import contextlib
import hashlib
import importlib.metadata
import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from translate.config.schema import ExperimentConfig, Source, WordsSource
from translate.corpus.augmentation import Augmenter, rates
from translate.corpus.cleaning import Cleaner, HeldOut, Report
from translate.corpus.sources import Pair, describe, identity, read_pairs
from translate.corpus.tokenizer import Tokenizer, sample, train
from translate.corpus.words import LANGPAIRS, dictionary
from translate.errors import UserError

FORMAT = 1

_CHUNK = 10_000  # sentences encoded at a time
# What SentencePiece may need, in bytes, and what it needs for a byte of text: more where there are few spaces, as in
# Chinese, for it holds every place of every pair of characters of each different word.
_TOKENIZER_MEMORY = 3 * 2**28
_MEMORY_OF_TEXT = 3
_MEMORY_OF_LONG_WORDS = 50
_LONG_WORD = 32  # bytes; words of languages with spaces are rarely longer
_MAX_DIFFERENCES = 6  # named when a folder is out of date
_SIDES = ("src", "tgt")
_MANIFEST_KEYS = {"config", "inputs", "fingerprint", "counts", "tokenizer", "versions", "files"}

Say = Callable[[str], None]
Manifest = dict[str, Any]


class TokenStore:
    """The training pairs as token ids, memory-mapped: opening costs nothing and reading touches what is asked for.

    Args:
        folder: a prepared folder; UserError if a file is missing or damaged.

    Attributes:
        n_pairs: number of pairs.
        src_lengths, tgt_lengths: (n_pairs,) int32, tokens of each sentence without <s> and </s>.
    """

    def __init__(self, folder: Path) -> None:
        self._ids = {side: _load_array(folder / f"train.{side}.ids.npy") for side in _SIDES}
        self._offsets = {side: _load_array(folder / f"train.{side}.offsets.npy") for side in _SIDES}
        self.src_lengths = np.diff(self._offsets["src"]).astype(np.int32)
        self.tgt_lengths = np.diff(self._offsets["tgt"]).astype(np.int32)
        self.n_pairs = len(self.src_lengths)

    def src(self, i: int) -> np.ndarray:
        """Ids of source sentence `i`: (src_lengths[i],) of the stored type, a read-only view of the file."""
        return self._sentence("src", i)

    def tgt(self, i: int) -> np.ndarray:
        """Ids of target sentence `i`: (tgt_lengths[i],) of the stored type, a read-only view of the file."""
        return self._sentence("tgt", i)

    def _sentence(self, side: str, i: int) -> np.ndarray:
        if not 0 <= i < self.n_pairs:
            raise IndexError(f"pair {i} of {self.n_pairs}")
        start, end = self._offsets[side][i : i + 2]
        return self._ids[side][start:end]


@dataclass(frozen=True)
class Prepared:
    """A prepared folder, open.

    Attributes:
        folder: where it is.
        manifest: the parsed manifest.json.
        train: the training pairs as token ids.
        valid: the validation pairs as text.
        test: the test sets as text, by name.
        tokenizer: what made the ids.

    The last `n_replayed` of the training pairs are those of data.replay.
    """

    folder: Path
    manifest: Manifest
    train: TokenStore
    valid: list[Pair]
    test: dict[str, list[Pair]]
    tokenizer: Tokenizer

    @property
    def n_replayed(self) -> int:
        """Training pairs of the old corpus."""
        return int(self.manifest["counts"].get("replay", 0))

    @classmethod
    def open(cls, folder: Path) -> "Prepared":
        """Open a folder that `prepare` wrote; UserError if it is none, or if a file differs from the manifest."""
        manifest = _read_manifest(folder)
        _check_files(folder, manifest)
        return cls(
            folder=folder,
            manifest=manifest,
            train=TokenStore(folder),
            valid=_read_jsonl(folder / "valid.jsonl"),
            test={name: _read_jsonl(folder / f"test.{name}.jsonl") for name in manifest["counts"]["test"]},
            tokenizer=Tokenizer.load(folder / "tokenizer.model"),
        )


def prepare(config: ExperimentConfig, folder: Path, say: Say, tokenizer: Tokenizer | None = None) -> Prepared:
    """Make `folder` hold the prepared corpus of `config`, and open it.

    Does nothing if it already does. Otherwise builds it anew and swaps it in: whenever the process ends, `folder` is
    the old corpus, the new one, or absent. A folder that holds anything else is never touched.

    Args:
        config: the experiment; its sections data, cleaning and tokenizer matter.
        folder: the destination.
        say: takes each line of the report.
        tokenizer: what makes the ids, in place of one trained as the section tokenizer says.

    Raises UserError for unusable sources, an empty corpus, an unfit vocabulary, and a destination that cannot be
    written.
    """
    try:
        place = folder.resolve()  # what is swapped must be a folder, not a link to one
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place.parent, say):
            return _prepare(config, folder, place, say, tokenizer)
    except OSError as error:
        raise UserError(f"{folder}: cannot write the prepared corpus: {error.strerror or error}") from error


def _prepare(config: ExperimentConfig, folder: Path, place: Path, say: Say, tokenizer: Tokenizer | None) -> Prepared:
    """`prepare` while nobody else does; `folder` is the name that the user knows `place` by."""
    partial, old = (place.with_name(f".{place.name}.{suffix}") for suffix in ("partial", "old"))
    _clear_traces(place, partial, old)
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "manifest.json").exists())):
        raise UserError(f"{folder}: exists and is no prepared corpus; choose another folder with --out, or remove it")
    _check_test_names(config)
    plan = _plan(config, tokenizer)
    if (folder / "manifest.json").exists():
        try:
            present = Prepared.open(folder)
        except UserError as error:
            say(f"preparing anew: {error}")
        else:
            if present.manifest["fingerprint"] == plan["fingerprint"]:
                say(f"{folder} is up to date: {_summary(present.manifest)}")
                return present
            say(f"{folder} is out of date: {'; '.join(_differences(present.manifest, plan))}")
    try:
        partial.mkdir()
        manifest = _build(config, partial, plan, say, tokenizer)
        if place.exists():
            place.rename(old)
        partial.rename(place)
    finally:
        _clear_traces(place, partial, old)
    say(f"wrote {folder}: {_summary(manifest)}")
    return Prepared.open(folder)


def _plan(config: ExperimentConfig, tokenizer: Tokenizer | None) -> Manifest:
    """All that determines the folder: settings and inputs, and a fingerprint of them.

    Versions of libraries stay outside on purpose: upgrading one must not retrain the tokenizer under a trained model.
    """
    data, inputs = config.data, input_hashes(config)
    settings = config.model_dump(mode="json", include={"data", "cleaning", "tokenizer"})
    del settings["data"]["root"]
    if rates(config.augmentation):
        settings["augmentation"] = rates(config.augmentation)
    if not config.tokenizer.placeholders:  # and a folder from before there were any stays up to date
        del settings["tokenizer"]["placeholders"]
    # The share is drawn in training; and a folder from before there was an old corpus stays up to date.
    del settings["data"]["replay"]
    if data.replay is not None:
        settings["data"]["replay"] = [source.model_dump(mode="json") for source in data.replay.sources]
    if tokenizer is not None:
        settings["tokenizer"] = {"sha256": hashlib.sha256(tokenizer.serialized).hexdigest()}
    plan: Manifest = {"format": FORMAT, "config": settings, "inputs": inputs}
    fingerprint = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()
    return {**plan, "fingerprint": fingerprint}


def input_hashes(config: ExperimentConfig) -> dict[str, str]:
    """What pins the content of all sources: names, as the experiment file writes them, to SHA-256 or a revision.

    UserError if a source cannot be read.
    """
    data, root = config.data, Path(config.data.root)
    inputs: dict[str, str] = {}
    for source in (*data.train, *_old_sources(config), data.valid, *data.test.values()):
        inputs |= identity(source, root, _langpair(config))
    if config.augmentation.markup and _langpair(config) in LANGPAIRS:
        inputs |= identity(WordsSource(kind="words"), root)
    return inputs


def _build(config: ExperimentConfig, folder: Path, plan: Manifest, say: Say, tokenizer: Tokenizer | None) -> Manifest:
    """Fill the empty `folder` and return its manifest."""
    held_out = {name: _held_out(config, name) for name in ("valid", *config.data.test)}
    for name, pairs in held_out.items():
        _write_jsonl(folder / _held_out_file(name), pairs)
    clean_file = folder / "train.jsonl"
    augmenter = _augmenter(config, tokenizer)
    cleaner = Cleaner(config.cleaning, HeldOut(itertools.chain.from_iterable(held_out.values())))
    n_pairs, n_replayed = _write_clean(config, cleaner, augmenter, clean_file)
    report = cleaner.report
    del cleaner  # what it has seen takes 16 bytes a pair, as the offsets of the ids will
    _say_report(report, say)
    if augmenter.added:
        say(f"variants added: {', '.join(f'{n:,} {kind}' for kind, n in augmenter.added.items())}")
    n_copies = n_pairs - report.kept - sum(augmenter.added.values())
    if n_pairs == n_replayed:
        raise UserError(
            f"the training corpus is empty after cleaning: {_dropped(report)}; see data.train and [cleaning]"
        )
    if config.data.replay is not None and not n_replayed:
        raise UserError(
            f"data.replay is empty after cleaning: {_dropped(report)}; see data.replay.sources and [cleaning]"
        )
    _write_json(folder / "report.json", report.as_dict())
    if tokenizer is None:
        tokenizer = train(_tokenizer_text(clean_file, 2 * n_pairs, config), config.tokenizer)
    tokenizer.save(folder / "tokenizer.model")
    tokens = _encode(clean_file, n_pairs, tokenizer, folder)
    clean_file.unlink()

    manifest = {
        **plan,
        "counts": {
            "read": report.read,
            "kept": report.kept,
            **({"added": augmenter.added} if augmenter.added else {}),
            **({"upsample": n_copies} if n_copies else {}),
            **({"replay": n_replayed} if n_replayed else {}),
            "dropped": report.dropped,
            "valid": len(held_out["valid"]),
            "test": {name: len(held_out[name]) for name in config.data.test},
            "tokens": tokens,
            "tokens_per_sentence": {side: round(n / n_pairs, 3) for side, n in tokens.items()},
        },
        "tokenizer": {
            "sha256": hashlib.sha256(tokenizer.serialized).hexdigest(),
            "pieces": tokenizer.vocab_size,
            "valid_unknown_rate": _unknown_rates(tokenizer, held_out["valid"], say),
        },
        "versions": {name: importlib.metadata.version(name) for name in ("sentencepiece", "datasets", "numpy")},
        "files": {path.name: path.stat().st_size for path in sorted(folder.iterdir())},
    }
    _write_json(folder / "manifest.json", manifest)
    return manifest


def _tokenizer_text(clean_file: Path, n_sentences: int, config: ExperimentConfig) -> Iterator[str]:
    """Sentences to train the tokenizer on: all, or as many as the config and the memory allow."""
    sentences = itertools.chain.from_iterable(_iter_jsonl(clean_file))
    needed = _MEMORY_OF_TEXT * clean_file.stat().st_size + _MEMORY_OF_LONG_WORDS * _in_long_words(clean_file)
    affordable = max(n_sentences * _TOKENIZER_MEMORY // max(needed, 1), 1)
    return sample(sentences, n_sentences, min(config.tokenizer.max_sentences, affordable))


def _in_long_words(path: Path) -> int:
    """Bytes of a file that stand in words of more than _LONG_WORD bytes; words end at spaces and lines alone."""
    n = 0
    with path.open("rb") as file:
        while lines := file.readlines(2**20):
            ends = np.flatnonzero(np.frombuffer(b"".join(lines), dtype=np.uint8) <= ord(" "))
            lengths = np.diff(ends, prepend=-1) - 1
            n += int(lengths[lengths > _LONG_WORD].sum())
    return n


def _augmenter(config: ExperimentConfig, tokenizer: Tokenizer | None) -> Augmenter:
    n_symbols = config.tokenizer.placeholders if tokenizer is None else tokenizer.n_placeholders
    if config.augmentation.markup and n_symbols < 2:
        raise UserError(
            f"augmentation.markup = {config.augmentation.markup} needs a tokenizer with two placeholders or more, and "
            f"this one has {n_symbols}; set tokenizer.placeholders, or augmentation.markup to 0"
        )
    return Augmenter(config.augmentation, n_symbols, dictionary(_langpair(config)))


def _write_clean(config: ExperimentConfig, cleaner: Cleaner, augmenter: Augmenter, clean_file: Path) -> tuple[int, int]:
    """Write the training pairs that cleaning keeps, their variants and copies, of all sources in turn, as JSON lines.

    Old sources come last, so that of a pair that is new and old the new one stays. Returns the number of all pairs and
    that of old ones.
    """
    n_pairs, n_new = 0, 0

    def kept() -> Iterator[Pair]:
        nonlocal n_pairs, n_new
        for sources in (config.data.train, _old_sources(config)):
            n_new = n_pairs
            for source in sources:
                pairs = read_pairs(source, Path(config.data.root), _langpair(config))
                for pair in augmenter(cleaner.clean(pairs, describe(source))):
                    n_pairs += source.upsample
                    yield from itertools.repeat(pair, source.upsample)

    _write_jsonl(clean_file, tqdm(kept(), desc="cleaning", unit=" pairs", disable=None, leave=False))
    return n_pairs, n_pairs - n_new


def _old_sources(config: ExperimentConfig) -> tuple[Source, ...]:
    return config.data.replay.sources if config.data.replay is not None else ()


def _check_test_names(config: ExperimentConfig) -> None:
    for name in config.data.test:
        if name == "valid":
            raise UserError("data.test.valid: is the name of the validation set; give the test set another one")
        if not re.fullmatch(r"[\w.+-]+", name):
            raise UserError(
                f"data.test.{name}: the name becomes part of a file name; use letters, digits, '.', '_', '-'"
            )


def _held_out(config: ExperimentConfig, name: str) -> list[Pair]:
    """The validation pairs, or those of the test set `name`."""
    data = config.data
    source = data.valid if name == "valid" else data.test[name]
    pairs = list(read_pairs(source, Path(data.root), _langpair(config)))
    if not pairs:
        raise UserError(f"{describe(source)}: holds no pairs, so there is nothing to validate or test on")
    return pairs


def _held_out_file(name: str) -> str:
    return "valid.jsonl" if name == "valid" else f"test.{name}.jsonl"


def _langpair(config: ExperimentConfig) -> str:
    return f"{config.data.source}-{config.data.target}"


def _encode(clean_file: Path, n_pairs: int, tokenizer: Tokenizer, folder: Path) -> dict[str, int]:
    """Write ids and offsets of both sides; returns the number of tokens of each."""
    dtype = np.dtype(np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32)
    offsets = {side: np.zeros(n_pairs + 1, dtype=np.int64) for side in _SIDES}
    with contextlib.ExitStack() as stack:
        writers = {side: stack.enter_context(_ArrayWriter(folder / f"train.{side}.ids.npy", dtype)) for side in _SIDES}
        pairs = tqdm(_iter_jsonl(clean_file), "encoding", n_pairs, unit=" pairs", disable=None, leave=False)
        start = 0
        for chunk in _chunks(pairs, _CHUNK):
            for side, texts in zip(_SIDES, zip(*chunk, strict=True), strict=True):
                ids = tokenizer.encode_batch(texts)
                lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
                offsets[side][start + 1 : start + 1 + len(ids)] = lengths
                writers[side].append(np.fromiter(itertools.chain.from_iterable(ids), dtype, count=int(lengths.sum())))
            start += len(chunk)
    for side in _SIDES:
        np.cumsum(offsets[side], out=offsets[side])
        np.save(folder / f"train.{side}.offsets.npy", offsets[side])
    return {side: int(offsets[side][-1]) for side in _SIDES}


class _ArrayWriter:
    """A one-dimensional .npy file that grows: its header has room for the final length, written last."""

    def __init__(self, path: Path, dtype: np.dtype) -> None:
        self._file = path.open("wb")
        self._dtype = dtype
        self._length = 0
        self._write_header()

    def __enter__(self) -> "_ArrayWriter":
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            self._file.seek(0)
            self._write_header()

    def append(self, values: np.ndarray) -> None:
        """Write (n,) more values of the file's type."""
        self._file.write(values.astype(self._dtype, copy=False).tobytes())
        self._length += len(values)

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, header)


def _chunks(pairs: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, size)):
        yield chunk


def _unknown_rates(tokenizer: Tokenizer, valid: Sequence[Pair], say: Say) -> dict[str, float]:
    """The share of <unk> among the validation tokens of each side; a warning where there are any."""
    rates = {}
    for side, texts in zip(_SIDES, zip(*valid, strict=True), strict=True):
        ids = list(itertools.chain.from_iterable(tokenizer.encode_batch(texts)))
        unknown = ids.count(tokenizer.unk)
        rates[side] = unknown / max(len(ids), 1)
        if unknown:
            say(
                f"warning: {unknown:,} of {len(ids):,} validation tokens ({side}) are unknown to the tokenizer and "
                "cannot be translated; set tokenizer.byte_fallback = true"
            )
    return rates


def _say_report(report: Report, say: Say) -> None:
    for origin, counts in report.origins.items():
        say(f"  {origin}: {counts['read']:,} pairs read, {counts['kept']:,} kept")
    say(f"{report.read:,} pairs read, {report.kept:,} kept, dropped: {_dropped(report)}")


def _dropped(report: Report) -> str:
    return ", ".join(f"{n:,} {rule}" for rule, n in report.dropped.items() if n) or "none"


def _n_pairs(counts: dict[str, Any]) -> int:
    """Training pairs, with their variants and with copies of both."""
    n_added: int = sum(counts.get("added", {}).values())
    return int(counts["kept"]) + n_added + int(counts.get("upsample", 0))


def _summary(manifest: Manifest) -> str:
    counts, pieces = manifest["counts"], manifest["tokenizer"]["pieces"]
    source, target = (manifest["config"]["data"][side] for side in ("source", "target"))
    return (
        f"{_n_pairs(counts):,} training pairs, {counts['tokens']['src']:,} {source} and {counts['tokens']['tgt']:,} "
        f"{target} tokens, {pieces:,} pieces"
    )


def _differences(old: Manifest, new: Manifest) -> list[str]:
    """What an out-of-date folder was made of and what it should be made of, one phrase a difference."""
    phrases = []
    before, after = old["inputs"], new["inputs"]
    for name in before | after:
        if name not in before:
            phrases.append(f"{name} is new")
        elif name not in after:
            phrases.append(f"{name} is no longer used")
        elif before[name] != after[name]:
            phrases.append(f"{name} has changed (SHA-256 {before[name][:8]} to {after[name][:8]})")
    was, now = _flat(old["config"]), _flat(new["config"])
    for key in was | now:
        if was.get(key) != now.get(key):
            phrases.append(f"{key} was {json.dumps(was.get(key))} and is {json.dumps(now.get(key))}")
    more = len(phrases) - _MAX_DIFFERENCES
    return [*phrases[:_MAX_DIFFERENCES], f"and {more} more"] if more > 0 else phrases


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, object]:
    """Nested tables as one, with dotted keys."""
    flat: dict[str, object] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _read_manifest(folder: Path) -> Manifest:
    path = folder / "manifest.json"
    try:
        manifest: Manifest = json.loads(path.read_text(encoding="utf-8"))
        known = manifest["format"]
    except OSError as error:
        raise UserError(f"{folder}: no prepared corpus there; run `translate prepare` first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged, or not written by `translate prepare`") from error
    if known != FORMAT:
        raise UserError(f"{path}: has format {known}, and this version reads {FORMAT}; run `translate prepare` again")
    if missing := sorted(_MANIFEST_KEYS - manifest.keys()):
        raise UserError(f"{path}: damaged: it lacks {', '.join(missing)}; run `translate prepare` again")
    return manifest


def _check_files(folder: Path, manifest: Manifest) -> None:
    """UserError for the first file that is missing, or shorter or longer than when it was written."""
    for name, size in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{path}: missing; run `translate prepare` again")
        if path.stat().st_size != size:
            raise UserError(f"{path}: has {path.stat().st_size} bytes, not {size}; run `translate prepare` again")


def _load_array(path: Path) -> np.ndarray:
    try:
        # A plain array over the same mapping: slices of np.memmap itself are several times slower.
        return np.asarray(np.load(path, mmap_mode="r"))
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path}: missing or damaged; run `translate prepare` again") from error


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")


def _write_jsonl(path: Path, pairs: Iterable[Pair]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)


def _iter_jsonl(path: Path) -> Iterator[Pair]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            source, target = json.loads(line)
            yield source, target


def _read_jsonl(path: Path) -> list[Pair]:
    return list(_iter_jsonl(path))


def _clear_traces(place: Path, partial: Path, old: Path) -> None:
    """Remove a half-built corpus, and the old one too unless nothing took its place: then put it back."""
    shutil.rmtree(partial, ignore_errors=True)
    if old.exists() and not place.exists():
        old.rename(place)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _locked(parent: Path, say: Say) -> Iterator[None]:
    """Wait until no other process prepares a folder in `parent`; without effect where there are no such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that prepares a corpus in {parent}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # some network file systems
            pass
        yield
    finally:
        os.close(descriptor)
