"""RESULTS.md has one row for each run and shows the compute of each run and its parents."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import harness
import pytest
import records

from tests.programs import case, program
from translate.errors import UserError
from translate.inference.translator import Translator
from translate.text.translation import Translation

results = program("results")
CPU = {"processor": "Xeon", "cores": 2, "processes": 2, "threads": 1, "device": "cpu"}


def run(name: str, command: str = "translate train x.toml", **changes: Any) -> dict[str, Any]:
    score = {key: {"score": 12.34, "signature": f"{key}-signature"} for key in ("bleu", "chrf", "ter")}
    return {
        "kind": "training", "name": name, "command": command, "commit": "0123456789abcdef", "machine": CPU, "seed": 7,
        "parameters": 1_234_567, "languages": "de-en", "pairs": None, "parents": [],
        "steps": 5000, "tokens": 77, "seconds": 5400.0,
        "scores": {"news": {"lines": 2000, **score}, "talks": {"lines": 30, **score}}, **changes,
    }  # fmt: skip


def rows(table: str) -> list[dict[str, str]]:
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_a_run_is_one_row_with_a_column_for_each_test_set() -> None:
    table = results.score_table([run("a", pairs=29000), run("b", scores={})], [])
    first, second = rows(table)
    assert (first["languages"], first["training pairs"], first["seed"]) == ("de-en", "29,000", "7")
    assert (first["news (2,000)"], first["talks (30)"]) == ("12.3", "12.3")
    assert (second["training pairs"], second["news (2,000)"]) == ("unknown", "")


def test_a_published_score_of_another_kind_is_labelled() -> None:
    published = {"system": "S", "source": "a paper", "languages": "de-en", "parameters": None, "pairs": None}
    table = results.score_table([run("a")], [published | {"scores": {"news": 27.25}, "unlike": "tokenised"}])
    assert rows(table)[1]["news (2,000)"] == "27.25 (tokenised)"


def test_two_processes_with_one_thread_each_are_shown_as_such() -> None:
    assert records.machine_name(CPU) == "Xeon, 2 x 1 thread"
    assert records.machine_name(CPU | {"processes": 1, "threads": 2}) == "Xeon, 2 threads"
    assert records.machine_name({"processor": "Xeon", "threads": 1, "device": "cpu"}) == "Xeon, 1 thread"
    assert records.machine_name(CPU | {"device": "H100"}) == "2 x H100"


def test_a_run_with_a_parent_shows_its_own_and_the_total_compute() -> None:
    first = run("first")
    second, lost, third = (
        run("second", parents=[first]),
        run("lost", parents=[None]),
        run("third", parents=[first, first]),
    )
    table = rows(results.run_table([first, second, lost, third]))
    assert [row["compute"] for row in table] == ["3.0 core h"] * 4
    assert [row["with parents"] for row in table] == ["3.0 core h", "6.0 core h", "over 3.0 core h", "9.0 core h"]


def write_run(folder: Path, parent: Path | None, **changes: Any) -> None:
    (folder / "model").mkdir(parents=True)
    start = {
        "command": ["/bin/translate", "train", "x.toml", "--run", "/tmp/x", "--resume"],
        "commit": "abc", "uncommitted_changes": False, "time": "2026-11-22T06:00:00", "versions": {}, "machine": CPU,
    }  # fmt: skip
    manifest = {
        "starts": [start], "seed": 1, "parameters": 5, "dtype": "float32",
        "data": {"counts": {"kept": 29}, "inputs": {}}, "parent": parent and {"path": str(parent)},
    }  # fmt: skip
    lines: list[dict[str, Any]] = [
        {"kind": "train", "step": step, "epoch": 1, "tokens": 10 * step, "seconds": 100.0 * step} for step in (1, 2, 3)
    ]
    final = {"step": 3, "epoch": 1, "seconds": 400.0, "averaged": [3], "nll": 1.0, "perplexity": 2.7, "bleu": 3.0}
    lines.append({"kind": "final", **final})
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"data": {"source": "de", "target": "en"}}), encoding="utf-8")
    (folder / "scores.json").write_text(
        json.dumps({"news": {"lines": 3, "sample": ["text"], "model": "/here"}}), encoding="utf-8"
    )


def test_a_record_has_the_data_size_and_the_cost_of_each_parent(tmp_path: Path) -> None:
    write_run(tmp_path / "a", None)
    write_run(tmp_path / "b", tmp_path / "a" / "checkpoints" / "step-00000002")
    write_run(tmp_path / "c", tmp_path / "b" / "model")
    record = records.record_of(tmp_path / "c")
    assert (record["languages"], record["pairs"], record["steps"], record["seconds"]) == ("de-en", 29, 3, 400.0)
    assert [(parent["steps"], parent["seconds"]) for parent in record["parents"]] == [(2, 200.0), (3, 400.0)]
    assert record["scores"]["news"] == {"lines": 3}
    assert record["command"] == "translate train x.toml --resume"


def test_parents_before_a_shipped_model_are_those_on_its_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records")
    (tmp_path / "records").mkdir()
    known = run("known", command="translate train b.toml --from runs/a", date="2026-11-22")
    (tmp_path / "records" / "known.json").write_text(json.dumps(known), encoding="utf-8")
    shipped = tmp_path / "models" / "de-en"
    shipped.mkdir(parents=True)
    commands = ["translate train a", known["command"]]
    lines = [f"- `{command}`, commit 012345678, seed 1: 5 updates" for command in commands]
    (shipped / "README.md").write_text("\n".join(["## Training", "", *lines]), encoding="utf-8")
    write_run(tmp_path / "runs" / "c", shipped)
    record = records.record_of(tmp_path / "runs" / "c")
    assert [parent and parent["command"] for parent in record["parents"]] == [None, known["command"]]
    assert results.total_compute(record) == "over 3.2 core h"


def test_a_benchmark_names_the_model_that_its_commit_had() -> None:
    record = {"model": "de-en", "commit": "0123456789abcdef", "layers": "6 + 2"}
    assert records.model_name(record) == "de-en of commit 012345678, 6 + 2 layers"


def test_a_record_that_is_not_stored_is_not_linked() -> None:
    speed = {"tokens_per_s": 7, "gflops": 0.5, "share_of_product_rate": 0.03, "peak_mb": 5.0, "ours_is_times": 1.0}
    record = {
        "preset": "tiny",
        "processor": "P",
        "threads": 3,
        "products": "bfloat16",
        "contenders": {"ours": speed},
    }
    assert next(case("train").rows(record))["sizes"] == "tiny"
    stored = [*case("train").rows(record | {"file": "bench-tiny"})]
    assert stored[0]["sizes"] == "[tiny](scripts/results/bench-tiny.json)"


def test_a_parent_without_a_run_is_an_error(tmp_path: Path) -> None:
    write_run(tmp_path / "a", tmp_path / "gone" / "model")
    with pytest.raises(UserError, match="belongs to no run"):
        records.record_of(tmp_path / "a")


COMMITS = [("0123456789abcdef", False), ("fedcba9876543210", True), ("0123456789abcdef", True)]


def test_a_grid_is_a_chapter_of_its_own_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"norm": "post", "seeds": "2", "BLEU valid": "31.70 ± 0.20", "p valid": "", "remarks": "baseline"}
    at = [{"commit": commit, "uncommitted_changes": changed, "machine": CPU} for commit, changed in COMMITS]
    runs = [{"seeds": {str(seed): {"environment": one} for seed, one in enumerate(at)}}]
    table = [row, row | {"norm": "pre", "remarks": ""}]
    grid = {"kind": "grid", "name": "norm", "rows": runs, "table": table, "notes": ["Of all.", "Read me."]}
    (tmp_path / "records").mkdir()
    other = json.dumps(grid | {"name": "size", "notes": ["Of all."]})
    (tmp_path / "records" / "grid-size.json").write_text(other, encoding="utf-8")
    folder = tmp_path / "experiments" / "norm"
    folder.mkdir(parents=True)
    (folder / "table.json").write_text(json.dumps(grid), encoding="utf-8")
    for name in ("RESULTS.md", "grids.md", "serve.md", "speedrun.md"):
        (tmp_path / name).write_text(f"before\n{results.BEGIN}\n{results.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(results, "PAGE", tmp_path / "RESULTS.md")
    monkeypatch.setattr(results, "GRIDS", tmp_path / "grids.md")
    monkeypatch.setattr(results, "SPEEDRUN", tmp_path / "speedrun.md")
    monkeypatch.setattr(results, "SERVE", tmp_path / "serve.md")
    assert results.main([str(folder)]) == 0
    assert "Not measured yet." in (tmp_path / "speedrun.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "records" / "grid-norm.json").read_text(encoding="utf-8")) == grid
    page = (tmp_path / "grids.md").read_text(encoding="utf-8")
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    chapter = page.split("## norm\n\n")[1].split("## size")[0]
    assert [line["norm"] for line in rows(chapter.split("\n\n")[0])] == ["post", "pre"]
    assert "31.70 ± 0.20" in chapter
    assert "- Read me." in chapter
    # This folder has no such file.
    assert "`git checkout 012345678 && translate experiment configs/grids/norm.toml`" in chapter
    assert "2 of 3 runs with uncommitted changes, record" in chapter
    (tmp_path / "configs" / "grids").mkdir(parents=True)
    (tmp_path / "configs" / "grids" / "norm.toml").touch()
    assert results.command_of(grid).startswith(
        "`translate experiment configs/grids/norm.toml` at 012345678, fedcba987, 2 of 3 runs"
    )
    assert page.count("- Of all.") == 1
    assert "p valid" not in chapter


def test_runs_are_listed_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dates = {"x-round9": "2026-11-24", "x-round10": "2026-11-24", "x-round2": "2026-11-22"}
    for name, date in dates.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(run(name, date=date)), encoding="utf-8")
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    assert [record["name"] for record in records.records("training")] == ["x-round10", "x-round9", "x-round2"]


def test_a_grid_names_the_machines_that_trained_it_and_not_where_it_was_scored() -> None:
    def environment(processor: str) -> dict[str, Any]:
        machine = {**CPU, "processor": processor}
        return {"commit": "0123456789abcdef", "uncommitted_changes": False, "machine": machine}

    def a_run(*trained: str) -> dict[str, Any]:
        return {"environment": environment("scorer"), "trained": [environment(name) for name in trained]}

    rows = [{"seeds": {"1": a_run("A"), "2": a_run("A", "B")}}, {"seeds": {"1": a_run("A"), "2": a_run()}}]
    _, machine, _ = results._place({"kind": "grid", "name": "seeds", "file": "grid-seeds", "rows": rows})
    assert [name.partition(",")[0] for name in machine.split("; ")] == ["A", "B", "scorer"]


def test_the_table_of_a_speedrun_has_the_time_to_each_mark_and_its_ratio_to_ours() -> None:
    def a_run(contender: str, seconds: float, **marks: float) -> dict[str, Any]:
        reached = {mark[1:].replace("_", "."): {"seconds": s, "test_2016_flickr": 34.0} for mark, s in marks.items()}
        return {
            "contender": contender,
            "lr": None if contender == "ours" else 1e-3,
            "seconds": seconds,
            "marks": reached,
        }

    how = {"command": "python scripts/speedrun.py", "commit": "0123456789abcdef", "processor": "Xeon", "threads": 2}
    record = {
        "file": "speedrun", "contenders": {"ours": how, "hf": how, "torch": {**how, "commit": "fedcba9876543210"}},
        "marks": [33.5, 41.0], "p": {"hf": {"33.5": 0.0123}},
        "runs": [
            a_run("ours", 300, m33_5=120, m41_0=300), a_run("ours", 240, m33_5=240, m41_0=240),
            a_run("hf", 660, m33_5=480), a_run("hf", 720, m33_5=960),
            a_run("torch", 420, m33_5=420, m41_0=420), a_run("torch", 480),
        ],
    }  # fmt: skip
    found = {(row["contender"], row["mark"]): row for row in rows(results.speedrun_table(record).split("\n\n")[0])}
    assert found["ours", "33.5"]["minutes"] == "3.00 ± 1.41"
    assert found["ours", "41.0"]["times ours"] == "1.00"
    hf, late, torch = found["hf", "33.5"], found["hf", "41.0"], found["torch", "41.0"]
    assert (hf["learning rate"], hf["p"], hf["times ours"], hf["seeds"]) == ("0.001", "0.0123", "4.00", "2 of 2")
    bound = (660 * 720 / 300 / 240) ** 0.5
    assert (late["minutes"], late["times ours"]) == ("more than 11.0", f"more than {bound:.2f}")
    bound = (420 * 480 / 300 / 240) ** 0.5
    assert (torch["minutes"], torch["seeds"], torch["times ours"]) == ("7.00", "1 of 2", f"more than {bound:.2f}")
    notes = results.speedrun_table(record).split("\n\n")[1]
    assert "- `ours`, `hf`: `python scripts/speedrun.py` at 012345678, Xeon, 2 threads" in notes
    assert "- `torch`: `python scripts/speedrun.py` at fedcba987" in notes
    without_ours = {**record, "runs": record["runs"][2:]}
    assert {row["times ours"] for row in rows(results.speedrun_table(without_ours).split("\n\n")[0])} == {""}


def test_sizes_are_tables_of_load_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    assert "have not run yet" in results.sizes()
    load = [
        {"threads": n, "alignment": alignment, "per_second": 10.4 * n, "p50_ms": 7, "peak_mb": 300 + n}
        for n in (1, 2)
        for alignment in (False, True)
    ]
    record = {"kind": "sizing", "processor": "Xeon", "clients": 32, "commit": "0123456789abcdef"}
    record |= {"load": load, "memory": {"started": 66}}
    (tmp_path / "sizing.json").write_text(json.dumps(record), encoding="utf-8")
    of_load, of_memory = (rows(part) for part in results.sizes().split("\n\n") if part.startswith("| "))
    assert [(row["threads"], row["sentences/s"], row["peak memory"]) for row in of_load] == [
        ("1", "10", "301 MB"), ("1", "10", "301 MB"), ("2", "21", "302 MB"), ("2", "21", "302 MB"),
    ]  # fmt: skip
    assert of_memory == [{"step": "started", "MB": "66"}]
    assert "(../scripts/results/sizing.json)" in results.sizes()


class Copying:
    """A translator without a model, which copies its sources."""

    engine = SimpleNamespace(spec=SimpleNamespace(source="de", target="en"), precision="int8")

    def passages(self, texts: Iterable[str]) -> Iterator[Translation]:
        return (Translation(text, flags=("echo",), rerank_score=-1.0) for text in texts)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("guards", []),
        ("confidence", ["--rerank", "en-de"]),
        ("terms", ["--pairs", "1"]),
    ],
)
def test_a_new_record_of_a_benchmark_has_a_row(
    name: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The names in a record are those that its table reads."""
    sentences = {"de": "Der Hund schläft bis {}.", "en": "A dog sleeps to {}."}
    for language, sentence in sentences.items():
        with gzip.open(tmp_path / f"set.{language}.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{sentence.format(n)}\n" for n in range(5))
    monkeypatch.setattr(Translator, "load", lambda *_, **__: Copying())
    arguments = ["de-en", str(tmp_path / "set")]
    assert harness.main([name, *arguments, *options]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["kind"] == f"bench_{name}"
    (row,) = case(name).rows(record)
    assert row["set"] == f"{tmp_path.name}/set"
