"""Two nodes of Ray on this machine: every part arrives once, in order, with its value, though a node is killed."""

import signal
import socket
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from translate import cluster
from translate.cluster import Dataset, PartIndex, Shared, connected
from translate.commands.main import main
from translate.commands.resuming import GrowingFile
from translate.config.load import parse
from translate.corpus.cluster import clean
from translate.corpus.prepare import prepare
from translate.corpus.sources import Pair
from translate.errors import UserError
from translate.models.folder import ModelFolder

BIG = 200_000  # bytes; Ray keeps values of less than 100 kB in the process that connected
VALUES = [[b"a\0\0", None, [None, None], float("nan"), "", b""], [np.zeros(3)], ["\u2028\n\f", ("x",)]]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray with the node of this process and those of `nodes`."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    from ray.cluster_utils import Cluster

    # Each node has several processes that import Ray; the ones that tests do without are left out.
    without = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    made = Cluster(initialize_head=True, head_node_args=without)
    try:
        ray.init(made.address, log_to_driver=False, logging_level="ERROR")
        ray.made, ray.working = made, [made.head_node]
        yield ray
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def nodes(ray: Any) -> list[Any]:
    """Two nodes, those of the test before that are left among them; `kill` ends the one that is not this process's."""
    while len(ray.working) < 2:
        ray.working.append(ray.made.add_node(num_cpus=1, object_store_memory=2**27))
    ray.made.wait_for_nodes()
    return ray.working


def kill(ray: Any, nodes: list[Any]) -> None:
    ray.made.remove_node(nodes.pop(), allow_graceful=False)


@dataclass(frozen=True)
class Kept:
    """Yields values."""

    values: list[Any]

    def __call__(self) -> Iterator[Any]:
        yield from self.values


@dataclass(frozen=True)
class Counted:
    """Leaves a file in a folder each time that a part is worked on."""

    folder: str

    def __call__(self, part: PartIndex, value: Any) -> tuple[bytes, str]:
        name = f"{part.source}-{part.number}"
        (Path(self.folder) / f"{name}-{uuid.uuid4()}").touch()
        return bytes([value]) * BIG, name


def checked(part: PartIndex, value: bytes) -> tuple[None, tuple[int, int]]:
    assert len(value) == BIG
    return None, (len(value), value[0])


def unchanged(part: PartIndex, value: Any) -> tuple[Any, Any]:
    return value, value


def refused(part: PartIndex, value: Any) -> tuple[Any, Any]:
    raise UserError(f"part {part.number} of {part.source}: is wrong; correct it")


def where(part: PartIndex, value: Any) -> tuple[None, str]:
    """Take as long as a worker needs to start, so that one worker alone does not do everything meanwhile."""
    import ray

    time.sleep(0.5)
    return None, ray.get_runtime_context().get_node_id()


@dataclass(frozen=True)
class Looked:
    shared: Shared

    def __call__(self, part: PartIndex, value: Any) -> tuple[None, Any]:
        return None, self.shared[part]


def test_an_address_where_nothing_answers_is_one_sentence() -> None:
    """Before the other tests, which are connected."""
    pytest.importorskip("ray", reason="needs the extra ray")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"  # taken, and nothing listens
        with pytest.raises(UserError, match=rf"^--ray {address}: no cluster: .*refused; start one with"):
            connected(address).__enter__()


@pytest.mark.slow  # preparing a corpus below loses a node too
def test_each_part_arrives_once_and_in_order_though_a_node_is_killed(
    ray: Any, nodes: list[Any], tmp_path: Path
) -> None:
    """What was in the memory of the node is computed again, and nothing else is."""
    with connected():
        parts = Dataset.read([Kept([7] * 9), Kept([3]), Kept([5] * 6)]).map(Counted(str(tmp_path))).materialize()
        names = [note for _, note in parts.notes()]
        assert names == [f"{source}-{number}" for source, n in enumerate((9, 1, 6)) for number in range(n)]
        n_before = len([*tmp_path.iterdir()])
        kill(ray, nodes)
        found = list(parts.map(checked).notes())
    assert [(part.source, note) for part, note in found] == [
        *[(0, (BIG, 7))] * 9,
        (1, (BIG, 3)),
        *[(2, (BIG, 5))] * 6,
    ]
    assert [part.number for part, _ in found if part.is_last] == [8, 0, 5]
    assert n_before == 16 < len([*tmp_path.iterdir()]) < 32


