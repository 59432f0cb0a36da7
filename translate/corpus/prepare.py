"""Prepare a corpus: from sources to a folder with everything that training reads.

    manifest.json       settings, the SHA-256 of every input, counts, versions, and the size of every file
    report.json         dropped pairs by cleaning rule, with examples
    tokenizer.model     SentencePiece
    train.*.npy         the training pairs as token ids; see tokens.py
    valid.jsonl, test.NAME.jsonl    one [source, target] per line, unchanged

The content depends only on the settings and the inputs: not on the time, the machine or the path of the data.
"""

import importlib.metadata
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from translate.config.schema import DataConfig, ExperimentConfig, MonoSource
from translate.corpus.augmentation import Augmenter
from translate.corpus.cleaning import Cleaner, HeldOut, Report
from translate.corpus.manifest import Manifest, Mixture, differences, mixture, plan, read_manifest, summary
from translate.corpus.sources import TAG, Pair, describe, dictionary, read_pairs
from translate.corpus.tokenizer import Tokenizer, affordable, sample, train
from translate.corpus.tokens import SIDES, EncodedPairs, read_tokens, write_tokens
from translate.errors import Say, UserError
from translate.files import locked, new_folder, recover_folder, write_json

# Names of the files of a prepared corpus.
_OWN = re.compile(r"manifest\.json|report\.json|tokenizer\.model|valid\.jsonl|test\..+\.jsonl|train\..+\.npy")


@dataclass(frozen=True)
class Prepared:
    """A prepared folder, open.

    Attributes:
        folder: its path.
        manifest: the parsed manifest.json.
        train: the training pairs as token ids, in the order of the sources; those of data.replay come last.
        valid: the validation pairs as text.
        test: the test sets as text, by name.
        tokenizer: encoded the training pairs.
    """

    folder: Path
    manifest: Manifest
    train: EncodedPairs
    valid: list[Pair]
    test: dict[str, list[Pair]]
    tokenizer: Tokenizer

    def mixture(self, data: DataConfig) -> Mixture:
        """Return how often an epoch has the pairs of each source, by the weights of `data`."""
        return mixture(self.manifest, data)

    @classmethod
    def open(cls, folder: Path) -> "Prepared":
        """Open a folder that `prepare` wrote; UserError if it is none, or if a file differs from the manifest."""
        manifest = read_manifest(folder)
        return cls(
            folder=folder,
            manifest=manifest,
            train=read_tokens(folder),
            valid=list(_read_jsonl(_held_out_file(folder, "valid"))),
            test={name: list(_read_jsonl(_held_out_file(folder, name))) for name in manifest["counts"]["test"]},
            tokenizer=Tokenizer.load(folder / "tokenizer.model"),
        )


def prepare(config: ExperimentConfig, folder: Path, say: Say, tokenizer: Tokenizer | None = None) -> Prepared:
    """Write the prepared corpus of `config` to `folder`, unless it is there already, and open it.

    The corpus is built in another folder, which replaces `folder` when complete. At any time, `folder` is the old
    corpus, the new one, or absent. A folder with any other content is never changed.

    Args:
        config: the experiment; its sections data, cleaning, tokenizer and augmentation matter.
        folder: the destination.
        say: receives each line of the report.
        tokenizer: encodes the pairs, instead of a new one trained as the section tokenizer says.

    Raises UserError if a source cannot be used, the corpus is empty, the vocabulary does not fit, or the destination
    cannot be written.
    """
    try:
        place = folder.resolve()  # a link to a folder stays a link: the folder that it points to is replaced
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place.parent, lambda: say(f"waiting for another process that prepares a corpus in {place.parent}")):
            return _prepare(config, folder, place, say, tokenizer)
    except BrokenPipeError:  # of `say`: stdout was closed
        raise
    except OSError as error:
        raise UserError(f"{folder}: cannot write the prepared corpus: {error.strerror or error}") from error


