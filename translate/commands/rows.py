"""`translate text --ray`: translate the rows of many files on a cluster of Ray: lines of text, or a column of Parquet.

Each file has an output of the same name with as many rows in the same order. Workers translate parts of `ROWS` rows;
this process writes them in order. With `--resume` it continues after any interruption: lines as `GrowingFile` does, and
a table from its parts, which are files in `.NAME.parts` until all are there.
"""

import glob
import io
import itertools
import os
import pickle
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from translate import cluster
from translate.cluster import Dataset, PartIndex
from translate.commands.lines import (
    ArrivingLines,
    Notes,
    TranslationOptions,
    exists_already,
    open_file,
)
from translate.commands.resuming import GrowingFile, Progress, begun_otherwise
from translate.errors import UserError, printable, reason, say
from translate.files import cannot_read, hidden, read_json, sha256, write_bytes, write_json
from translate.models.folder import digests
from translate.text.formats import LINE_FORMATS

if TYPE_CHECKING:
    import pyarrow

    from translate.inference.translator import Translator
    from translate.text.translation import Translation

ROWS = 1024  # of a part
INTO = "translation"  # the new column


class Rows(NamedTuple):
    """Some rows of a file.

    Attributes:
        first: number of the first one, from 1.
        texts: what is translated; None stays None.
        mark: the byte order mark before the first line of a file, or "".
        table: the columns, as a stream of Arrow; empty for lines.
    """

    first: int
    texts: list[str | None]
    mark: str = ""
    table: bytes = b""


Flagged = list[tuple[int, "Translation"]]  # with the number of the row


def run(
    options: TranslationOptions,
    inputs: Sequence[Path],
    translator: "Translator",
    known: dict[str, object],
    address: str,
) -> None:
    """Translate files into the folder of `--output`; UserError if that is impossible.

    Args:
        inputs: the files.
        translator: of the options; workers open it for themselves.
        known: everything that the output depends on, except the text.
        address: of the cluster; see `cluster.connected`.
    """
    start, n_rows, notes = time.perf_counter(), 0, Notes(noun="row")
    folder, column = options.output or Path(), options.document.column
    known = known | {"rows": ROWS, "column": column}
    del known["windows"]  # of other sizes, on which translations do not depend
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be the folder of the outputs: {reason(error)}") from error
    outputs = [_output(path, folder / path.name, known | {"source_sha256": sha256(path)}, options) for path in inputs]
    reads = [_Read(path, column, output.n_rows) for path, output in zip(inputs, outputs, strict=True)]
    work = _Translate(_model(options, translator))
    with cluster.connected(address), ExitStack() as held:
        for part, (rows, flagged) in Dataset.read(reads).map(work).notes():
            name, output = inputs[part.source].name, outputs[part.source]
            if part.number == 0:
                held.enter_context(output.opened())
            if rows is not None:
                output.write(rows)
                n_rows += len(rows.texts)
            for n, translation in flagged:
                notes.add(translation, f"{n} of {printable(name)}")
            if part.is_last:
                held.close()
    notes.tell()
    if n_rows:
        seconds = time.perf_counter() - start
        say(f"{n_rows:,} rows in {seconds:,.1f} s, {n_rows / seconds:,.0f} rows/s")


def inputs(options: TranslationOptions) -> list[Path]:
    """Return the files that the pattern of `--input` matches, in the order of their names; UserError for wrong ones."""
    if options.input is None or options.sentences or options.output is None:
        raise UserError("--ray translates files into a folder; name both, as in --input 'FOLDER/*.txt' --output OUT")
    if options.as_json:
        raise UserError("--ray writes text or Parquet; leave out --json")
    if options.from_language == "auto":
        raise UserError("--ray does not guess the language of many files; name it with --from")
    if options.document.format not in (None, *LINE_FORMATS):
        raise UserError(f"--ray translates lines and columns; leave out --format {options.document.format}")
    found = sorted(Path(name).absolute() for name in glob.glob(str(options.input), recursive=True))
    if not found:
        raise UserError(f"{options.input}: there is no such file; correct the pattern, such as 'FOLDER/*.txt'")
    for path in found:
        if path.suffix.lower() not in (".txt", ".parquet") or not path.is_file():
            raise UserError(f"{path}: is no file of text or Parquet (.txt, .parquet); choose such files with --input")
        if path.suffix.lower() == ".parquet":
            with _parquet(path) as file:
                _check_column(path, file.schema_arrow, options.document.column)
    for one, other in itertools.pairwise(sorted(found, key=lambda path: path.name)):
        if one.name == other.name:
            raise UserError(f"{one} and {other}: their outputs would have one name; translate one folder at a time")
    return found


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; UserError if it cannot be read in this block."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: not a Parquet file, or damaged: {' '.join(str(error).split())[:300]}") from error
    except OSError as error:
        raise UserError(cannot_read(path, error)) from error


