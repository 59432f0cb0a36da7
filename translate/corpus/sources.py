"""Read sentence pairs from text files, tables, data-set folders, the hub, and what ships with the project.

Only "\n" ends a line. A "\r" right before it belongs to the line end, as Windows programs write it; elsewhere it is
data, like U+2028, U+0085 and the other line breaks of Unicode. A byte order mark at the start of a file is not part of
the text. A null in a table becomes an empty side, which cleaning counts and drops.

Sources are streamed: none holds more than a few thousand pairs in memory.
"""

import functools
import itertools
import json
import random
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translate.config import schema as data
from translate.config.schema import MonoSource, Source
from translate.documents import tmx
from translate.errors import UserError
from translate.files import DAMAGED, cannot_read, evenly, json_sha256, read_lines, sample_lines, sha256, strict_json
from translate.text.placeholders import SYMBOL, protect, symbol

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

Pair = tuple[str, str]
Record = tuple[str, object]  # its place for messages, and its columns

_BATCH_ROWS = 1000
_MADE = re.compile(r"\.[0-9a-f]{16}\.(?:txt|jsonl)$")  # of a translation by `translate prepare`: a digest of its origin


def read_pairs(source: Source, root: Path, langpair: str = "de-en") -> Iterator[Pair]:
    """Yield (source sentence, target sentence) in the order of the source.

    Args:
        root: folder that relative paths start at.
        langpair: "source-target" language codes; used by sources that hold several directions.

    Raises UserError, with file and line if possible, if something cannot be read as pairs of text.
    """
    if isinstance(source, data.PairSource) and source.synthetic is not None:
        return _new_pairs(source, text_file(source.synthetic, root))
    match source:
        case data.TextSource():
            return _parallel(text_file(source.source, root), text_file(source.target, root))
        case data.TsvSource():
            return _tsv(source, text_file(source.path, root), langpair)
        case data.TmxSource():
            src, _, tgt = langpair.partition("-")
            return tmx.pairs(text_file(source.path, root), src, tgt)
        case data.RecordSource():
            path = text_file(source.path, root)
            return _cells(source, _jsonl(path, source) if source.kind == "jsonl" else _parquet(path, source))
        case data.HubSource():
            return _cells(source, _hub_records(source, _open_hub(source, root)))
        case data.GrammarSource():
            return _grammar(source, langpair)
        case data.WordsSource():
            return word_pairs(langpair)
        case data.PhrasesSource():
            return phrase_pairs(langpair)
        case data.SacrebleuSource():
            return _parallel(*_sacrebleu_files(source, langpair))
        case data.MonoSource():
            natural, made = text_file(source.path, root), _synthetic_file(source, root)
            if source.lines is None or _MADE.search(made.name):
                pairs = _parallel(natural, made, source.lines)
            else:  # a file of the user translates all lines
                pairs = evenly(_parallel(natural, made), sum(1 for _ in read_lines(natural)), source.lines)
            return synthetic_pairs(source, pairs)


def identity(source: Source, root: Path, langpair: str = "de-en") -> dict[str, str]:
    """Return the SHA-256 or revision of each input of a source, by its name in the experiment file.

    The names do not contain `root`, so the same files in another folder have the same identity. The arguments are those
    of `read_pairs`.

    Raises UserError if an input cannot be read.
    """
    if isinstance(source, data.PairSource) and source.synthetic is not None:
        natural = source.model_copy(update={"synthetic": None})
        made = text_file(source.synthetic, root)
        return {**identity(natural, root, langpair), without_place(source.synthetic): _digest(made)}
    match source:
        case data.TextSource():
            return {name: _digest(text_file(name, root)) for name in (source.source, source.target)}
        case data.TsvSource() | data.TmxSource() | data.RecordSource():
            return {source.path: _digest(text_file(source.path, root))}
        case data.HubSource() if (folder := below(source.id, root)).is_dir():
            return {f"{source.id}/{name}": digest for name, digest in _folder_digests(folder).items()}
        case data.HubSource():
            from translate.corpus import hub

            return {f"hub:{describe(source)}": hub.revision(source, describe(source))}
        case data.GrammarSource():
            from translate.corpus import grammar

            return {"grammar": grammar.digest()}
        case data.WordsSource():
            return {"words": sha256(WORDS_FILE)}
        case data.PhrasesSource():
            return {"phrases": sha256(PHRASES_FILE)}
        case data.SacrebleuSource():
            source_file, reference = _sacrebleu_files(source, langpair)
            return {f"{describe(source)} src": _digest(source_file), f"{describe(source)} ref": _digest(reference)}
        case data.MonoSource():
            made = _synthetic_file(source, root)
            name = without_place(str(source.synthetic))
            return {source.path: _digest(text_file(source.path, root)), name: _digest(made)}


