"""The README tells the truth: its tree is the tree, its table points at real code, its commands run."""

import ast
import re
import shlex
import sys
from pathlib import Path

from translate.cli import main
from translate.corpus.grammar import generate

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def between(start: str, end: str) -> str:
    return README.split(start, 1)[1].split(end, 1)[0]


def tree() -> set[str]:
    """Paths of the annotated tree."""
    paths, folder = set(), ""
    for line in filter(str.strip, between("<!-- tree -->", "<!-- end of tree -->").split("\n")):
        name = line.split()[0]
        indent = len(line) - len(line.lstrip())
        folder = name if indent == 4 else folder
        paths.add(name if indent == 4 else folder + name)
    return paths


def test_the_tree_is_the_repository():
    listed = tree()
    assert all((ROOT / path).exists() for path in listed)
    assert {"transformer/", "translate/", "configs/", "scripts/", "tests/"} <= listed
    for package in ("transformer", "translate"):
        inside = {f"{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in (ROOT / package).iterdir()}
        assert {path for path in inside if not path.startswith((f"{package}/_", f"{package}/."))} == {
            path for path in listed if path.startswith(f"{package}/") and path != f"{package}/"
        }


def defined_in(path: Path) -> set[str]:
    """Dotted names of all functions, classes and methods of a file."""
    names = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return names


def test_the_fidelity_table_points_at_real_code_and_real_tests():
    rows = [line for line in between("## Fidelity", "## Layout").split("\n") if line.startswith("| ")][2:]
    assert len(rows) >= 15
    for row in rows:
        references = re.findall(r"`([\w/]+\.py): ([\w.]+)`", row)
        assert any(path.startswith("tests/") for path, _ in references), row
        assert any(not path.startswith("tests/") for path, _ in references), row
        for path, name in references:
            assert name in defined_in(ROOT / path), f"{path} has no {name}"


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    """Every command of the walk-through, word for word, on a small corpus; the vocabulary is cut to its size."""
    experiment = re.search(r"```toml\n(.*?)```", README, re.DOTALL).group(1)
    commands = [
        line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.strip().split("\n")
    ]
    assert len(commands) >= 6
    monkeypatch.chdir(tmp_path)
    small = experiment.replace("vocab_size = 8000", "vocab_size = 500").replace("max_epochs = 30", "max_epochs = 4")
    assert small != experiment
    Path("my.toml").write_text(small, encoding="utf-8")
    sets = (("train", "train", 400, 3), ("valid", "valid", 7, 3), ("test", "test", 11, 3), ("old", "train", 90, 4))
    for name, split, n, seed in sets:
        german, english = zip(*generate(split, n, seed), strict=True)
        Path(f"{name}.de").write_text("".join(f"{line}\n" for line in german), encoding="utf-8")
        Path(f"{name}.en").write_text("".join(f"{line}\n" for line in english), encoding="utf-8")
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "translate", command
        assert main(words[1:]) == 0, f"{command}\n{capsys.readouterr().err}"
    assert len(Path("test.translated").read_text(encoding="utf-8").split("\n")) == 12
    library = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    exec(compile(library, "README.md", "exec"), {})


def test_the_results_are_those_of_the_records():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import results
    finally:
        sys.path.pop(0)
    page = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert results.rebuilt(page) == page
