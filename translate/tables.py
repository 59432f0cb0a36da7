"""Tables as text, Markdown and LaTeX."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

Form = Literal["simple", "github", "latex_booktabs"]


def rendered(rows: Sequence[Mapping[str, str]], form: Form) -> str:
    """Return rows as a table, each on one line; columns that are empty in every row are skipped."""
    from tabulate import tabulate

    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    lines = [shown, *([row[name] for name in shown] for row in rows)]
    head, *body = ([_cell(text, form) for text in line] for line in lines)
    return str(tabulate(body, head, tablefmt=form, disable_numparse=True))


def _cell(text: str, form: Form) -> str:
    """Return text as one line of a table; tabulate escapes what is special in LaTeX, but not in Markdown."""
    line = " ".join(text.splitlines())
    return re.sub(r"[\\|]", r"\\\g<0>", line) if form == "github" else line


def columns(rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return rows as columns without headings; `align` has "<" (left) or ">" (right) for the first columns."""
    from tabulate import tabulate

    sides = ["right" if side == ">" else "left" for side in align.ljust(len(rows[0]), "<")]
    table = str(tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=sides))
    return "\n".join(line.rstrip() for line in table.split("\n"))
