"""The page that compares two systems is one file without links and shows the differences."""

import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from translate.commands.main import main
from translate.pictures import picture

REFERENCES = [f"The dog no. {i} sleeps in the old house." for i in range(19)]
TEMPLATES = Path(picture.__file__).parent
EVIL = '<script>alert("x")</script> & http://example.com'


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two saved outputs: the first loses line 4, the second line 8."""
    monkeypatch.chdir(tmp_path)
    outputs = {
        "ref.en": REFERENCES,
        "src.de": [EVIL, *(f"Der Hund Nr. {i} schläft." for i in range(1, 19))],
        "first.txt": ["A cat." if i == 3 else line for i, line in enumerate(REFERENCES)],
        "second.txt": ["Some <b>bird</b> sings." if i == 7 else line for i, line in enumerate(REFERENCES)],
    }
    for name, lines in outputs.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


class Elements(HTMLParser):
    """Collects tags and attributes, and checks that tags are closed in order."""

    VOID = frozenset({"meta", "br", "link", "img", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag and self.open[-1] in ("thead", "tr", "td", "th"):
            self.open.pop()
        assert self.open.pop() == tag


def compare(*arguments: str) -> str:
    assert main(["compare", "first.txt", "second.txt", *arguments]) == 0
    return Path("comparison.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_and_runs_no_text_of_the_systems(saved: Path) -> None:
    page = compare("--source", "src.de", "--reference", "ref.en")
    parsed = Elements(page)
    assert parsed.open == []
    tags = {tag for tag, _ in parsed.found}
    assert {"svg", "table", "mark"} <= tags
    assert not tags & {"link", "img", "iframe", "object", "base", "image", "use"}
    assert not {name for _, attributes in parsed.found for name in attributes} & {"src", "onclick", "onload"}
    assert not re.search(r"@import|url\(|https?://(?!example\.com)", page)
    script = (TEMPLATES / "report.html.jinja").read_text(encoding="utf-8").split("<script>")[1].split("</script>")[0]
    assert re.findall("<script>(.*?)</script>", page, re.DOTALL) == [script]
    assert "{" + "{" not in script


def test_headings_and_sentences_have_anchors(saved: Path) -> None:
    found = Elements(compare("--reference", "ref.en")).found
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    links = [attributes["href"] for tag, attributes in found if tag == "a"]
    assert len(set(ids)) == len(ids)
    assert [f"#{name}" for name in ids] == links
    assert {"scores", "n-grams", "gains", "losses", "line-4", "line-8"} <= set(ids)


def test_the_sentences_that_change_are_shown_with_marks(saved: Path) -> None:
    page = compare("--source", "src.de", "--reference", "ref.en")
    gains, losses = page.split('id="gains"')[1].split('id="losses"')
    assert re.findall(r'id="line-(\d+)"', gains) == ["4"]
    assert re.findall(r'id="line-(\d+)"', losses) == ["8"]
    assert "Der Hund Nr. 3" in gains
    assert '<mark class="wrong">Some &lt;b&gt;bird&lt;/b&gt; sings</mark>' in losses
    assert "better on 1 and worse on 1; 17 are ties, of which 17 are the same translation." in page


def test_the_scores_are_those_of_evaluate(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = unescape(compare("--reference", "ref.en"))
    capsys.readouterr()
    assert main(["evaluate", "first.txt", "second.txt", "--reference", "ref.en", "--paired", "bootstrap"]) == 0
    out = capsys.readouterr().out
    for signature in re.findall(r"nrefs:\S+", out):
        assert signature in page
    for row in out.splitlines()[2:4]:
        for value in re.findall(r"\d+\.\d\d(?= \()", row):
            assert value in page


def test_words_are_counted_in_the_training_text(saved: Path) -> None:
    Path("train.en").write_text("The dog\n" * 7, encoding="utf-8")
    page = compare("--reference", "ref.en", "--train", "train.en")
    chart = page.split("Word accuracy", 1)[1].split("</figure>")[0]
    assert "occurrences in the training text" in chart
    assert re.findall(r'class="label"[^>]*>([^<]+)<', chart) == ["0", "5 to 9"]
    assert re.findall(r"n = (\d+)", chart) == [str(19 * 9), "38"]  # "no." and "house." are two words each


def test_a_system_compared_with_itself_has_no_differences(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("first.txt", "second.txt")
    page = compare("--reference", "ref.en")
    assert "first and second tie: they have the same BLEU." in capsys.readouterr().out
    assert page.count("There are none.") == 4
    assert "better on 0 and worse on 0; 19 are ties, of which 19 are the same translation." in page


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("first.txt first.txt --reference ref.en", "named twice"),
        ("first.txt second.txt", "references"),
        ("first.txt second.txt --reference ref.en --out there.html", "exists already"),
        ("first.txt second.txt --reference ref.en --out gone/x.html", "does not exist"),
        ("first.txt second.txt --reference ref.en --out . --force", ".: is a folder"),
        ("first.txt second.txt --reference src.de --train gone.en", "gone.en"),
        ("first.txt second.txt --reference ref.en --train blank.en", "blank.en: has no words"),
        ("first.txt second.txt --reference empty.en", "the test set 'empty' has no lines"),
        ("first.txt second.txt --reference blank.en", "the references of the test set 'blank' have no words"),
        ("first.txt second.txt --reference ref.en --beam 3", "--beam is for models"),
        ("first.txt short.txt --reference ref.en", "short.txt: has 1 lines"),
        ("first.txt nothing --reference ref.en", "no such file, folder"),
    ],
)
def test_a_mistake_gives_a_one_sentence_error(
    saved: Path, arguments: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there.html").write_text("precious", encoding="utf-8")
    Path("blank.en").write_text("\n \n", encoding="utf-8")
    Path("empty.en").write_text("", encoding="utf-8")
    Path("short.txt").write_text("One.\n", encoding="utf-8")
    assert main(["compare", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert reason in captured.err
    assert Path("there.html").read_text(encoding="utf-8") == "precious"
    assert not Path("comparison.html").exists()
