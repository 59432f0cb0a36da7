"""Rules of the architecture that a test can check: imports, names, docstrings; see docs/architecture.md."""

import ast
import functools
import importlib
import json
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("transformer", "translate")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, Function))


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new Python process, in the root of the repository."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )


def test_both_packages_are_checked() -> None:
    names = {module_name(path) for path in FILES}
    assert {"transformer", "transformer.attention", "translate", "translate.corpus.prepare"} <= names


LIGHT = ("transformer", *(f"transformer.{name}" for name in ("config", "cost", "schedule")))
FOREIGN = {"torch", "safetensors", "datasets", "sacrebleu", "sentencepiece", "matplotlib"}
EXTRAS = {"tensorboard", "torch.utils.tensorboard", "matplotlib", "ctranslate2", "transformers"}
ALL = tuple(module_name(path) for path in FILES if path.stem != "__main__")


@pytest.mark.parametrize(
    "steps",
    [
        [(LIGHT, FOREIGN | {"translate"}), (("translate", "translate.config.schema"), FOREIGN)],
        [
            (("transformer.search.beam",), {"transformer.model", "transformer.attention"}),
            (("transformer.model",), {"translate", "numpy.testing"}),
            (ALL, EXTRAS),
        ],
    ],
    ids=["without torch", "with torch"],
)
def test_importing_a_part_does_not_load_what_it_does_not_need(steps: list[tuple[tuple[str, ...], set[str]]]) -> None:
    """Each case imports the modules with the fewest dependencies first; none prints anything or starts a thread."""
    program = """
import importlib, json, sys, threading
for modules in json.loads(sys.argv[1]):
    for module in modules:
        importlib.import_module(module)
    print(json.dumps(list(sys.modules)))
print(json.dumps([thread.name for thread in threading.enumerate()]))
"""
    done = run(program, json.dumps([modules for modules, _ in steps]))
    assert done.stderr == ""
    *said, threads = map(json.loads, done.stdout.splitlines())
    assert threads == ["MainThread"]
    for loaded, (modules, unwanted) in zip(said, steps, strict=True):
        assert not unwanted & {*loaded}, modules


@pytest.mark.parametrize("path", [path for path in FILES if path.is_relative_to(ROOT / "transformer")], ids=module_name)
def test_the_model_library_needs_torch_and_safetensors_only(path: Path) -> None:
    allowed = {"torch", "safetensors", "transformer", *sys.stdlib_module_names}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= allowed
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert (node.module or "").partition(".")[0] in allowed


def test_the_readme_has_at_most_700_words() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_both_packages_say_that_they_are_typed() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").exists()
        assert "py.typed" in data[package]


def test_each_top_level_name_of_the_library_is_the_object_of_its_module() -> None:
    import transformer

    for name in transformer.__all__:
        assert getattr(transformer, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'transformer' has no attribute 'Transfomer'"):
        _ = transformer.Transfomer


@pytest.mark.parametrize("name", PACKAGES)
def test_names_that_are_imported_on_first_use_are_listed(name: str) -> None:
    """Completion at a prompt uses `dir`."""
    package = importlib.import_module(name)
    assert {*package.__all__} <= {*dir(package)}


def test_no_module_has_a_meaningless_name() -> None:
    assert [path for path in FILES if NAMELESS & {*path.relative_to(ROOT).with_suffix("").parts}] == []


def test_no_function_takes_options_that_it_does_not_name() -> None:
    assert [f"{path}:{f.lineno}: {f.name}" for path in FILES for f in functions(path) if f.args.kwarg] == []


def public(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Documented]]:
    """Public functions, classes and methods with their names, without special methods."""
    for child in node.body:
        if isinstance(child, Documented) and not child.name.startswith("_"):
            yield prefix + child.name, child
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{child.name}.")


def overloads(node: Documented) -> bool:
    return any(isinstance(name, ast.Name) and name.id in ("overload", "override") for name in node.decorator_list)


def test_every_public_name_says_what_it_is() -> None:
    named = [(path, name, node) for path in FILES for name, node in public(tree(path)) if not overloads(node)]
    modules = [(path, "", tree(path)) for path in FILES]
    assert [f"{path}: {name}" for path, name, node in modules + named if not ast.get_docstring(node)] == []


def comments_and_docstrings(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        yield from (token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | Documented):
            yield ast.get_docstring(node) or ""


def test_comments_and_docstrings_are_ascii() -> None:
    """String literals may contain other characters."""
    others = [path for path in FILES if not path.read_bytes().isascii()]
    assert [(path, text) for path in others for text in comments_and_docstrings(path) if not text.isascii()] == []


def shortcomings(finding: str) -> Iterator[str]:
    """Yield what the script of a finding lacks."""
    header = finding.partition('. "$(dirname')[0]
    yield from (f"no {word!r}" for word in ("# Guess: ", "# Miss:  ") if word not in header)
    installed = [line for line in finding.splitlines() if line.startswith('. "$(dirname "$0")/environment.sh"')]
    if len(installed) != 1:
        yield f"{len(installed)} environments"
    yield from (f"no version of {name}" for line in installed for name in line.split()[3:] if "==" not in name)
    if "from finding import expect" not in finding:
        yield "no expectation"


def test_findings_state_guess_and_miss_and_pin_their_packages() -> None:
    """A finding without its guess cannot be judged, and one without versions cannot be repeated."""
    paths = [path for path in sorted((ROOT / "findings").glob("*.sh")) if path.name != "environment.sh"]
    assert len(paths) > 100
    found = [(path.name, lack) for path in paths for lack in shortcomings(path.read_text(encoding="utf-8"))]
    assert found == []