def without_place(synthetic: str) -> str:
    """Return the name of a translation that `translate prepare` made, and the path of any other file unchanged.

    The path to the former depends on the machine, and its name is unique.
    """
    return synthetic.rpartition("/")[2] if _MADE.search(synthetic) else synthetic


def describe(source: Source) -> str:
    """Return a short name of the source for messages and reports."""
    match source:
        case data.TextSource():
            return f"{source.source} + {source.target}"
        case data.TsvSource() | data.TmxSource() | data.RecordSource():
            return source.path
        case data.HubSource():
            return " ".join(part for part in (source.id, source.config, source.split, source.revision) if part)
        case data.GrammarSource():
            return f"grammar {source.split}"
        case data.WordsSource():
            return "words"
        case data.PhrasesSource():
            return "phrases"
        case data.SacrebleuSource():
            return f"sacrebleu {source.name}"
        case data.MonoSource():
            return source.path + (f" translated by {source.model}" if source.model else f" + {source.synthetic}")


def text_file(path: str, root: Path) -> Path:
    """Return the path of an existing file of a source; UserError if there is none.

    Args:
        path: absolute, or below `root`; "~" is the home folder.
        root: folder that relative paths start at.
    """
    found = below(path, root)
    if not found.exists() and _MADE.search(found.name):
        raise UserError(f"{found}: no such file; run `translate prepare` with the experiment file, which makes it")
    if not found.exists():
        hint = "" if root == Path() else ", or data.root, the folder of relative paths"
        raise UserError(f"{found}: no such file; correct the path{hint}")
    return found


def below(path: str, root: Path) -> Path:
    """Return `path` if it is absolute, else the path below `root`; UserError for "~NAME" of an unknown user."""
    try:
        return root.expanduser() / Path(path).expanduser()
    except RuntimeError as error:
        raise UserError(f"{root / path}: no home folder of that user; write the full path") from error


def _parallel(source: Path, target: Path, n_lines: int | None = None) -> Iterator[Pair]:
    """Yield the pairs of two files; with `n_lines`, the target file has only a sample of the lines of the source."""
    pairs = itertools.zip_longest(sample_lines(source, n_lines), read_lines(target))
    for n, (a, b) in enumerate(pairs, start=1):
        if a is None or b is None:
            longer = n + sum(1 for _ in pairs)
            counts = (n - 1, longer) if a is None else (longer, n - 1)
            raise UserError(
                f"{source} has {counts[0]} lines but {target} has {counts[1]}: line n of one must be "
                "the translation of line n of the other"
            )
        yield a, b


def _synthetic_file(source: data.MonoSource, root: Path) -> Path:
    if source.synthetic is None:
        raise UserError(f"{source.path}: has no synthetic side yet; make it with `translate prepare`")
    return text_file(source.synthetic, root)


def _new_pairs(source: data.PairSource, path: Path) -> Iterator[Pair]:
    """Yield the pairs whose targets a model has written: those that `translate prepare` made, or those of the user."""
    if _MADE.search(path.name):  # has no more than `lines`
        return read_pair_lines(path, "remove the file, and run `translate prepare` again")
    pairs = (_pair(line, f"{path}, line {n}") for n, line in enumerate(read_lines(path), start=1))
    return pairs if source.lines is None else evenly(pairs, sum(1 for _ in read_lines(path)), source.lines)


def _pair(line: str, where: str) -> Pair:
    """Return the pair in a line of JSON."""
    try:
        match strict_json(line):
            case [str(source), str(target)]:
                f"{source}{target}".encode()  # half of a surrogate pair is no text
                return source, target
        raise ValueError("not a pair of texts")
    except (ValueError, RecursionError) as error:
        raise UserError(f'{where}: not a pair of texts; write it as JSON, such as ["Haus", "house"]') from error


