"""The documentation is correct: trees, tables and links match the repository, examples run, numbers have records."""

import ast
import codeop
import contextlib
import functools
import gzip
import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import CodeType
from unittest import mock

import pytest
import torch

from tests.programs import program
from transformer import layers
from translate.commands.main import COMMANDS, main, options_of
from translate.config.load import LIBRARY_KEYS
from translate.corpus.grammar import generate
from translate.exchange import verification
from translate.options import names_of

outputs = program("outputs")

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
EVERY_PAGE = pytest.mark.parametrize("name", ["README.md", *PAGES])
# Each page trains several small models, or one with 6 + 6 layers that then decodes: 10 to 30 seconds a page.
SLOW = (
    "guide/8-a-trained-system.md", "howto/evaluate.md", "howto/fine-tune.md", "howto/layer-type.md",
    "howto/troubleshoot.md",
)  # fmt: skip
LAYERS = dict(vars(layers))  # before a page replaces one
# Programs that tests do not start, because they install or download something or need several processes.
NOT_RUN = (
    "pip", "npm", "python3 -m venv", "make", "curl", "apt", "git", "mkdir", "cp", "torchrun", "sbatch", "LD_PRELOAD=",
    "ray start", "translate import", "translate serve", "translate models add", "translate models update",
    "translate models remove", "translate --model opus",
)  # fmt: skip


def page(name: str) -> str:
    return README if name == "README.md" else PAGES[name]


def between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].split(end, 1)[0]


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def records() -> dict[str, dict]:
    paths = (ROOT / "scripts" / "results").glob("*.json")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def tree() -> set[str]:
    """Paths in the annotated tree."""
    paths, folder = set(), ""
    for line in filter(
        str.strip, between(PAGES["architecture.md"], "<!-- tree -->", "<!-- end of tree -->").split("\n")
    ):
        name = line.split()[0]
        indent = len(line) - len(line.lstrip())
        folder = name if indent == 4 else folder
        paths.add(name if indent == 4 else folder + name)
    return paths


