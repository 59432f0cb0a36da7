"""Tables as text, Markdown and LaTeX."""

from collections.abc import Mapping, Sequence
from typing import Literal

Form = Literal["simple", "github", "latex_booktabs"]


def rendered(rows: Sequence[Mapping[str, str]], form: Form) -> str:
    """Return rows as a table; columns that are empty in every row are skipped."""
    from tabulate import tabulate

    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    table = [shown, *([row[name] for name in shown] for row in rows)]
    if form == "github":  # tabulate does not escape what separates its cells
        table = [[cell.replace("|", r"\|") for cell in cells] for cells in table]
    return str(tabulate(table[1:], table[0], tablefmt=form, disable_numparse=True))


def columns(rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return rows as columns without headings; `align` has "<" (left) or ">" (right) for the first columns."""
    from tabulate import tabulate

    sides = ["right" if side == ">" else "left" for side in align.ljust(len(rows[0]), "<")]
    table = str(tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=sides))
    return "\n".join(line.rstrip() for line in table.split("\n"))