def _prepare(config: ExperimentConfig, folder: Path, place: Path, say: Say, tokenizer: Tokenizer | None) -> Prepared:
    """Build the corpus in `place` while holding the lock; messages call it `folder`."""
    recover_folder(place)
    _check_test_names(config)
    planned = plan(config, tokenizer.sha256 if tokenizer else None)
    if (place / "manifest.json").exists():
        try:
            present = Prepared.open(folder)
        except UserError as error:
            say(f"preparing again: {error}")
        else:
            if present.manifest["fingerprint"] == planned["fingerprint"]:
                say(f"{folder} is up to date: {summary(present.manifest)}")
                return present
            say(f"{folder} is out of date: {'; '.join(differences(present.manifest, planned))}")
    _refuse_foreign(folder, place)
    with new_folder(place, replace=True) as partial:
        manifest = {**planned, **_build(config, partial, say, tokenizer)}
        write_json(partial / "manifest.json", manifest)
    say(f"wrote {folder}: {summary(manifest)}")
    return Prepared.open(folder)


def _refuse_foreign(folder: Path, place: Path) -> None:
    """Raise UserError if `place` holds anything but a prepared corpus, such as a run, whose manifest has that name."""
    names = [path.name for path in place.iterdir()] if place.is_dir() else []
    foreign = [name for name in names if not _OWN.fullmatch(name)]
    if foreign or (names and "manifest.json" not in names) or place.is_file():
        what = f" (it has {max(foreign)})" if foreign else ""  # a hidden file only if there is no other
        raise UserError(f"{folder}: exists and is not a prepared corpus{what}; name another folder, or remove it")