def test_the_tree_is_the_repository():
    listed = tree()
    assert all((ROOT / path).exists() for path in listed)
    assert {"transformer/", "translate/", "configs/", "scripts/", "docs/", "tests/"} <= listed
    for package in ("transformer", "translate"):
        inside = {f"{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in (ROOT / package).iterdir()}
        assert {
            path
            for path in inside
            if not path.startswith((f"{package}/_", f"{package}/.")) and path != f"{package}/py.typed"
        } == {path for path in listed if path.startswith(f"{package}/") and path != f"{package}/"}


def test_the_layers_are_those_of_the_import_contracts():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    for contract in contracts:
        if contract["type"] == "layers":
            shown = between(PAGES["architecture.md"], f"<!-- layers: {contract['name']} -->\n", "<!-- end of layers")
            package = contract["name"].split()[-1]
            assert [line.strip() for line in shown.strip().split("\n")] == [
                layer.replace(f"{package}.", "") for layer in contract["layers"]
            ]


@functools.cache
def defined_in(path: Path) -> set[str]:
    """Dotted names of all functions, classes and methods of a file."""
    names = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return names


def test_the_fidelity_table_points_at_real_code_and_real_tests():
    tables, _, _ = PAGES["fidelity.md"].partition("## Shipped models")
    rows = [line for line in tables.split("\n") if line.startswith("| ") and "| code |" not in line]
    assert len(rows) >= 25
    for row in rows:
        references = re.findall(r"`([\w/]+\.py): ([\w.]+)`", row)
        assert any(path.startswith("tests/") for path, _ in references), row
        assert any(not path.startswith("tests/") for path, _ in references), row
        for path, name in references:
            assert name in defined_in(ROOT / path), f"{path} has no {name}"


@EVERY_PAGE
def test_code_and_tests_that_are_named_exist(name: str):
    for path, defined in re.findall(r"`([\w/]+\.py): ([\w.]+)`", page(name)):
        assert defined in defined_in(ROOT / path), f"{path} has no {defined}"


def anchors(text: str) -> set[str]:
    """The anchors of headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@EVERY_PAGE
def test_links_lead_somewhere(name: str):
    file = ROOT / name if name == "README.md" else DOCS / name
    for target in re.findall(r"\]\(([^)\s]+)\)", page(name)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        found = file.parent / path if path else file
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text(encoding="utf-8")), target


def options() -> set[str]:
    """Every option of every command."""
    of_commands = {name for command in COMMANDS for name in names_of(options_of(command))}
    return {"--version", "--debug", "--completion"} | of_commands


@EVERY_PAGE
def test_options_and_settings_that_are_named_exist(name: str):
    from translate.config.schema import ExperimentConfig, ReplayData, Section

    foreign = {
        "--nproc-per-node",
        "--max-restarts",
        "--nnodes",
        "--help",
        "--gpus",
        "--cpus",
        "--filter",
    }  # options of torchrun, comet-score, docker, git
    text = page(name)
    if name == "howto/coming-from.md":  # the other cells of its tables name options of other toolkits
        text = re.sub(r"^\|.*\|(?=[^|\n]*\|$)", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]+` at [0-9a-f]{9}\b", "", text)  # a command that ran at a commit has the options of that one
    code = re.findall(r"`([^`\n]+)`", text)
    scripts = {*re.findall(r"(?<![\w/])scripts/\w+\.py", page(name))}
    if "scripts/bench.py" in scripts:
        scripts |= {f"scripts/{path.relative_to(ROOT / 'scripts')}" for path in (ROOT / "scripts/cases").glob("*.py")}
    known = options().union(*(re.findall(r'"(--[a-z][\w-]*)"', (ROOT / script).read_text()) for script in scripts))
    for option in {option for text in code for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", text)} - foreign:
        assert option in known, option
    for section, key in {match for text in code for match in re.findall(r"(?<![\w/])([a-z]+)\.([a-z_]+)\b", text)}:
        field = ExperimentConfig.model_fields.get(section)
        is_file = key in ("safetensors", "bin", "pt")
        is_resolved = section == "data" and key in LIBRARY_KEYS  # by translate.config.load
        if field is not None and issubclass(field.annotation, Section) and not is_file and not is_resolved:
            assert key in field.annotation.model_fields, f"{section}.{key}"
    assert ReplayData.model_fields.keys() >= {"share", "sources"}  # named as data.replay.share


def test_the_flags_of_translations_are_listed():
    from translate.text import translation

    rows = re.findall(r"^\| `(\w+)` \| .*\| (yes)? ?\|$", PAGES["text.md"], re.MULTILINE)
    described = re.findall(r"^    (\w+) {2,}", translation.__doc__, re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(described)
    assert {name for name, is_suspicious in rows if is_suspicious} == translation.SUSPICIOUS


def test_every_commit_of_a_record_is_in_the_history():
    """A record that names another one cannot be made again; the history of a shallow clone is not here."""

    def commits(value: object) -> set[str]:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        own = {value["commit"]} if isinstance(value, dict) and isinstance(value.get("commit"), str) else set()
        return own.union(*map(commits, parts))

    lost = {name: commits(record) - history() for name, record in records().items()}
    assert {name: found for name, found in lost.items() if found} == {}


def test_every_commit_that_a_page_names_is_in_the_history():
    pages = [
        ROOT / "README.md",
        ROOT / "RESULTS.md",
        *DOCS.rglob("*.md"),
        *(ROOT / "translate/models").glob("*/README.md"),
    ]
    found = {}
    for path in pages:
        named = re.findall(
            r"\b(?<!@)(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8,40}\b", path.read_text(encoding="utf-8")
        )
        found |= {str(path): lost for lost in named if not any(commit.startswith(lost) for commit in history())}
    assert found == {}


@functools.cache
def history() -> frozenset[str]:
    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs a clone with its history")
    return frozenset(git("rev-list", "HEAD").split())


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def test_no_evaluation_set_was_training_text_of_a_shipped_model():
    listed = re.findall(r"^\| [^|`]+ \| `([\w-]+)` \|$", PAGES["fidelity.md"], re.MULTILINE)
    groups = tomllib.loads((ROOT / "configs" / "data" / "open.toml").read_text(encoding="utf-8")).values()
    known = {name for group in groups for name, corpus in group.items() if corpus.get("use") == "evaluation"}
    assert len(listed) >= 8
    assert known.issuperset(listed)
    for name in ("de-en", "en-de"):
        card = (ROOT / "translate" / "models" / name / "README.md").read_text(encoding="utf-8")
        assert not [one for one in known if f"\n| {one} | " in between(card, "## Data", "## Training")]


def test_numbers_of_the_readme_are_those_of_records():
    rows = re.findall(r"^\| \[([\w-]+)\]\(.*?\|.*?\| ([^|]+) \|$", README, re.MULTILINE)
    assert len(rows) >= 3
    for run, scores in rows:
        for test_set, bleu in (score.split() for score in scores.split(", ")):
            assert bleu == f"{records()[run]['scores'][test_set]['bleu']['score']:.1f}"
    contenders = records()["bench-train-small-float32"]["contenders"]
    ratios = {name: contender["ours_is_times"] for name, contender in contenders.items()}
    text = " ".join(re.sub(r"\]\([^)]*\)|\[", "", README).split())
    assert f"{ratios['torch']:.1f} times as fast as a tuned loop around `torch.nn.Transformer`" in text
    assert f"{ratios['hf-tuned']:.1f} times as fast as one around Hugging Face's MarianMTModel" in text
    assert f"{ratios['ours-float32']:.2f} times the time" in text


def test_the_speed_of_the_server_is_that_of_its_newest_record():
    clients = records()["bench-serve"]["clients"]
    per_second = f"{clients['per_second']:.0f} sentences"
    assert f"{per_second} per second, in {clients['p50_ms']} ms at the median" in PAGES["serve.md"]
    (row,) = re.findall(r"^\| `translate serve` .*", (ROOT / "RESULTS.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"{per_second}/s for {clients['n']} clients" in row


def test_the_results_are_those_of_the_records():
    results = program("results")
    for path, content in (
        (results.PAGE, results.results()),
        (results.GRIDS, results.grids()),
        (results.SERVE, results.sizes()),
        (results.SPEEDRUN, results.speedruns()),
    ):
        page = path.read_text(encoding="utf-8")
        assert results.rebuilt(page, content) == page, "run scripts/results.py"


def test_every_record_is_listed_and_the_summary_fits_on_a_screen():
    results = program("results")
    text = results.PAGE.read_text(encoding="utf-8")
    pages = text + "".join(
        page.read_text(encoding="utf-8") for page in (results.GRIDS, results.SERVE, results.SPEEDRUN)
    )
    assert [name for name in records() if f"scripts/results/{name}.json)" not in pages] == []
    assert text.split("## History")[0].count("\n") <= 60


def smaller(experiment: str) -> str:
    """An experiment file with a smaller model and shorter training; one without a tokenizer fine-tunes."""
    if "[tokenizer]" not in experiment:
        return experiment
    sizes = "" if "d_model" in experiment else "\nd_model = 32\nd_ff = 64"  # a key may be there once
    for line, small in (
        ("vocab_size = 8000", "vocab_size = 500"),
        ('preset = "small"', f'preset = "tiny"{sizes}'),
        ("max_epochs = 30", "max_epochs = 2"),
    ):
        experiment = experiment.replace(line, small)
    return experiment


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the README's commands have run, with a smaller corpus and model."""
    torch.set_num_threads(1)  # as in the tests: repeating a run with another number of threads may change bits
    folder = tmp_path_factory.mktemp("walk-through")
    sets = (("train", "train", 400, 3), ("valid", "valid", 7, 3), ("test", "test", 11, 3))
    more = (("old", "train", 90, 4), ("new", "train", 80, 5), ("new-test", "test", 9, 5), ("news", "train", 7, 6))
    for name, split, n, seed in sets + more:
        for language, side in zip(("de", "en"), zip(*generate(split, n, seed), strict=True), strict=True):
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    put_multi30k(folder)
    with contextlib.chdir(folder):
        run_page("README.md", ("toml", "sh"))
    return folder


def put_multi30k(folder: Path) -> None:
    """Write the files that the last pages of the guide need: a smaller experiment, a corpus, records."""
    for part in ("configs/recipes", "data/multi30k"):
        (folder / part).mkdir(parents=True)
    shutil.copytree(ROOT / "scripts" / "results", folder / "scripts" / "results")
    name = "multi30k-de-en"
    experiment = (ROOT / "configs" / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    (folder / "configs" / "recipes" / f"{name}.toml").write_text(smaller(experiment), encoding="utf-8")
    for own, theirs in (("train", "train"), ("valid", "val"), ("test", "test_2016_flickr")):
        for language in ("de", "en"):
            text = (folder / f"{own}.{language}").read_bytes()
            (folder / "data" / "multi30k" / f"{theirs}.{language}.gz").write_bytes(gzip.compress(text))


def run_page(name: str, languages: tuple[str, ...] = ("toml", "sh", "python")) -> None:
    """Run the blocks of a page in order.

    A block that begins with a file name, such as `# my.toml`, is written to that file. The output of Python must match
    the `text` block directly below it.
    """
    namespace: dict[str, object] = {}
    unwritten: set[str] = set()
    for language, code, shown in steps(page(name)):
        named = re.match(r"# ([\w-]+\.(?:toml|py))\n", code)
        if language not in languages:
            continue
        if named:
            Path(named[1]).write_text(smaller(code), encoding="utf-8")
        elif language == "sh":
            run_commands(code, unwritten)
        elif language == "python" and "import ray" not in code:
            printed = output_of(compile(code, f"{name}: {code}", "exec"), namespace)
            assert not shown or printed is None or outputs.is_like(printed.rstrip("\n"), shown.rstrip("\n")), (
                f"{code}\n{printed}"
            )


def steps(text: str) -> list[tuple[str, str, str]]:
    """Language and code of each block to run, and the output in the `text` block directly below it."""
    pattern = r"^```(toml|sh|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?"
    return re.findall(pattern, text, re.DOTALL | re.MULTILINE)


def output_of(code: CodeType, namespace: dict[str, object]) -> str | None:
    """Output of Python code; None if it needs an extra that is not installed."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except ModuleNotFoundError as error:
        if error.name != "ctranslate2":
            raise
        return None
    return printed.getvalue()


def run_commands(block: str, unwritten: set[str]) -> None:
    """Run the commands of this project; each must succeed, or name a missing extra.

    Without its extra, a command does not write the file after `--out`. `unwritten` collects these files, and commands
    that read them are skipped.
    """
    for line in filter(None, block.replace("\\\n", " ").strip().split("\n")):
        if line.startswith(NOT_RUN) or " --ray" in line:
            continue
        program, *words = shlex.split(line)
        if unwritten & {*words}:
            continue
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = {"translate": main, "python": run_program}[program](words)
        is_missing = code == 2 and "pip install" in errors.getvalue()
        assert code == 0 or is_missing, f"{line}\n{errors.getvalue()}"
        if is_missing and "--out" in words:
            unwritten.add(words[words.index("--out") + 1])


def run_program(words: list[str]) -> int:
    """Run a Python file with arguments in this process, which has the layers of a new one; return its exit code."""
    new = mock.patch.dict(vars(layers), LAYERS)
    with new, mock.patch.object(sys, "argv", words), pytest.raises(SystemExit) as end:
        runpy.run_path(words[0], run_name="__main__")
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    "name", ["README.md", *(pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in PAGES)]
)
def test_the_commands_and_python_examples_run(
    name: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every page starts from a copy of the README's final folder."""
    folder = tmp_path / "work"
    shutil.copytree(trained, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    # Models of a few updates do not know when to end, so the check of an export would take longest.
    monkeypatch.setattr(verification, "sentences", lambda source, made=verification.sentences: made(source)[:9])
    with mock.patch.dict(vars(layers)):  # an example replaces one of its functions
        run_page(name, ("python",) if name == "README.md" else ("toml", "sh", "python"))


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith(("guide/", "howto/"))])
def test_python_examples_can_be_pasted_at_a_prompt(name: str):
    """At a prompt a blank line ends a loop or a function, and nothing else does."""
    for block in blocks(page(name), "python"):
        if not re.match(r"# [\w-]+\.py\n", block):  # the block is a file
            is_complete = codeop.CommandCompiler()
            lines = list[str]()
            for line in block.split("\n"):
                lines.append(line)
                if is_complete("\n".join(lines), symbol="single"):
                    lines.clear()
            assert not any(lines), block


def test_the_experiments_of_the_readme_and_of_the_guide_are_made_smaller():
    (of_readme,) = blocks(README, "toml")
    for experiment in (of_readme, (ROOT / "configs" / "recipes" / "multi30k-de-en.toml").read_text(encoding="utf-8")):
        assert len(set(experiment.split("\n")) - set(smaller(experiment).split("\n"))) == 3


@EVERY_PAGE
def test_sessions_show_what_the_shipped_models_say(name: str):
    assert outputs.with_outputs(page(name)) == page(name)
