"""The notebooks are valid, match the pages of the guide, and run from top to bottom."""

import json
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from tests.programs import SCRIPTS, program

notebooks = program("notebooks")
MADE: dict[str, str] = notebooks.notebooks()
FOLDER = SCRIPTS.parent / "docs" / "notebooks"
EACH = pytest.mark.parametrize("name", MADE)


def cells(name: str, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(MADE[name])["cells"] if cell["cell_type"] == kind]


def test_every_page_with_calculations_is_a_notebook() -> None:
    pages = {path.stem for path in notebooks.GUIDE.glob("*.md") if path.stem[0] in "123456"}
    assert {Path(name).stem for name in MADE} == pages == {path.stem for path in FOLDER.glob("*.ipynb")}
    assert len(pages) >= 5


@EACH
def test_a_notebook_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == MADE[name], "run scripts/notebooks.py"


@EACH
def test_a_notebook_has_the_code_of_its_page_and_no_output(name: str) -> None:
    nbformat.validate(nbformat.reads(MADE[name], as_version=4))
    page = (notebooks.GUIDE / f"{Path(name).stem}.md").read_text(encoding="utf-8")
    assert len(cells(name, "code")) == page.count("\n```python\n")
    assert all(f"```python\n{code}\n```" in page for code in cells(name, "code"))
    assert all(not cell["outputs"] for cell in json.loads(MADE[name])["cells"] if cell["cell_type"] == "code")


@EACH
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s#]+)", "".join(cells(name, "markdown"))):
        assert "://" in target or (FOLDER / target).exists(), target


@pytest.mark.slow  # starts a kernel that loads PyTorch and, on page 6, a model
@EACH
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    """An error in a cell is raised, and the printed output matches the page."""
    notebook: Any = nbformat.reads(MADE[name], as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    page = (notebooks.GUIDE / f"{Path(name).stem}.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^```python\n(.*?)\n```$\n+```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source in shown:
            printed = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
            pattern = re.escape(shown[cell.source]).replace(r"\.\.\.", "(?s:.*)")
            assert re.fullmatch(pattern, printed), f"{cell.source}\n{printed}"