def _build(config: ExperimentConfig, folder: Path, say: Say, tokenizer: Tokenizer | None) -> Manifest:
    """Fill the empty `folder`, except for the manifest, and return the rest of the manifest."""
    held_out = {name: _held_out(config, name) for name in ("valid", *config.data.test)}
    for name, pairs in held_out.items():
        _write_jsonl(_held_out_file(folder, name), pairs)
    clean_file = folder / "train.jsonl"
    known = HeldOut(itertools.chain.from_iterable(held_out.values()) if config.cleaning.test_overlap else ())
    check_tags(config, tokenizer)
    augmenter = _augmenter(config, tokenizer, known)
    cleaner = Cleaner(config.cleaning, known)
    counts = _write_clean(config, cleaner, augmenter, clean_file)
    n_pairs, n_replayed = sum(counts), sum(counts[len(config.data.train) :])
    report = cleaner.report
    del cleaner  # frees its 16 bytes per pair before encoding needs as many
    _say_report(report, augmenter, say)
    _check_not_empty(config, report, n_pairs - n_replayed, n_replayed)
    write_json(folder / "report.json", report.as_dict())
    if tokenizer is None:
        n_sentences = 2 * n_pairs
        sentences = itertools.chain.from_iterable(_read_jsonl(clean_file))
        n_used = min(config.tokenizer.max_sentences, affordable(clean_file, n_sentences))
        tokenizer = train(
            sample(sentences, n_sentences, n_used), config.tokenizer, {*config.tokenizer.tags, *_tags(config)}
        )
    tokenizer.save(folder / "tokenizer.model")
    encoded = tqdm(_read_jsonl(clean_file), "encoding", n_pairs, unit=" pairs", disable=None, leave=False)
    tokens = write_tokens(encoded, n_pairs, tokenizer, folder)
    clean_file.unlink()
    return {
        "counts": {
            "read": report.read,
            "kept": report.kept,
            **({"added": augmenter.added} if augmenter.added else {}),
            "pairs": counts,
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


def _tags(config: ExperimentConfig) -> list[str]:
    """Return the tokens that mark synthetic sources."""
    sources = (*config.data.train, *config.data.replay_sources)
    return [TAG] if any(isinstance(s, MonoSource) and s.tag and s.side == "target" for s in sources) else []


def check_tags(config: ExperimentConfig, tokenizer: Tokenizer | None) -> None:
    """Raise UserError if the corpus has tags that the tokenizer would spell out; None trains one that knows them."""
    for tag in _tags(config):
        if tokenizer is not None and tokenizer.ids([tag]) == [tokenizer.unk]:
            raise UserError(
                f"the tokenizer has no piece {tag}, which begins synthetic sources: set tag = false in the sources of "
                'kind "mono", or start from a model that was trained with tags'
            )


def _augmenter(config: ExperimentConfig, tokenizer: Tokenizer | None, held_out: HeldOut) -> Augmenter:
    n_symbols = config.tokenizer.placeholders if tokenizer is None else tokenizer.n_placeholders
    if config.augmentation.markup and n_symbols < 2:
        raise UserError(
            f"augmentation.markup = {config.augmentation.markup} needs a tokenizer with two placeholders or more, and "
            f"this one has {n_symbols}; set tokenizer.placeholders, or augmentation.markup to 0"
        )
    words = dictionary(config.data.langpair)
    return Augmenter(config.augmentation, n_symbols, words, config.data.source, held_out.overlaps)


def _write_clean(config: ExperimentConfig, cleaner: Cleaner, augmenter: Augmenter, clean_file: Path) -> list[int]:
    """Write the pairs that cleaning keeps, with variants, as JSON lines; return their number by source.

    Sources of data.replay come last, so that of a pair in both corpora the new one is kept.
    """
    data = config.data
    counts: list[int] = []

    def kept() -> Iterator[Pair]:
        for source in (*data.train, *data.replay_sources):
            counts.append(0)
            pairs = read_pairs(source, Path(data.root), data.langpair)
            for pair in augmenter(cleaner.clean(pairs, describe(source), keep_identical=source.keep_identical)):
                counts[-1] += 1
                yield pair

    _write_jsonl(clean_file, tqdm(kept(), desc="cleaning", unit=" pairs", disable=None, leave=False))
    return counts


def _check_not_empty(config: ExperimentConfig, report: Report, n_new: int, n_replayed: int) -> None:
    for name, n_pairs in (("data.train", n_new), ("data.replay", n_replayed if config.data.replay else 1)):
        if not n_pairs and not any(report.dropped.values()):
            raise UserError(f"{name} has no pairs; see its sources")
        if not n_pairs:
            raise UserError(f"{name} is empty after cleaning: {_dropped(report)}; see its sources and [cleaning]")


def _check_test_names(config: ExperimentConfig) -> None:
    for name in config.data.test:
        if name == "valid" or not re.fullmatch(r"[\w.+-]+", name):
            raise UserError(
                f"data.test.{name}: the name becomes part of a file name; use letters, digits, '.', '_', '-', but not "
                "just valid, which is the validation set"
            )


def _held_out(config: ExperimentConfig, name: str) -> list[Pair]:
    """Return the validation pairs, or those of the test set `name`."""
    data = config.data
    source = data.valid if name == "valid" else data.test[name]
    pairs = list(read_pairs(source, Path(data.root), data.langpair))
    if not pairs:
        raise UserError(f"{describe(source)}: holds no pairs to validate or test on; name another source")
    return pairs


def _held_out_file(folder: Path, name: str) -> Path:
    return folder / ("valid.jsonl" if name == "valid" else f"test.{name}.jsonl")


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


def _say_report(report: Report, augmenter: Augmenter, say: Say) -> None:
    for origin, counts in report.origins.items():
        say(f"  {origin}: {counts['read']:,} pairs read, {counts['kept']:,} kept")
    say(f"{report.read:,} pairs read, {report.kept:,} kept, dropped: {_dropped(report)}")
    if augmenter.added:
        say(f"variants added: {', '.join(f'{n:,} {kind}' for kind, n in augmenter.added.items())}")
    if augmenter.refused:
        say(f"variants skipped, as they are validation or test pairs: {augmenter.refused:,}")


def _dropped(report: Report) -> str:
    return ", ".join(f"{n:,} {rule}" for rule, n in report.dropped.items() if n) or "none"


def _write_jsonl(path: Path, pairs: Iterable[Pair]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)


def _read_jsonl(path: Path) -> Iterator[Pair]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            source, target = json.loads(line)
            yield source, target
