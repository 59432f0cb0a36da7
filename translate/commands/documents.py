"""`translate text` for documents: all of a file is read, its texts are translated, and it is written at the end.

With --resume, the JSON objects of the translations are kept beside the output, as .NAME.units, after each window; see
`translate.commands.resuming`. They are removed when the document is written, and its record stays.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from translate.commands.lines import (
    Notes,
    Output,
    TranslationOptions,
    Writing,
    check_page,
    check_paths,
    exists_already,
    writable,
)
from translate.commands.resuming import GrowingFile, Progress
from translate.documents import bilingual, document, earlier
from translate.documents.bilingual import Row
from translate.documents.document import ParsedDocument, Reading, Unit
from translate.errors import UserError, say
from translate.files import hidden, read_bytes, sha256, write_bytes, write_json
from translate.inference.documents import WINDOW, WINDOW_CHARACTERS, keeps_tags, unit_windows, written
from translate.text.translation import Translation

if TYPE_CHECKING:
    from translate.inference.translator import Translator

_REPORTS = 3  # of a kind
_STEP = 256  # paragraphs between two steps of the progress bar; fewer take more time together


def check_options(options: TranslationOptions, writing: Writing) -> None:
    """Raise UserError for options that a document does not have, or files that contradict each other."""
    output = options.output
    if writing.update:
        _check_update(options, writing)
        options = replace(options, force=True)
    elif output and output.is_file() and not (options.force or options.resume) and earlier.may_have_keys(str(output)):
        raise UserError(f"{output}: exists already; add --update to keep its translations, or --force to overwrite it")
    check_paths(options)
    if options.document.column != 1:
        raise UserError("--column belongs to the formats tsv and csv, and this is a document; leave it out")
    if options.as_json and (writing.bilingual or writing.apply):
        raise UserError("--json writes no document; leave it out, or --bilingual and --apply")
    if writing.apply and (writing.bilingual or options.resume):
        raise UserError("--apply translates nothing; leave out --bilingual and --resume")
    if writing.bilingual:
        bilingual.check_name(writing.bilingual)
        check_page(writing.bilingual, force=options.force)
        if writing.bilingual in (options.input, options.output):
            raise UserError(f"{writing.bilingual}: is the document; name another file with --bilingual")
    if options.output is None and not options.as_json and sys.stdout is not None and sys.stdout.isatty():
        raise UserError(f"{options.input}: is a document; name the translated one with --output")


def _check_update(options: TranslationOptions, writing: Writing) -> None:
    """Raise UserError for options that an update does not have."""
    if options.output is None:
        raise UserError("--update keeps what the output file has; name that with --output")
    others = {
        "--json": options.as_json,
        "--resume": options.resume,
        "--all": writing.replace_all,
        "--bilingual": writing.bilingual,
        "--apply": writing.apply,
    }
    if found := [name for name, value in others.items() if value]:
        raise UserError(f"--update and {found[0]} exclude each other; leave one out")


def run(
    options: TranslationOptions, writing: Writing, translator: "Translator", settings: Mapping[str, object]
) -> None:
    """Translate a document, and say how long it took.

    Args:
        settings: everything that translations depend on, except the text.
    """
    job, start = _Job(options, writing, translator, settings), time.perf_counter()
    if options.as_json:
        job.list()
    elif options.resume:
        job.resume()
    else:
        job.write()
    job.notes.tell()
    if n := job.n_new:
        seconds = time.perf_counter() - start
        say(f"{n:,} paragraph{'s' if n > 1 else ''} in {seconds:,.1f} s, {n / seconds:,.0f} paragraphs/s")
    elif job.is_done and not writing.update:
        say(f"{options.input}: all of its texts have a translation already; add --all to replace them")
    elif not job.has_texts:
        say(f"{options.input}: has no text to translate")


def apply(options: TranslationOptions, writing: Writing) -> None:
    """Write a document with the translations of an edited file, which a person made, so that none is marked."""
    assert writing.apply is not None
    assert options.input is not None
    edited = bilingual.read(read_bytes(writing.apply), writing.apply)
    reports: list[str] = []
    reading = _reading(options, Writing(final=True, replace_all=True), edited.source, edited.target)
    reading = replace(reading, report=reports.append)
    file = document.read(read_bytes(options.input), reading)
    texts: list[str | None] = [None] * len(file.units)
    notes = Notes(("tags",), noun="paragraph")
    for row in edited.rows:
        unit = file.units[row.n - 1] if 0 < row.n <= len(file.units) else None
        if unit is None or unit.text != row.source:
            raise UserError(
                f"{writing.apply}: text {row.n} is not that of {options.input}; apply it to the document that it was "
                "made from, and change translations only"
            )
        if row.target is None or row.target == unit.done:
            continue
        if keeps_tags(unit.text, row.target):
            texts[row.n - 1] = row.target
        else:
            notes.add(Translation(row.target, flags=("tags",)), _label(row.n, unit))
    with writable(options.output, force=options.force) as stream:
        _write_content(stream, file.write(texts))
    _tell(reports)
    notes.tell()


class _Job:
    """The translation of a document.

    Attributes:
        found: the translations, by the numbers of their texts.
        n_new: number of texts that were translated by this process.
    """

    def __init__(
        self, options: TranslationOptions, writing: Writing, translator: "Translator", settings: Mapping[str, object]
    ) -> None:
        assert options.input is not None
        self._options, self._writing, self._translator = options, writing, translator
        spec, data = translator.engine.spec, read_bytes(options.input)
        self._reports: list[str] = []
        self._said = ""
        self._reading = replace(
            _reading(options, writing, spec.source, translator.language), report=self._reports.append
        )
        self._file = self._updated(data) if writing.update else document.read(data, self._reading)
        self._known = {
            **settings,
            "final": writing.final,
            "all": writing.replace_all,
            "windows": [WINDOW, WINDOW_CHARACTERS],
            "source_sha256": hashlib.sha256(data).hexdigest(),
        }
        self.found: dict[int, Translation] = {}
        self.n_new, self.notes = 0, Notes(noun="paragraph")

    def write(self) -> None:
        """Write the translated document."""
        with writable(self._options.output, force=self._options.force or self._writing.update) as stream:
            self._translate(None)
            _write_content(stream, self._content())
            self._write_bilingual()
        if self._said:
            say(self._said)

    def list(self) -> None:
        """Write the JSON object of each translation, and no document."""
        if self._options.resume:
            with self._growing(self._output).opened() as out:
                self._translate(out)
        else:
            with writable(self._options.output, force=self._options.force) as stream:
                self._translate(Output(stream))

    def resume(self) -> None:
        """Write the translated document after all texts that an earlier process did not translate."""
        place, record = self._output, hidden(self._output, "resume")
        if place.exists() and not self._options.force:
            if not self._is_complete(place, record):
                raise exists_already(place)
            say(f"{place}: is complete already")
            return
        units = hidden(place, "units")
        with self._growing(units).opened() as out:
            earlier = units.read_text(encoding="utf-8").split("\n") if out.n_done else []
            self._translate(out, earlier)
            n_windows = out.n_done
        content = self._content()
        write_bytes(place, content, durable=True)
        self._write_bilingual()
        progress = Progress(n_windows, len(content), self._known, hashlib.sha256(content).hexdigest(), complete=True)
        write_json(record, asdict(progress), durable=True)
        units.unlink()
        hidden(units, "resume").unlink()

    @property
    def has_texts(self) -> bool:
        """Whether the document has texts that may be translated."""
        return bool(self._file.units)

    @property
    def is_done(self) -> bool:
        """Whether the document has a translation of each text, and keeps them."""
        return self.has_texts and not self._reading.replace and all(unit.done is not None for unit in self._file.units)

    def _updated(self, data: bytes) -> ParsedDocument:
        """Return the document with the translations of the output file."""
        if not self._output.exists():
            return earlier.read_keyed(data, self._reading)
        output = str(self._options.output)
        found = earlier.update(data, self._reading, read_bytes(self._output), output)
        self._said = found.said(output)
        return found.document

    @property
    def _output(self) -> Path:
        assert self._options.output is not None  # ensured by `check_paths`
        return Path(os.path.realpath(self._options.output))

    def _growing(self, place: Path) -> GrowingFile:
        return GrowingFile(place, self._known, force=self._options.force)

    def _is_complete(self, place: Path, record: Path) -> bool:
        """Return whether a file is what this translation has written."""
        try:
            progress = Progress.load(record)
        except (OSError, ValueError, TypeError):
            return False
        return progress.complete and progress.settings == self._known and progress.sha256 == sha256(place)

    def _translate(self, out: Output | None, earlier: Sequence[str] = ()) -> None:
        """Translate the texts, and write their JSON objects to `out`; `earlier` are those of windows that are done."""
        from tqdm import tqdm

        units, kept = self._file.units, iter(earlier)
        windows = list(unit_windows(units, self._reading))
        with tqdm(total=sum(map(len, windows)), unit=" paragraphs", disable=None, leave=False) as bar:
            for number, window in enumerate(windows, start=1):
                if out is not None and not out.wants(number):
                    self.found.update(zip(window, map(_recorded, kept), strict=False))
                    bar.update(len(window))
                    continue
                step = len(window) if bar.disable else _STEP
                for part in (window[i : i + step] for i in range(0, len(window), step)):
                    for n, translation in zip(part, self._translator.units([units[n] for n in part]), strict=True):
                        self.found[n] = Translation(translation.text, flags=translation.flags)
                        self.notes.add(translation, _label(n + 1, units[n]))
                        if out is not None:
                            record = {"source": units[n].text, "place": units[n].place, **translation.record()}
                            out.write(f"{json.dumps(record, ensure_ascii=False)}\n")
                    bar.update(len(part))
                if out is not None:
                    out.end_window()
                self.n_new += len(window)

    def _content(self) -> bytes:
        """Return the translated document, and tell what the format could not hold."""
        texts = [written(self.found[n]) if n in self.found else None for n in range(len(self._file.units))]
        content = self._file.write(texts)
        _tell(self._reports)
        return content

    def _write_bilingual(self) -> None:
        """Write source and translation side by side, if that is wanted."""
        path = self._writing.bilingual
        if path is None:
            return
        rows = []
        for n, unit in enumerate(self._file.units):
            translation = self.found.get(n)
            target = unit.done if translation is None else written(translation)
            rows.append(Row(n + 1, unit.text, target, unit.place, () if translation is None else translation.flags))
        reading = self._reading
        write_bytes(path, bilingual.write(path, rows, reading.source, reading.target, Path(reading.name).name))


def _tell(reports: Sequence[str]) -> None:
    """Report the first texts that a format could not hold, and the number of the others."""
    for report in reports[:_REPORTS]:
        say(f"warning: {report}")
    if len(reports) > _REPORTS:
        say(f"warning: {len(reports) - _REPORTS:,} more texts were left unchanged in such a way")


def _recorded(line: str) -> Translation:
    record = json.loads(line)
    return Translation(record["text"], flags=tuple(record["flags"]))


def _write_content(stream: TextIO, content: bytes) -> None:
    """Write bytes to a file that is open for text; one of a notebook takes only text."""
    stream.flush()
    if hasattr(stream, "buffer"):
        stream.buffer.write(content)
        stream.buffer.flush()
        return
    try:
        stream.write(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UserError("the translated document is no text; name a file for it with --output") from error


def _reading(options: TranslationOptions, writing: Writing, source: str, target: str) -> Reading:
    return Reading(
        name=str(options.input),
        source=source,
        target=target,
        final=writing.final,
        replace=writing.replace_all,
        force=options.force,
    )


def _label(n: int, unit: Unit) -> str:
    return f"{n} ({unit.place})" if unit.place else str(n)
