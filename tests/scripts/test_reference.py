"""docs/reference lists every setting, command and public name in the code, and nothing else."""

import re
from typing import get_args

import pytest

from tests.programs import SCRIPTS, program
from transformer.config import ModelConfig
from translate.commands.main import COMMANDS, options_of
from translate.config.schema import ExperimentConfig, Source
from translate.options import names_of

reference = program("reference")
PAGES: dict[str, str] = reference.pages()
DOCS = SCRIPTS.parent / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    committed = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert committed == PAGES[name], "run scripts/reference.py"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in (DOCS / "reference").iterdir()} == PAGES.keys()


def test_every_kind_of_source_is_listed() -> None:
    union, *_ = get_args(Source)
    assert set(reference.SOURCES) == set(get_args(union))


def test_no_module_is_listed_twice() -> None:
    assert len(set(reference.APPLICATION)) == len(reference.APPLICATION)


def test_every_setting_has_its_default_and_a_description() -> None:
    tables = dict(re.findall(r"^## \[(\w+)\]\n(.*?)(?=^## |\Z)", PAGES["settings.md"], re.DOTALL | re.MULTILINE))
    assert tables.keys() == ExperimentConfig.model_fields.keys()
    for name, field in ExperimentConfig.model_fields.items():
        rows = {
            cells[0].strip("` "): cells[1:]
            for line in tables[name].splitlines()
            if line.startswith("| `")
            for cells in [line.strip("| ").split(" | ")]
        }
        for key, value in field.annotation.model_fields.items():
            default = getattr(ModelConfig(vocab_size=7), key) if name == "model" and key != "preset" else value.default
            assert rows[key][2].strip(), key
            if isinstance(default, int | float) and not isinstance(default, bool):
                assert float(rows[key][1].strip("`")) == default


def test_settings_show_the_section_of_the_paper() -> None:
    assert re.search(
        r"^\| `n_heads` \|.*\| `8` \| attention heads h\. \| 3\.2\.2 \|$", PAGES["settings.md"], re.MULTILINE
    )
    assert re.search(r"^\| `average_last` \|.*\| 6\.1 \|$", PAGES["settings.md"], re.MULTILINE)


def test_every_command_and_option_is_there() -> None:
    for command in COMMANDS:
        (text,) = re.findall(
            rf"^### translate {command}\n\n```text\n(.*?)^```", PAGES["commands.md"], re.DOTALL | re.MULTILINE
        )
        assert all(option in text for option in names_of(options_of(command)))


@pytest.mark.parametrize("path", ["README.md", *sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))])
def test_names_imported_by_examples_are_in_the_reference(path: str) -> None:
    text = (DOCS.parent / path if path == "README.md" else DOCS / path).read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for module, names in re.findall(r"^from ((?:transformer|translate)[\w.]*) import (.+)$", code, re.MULTILINE):
            page = PAGES[f"{module.partition('.')[0]}.md"]
            headed = between(page, f"\n## {module}\n", "\n## ") if "." in module else page
            for name in names.split(", "):
                said = (f"\n### {name}\n" in headed, f"`{name}`" in headed, f"\n## {module}.{name}\n" in page)
                assert any(said), f"{module}.{name}"


def between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0]


def test_a_docstring_has_text_and_sections() -> None:
    docstring = reference.Docstring.of(
        """Return <b> of _x_ and `<c>`.

    Args:
        a, b: the
            first two.
        c: the third: last.

    Raises nothing.
    """
    )
    assert docstring.text == "Return <b> of _x_ and `<c>`.\n\nRaises nothing."
    assert docstring.descriptions() == {"a": "the first two.", "b": "the first two.", "c": "the third: last."}
    assert docstring.markdown().startswith(
        "Return &lt;b> of \\_x\\_ and `<c>`.\n\nRaises nothing.\n\nArgs:\n\n- `a, b`:"
    )


def test_a_name_with_underscores_is_not_emphasis() -> None:
    assert reference.escaped("Step.__call__ of d_model") == "Step.\\_\\_call\\_\\_ of d_model"
