"""Self-contained HTML pages: no script, font or style is loaded from elsewhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2

from translate.evaluation.comparison import Comparison
from translate.evaluation.pairwise import TESTS


def svg_page(title: str, svg: str) -> str:
    """Return a page with a heading and a drawing."""
    return _template("page").render(title=title, svg=svg)


def attention_page(title: str, data: Mapping[str, object]) -> str:
    """Return a page on which pointing at a target token lights the source tokens that it reads.

    Args:
        title: the heading.
        data: "source" and "target", the tokens, with spaces where words begin; "weights" by layer, head, target token
            and source token; "layers" and "heads", their names; "layer" and "head", the indices shown first.
    """
    return _template("attention").render(title=title, data=data)


def data_page(title: str, chapters: Sequence[object]) -> str:
    """Return a report in chapters, each with `title`, `rows`, `bars`, `examples` and `note`."""
    return _template("data").render(title=title, chapters=chapters)


def comparison_page(comparison: Comparison) -> str:
    """Return a page with charts, tables and sentences that show where two systems differ."""
    return _template("comparison").render(it=comparison, tests=TESTS)


def _template(name: str) -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(f"{name}.html.jinja")
