"""The figures of the guide are the ones that the programs draw."""

import re
from pathlib import Path

import pytest

from tests.programs import program

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
SHOWN = set(
    re.findall(r"\]\(figures/([\w-]+)\.svg\)", "".join(page.read_text(encoding="utf-8") for page in GUIDE.glob("*.md")))
)


def test_every_figure_is_shown_and_has_a_program() -> None:
    pytest.importorskip("matplotlib")
    figures = program("figures")
    files = {path.stem for path in figures.FOLDER.glob("*.svg")}
    made = (figures.FIGURES.keys() - figures.IMAGES.keys()) | program("outputs").PICTURES.keys()
    assert files == SHOWN == made | {"architecture"}  # which is drawn by hand
    assert all((folder / f"{name}.svg").exists() for name, folder in figures.IMAGES.items())


def test_each_page_of_the_guide_has_a_figure_and_exercises_with_answers() -> None:
    for page in GUIDE.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "](figures/" in text, page.name
        exercises, answers = text.split("\n## Exercises\n")[1], text.count("<summary>Answer</summary>")
        assert 2 <= answers <= 4, page.name
        assert answers == len(re.findall(r"^\*\*\d\.\*\* ", exercises, re.MULTILINE)), page.name
        assert exercises.count("```python\n") == answers, page.name  # which other tests run


def test_the_parts_of_the_architecture_link_to_sections_code_and_tests() -> None:
    svg = (GUIDE / "figures" / "architecture.svg").read_text(encoding="utf-8")
    targets = re.findall(r'href="([^"]+)"', svg)
    headings = re.findall(r"^## (.+)$", (GUIDE / "7-the-paper.md").read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in targets:
        path, _, anchor = target.partition("#")
        assert (GUIDE / "figures" / path).exists(), target
        assert not anchor or anchor in anchors, target
    assert len(targets) == 3 * svg.count("<rect x=")


@pytest.mark.parametrize("name", ["masks", "smoothing", "initial"])
def test_a_figure_drawn_again_has_the_same_labels_and_points(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """matplotlib writes each label as a comment, and each curve as a group of its own."""
    pytest.importorskip("matplotlib")
    figures = program("figures")
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    assert figures.main([name]) == 0
    drawn, shown = ((folder / f"{name}.svg").read_text(encoding="utf-8") for folder in (tmp_path, GUIDE / "figures"))
    for kind in (r"<!-- (.+?) -->", r'<g id="(line2d|patch|QuadMesh|image)_'):
        assert re.findall(kind, drawn) == re.findall(kind, shown) != []