def _tsv(source: data.TsvSource, path: Path, langpair: str) -> Iterator[Pair]:
    from translate.text.formats import unquoted  # with the formats of documents, which other sources do without

    last = max(source.source, source.target)
    for n, line in enumerate(read_lines(path), start=1):
        cells = line.split("\t")
        if n == 1 and source.columns == tuple(cell.strip('"') for cell in cells):  # the header
            continue
        if len(cells) <= last and not line.strip():
            yield "", ""
            continue
        if n == 1 and source.columns and len(cells) != len(source.columns):
            raise UserError(
                f"{path}, line 1: has {len(cells)} tab-separated columns, and `columns` names {len(source.columns)}; "
                "name all of them, in their order"
            )
        if len(cells) <= last:
            remedy = "correct `source` or `target`" if n == 1 else "add the missing cells, or remove the line"
            raise UserError(
                f"{path}, line {n}: has {len(cells)} tab-separated columns, so column {last} (from 0) is missing; "
                f"{remedy}"
            )
        sides = [unquoted(cells[column]) for column in (source.source, source.target)]
        if n == 1 and (header := _header([side.strip('"') for side in sides], langpair)):
            names = json.dumps([cell.strip('"') for cell in cells], ensure_ascii=False)
            remedy = f'columns = {names}, source = "{header[0]}" and target = "{header[1]}"'
            raise UserError(f"{path}, line 1: is a header; write {remedy} to leave it out")
        src, tgt = (side.split(source.split) if source.split else [side] for side in sides)
        yield from itertools.product(src, tgt)


def _header(names: Sequence[str], langpair: str) -> tuple[str, str] | None:
    """Return the names of the columns of source and target if the two texts, in any order, are such names."""
    src, _, tgt = langpair.lower().partition("-")
    for source, target in (names, names[::-1]):
        if source.lower() in ("source", src) and target.lower() in ("target", tgt):
            return source, target
    return None


def _cells(source: data.RecordSource | data.HubSource, records: Iterator[Record]) -> Iterator[Pair]:
    remedy = "correct `source` or `target`"
    for where, record in records:
        yield _cell(record, source.source, where, remedy), _cell(record, source.target, where, remedy)
        remedy = "correct this one, as those before it have it"


def _jsonl(path: Path, source: data.RecordSource) -> Iterator[Record]:
    for n, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {n}"
        yield where, _json_record(source, where, line)


def _json_record(source: data.RecordSource | data.HubSource, where: str, line: str) -> object:
    """Return the value of a line of JSON; a blank line is a record whose sides are null."""
    if not line.strip():
        return {column.split(".")[0]: None for column in (source.source, source.target)}
    try:
        return strict_json(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not a JSON object: {error}; write one object on each line") from error


def _columns(source: data.RecordSource | data.HubSource, known: list[str]) -> list[str]:
    """Return the columns with the text, as others may hold images; all of them, for the message, if one is missing."""
    wanted = {column if column in known else column.split(".")[0] for column in (source.source, source.target)}
    return sorted(wanted) if wanted <= set(known) else known


def _parquet(path: Path, source: data.RecordSource) -> Iterator[Record]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = _columns(source, names := file.schema_arrow.names)
            if twice := [name for name in columns if names.count(name) > 1]:
                raise UserError(f"{path}: two columns are called {twice[0]!r}; rename one")
            yield from _rows(file.iter_batches(batch_size=_BATCH_ROWS, columns=columns), str(path))
    except (pyarrow.ArrowException, ValueError) as error:  # ValueError: UTF-8, two fields of one name
        raise UserError(
            f"{path}: not a Parquet file, or damaged: {_one_line(error)}; copy it again, or correct `kind`"
        ) from error
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error


def _rows(tables: "Iterable[pyarrow.Table | pyarrow.RecordBatch]", name: str) -> Iterator[Record]:
    rows = itertools.chain.from_iterable(table.to_pylist() for table in tables)
    return ((f"{name}, row {n}", row) for n, row in enumerate(rows, start=1))


def _open_hub(source: data.HubSource, root: Path) -> "Dataset":
    from translate.corpus import hub

    folder = below(source.id, root)
    return hub.open_split(source, folder, describe(source), lambda: json_sha256(_folder_digests(folder)))


def _folder_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder, by its path in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _digest(path) for path in files}


def _hub_records(source: data.HubSource, dataset: "Dataset") -> Iterator[Record]:
    from translate.corpus import hub

    name = describe(source)
    if dataset.column_names == [hub.PLACE, hub.RECORD]:
        for row in dataset:
            where = f"{name}: {row[hub.PLACE]}"
            yield where, _json_record(source, where, row[hub.RECORD])
        return
    for column in (source.source, source.target):
        if hub.is_guessed(dataset, column):
            raise UserError(
                f"{name}: the copy in the cache of `datasets` has guessed types, so {column!r} may not be the text of "
                "the data set; connect to the hub once, which makes an exact copy, or convert the data set to Parquet"
            )
    texts = dataset.select_columns(_columns(source, dataset.column_names))
    yield from _rows(texts.with_format("arrow").iter(batch_size=_BATCH_ROWS), name)


