"""What a document costs beside the same text, and whether nothing of it is lost.

    python scripts/bench.py documents de-en data/test/newstest2014.de.gz --out scripts/results/bench-documents.json

    times      user seconds of the processor for documents of Word with --words words, without formats and with two
               words in bold in every tenth sentence, beside those of a text whose lines are the same paragraphs
    memory     peak of a process that translates four times as many words, above that of its first 30 paragraphs
    structure  German documents of scripts/samples.py, with a stand-in for the model: how many are the same bytes if no
               text changes, and in how many of those that pandoc reads it finds the same words after all went to
               capitals

A paragraph has three sentences of the file. Contenders of times take turns in one process.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from harness import Answer, Case, Work, model_facts, peak_mb, turns
from records import Record, linked, machine_name, model_name
from samples import make

from translate.documents.document import Reading, read
from translate.files import read_lines
from translate.inference.translator import Translator

PARAGRAPH = 3  # sentences
N_WARM = 30  # paragraphs that are translated before a measurement
FORMATTED = 10  # every tenth sentence
KINDS = ("lines", "plain", "formatted")
TAG = re.compile(r"(<[^<>]+>)")
Paragraphs = list[list[str]]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="name of an installed model, or a folder")
    parser.add_argument("file", type=Path, help="one sentence per line")
    parser.add_argument("--words", type=int, default=10_000, help="of a document (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default: %(default)s)")


def run(args: argparse.Namespace) -> Record:
    """Measure times, memory and structure."""
    found = {"words": args.words, "times": times(args), "memory": {}, "structure": structure()}
    with turns(("lines", "plain"), 1) as ask_each:
        found["memory"] = {name: answer["mb"] for name, answer in ask_each(str(4 * args.words)).items()}
    return {**model_facts(args.model), **found}


def paragraphs(file: Path, n_words: int) -> Paragraphs:
    """Return the first words of a file, as whole paragraphs of sentences."""
    sentences, n = list[str](), 0
    for line in read_lines(file):
        if n >= n_words:
            break
        sentences.append(line.strip())
        n += len(line.split())
    return [sentences[k : k + PARAGRAPH] for k in range(0, len(sentences), PARAGRAPH)]


def content(kind: str, wanted: Paragraphs) -> tuple[str, bytes]:
    """Return the name and the bytes of a file: lines, or a document of Word with or without words in bold."""
    if kind == "lines":
        return "a.txt", "".join(f"{' '.join(sentences)}\n" for sentences in wanted).encode()
    file: Any = import_module("docx").Document()
    n = 0
    for sentences in wanted:
        own = file.add_paragraph()
        for sentence in sentences:
            n += 1
            words = [f"{word} " for word in sentence.split()]
            start = len(words) // 3 if kind == "formatted" and n % FORMATTED == 0 else len(words)
            own.add_run("".join(words[:start]))
            if start < len(words):
                own.add_run("".join(words[start : start + 2]).rstrip()).bold = True
                own.add_run(" " + "".join(words[start + 2 :]))
    data = BytesIO()
    file.save(data)
    return "a.docx", data.getvalue()


def times(args: argparse.Namespace) -> dict[str, Any]:
    """Return the median of the user seconds of each kind, and the median ratios to the lines."""
    translator = Translator.load(args.model)
    wanted = paragraphs(args.file, args.words)
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        name, data = content(kind, wanted[:N_WARM])
        translator.translate_file(data, name)
    for turn in range(args.rounds):
        for kind in (*KINDS[turn % len(KINDS) :], *KINDS[: turn % len(KINDS)]):  # each kind comes first once
            name, data = content(kind, wanted)
            begin = os.times().user
            translator.translate_file(data, name)
            seconds[kind].append(os.times().user - begin)
    ratios = {
        f"{kind}_is_times": [round(a / b, 3) for a, b in zip(seconds[kind], seconds["lines"], strict=True)]
        for kind in KINDS[1:]
    }
    medians = {f"{kind}_s": round(statistics.median(of), 2) for kind, of in seconds.items()}
    return {**medians, **{name: statistics.median(of) for name, of in ratios.items()}, "rounds": ratios}


def work(args: argparse.Namespace) -> Work:
    """Load the model for one kind of file; a task is a number of words, its answer the growth of the peak in MB."""
    translator = Translator.load(args.model)

    def answer(task: str) -> Answer:
        wanted = paragraphs(args.file, int(task))
        first, (name, data) = content(args.work, wanted[:N_WARM]), content(args.work, wanted)
        translator.translate_file(first[1], name)
        before = peak_mb()
        translator.translate_file(data, name)
        return {"mb": peak_mb() - before}

    return answer


def structure() -> dict[str, int]:
    """Return the numbers of documents, of those that stay the same bytes, and of those whose words pandoc finds."""
    with tempfile.TemporaryDirectory() as folder:
        paths = make(Path(folder))
        found = dict.fromkeys(("documents", "identical", "read_by_pandoc", "words_kept"), 0)
        for path in paths:
            data = path.read_bytes()
            found["documents"] += 1
            found["identical"] += capitals(path.name, data, change=False) == data
            if path.suffix not in (".docx", ".odt", ".epub") or not shutil.which("pandoc"):
                continue
            before = words(path)
            path.write_bytes(capitals(path.name, data))
            found["read_by_pandoc"] += 1
            found["words_kept"] += words(path) == before
    return found


def capitals(name: str, data: bytes, *, change: bool = True) -> bytes:
    """Return a document with its texts in capitals, or as they are."""
    document = read(data, Reading(name=name, source="de", target="en"))
    texts = [unit.text for unit in document.units]
    if change:
        texts = ["".join(part if part.startswith("<") else part.upper() for part in TAG.split(text)) for text in texts]
    return document.write(texts)


def words(path: Path) -> Counter[str]:
    """Return the words that pandoc finds in a document, in small letters."""
    command = ["pandoc", "--to", "plain", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Counter(re.findall(r"\w+", text.casefold()))


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield the row of a record."""
    times, memory, kept = record["times"], record["memory"], record["structure"]
    yield {
        "model": linked(model_name(record), record),
        "machine": machine_name(record),
        f"lines, {record['words']:,} words": f"{times['lines_s']:.1f} s",
        "document": f"{times['plain_is_times']:.2f} times",
        "with formats": f"{times['formatted_is_times']:.2f} times",
        f"memory, {4 * record['words']:,} words": f"{memory['plain']:,} MB (lines {memory['lines']:,} MB)",
        "same bytes": f"{kept['identical']} of {kept['documents']}",
        "same words": f"{kept['words_kept']} of {kept['read_by_pandoc']}",
    }


def summary(record: Record) -> tuple[str, str]:
    """Return what a document costs beside its lines."""
    times = record["times"]
    cost = f"{times['plain_is_times']:.2f} times the processor's time of its lines, with formats"
    return "Documents of Word", f"{cost} {times['formatted_is_times']:.2f} times; {record['memory']['plain']:,} MB"


CASE = Case("Documents", options, run, rows, work=work, summary=summary)
