#!/usr/bin/env python3
"""Write the pages of the guide that are calculations as notebooks without outputs: docs/notebooks/*.ipynb.

    python scripts/notebooks.py

The Python blocks of a page become cells. The outputs that the page shows are left out; running the cells prints them.
Answers to exercises are not folded, as a cell of text cannot hold one of code.
"""

import json
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from translate.files import write_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE, NOTEBOOKS = DOCS / "guide", DOCS / "notebooks"

_CODE = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n.*?^```$)?", re.DOTALL | re.MULTILINE)
_FOLD = re.compile(r"^</?details.*>\n|^<summary>Answer</summary>\n", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)")
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def main() -> int:
    """Write every notebook."""
    NOTEBOOKS.mkdir(exist_ok=True)
    for name, text in notebooks().items():
        write_text(NOTEBOOKS / name, text)
    return 0


def notebooks() -> dict[str, str]:
    """Return the text of each notebook by its file name; page 7 has no calculations."""
    pages = sorted(GUIDE.glob("[1-6]-*.md"))
    return {f"{page.stem}.ipynb": notebook(page.read_text(encoding="utf-8"), {p.name for p in pages}) for page in pages}


def notebook(page: str, pages: set[str]) -> str:
    """Return a page as a notebook in the format nbformat 4.5.

    Args:
        page: the page as Markdown.
        pages: names of the pages that are notebooks; links lead to these.
    """
    cells = []
    # With one group in the pattern, texts and code alternate.
    for i, part in enumerate(_CODE.split(_FOLD.sub("", page))):
        if not part.strip():
            continue
        cell: dict[str, Any] = {"cell_type": "markdown", "id": f"cell-{i}", "metadata": {}}
        if i % 2:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        else:
            part = _LINK.sub(lambda link: relinked(link[1], pages), part)
        cells.append(cell | {"source": part.strip().splitlines(keepends=True)})
    content = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def relinked(target: str, pages: set[str]) -> str:
    """Return a link of the guide as it must be in the folder of the notebooks.

    Args:
        target: relative to the guide.
        pages: names of the pages that are notebooks.
    """
    if "://" in target:
        return target
    return f"{target.removesuffix('.md')}.ipynb" if target in pages else posixpath.normpath(f"../guide/{target}")


if __name__ == "__main__":
    sys.exit(main())