def _cell(record: object, column: str, where: str, remedy: str) -> str:
    """Return the text at a dotted column; UserError, with the remedy, if it is missing, or if it is not text.

    A flat table may have dots in its names too, as `pandas.json_normalize` writes them.
    """
    value = record
    for key in [column] if isinstance(record, dict) and column in record else column.split("."):
        if not isinstance(value, dict) or key not in value:
            known = ", ".join(value) if isinstance(value, dict) else f"a value of type {type(value).__name__}"
            raise UserError(f"{where}: there is no {column!r}: at {key!r} it holds {known}; {remedy}")
        value = value[key]
        if value is None:
            return ""
    if not isinstance(value, str):
        raise UserError(
            f"{where}: {column!r} is {json.dumps(value, default=str)[:40]}, not text; name a column of text"
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"{where}: {column!r} holds half of a surrogate pair; correct the text") from error
    return value


def _grammar(source: data.GrammarSource, langpair: str) -> Iterator[Pair]:
    check_german_english("grammar", langpair)
    from translate.corpus import grammar

    pairs = grammar.generate(source.split, source.pairs, source.seed)
    return pairs if langpair == "de-en" else ((english, german) for german, english in pairs)


def _sacrebleu_files(source: data.SacrebleuSource, langpair: str) -> tuple[Path, Path]:
    """Return the files of a test set, source and reference; downloads them into sacreBLEU's cache if missing.

    UserError if it has several references: scores with one of them would not be those of the test set.
    """
    from http.client import HTTPException

    from portalocker.exceptions import LockException
    from sacrebleu.dataset import DATASETS

    if source.name not in DATASETS:
        raise UserError(f"{source.name}: not a test set of sacreBLEU; `sacrebleu --list` shows them")
    dataset, name = DATASETS[source.name], describe(source)
    if langpair not in dataset.langpairs:
        raise UserError(f"{name}: has no {langpair}; it has {', '.join(sorted(dataset.langpairs))}")
    try:
        file, references = dataset.get_source_file(langpair), dataset.get_reference_files(langpair)
    # sacreBLEU exits if a download has the wrong checksum.
    except (OSError, HTTPException, SystemExit, *DAMAGED, tarfile.TarError, zipfile.BadZipFile, LockException) as error:
        raise UserError(
            f"{name}: cannot be downloaded, or read from its cache; remove ~/.sacrebleu/{source.name} and try again: "
            f"{_one_line(error)}"
        ) from error
    if len(references) > 1:
        raise UserError(
            f"{name}: has {len(references)} references for a line, and pairs have one; name a test set with one, or "
            f"score a saved output with `sacrebleu -t {source.name} -l {langpair}`"
        )
    return Path(file), Path(references[0])


def _digest(path: Path) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs to a file as JSON lines."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(map(pair_line, pairs))


def pair_lines(pairs: Iterable[Pair]) -> bytes:
    """Return pairs as JSON lines, as `write_pairs` writes them."""
    return "".join(map(pair_line, pairs)).encode("utf-8")


_JSON = json.JSONEncoder(ensure_ascii=False)  # `json.dumps` would make one for each line, and it one for each list


def pair_line(pair: Pair) -> str:
    """Return a pair as a line of JSON, with its end."""
    source, target = map(_JSON.encode, pair)
    return f"[{source}, {target}]\n"


def read_pair_lines(path: Path, remedy: str = "run `translate prepare` again") -> Iterator[Pair]:
    """Yield the pairs that `write_pairs` wrote; UserError, which ends with the remedy, if the file is damaged."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                source, target = json.loads(line)
                if not isinstance(source, str) or not isinstance(target, str):
                    raise TypeError("not a pair of texts")
                yield source, target
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: damaged; {remedy}") from error


LANGPAIRS = ("de-en", "en-de")
WORDS_FILE = Path(__file__).with_name("words.tsv")
PHRASES_FILE = Path(__file__).with_name("phrases.tsv")


def word_pairs(langpair: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of the word list, only the first and best translation of each source.

    UserError if `langpair` is not German and English.
    """
    check_german_english("word list", langpair)
    seen: set[str] = set()
    for german, english in _entries(WORDS_FILE):
        for pair in ((german, english), *_without_article(german, english)):
            source, target = pair if langpair == "de-en" else pair[::-1]
            if source not in seen:
                seen.add(source)
                yield source, target