def test_values_of_any_type_arrive_as_they_are_and_errors_as_one_sentence(
    ray: Any, nodes: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with connected():
        parts = Dataset.read([Kept(values) for values in VALUES]).map(unchanged).materialize()
        values = [note for _, note in parts.notes()]
        shared = Shared((part, (part, note)) for part, note in parts.notes())
        looked = list(parts.map(Looked(shared)).notes())
    np.testing.assert_equal(values, [value for source in VALUES for value in source])
    np.testing.assert_equal([part for part, _ in looked], [note[0] for _, note in looked])
    np.testing.assert_equal([note[1] for _, note in looked], values)
    assert signal.getsignal(signal.SIGTERM) is before
    with pytest.raises(UserError, match=r"^part [0-5] of [0-2]: is wrong; correct it$"), connected():
        list(parts.map(refused).notes())
    monkeypatch.setattr(cluster, "versions", lambda: {"numpy": "0.1"})
    with (
        pytest.raises(UserError, match=r"^node \S+: has numpy \S+, not 0\.1, and might give other results"),
        connected(),
    ):
        list(parts.map(unchanged).notes())


def test_small_parts_of_one_source_are_done_on_all_nodes(ray: Any, nodes: list[Any]) -> None:
    with connected():
        found = {note for _, note in Dataset.read([Kept([3, 5, 7, 9, 11])]).map(where).notes()}
    assert found == {node.node_id for node in nodes}


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def pairs(n: int, seed: int) -> list[Pair]:
    """Long sentences with names; some are repeated."""
    rng = np.random.default_rng(seed)
    names = ["Tom", "Anna", "Klaus", "Maria", "Peter", "Julia", "Paul"]
    days = [i if i % 3 else int(rng.integers(2 * n)) for i in range(n)]
    return [
        (f"Tag {i}:{' so' * 40} kam {names[i % 7]} an.", f"Day {i}:{' so' * 40} {names[i % 7]} came.") for i in days
    ]


def write(root: Path, name: str, pairs: list[Pair]) -> dict[str, str]:
    for side, language in enumerate(("de", "en")):
        (root / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return {"source": f"{name}.de", "target": f"{name}.en"}


def test_a_corpus_has_the_same_bytes_though_a_node_is_killed(ray: Any, nodes: list[Any], tmp_path: Path) -> None:
    """The node is killed between cleaning and encoding."""
    train = [pairs(3000, 0), [], pairs(2100, 1)]
    data = {
        "source": "de",
        "target": "en",
        "root": str(tmp_path),
        "train": [write(tmp_path, f"train{n}", source) for n, source in enumerate(train)],
        "valid": write(tmp_path, "valid", pairs(5, 2)),
    }
    tokenizer, augmentation = {"vocab_size": 320}, {"names": 0.5, "joined": 0.5, "ending": 0.2}
    config = parse({"data": data, "tokenizer": tokenizer, "augmentation": augmentation}, "a test")
    said: list[str] = []

    def say(message: str) -> None:
        if not said:
            kill(ray, nodes)
        said.append(message)

    with connected():
        prepare(config, tmp_path / "parts", say, clean=partial(clean, chunk=700))
    assert "5,100 pairs read" in " ".join(said)
    prepare(config, tmp_path / "whole", said.append)
    assert snapshot(tmp_path / "parts") == snapshot(tmp_path / "whole")
    lines = (tmp_path / "train2.de").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "train2.de").write_text("".join(lines[:-1]), encoding="utf-8")
    message = r"^\S*train2.de has 2099 lines but \S*train2.en has 2100: line n of one must be the translation"
    with pytest.raises(UserError, match=message), connected():
        prepare(config, tmp_path / "uneven", said.append, clean=clean)
    assert not (tmp_path / "uneven").exists()


@pytest.mark.slow
def test_rows_are_translated_in_order_though_a_node_is_killed(
    ray: Any, nodes: list[Any], parts: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"der Hund läuft. das Kind {i} singt.\n" if i % 7 else "\n" for i in range(5000)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    model = ["text", "--model", str(parts.folder), "--input"]
    assert main([*model, str(tmp_path / "a.txt"), "--output", str(tmp_path / "alone")]) == 0
    write = GrowingFile.end_window

    def struck(file: GrowingFile) -> None:
        if file.n_done == 1 and len(nodes) == 2:
            kill(ray, nodes)
        write(file)

    monkeypatch.setattr(GrowingFile, "end_window", struck)
    assert main([*model, str(tmp_path / "*.txt"), "--output", str(tmp_path / "out"), "--ray"]) == 0
    assert len(nodes) == 1
    for name in ("a", "b"):
        assert (tmp_path / "out" / f"{name}.txt").read_bytes() == (tmp_path / "alone").read_bytes()