def _check_column(path: Path, schema: "pyarrow.Schema", column: int) -> None:
    """Raise UserError unless a column, counted from 1, has text, and the new one has a free name."""
    named = ", ".join(f"{n} ({field.name}, {field.type})" for n, field in enumerate(schema, start=1))
    if column > len(schema) or not _is_text(schema.field(column - 1).type):
        raise UserError(f"{path}: column {column} has no text; choose another of {named} with --column")
    if INTO in schema.names:
        raise UserError(f"{path}: has a column {INTO!r} already, which would be lost; rename it")


def _is_text(kind: "pyarrow.DataType") -> bool:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    return any(
        is_kind(inner) for is_kind in (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    )


@dataclass(frozen=True)
class _Read:
    """Reads a file after its first `n_done` rows; None if there are no more."""

    path: Path
    column: int
    n_done: int

    def __call__(self) -> Iterator[Rows | None]:
        parts = self._lines() if self.path.suffix.lower() == ".txt" else self._tables()
        yield next(parts, None)
        yield from parts

    def _lines(self) -> Iterator[Rows]:
        with open_file(self.path) as file:
            arriving = ArrivingLines(file, str(self.path))
            lines = itertools.islice((line.removesuffix("\n") for line in arriving), self.n_done, None)
            for first in itertools.count(self.n_done + 1, ROWS):
                texts: list[str | None] = [*itertools.islice(lines, ROWS)]
                mark = arriving.mark if first == 1 else ""
                if not texts and not mark:
                    return
                yield Rows(first, texts, mark)

    def _tables(self) -> Iterator[Rows]:
        import pyarrow

        first = 1
        with _parquet(self.path) as file:
            for batch in file.iter_batches(batch_size=ROWS):
                wanted = batch.slice(max(0, self.n_done + 1 - first))
                if wanted.num_rows:
                    start = first + batch.num_rows - wanted.num_rows
                    table = pyarrow.Table.from_batches([wanted])
                    yield Rows(start, table[self.column - 1].to_pylist(), table=_stream(table))
                first += batch.num_rows
            if first == 1:
                yield Rows(1, [], table=_stream(file.schema_arrow.empty_table()))


def _stream(table: "pyarrow.Table") -> bytes:
    import pyarrow

    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _model(options: TranslationOptions, translator: "Translator") -> bytes:
    """Return what a worker opens the translator with: files by their full names, and the terms of a glossary."""
    folder, reranker = translator.engine.folder.resolve(), translator.reranker
    search = replace(options.search, rerank=None if reranker is None else reranker.folder.resolve())
    document = replace(options.document, terms=translator.glossary, column=1)
    opening = replace(options.opening, model=None, threads=options.opening.threads or 1)  # Ray counts one for a task
    return pickle.dumps((folder, digests(folder), search, document, opening))


@cache
def _opened(model: bytes) -> "Translator":
    """Return the translator of `_model`, which a process opens once; UserError if it is another one here."""
    from translate.inference.translator import Translator

    folder, known, search, document, opening = pickle.loads(model)
    if digests(folder) != known:
        raise UserError(f"{folder}: is another model on {platform.node()}, or absent; copy the same one to all nodes")
    return Translator.load(folder, search, document, opening, say=say)


@dataclass(frozen=True)
class _Translate:
    """Translates rows; `model` is that of `_model`."""

    model: bytes

    def __call__(self, part: PartIndex, rows: Rows | None) -> tuple[None, tuple[Rows | None, Flagged]]:
        if rows is None:
            return None, (None, [])
        from translate.inference.translator import joined

        found = iter(_opened(self.model).translate_in_pieces([text for text in rows.texts if text is not None]))
        texts, flagged = list[str | None](), list[tuple[int, "Translation"]]()
        for n, text in enumerate(rows.texts, start=rows.first):
            pieces = [] if text is None else next(found)
            texts.append(None if text is None else joined(pieces))
            flagged += [(n, best) for _, best in pieces if best is not None and best.flags]
        table = _with_column(rows.table, texts) if rows.table else b""
        return None, (Rows(rows.first, texts, rows.mark, table), flagged)


def _with_column(stream: bytes, texts: list[str | None]) -> bytes:
    import pyarrow

    table = pyarrow.ipc.open_stream(stream).read_all()
    return _stream(table.append_column(INTO, pyarrow.array(texts, pyarrow.large_string())))


class _Output(Protocol):
    """Where the rows of a file go.

    Attributes:
        n_rows: number of rows that an earlier process has written.
    """

    n_rows: int

    def opened(self) -> AbstractContextManager[object]:
        """Let rows be written; the file is complete when the block ends without an exception."""

    def write(self, rows: Rows) -> None:
        """Add rows."""


def _output(source: Path, place: Path, known: dict[str, object], options: TranslationOptions) -> _Output:
    """Return the output of a file; UserError if a file is there that must not be replaced or continued."""
    if place.exists() and os.path.samefile(source, place):
        raise UserError(f"{place}: is the input too; name another folder with --output")
    if place.exists() and not options.force and not options.resume:
        raise exists_already(place)
    kind = _Lines if source.suffix.lower() == ".txt" else _Table
    return kind(Path(os.path.realpath(place)), known, force=options.force)


class _Lines:
    """Lines of text; see `_Output`."""

    def __init__(self, place: Path, known: dict[str, object], *, force: bool) -> None:
        self._file = GrowingFile(place, known, force=force)
        self._place = place
        self.n_rows = 0 if force else self._written() * ROWS

    def _written(self) -> int:
        try:
            return Progress.load(self._file.beside).windows if self._file.beside.exists() else 0
        except (ValueError, TypeError):  # which opening the file explains
            return 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        with self._file.opened():
            if self._file.n_done * ROWS != self.n_rows:
                raise UserError(f"{self._place}: another process has written it meanwhile; start again")
            yield

    def write(self, rows: Rows) -> None:
        self._file.write(rows.mark + "".join(f"{text}\n" for text in rows.texts))
        self._file.end_window()


class _Table:
    """A table, of which each part is a file until all are there; see `_Output`."""

    def __init__(self, place: Path, known: dict[str, object], *, force: bool) -> None:
        self._place, self._known = place, known
        self._parts, self._record = hidden(place, "parts"), hidden(place, "resume")
        if force:
            shutil.rmtree(self._parts, ignore_errors=True)
            self._record.unlink(missing_ok=True)
            place.unlink(missing_ok=True)
        self._is_complete = place.exists()
        for path in [self._record] * self._is_complete + [self._parts / "settings.json"] * self._parts.exists():
            self._require_settings(path)
        files = [place] if self._is_complete else self._files()
        self.n_rows = sum(_n_rows(file) for file in files)

    def _require_settings(self, path: Path) -> None:
        try:
            found: dict[str, object] = read_json(path)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{self._place}: exists and is no translation of --ray; name another, or add --force"
            ) from error
        for key, value in self._known.items():
            if found.get(key) != value:
                raise begun_otherwise(self._place, key, found.get(key), value)

    def _files(self) -> list[Path]:
        """Return the files of the parts in order; there is none after a missing one."""
        numbered = (self._parts / f"{n:08}.parquet" for n in itertools.count())
        return list(itertools.takewhile(Path.exists, numbered))

    @contextmanager
    def opened(self) -> Iterator[None]:
        if self._is_complete:
            say(f"{self._place}: is complete already")
            yield
            return
        self._parts.mkdir(exist_ok=True)
        write_json(self._parts / "settings.json", self._known)
        yield
        self._join()
        shutil.rmtree(self._parts)

    def _join(self) -> None:
        """Write the table from its parts, with the metadata of the first one."""
        from pyarrow import parquet

        partial, files = hidden(self._place, "partial"), self._files()
        with parquet.ParquetWriter(partial, parquet.read_schema(files[0])) as writer:
            for file in files:
                writer.write_table(parquet.read_table(file))
        write_json(self._record, self._known)
        partial.replace(self._place)

    def write(self, rows: Rows) -> None:
        if self._is_complete:
            return
        import pyarrow
        from pyarrow import parquet

        content, table = io.BytesIO(), pyarrow.ipc.open_stream(rows.table).read_all()
        parquet.write_table(table, content)
        write_bytes(self._parts / f"{len(self._files()):08}.parquet", content.getvalue(), durable=True)


def _n_rows(path: Path) -> int:
    with _parquet(path) as file:
        return int(file.metadata.num_rows)
