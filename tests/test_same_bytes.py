"""The same text, model and options give the same bytes: in any order, batch and number of threads, and by any way.

The ways are the command, the Python API, the server, and `translate decode`, which is the model alone in PyTorch.

A change of the code that should change no output is checked with the digests of all outputs, on one machine, as other
processors round otherwise:

    pytest -m slow tests/test_same_bytes.py -k recorded --digests=/tmp/digests.json     # before: records them
    pytest -m slow tests/test_same_bytes.py -k recorded --digests=/tmp/digests.json     # after: compares them
"""

import gzip
import hashlib
import itertools
import json
import lzma
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import translate.inference.search
from tests.conftest import CORPORA
from translate.commands.main import main
from translate.corpus.grammar import generate
from translate.corpus.sources import PHRASES_FILE
from translate.inference.translator import Translator
from translate.models import registry
from translate.serving.settings import ServeOptions
from translate.text.translation import Document, Opening, Search

pytest.importorskip("ctranslate2")

ODD = [
    "HALLO DU!",
    "guten morgen",
    "Das kostet 1.234,56 € und 3.500 Euro.",
    "Die Adresse ist 192.168.100.200.",
    "Hallo {name}, öffne <b>bitte</b> https://example.org/a_b!",
    "Er sagte: „Ich gehe. Ich bin krank.“ Dann ging er.",
    "This is the dog that you have seen.",
    "",
    "  ...  ",
    "Sehr " * 40 + "gut.",
]
N_FAST, N_SLOW, N_OPTIONS = 13, 10_000, 2_000
TERMS = {"Arzt|Arztes": "physician", "Hund|Hunde|Hunden": "hound", "Zug|Zuges": "railway train"}


def model() -> Path:
    """The shipped model."""
    found = dict(registry.installed())
    if "de-en" not in found:
        pytest.skip("de-en does not ship")
    return found["de-en"]