def phrase_pairs(langpair: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of the phrase book; UserError if `langpair` is not German and English."""
    check_german_english("phrase book", langpair)
    for german, english in _entries(PHRASES_FILE):
        yield (german, english) if langpair == "de-en" else (english, german)


def _entries(file: Path) -> Iterator[tuple[str, str]]:
    """Yield German and English of each line."""
    for line in file.read_text(encoding="utf-8").split("\n"):
        german, tab, english = line.partition("\t")
        if tab:
            yield german, english


def check_german_english(what: str, langpair: str) -> None:
    """Raise UserError if `langpair` is not German and English; the message names what is in these languages."""
    if langpair not in LANGPAIRS:
        known = 'set data.source and data.target to "de" and "en"'
        raise UserError(f"the {what} is German and English: {known}, not {langpair}")


@functools.cache
def dictionary(langpair: str) -> Mapping[str, str]:
    """Return the single words of the word list with their translations, case-folded; empty for other languages."""
    if langpair not in LANGPAIRS:
        return {}
    pairs = ((source.casefold(), target.casefold()) for source, target in word_pairs(langpair))
    return {source: target for source, target in pairs if source.isalpha() and target.isalpha()}


def _without_article(german: str, english: str) -> Iterator[tuple[str, str]]:
    """Yield a noun without its article, as people type it: `Haus` for `das Haus`."""
    article, _, noun = german.partition(" ")
    if article in ("der", "die", "das") and noun and " " not in noun and english.startswith("the "):
        yield noun, english.removeprefix("the ")


TAG = "<BT>"  # begins a synthetic source, so that the model can tell it from a natural one (Caswell et al., 2019)
_REACH = 3  # words


def synthetic_pairs(source: MonoSource, translated: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield (source, target) pairs of text in one language, whose other side a model made.

    Back-translation (Sennrich et al., 2016): text in the target language gets a synthetic source. Distillation (Kim and
    Rush, 2016): text in the source language gets a synthetic target.

    Args:
        source: the source table; says which side is natural, and adds tag and noise.
    """
    draw = random.Random(source.seed)
    for natural, synthetic in translated:
        if source.side == "source":
            yield natural, synthetic
            continue
        noised = noisy(synthetic, source.noise, draw) if source.noise else synthetic
        yield (f"{TAG} {noised}" if source.tag and noised else noised), natural


def untagged(pair: tuple[str, str]) -> tuple[str, tuple[str, str]]:
    """Return the tag of a synthetic source with the space after it, or "", and the pair without it."""
    tag = f"{TAG} "
    return (tag, (pair[0][len(tag) :], pair[1])) if pair[0].startswith(tag) else ("", pair)


def with_symbols(pair: Pair, n_symbols: int) -> Pair:
    """Return the pair with symbols for the text to keep unchanged, or the pair itself if the sides differ in it.

    Symbols are numbered in the order of the source; repeated text is matched in order. The tag of a synthetic source
    stays. Training and validation both encode the result.
    """
    if not n_symbols:
        return pair
    tag, natural = untagged(pair)
    source = protect(natural[0])
    if not 0 < len(source.originals) <= n_symbols:
        return pair
    target = protect(natural[1])
    if sorted(source.originals) != sorted(target.originals):
        return pair
    numbers: dict[str, list[int]] = {}
    for number, original in enumerate(source.originals):
        numbers.setdefault(original, []).append(number)
    renamed = [numbers[original].pop(0) for original in target.originals]
    return tag + source.text, SYMBOL.sub(lambda match: symbol(renamed[int(match[1]) - 1]), target.text)


def noisy(text: str, rate: float, draw: random.Random) -> str:
    """Return the text with words dropped and moved (Edunov et al., 2018).

    Args:
        rate: chance that a word is dropped; at least one word stays. The others move by at most 3 places.
    """
    words = text.split()
    kept = [word for word in words if draw.random() >= rate] or words[:1]
    places = [i + draw.uniform(0, _REACH + 1) for i in range(len(kept))]
    return " ".join(kept[i] for i in sorted(range(len(kept)), key=places.__getitem__))
