"""The same text, model and options give the same bytes: in any order, batch and number of threads, and by any way.

The ways are the command, the Python API, the server, and `translate decode`, which is the model alone in PyTorch.
"""

import gzip
import itertools
import lzma
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import transformer.search.hypothesis
from tests.conftest import CORPORA
from translate.commands.main import main
from translate.corpus.grammar import generate
from translate.inference.translator import Translator
from translate.models import registry
from translate.serving.settings import Serve
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
    "Sehr " * 90 + "gut.",
]
N_FAST, N_SLOW = 24, 10_000


def model() -> Path:
    """The shipped model."""
    found = dict(registry.installed())
    if "de-en" not in found:
        pytest.skip("de-en does not ship")
    return found["de-en"]


def corpus_lines(n: int) -> list[str]:
    """Lines of monolingual and test text, without line breaks within them."""
    files = [*sorted((CORPORA / "mono").glob("*.de.xz")), *sorted((CORPORA / "test").glob("*.de.gz"))]
    if not files:
        pytest.skip(f"{CORPORA} has no text")
    lines: list[str] = []
    for path in files:
        with (lzma.open if path.suffix == ".xz" else gzip.open)(path, "rt", encoding="utf-8", newline="\n") as file:
            lines += [line.removesuffix("\n") for line in itertools.islice(file, -(-n // len(files)))]
    return lines[:n]


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
                patch.setattr(transformer.search.hypothesis, "BATCH_HYPOTHESES", n_hypotheses)
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
    with live(Serve(model=[model()], opening=Opening(threads=2)), tmp_path / "serve") as server:
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
    with live(Serve(model=[model()], opening=Opening(threads=2)), tmp_path / "serve") as server:
        for start in range(0, len(lines), 100):
            part = lines[start : start + 100]
            assert server.translate(part).json()["translatedText"] == expected[start : start + 100]