def corpus_lines(n: int) -> list[str]:
    """Lines of monolingual and test text, without line breaks within them; of the phrase book where there is none."""
    files = [*sorted((CORPORA / "mono").glob("*.de.xz")), *sorted((CORPORA / "test").glob("*.de.gz"))]
    if not files:
        return phrase_lines(n)
    lines: list[str] = []
    for path in files:
        with (lzma.open if path.suffix == ".xz" else gzip.open)(path, "rt", encoding="utf-8", newline="\n") as file:
            lines += [line.removesuffix("\n") for line in itertools.islice(file, -(-n // len(files)))]
    return lines[:n]


def phrase_lines(n: int) -> list[str]:
    """The same lines everywhere: phrases of the package, some with markup, variables or numbers, or joined."""
    phrases = [line.split("\t")[0] for line in PHRASES_FILE.read_text(encoding="utf-8").splitlines()]
    random.Random(n).shuffle(phrases)
    lines = list(ODD)
    for i, phrase in enumerate(phrases[: n - len(ODD)]):
        first, *rest = phrase.split(" ")
        words = [phrase, " ".join([f"<b>{first}</b>", *rest]), " ".join([*rest, f"*{first}*"])]
        more = ["", f" {i} von {n} Euro.", f" {{name_{i}}}!", f" {phrases[i - 1]}"]
        lines.append(words[i % 3] + more[i % 4])
    return lines


def orders(n: int) -> Iterator[list[int]]:
    """Three orders of n lines."""
    yield list(range(n))
    yield list(range(n))[::-1]
    yield random.Random(n).sample(range(n), n)


def by_command(lines: Sequence[str], folder: Path, *options: str) -> list[str]:
    source, output = folder / "in.txt", folder / "out.txt"
    source.write_bytes("".join(f"{line}\n" for line in lines).encode())
    command = ["decode"] if "decode" in options else ["text"]
    rest = [option for option in options if option != "decode"]
    assert main([*command, "--input", str(source), "--output", str(output), "--force", "--model", "de-en", *rest]) == 0
    return output.read_bytes().decode().split("\n")[:-1]


def assert_same(
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
    search: Search | None = None,
    document: Document | None = None,
) -> None:
    """Compare every way, order, number of threads and size of batches with the first result.

    A way sees each order and each number of threads, but not each pair of both.
    """
    expected = by_command(lines, tmp_path, "--threads", "1", *options)
    for order, threads in zip(orders(len(lines)), (2, 2, 1), strict=True):
        shuffled = [lines[i] for i in order]
        assert by_command(shuffled, tmp_path, "--threads", str(threads), *options) == [expected[i] for i in order]
    _, backwards, shuffle = orders(len(lines))
    ways = [
        (backwards, 1, 15, lambda translator, lines: translator("\n".join(lines)).split("\n")),
        (shuffle, 2, None, lambda translator, lines: list(translator(iter(lines)))),
        (shuffle, 2, 15, lambda translator, lines: translator(lines)),
    ]
    for order, threads, n_hypotheses, translate_all in ways:
        translator = Translator.load("de-en", search, document, Opening(threads=threads))
        with monkeypatch.context() as patch:
            if n_hypotheses is not None:
                patch.setattr(translate.inference.search, "BATCH_HYPOTHESES", n_hypotheses)
            assert translate_all(translator, [lines[i] for i in order]) == [expected[i] for i in order]


@pytest.fixture
def lines() -> list[str]:
    model()
    return [*ODD, *(german for german, _ in generate("test", N_FAST, 5))]


def test_lines_have_the_same_translation_in_any_order_and_batch(
    lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same(lines, tmp_path, monkeypatch)


def test_lines_of_the_model_alone_are_those_of_decode(
    lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = ("--format", "lines", "--no-checks", "--engine", "torch", "--precision", "fp32")
    assert by_command(lines[::2], tmp_path, *bare) == by_command(lines[::2], tmp_path, "decode")


def test_the_server_answers_with_the_bytes_of_the_command(lines: list[str], tmp_path: Path) -> None:
    from tests.translate.serving.live import live

    expected = by_command(lines, tmp_path)
    with live(ServeOptions(model=[model()], opening=Opening(threads=2)), tmp_path / "serve") as server:
        assert server.translate("\n".join(lines)).json()["translatedText"].split("\n") == expected
        for start in range(0, len(lines), 7):
            part = lines[start : start + 7]
            assert server.translate(part).json()["translatedText"] == expected[start : start + 7]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "search", "document"),
    [
        ((), Search(), Document()),
        (
            ("--format", "lines", "--no-checks", "--beam", "1"),
            Search(beam_size=1),
            Document(format="lines", checks=False),
        ),
    ],
    ids=["text", "greedy lines"],
)
def test_ten_thousand_lines_have_the_same_bytes(
    options: tuple[str, ...],
    search: Search,
    document: Document,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model()
    assert_same(corpus_lines(N_SLOW), tmp_path, monkeypatch, *options, search=search, document=document)


@pytest.mark.slow
def test_ten_thousand_lines_of_decode(tmp_path: Path) -> None:
    model()
    lines = corpus_lines(N_SLOW)
    bare = ("--format", "lines", "--no-checks", "--engine", "torch", "--precision", "fp32")
    assert by_command(lines, tmp_path, *bare) == by_command(lines, tmp_path, "decode")


@pytest.mark.slow
def test_ten_thousand_lines_of_the_server(tmp_path: Path) -> None:
    from tests.translate.serving.live import live

    model()
    lines = corpus_lines(N_SLOW)
    expected = by_command(lines, tmp_path)
    with live(ServeOptions(model=[model()], opening=Opening(threads=2)), tmp_path / "serve") as server:
        for start in range(0, len(lines), 100):
            part = lines[start : start + 100]
            assert server.translate(part).json()["translatedText"] == expected[start : start + 100]


@dataclass(frozen=True)
class Options:
    """The same options for each way.

    Attributes:
        command: of `translate text`; TERMS stands for a file with these terms.
        body: of a request; None if the server has no such option.
        markup: around each line.
    """

    command: tuple[str, ...] = ()
    search: Search = Search()
    document: Document = Document()
    body: Mapping[str, Any] | None = None
    markup: str = "{}"


HTML, TABLE = Document(format="html"), Document(format="tsv", column=2)
OPTIONS = {
    "text": Options(body={}),
    "greedy": Options(("--beam", "1"), Search(beam_size=1), body={}),
    "lines": Options(("--format", "lines"), document=Document(format="lines")),
    "no checks": Options(("--no-checks",), document=Document(checks=False)),
    "terms": Options(("--terms", "TERMS"), document=Document(terms=TERMS), body={"glossary": TERMS}),
    "rerank": Options(("--rerank", "en-de"), Search(rerank="en-de")),
    "markdown": Options(("--format", "markdown"), document=Document(format="markdown"), markup="- {}"),
    "html": Options(("--format", "html"), document=HTML, body={"format": "html"}, markup="<p>{}</p>"),
    "column": Options(("--format", "tsv", "--column", "2"), document=TABLE, markup="7\t{}\t3"),
    "torch": Options(("--engine", "torch", "--precision", "fp32")),
}


def as_command(options: Options, folder: Path) -> list[str]:
    terms = folder / "terms.tsv"
    terms.write_text("".join(f"{forms}\t{term}\n" for forms, term in TERMS.items()), encoding="utf-8")
    return [str(terms) if word == "TERMS" else word for word in options.command]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_every_way_takes_the_same_options(name: str, tmp_path: Path) -> None:
    from tests.translate.serving.live import live

    model()
    options = OPTIONS[name]
    lines = [options.markup.format(line) for line in phrase_lines(N_OPTIONS)]
    expected = by_command(lines, tmp_path, *as_command(options, tmp_path))
    opening = Opening(engine="torch", precision="fp32") if name == "torch" else Opening()
    translator = Translator.load("de-en", options.search, options.document, opening)
    assert translator("\n".join(lines)).split("\n") == expected
    if options.body is None:
        return
    with live(ServeOptions(model=[model()], search=options.search), tmp_path / "serve") as server:
        for start in range(0, len(lines), 100):
            text = "\n".join(lines[start : start + 100])
            answer = server.translate(text, **options.body).json()["translatedText"]
            assert answer.split("\n") == expected[start : start + 100]


@pytest.mark.slow
def test_scores_and_flags_are_the_same(tmp_path: Path) -> None:
    model()
    lines = phrase_lines(N_OPTIONS)
    found = [json.loads(record) for record in by_command(lines, tmp_path, "--json")]
    passages = Translator.load("de-en").passages(lines)
    expected = [{"source": line, **one.record()} for line, one in zip(lines, passages, strict=True)]
    assert found == json.loads(json.dumps(expected))


@pytest.mark.slow
def test_lists_of_the_best_are_the_same(tmp_path: Path) -> None:
    model()
    lines = [line for line in phrase_lines(N_OPTIONS)[::10] if line.strip()]
    found = [json.loads(record) for record in by_command(lines, tmp_path, "decode", "--n-best", "3", "--json")]
    translator = Translator.load("de-en", opening=Opening(engine="torch", precision="fp32"))
    for record, several in zip(found, translator.n_best(lines, 3), strict=True):
        assert [one["text"] for one in record["alternatives"]] == [one.text for one in several]
        assert [one["score"] for one in record["alternatives"]] == [one.score for one in several]


RESEARCH = {
    "n-best": ("--n-best", "3", "--json", "--align"),
    "samples": ("--sample", "--seed", "5", "--top-k", "7", "--json"),
    "consensus": ("--mbr", "3"),
    "other tokens": ("--alternatives", "3", "--json", "--no-repeat", "3", "--coverage", "0.2"),
}


@pytest.mark.slow
def test_outputs_are_those_that_were_recorded(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Records the outputs if there is no such file; a name that differs is the option that changed."""
    place: Path | None = request.config.getoption("digests")
    if place is None:
        pytest.skip("needs --digests FILE")
    model()
    lines = phrase_lines(N_OPTIONS)

    def digest(*command: str, lines: Sequence[str] = lines, markup: str = "{}") -> str:
        output = by_command([markup.format(line) for line in lines], tmp_path, *command)
        return hashlib.sha256("\n".join(output).encode()).hexdigest()

    digests = {name: digest(*as_command(own, tmp_path), markup=own.markup) for name, own in OPTIONS.items()}
    digests |= {name: digest("decode", *command, lines=lines[::10]) for name, command in RESEARCH.items()}
    digests["flags"] = digest("--json")
    if not place.exists():
        place.write_text(json.dumps(digests, indent=1), encoding="utf-8")
        pytest.skip(f"recorded in {place}")
    assert digests == json.loads(place.read_text(encoding="utf-8"))
