"""The figures of the guide are the ones that the programs draw."""

import re
from pathlib import Path

import pytest

from tests.programs import program

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
SHOWN = set(
    re.findall(r"\]\(figures/([\w-]+)\.svg\)", "".join(page.read_text(encoding="utf-8") for page in GUIDE.glob("*.md")))
)
EXPLAINED = {
    "attention",
    "heads",
    "positions",
    "schedule",
    "steps",
    "temperature",
}  # drawn by `translate explain --out`


def test_every_figure_is_shown_and_has_a_program() -> None:
    pytest.importorskip("matplotlib")
    figures = program("figures")
    files = {path.stem for path in figures.FOLDER.glob("*.svg")}
    assert files == SHOWN == (figures.FIGURES.keys() - figures.IMAGES.keys()) | EXPLAINED
    assert all((folder / f"{name}.svg").exists() for name, folder in figures.IMAGES.items())


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
