"""A prepared folder holds exactly the cleaned corpus, is built once, and is always complete."""

import contextlib
import copy
import errno
import fcntl
import functools
import json
import operator
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from translate.commands.prepare import PrepareOptions
from translate.commands.prepare import run as prepare_command
from translate.config.load import default_folder, parse
from translate.config.schema import ExperimentConfig
from translate.corpus import prepare as prepare_module
from translate.corpus import tokenizer
from translate.corpus.augmentation import Augmenter
from translate.corpus.cleaning import Cleaner, HeldOut
from translate.corpus.prepare import (
    Component,
    Prepared,
    corpus_settings,
    differences,
    mixture,
    plan_corpus,
    prepare,
    read_tokens,
    summary,
    write_tokens,
)
from translate.corpus.sources import Pair, dictionary
from translate.corpus.stages import EncodedSide
from translate.errors import UserError
from translate.files import sha256

NOUNS = {"Hund": "dog", "Tisch": "table", "Mann": "man", "Baum": "tree", "Vogel": "bird"}
VERBS = {"steht": "stands", "fällt": "falls", "bleibt": "stays"}
PLACES = {"hier": "here", "dort": "there", "im Haus": "in the house", "am See": "by the lake", "allein": "alone"}
PAIRS = [
    (f"Der {noun} {verb} {place}.", f"The {NOUNS[noun]} {VERBS[verb]} {PLACES[place]}.")
    for noun in NOUNS
    for verb in VERBS
    for place in PLACES
]
TRAIN, VALID, TEST = [*PAIRS[:61], PAIRS[0], ("", "x"), PAIRS[70]], PAIRS[61:68], PAIRS[68:75]


def write_pairs(root: Path, name: str, pairs: list[Pair]) -> dict[str, str]:
    for side, language in enumerate(("de", "en")):
        (root / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return {"source": f"{name}.de", "target": f"{name}.en"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the corpus as text files."""
    root = tmp_path / "data"
    root.mkdir()
    for name, pairs in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        write_pairs(root, name, pairs)
    return root


def experiment(root: Path, vocab_size: int = 330, **cleaning: bool) -> ExperimentConfig:
    sources = {name: {"source": f"{name}.de", "target": f"{name}.en"} for name in ("train", "valid", "test")}
    data = {"source": "de", "target": "en", "root": str(root), "train": [sources["train"]], "valid": sources["valid"]}
    values = {"data": {**data, "test": {"small": sources["test"]}}, "cleaning": cleaning}
    return parse({**values, "tokenizer": {"vocab_size": vocab_size}}, "a test")


def write_config(path: Path, root: Path) -> Path:
    """The same experiment as a file, without a test set."""
    path.write_text(
        f'[data]\nsource = "de"\ntarget = "en"\nroot = {json.dumps(str(root))}\n'
        'train = [{source = "train.de", target = "train.en"}]\n'
        'valid = {source = "valid.de", target = "valid.en"}\n'
        "[tokenizer]\nvocab_size = 330\n",
        encoding="utf-8",
    )
    return path


def run_python(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Run `code` in a separate process, which may then be killed or limited."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120)


def silent(_: str) -> None:
    pass


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}


def only(folder: Path) -> None:
    """Nothing is left beside `folder`, such as a half-built or old folder."""
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []


def test_the_store_holds_the_cleaned_pairs_in_order(root: Path, tmp_path: Path) -> None:
    config = experiment(root)
    prepared = prepare(config, tmp_path / "out", silent)
    expected = list(Cleaner(config.cleaning, HeldOut(VALID + TEST)).clean(TRAIN))
    store, decode = prepared.train, prepared.tokenizer.decode
    assert [(decode(store.src(i)), decode(store.tgt(i))) for i in range(store.n_pairs)] == expected
    assert prepared.valid == VALID
    assert prepared.test == {"small": TEST}


def test_lengths_are_those_of_the_sentences(root: Path, tmp_path: Path) -> None:
    store = prepare(experiment(root), tmp_path / "out", silent).train
    assert store.src_lengths.tolist() == [len(store.src(i)) for i in range(store.n_pairs)]
    assert store.tgt_lengths.tolist() == [len(store.tgt(i)) for i in range(store.n_pairs)]
    assert store.src_lengths.dtype == store.tgt_lengths.dtype == np.int32


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_opening_a_corpus_takes_8_bytes_a_pair(tmp_path: Path) -> None:
    """Its files are mapped, and the parts of them that are touched would count as memory of the process."""
    n = 1_000_003
    side = EncodedSide(np.full(7 * n, 5, dtype=np.uint16), np.full(n, 7))
    write_tokens([(side, side)], n, np.dtype(np.uint16), tmp_path)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from translate.corpus.prepare import read_tokens\n"
        "def memory(): return int(Path('/proc/self/status').read_text().split('VmRSS:')[1].split()[0])\n"
        "before = memory()\n"
        "pairs = read_tokens(Path(sys.argv[1]))\n"
        "print(1024 * (memory() - before), pairs.src_lengths.sum())"
    )
    grown, n_tokens = map(int, run_python(code, tmp_path).stdout.split())
    assert n_tokens == 7 * n
    assert grown < 8 * n + 2**24


def test_ids_are_small_read_only_integers(root: Path, tmp_path: Path) -> None:
    store = prepare(experiment(root), tmp_path / "out", silent).train
    assert store.src(3).dtype == np.uint16
    with pytest.raises(ValueError, match="read-only"):
        store.src(3)[0] = 5


@pytest.mark.parametrize("i", [61, 999])
def test_an_index_beyond_the_pairs_is_an_error(root: Path, tmp_path: Path, i: int) -> None:
    store = prepare(experiment(root), tmp_path / "out", silent).train
    with pytest.raises(IndexError):
        store.src(i)


def test_a_corpus_of_several_chunks_equals_one_of_one_chunk(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(experiment(root), tmp_path / "one", silent)
    monkeypatch.setattr("translate.corpus.stages.CHUNK", 7)
    prepare(experiment(root), tmp_path / "many", silent)
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "many")


def test_line_breaks_of_json_text_survive(root: Path, tmp_path: Path) -> None:
    """A pair may contain characters that end a line in a text file."""
    pairs = [(f"eins\n{de}\u2028", f"\r{en}\u0085▁") for de, en in PAIRS]
    (root / "odd.jsonl").write_text("".join(json.dumps({"de": de, "en": en}) + "\n" for de, en in pairs))
    odd = {"kind": "jsonl", "path": "odd.jsonl", "source": "de", "target": "en"}
    data = {"source": "de", "target": "en", "root": str(root), "train": [odd], "valid": odd}
    config = parse({"data": data, "tokenizer": {"vocab_size": 330}, "cleaning": {"test_overlap": False}}, "a test")
    prepared = prepare(config, tmp_path / "out", silent)
    assert prepared.valid == pairs
    assert [prepared.tokenizer.decode(prepared.train.src(i)) for i in range(75)] == [de for de, _ in pairs]


def test_the_manifest_adds_up(root: Path, tmp_path: Path) -> None:
    prepared = prepare(experiment(root), tmp_path / "out", silent)
    counts, store = prepared.manifest["counts"], prepared.train
    assert counts["read"] == 64 == counts["kept"] + sum(counts["dropped"].values())
    assert counts["kept"] == store.n_pairs == 61
    assert {rule: n for rule, n in counts["dropped"].items() if n} == {"empty": 1, "duplicate": 1, "test_overlap": 1}
    assert counts["tokens"] == {"src": store.src_lengths.sum(), "tgt": store.tgt_lengths.sum()}
    assert counts["tokens_per_sentence"]["src"] == pytest.approx(store.src_lengths.mean(), abs=1e-3)
    assert (counts["valid"], counts["test"]) == (7, {"small": 7})
    assert prepared.manifest["tokenizer"]["pieces"] == prepared.tokenizer.vocab_size == 330
    assert set(prepared.manifest["inputs"]) == {
        f"{n}.{lang}" for n in ("train", "valid", "test") for lang in ("de", "en")
    }


def test_the_report_names_what_was_dropped(root: Path, tmp_path: Path) -> None:
    said: list[str] = []
    prepare(experiment(root), tmp_path / "out", said.append)
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert report["examples"]["duplicate"][0]["line"] == 62
    assert report["examples"]["test_overlap"][0]["source"] == PAIRS[70][0]
    assert "64 pairs read, 61 kept, dropped: 1 empty, 1 duplicate, 1 test_overlap" in said
    assert f"wrote {tmp_path / 'out'}: 61 training pairs" in said[-1]


def test_a_second_run_reports_an_up_to_date_corpus_and_changes_nothing(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    before = times(folder)
    said: list[str] = []
    again = prepare(experiment(root), folder, said.append)
    assert times(folder) == before
    assert len(said) == 1
    assert f"{folder} is up to date: 61 training pairs" in said[0]
    assert again.train.n_pairs == 61


def test_the_same_inputs_elsewhere_give_the_same_bytes(root: Path, tmp_path: Path) -> None:
    prepare(experiment(root), tmp_path / "out", silent)
    moved = root.rename(tmp_path / "moved")
    prepare(experiment(moved), tmp_path / "other" / "out", silent)
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "other" / "out")


def test_settings_of_training_do_not_matter_to_the_corpus(root: Path, tmp_path: Path) -> None:
    prepare(experiment(root), tmp_path / "out", silent)
    said: list[str] = []
    config = experiment(root).model_copy(update={"training": experiment(root).training.model_copy(update={"seed": 7})})
    prepare(config, tmp_path / "out", said.append)
    assert "is up to date" in said[0]


def test_a_changed_input_is_named_and_rebuilt(root: Path, tmp_path: Path) -> None:
    prepare(experiment(root), tmp_path / "out", silent)
    write_pairs(root, "train", PAIRS[:59])
    said: list[str] = []
    prepared = prepare(experiment(root), tmp_path / "out", said.append)
    assert re.search(r'out of date: train\.de was "\w+\.\.\. and is "\w+\.\.\.;', said[0])
    assert "train.en was " in said[0]
    assert "valid.de" not in said[0]
    assert prepared.train.n_pairs == 59
    only(tmp_path / "out")


def test_a_changed_setting_is_named_and_rebuilt(root: Path, tmp_path: Path) -> None:
    prepare(experiment(root), tmp_path / "out", silent)
    said: list[str] = []
    prepared = prepare(experiment(root, vocab_size=317, duplicates=False), tmp_path / "out", said.append)
    assert "tokenizer.vocab_size was 330 and is 317" in said[0]
    assert "cleaning.duplicates was true and is false" in said[0]
    assert prepared.train.n_pairs == 62
    assert prepared.tokenizer.vocab_size == 317


@pytest.mark.parametrize("n", [0, 5, 6, 7, 9])
def test_six_differences_are_named_and_the_others_counted(n: int) -> None:
    old, new = ({"inputs": {}, "config": {str(i): {"a": value} for i in range(n)}} for value in (1, 2))
    found = differences(old, new)
    assert found[:6] == [f"{i}.a was 1 and is 2" for i in range(min(n, 6))]
    assert found[6:] == ([f"and {n - 6} more"] if n > 6 else [])


def test_a_corpus_made_before_a_setting_existed_stays_up_to_date(root: Path) -> None:
    """A new key must be absent from the fingerprint at its default: extend `manifest.plan`, not this test."""
    first = {"data", "cleaning", "tokenizer", "augmentation"}
    config = plan_corpus(experiment(root))["config"]
    assert config.keys() == first
    assert config["augmentation"].keys() == {"case", "ending", "markup", "joined"}
    assert config["tokenizer"].keys() == {
        "algorithm",
        "byte_fallback",
        "character_coverage",
        "max_sentences",
        "placeholders",
        "vocab_size",
    }
    for key in ("names", "spelling"):
        changed = parse({**experiment(root).model_dump(), "augmentation": {key: 0.5}}, "test")
        assert plan_corpus(changed)["config"]["augmentation"][key] == 0.5
        assert ("words" in plan_corpus(changed)["inputs"]) == (key == "names")  # the dictionary tells words from names
    assert "keep_identical" not in str(config)
    values = experiment(root).model_dump()
    values["data"]["train"][0]["keep_identical"] = True
    assert "keep_identical" in plan_corpus(parse(values, "test"))["config"]["data"]["train"][0]


# What each kind of source needs; one has several forms where some settings belong to others.
TWO_SIDES: list[dict[str, Any]] = [
    {"kind": "text", "source": "a.de", "target": "a.en"},
    {"kind": "tsv", "path": "a.tsv"},
    {"kind": "tmx", "path": "a.tmx"},
    *({"kind": kind, "path": "a", "source": "de", "target": "en"} for kind in ("jsonl", "parquet")),
    {"kind": "hub", "id": "a/b", "split": "train", "source": "de", "target": "en"},
]
FORMS = [
    *TWO_SIDES,
    *({**form, "model": "m", "beam_size": 3, "lines": 5, "synthetic": "a"} for form in TWO_SIDES),
    {"kind": "grammar", "split": "train", "pairs": 9},
    {"kind": "words"},
    {"kind": "phrases"},
    {"kind": "sacrebleu", "name": "wmt14"},
    *({"kind": "mono", "path": "a", "model": "m", "method": m} for m in ("sampling", "beam", "greedy")),
    {"kind": "mono", "path": "a", "synthetic": "b"},
]
SECTIONS = ("cleaning", "tokenizer", "augmentation")
NUMBERS, NAMES = (True, False, 2, 300, 0.25, 0.95, 64.0), ("other", "valid", "source", "target", "beam", "unigram")
OTHERS = (*NUMBERS, *NAMES, ["<x>", "<y>"])
ONLY_IN_TRAINING = {"weight", "share", "root"}


def places_of_settings(values: object, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value that is no table and no list of tables."""
    if isinstance(values, list) and values and isinstance(values[0], dict):
        values = dict(enumerate(values))
    if not isinstance(values, dict):
        yield place
        return
    for key, value in values.items():
        yield from places_of_settings(value, (*place, key))


def with_another_value(values: dict[str, Any], place: Sequence[Any]) -> ExperimentConfig | None:
    """Return a valid experiment in which one setting has another value."""
    for other in OTHERS:
        changed = copy.deepcopy(values)
        table = functools.reduce(operator.getitem, place[:-1], changed)
        before, table[place[-1]] = table[place[-1]], other
        with contextlib.suppress(UserError):
            if other != before:
                return parse(changed, "test")
    return None


def test_every_setting_of_a_corpus_makes_it_out_of_date(root: Path) -> None:
    """Of one that is not recorded, a corpus with another value would stay in use."""
    known, tried = set[object](), set[object]()
    for form in FORMS:
        values = experiment(root).model_dump(include={"data", *SECTIONS})
        held_out = {"kind": "tmx", "path": "a"} if "model" in form else form  # models write training text alone
        values["data"] |= {"train": [form], "replay": {"sources": [form]}, "held_out": [held_out]}
        config = parse(values, "test")
        values = json.loads(config.model_dump_json(include={"data", *SECTIONS}))
        for place in places_of_settings(values):
            setting = (form["kind"], place[-1]) if "train" in place else place[-1]
            known.add(setting)
            if changed := with_another_value(values, place):
                tried.add(setting)
                is_same = corpus_settings(changed) == corpus_settings(config)
                assert is_same == (place[-1] in ONLY_IN_TRAINING), place
    assert known - tried == {"kind", *((form["kind"], "kind") for form in FORMS)}


def test_a_failed_rebuild_leaves_the_old_corpus(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    before = snapshot(folder), times(folder)
    with pytest.raises(UserError, match=r"tokenizer\.vocab_size = 9999 is too large"):
        prepare(experiment(root, vocab_size=9999), folder, silent)
    assert (snapshot(folder), times(folder)) == before
    only(folder)


KILLED = """
import os, signal, sys
from pathlib import Path
from translate.config.load import load
from translate.corpus.prepare import prepare
def say(line):
    if "pairs read" in line:
        os.kill(os.getpid(), signal.SIGKILL)
prepare(load(Path(sys.argv[1])), Path(sys.argv[2]), say)
"""


def test_a_killed_run_leaves_no_partial_folder_after_the_next_run(root: Path, tmp_path: Path) -> None:
    """The run is killed when the new folder is half built."""
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    before = snapshot(folder)
    killed = run_python(KILLED, write_config(tmp_path / "tiny.toml", root), folder)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / ".out.partial").iterdir())
    assert snapshot(folder) == before
    assert prepare(experiment(root, vocab_size=317), folder, silent).tokenizer.vocab_size == 317
    only(folder)


def test_a_run_killed_while_swapping_is_undone(root: Path, tmp_path: Path) -> None:
    """Between the two renames there is no folder; the next run first restores the old one."""
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    before = snapshot(folder)
    folder.rename(tmp_path / ".out.old")
    (tmp_path / ".out.partial").mkdir()
    said: list[str] = []
    prepare(experiment(root), folder, said.append)
    assert "is up to date" in said[0]
    assert snapshot(folder) == before
    only(folder)


def test_a_rebuild_that_cannot_be_moved_into_place_leaves_the_old_corpus(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    before = snapshot(folder)
    rename = Path.rename

    def fail_for_new(self: Path, target: Path) -> Path:
        if self.name == ".out.partial":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_new)
    with pytest.raises(UserError, match="Input/output error"):
        prepare(experiment(root, vocab_size=317), folder, silent)
    assert snapshot(folder) == before
    only(folder)


@pytest.mark.parametrize(
    "occupy", [lambda f: (f.mkdir(), (f / "thesis.txt").write_text("x")), lambda f: f.write_text("x")]
)
def test_a_folder_that_is_not_a_prepared_corpus_is_never_changed(
    root: Path, tmp_path: Path, occupy: Callable[[Path], object]
) -> None:
    folder = tmp_path / "out"
    occupy(folder)
    with pytest.raises(UserError, match="exists and is not a prepared corpus"):
        prepare(experiment(root), folder, silent)
    assert folder.is_file() or [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_run_is_never_replaced_by_a_corpus(root: Path, tmp_path: Path) -> None:
    """Its manifest has the same name; `train my.toml --prepared runs/my` must not delete the run."""
    run = tmp_path / "run"
    run.mkdir()
    for name in ("manifest.json", "config.json"):
        (run / name).write_text("{}", encoding="utf-8")
    before, said = snapshot(run), list[str]()
    with pytest.raises(UserError, match=r"is not a prepared corpus \(it has config\.json\)"):
        prepare(experiment(root), run, said.append)
    assert snapshot(run) == before
    assert not said  # such as that the manifest of the run is damaged


def test_a_file_of_the_user_in_a_prepared_corpus_is_kept(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    prepare(experiment(root), folder, silent)  # up to date, so nothing is replaced
    with pytest.raises(UserError, match=r"is not a prepared corpus \(it has notes\.txt\)"):
        prepare(experiment(root, vocab_size=317), folder, silent)
    assert (folder / "notes.txt").exists()


def test_a_report_that_nobody_reads_is_not_an_error_of_the_corpus(root: Path, tmp_path: Path) -> None:
    """`translate prepare my.toml | head -1` ends like other commands whose output is closed."""

    def closed(message: str) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    with pytest.raises(BrokenPipeError):
        prepare(experiment(root), tmp_path / "out", closed)
    only(tmp_path / "out")


def test_an_empty_folder_may_be_filled(root: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert prepare(experiment(root), tmp_path / "out", silent).train.n_pairs == 61


def test_a_link_to_a_folder_stays_a_link(root: Path, tmp_path: Path) -> None:
    """Users may link the destination to a larger disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "out")
    prepare(experiment(root), tmp_path / "out", silent)
    prepare(experiment(root, vocab_size=317), tmp_path / "out", silent)
    assert (tmp_path / "out").is_symlink()
    assert Prepared.open(tmp_path / "disk" / "out").tokenizer.vocab_size == 317


def test_an_error_for_an_empty_cleaned_corpus_gives_the_counts_of_dropped_pairs(root: Path, tmp_path: Path) -> None:
    write_pairs(root, "train", [("", "x"), ("", "y"), ("gleich", "gleich"), PAIRS[70], ("", "z")])
    with pytest.raises(UserError, match="empty after cleaning: 3 empty, 1 identical, 1 test_overlap"):
        prepare(experiment(root), tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()
    only(tmp_path / "out")


@pytest.mark.parametrize("name", ["valid", "test"])
def test_held_out_text_with_a_blank_side_alone_is_an_error(root: Path, tmp_path: Path, name: str) -> None:
    """As from a wrong column: scores on it would mean nothing."""
    write_pairs(root, name, [("Satz", " "), ("", "sentence"), ("\u2003", "")])
    with pytest.raises(UserError, match=rf"{name}\.de .*holds only pairs with a blank side to validate or test on"):
        prepare(experiment(root), tmp_path / "out", silent)


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_empty_files_are_an_error(root: Path, tmp_path: Path, name: str) -> None:
    write_pairs(root, name, [])
    with pytest.raises(UserError, match=r"holds no pairs|data\.train has no pairs"):
        prepare(experiment(root), tmp_path / "out", silent)


def test_missing_data_is_named_before_anything_is_written(root: Path, tmp_path: Path) -> None:
    (root / "test.en").unlink()
    with pytest.raises(UserError, match=r"test\.en: no such file"):
        prepare(experiment(root), tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()


def test_a_test_set_name_that_is_not_a_file_name_is_refused(root: Path, tmp_path: Path) -> None:
    test = {"source": "test.de", "target": "test.en"}
    data = {**experiment(root).data.model_dump(), "test": {"wmt/14": test}}
    with pytest.raises(UserError, match=r"data\.test\.wmt/14"):
        prepare(parse({"data": data}, "a test"), tmp_path / "out", silent)


def test_a_test_set_named_valid_is_refused(root: Path, tmp_path: Path) -> None:
    data = {**experiment(root).data.model_dump(), "test": {"valid": {"source": "test.de", "target": "test.en"}}}
    with pytest.raises(UserError, match=r"data\.test\.valid: .* not just valid, which is the validation set"):
        prepare(parse({"data": data}, "a test"), tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()


def test_unknown_pieces_in_the_validation_set_are_warned_about(root: Path, tmp_path: Path) -> None:
    write_pairs(root, "valid", [("Ω Ω Ω", "The dog stands here.")])
    values = experiment(root).model_dump()
    values["tokenizer"] |= {"byte_fallback": False, "vocab_size": 80}
    said: list[str] = []
    prepared = prepare(parse(values, "a test"), tmp_path / "out", said.append)
    assert [line for line in said if "unknown" in line][0].startswith("warning: 3 of 6 validation tokens (src)")
    assert prepared.manifest["tokenizer"]["valid_unknown_rate"] == {"src": 0.5, "tgt": 0.0}


@pytest.mark.parametrize("name", ["train.src.ids.npy", "train.tgt.offsets.npy", "tokenizer.model", "valid.jsonl"])
def test_a_truncated_or_missing_file_is_refused_by_name_and_prepare_mends_it(
    root: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    whole = snapshot(folder)
    (folder / name).write_bytes(whole[name][:-3])
    with pytest.raises(UserError, match=rf"{name}: missing, or its size is not {len(whole[name])} bytes"):
        Prepared.open(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"{name}: missing"):
        Prepared.open(folder)
    prepare(experiment(root), folder, silent)
    assert snapshot(folder) == whole


DAMAGE = {
    "zero bytes": lambda data: bytes(len(data)),  # which a file system may leave after a loss of power
    "a byte that is not UTF-8": lambda data: data[:3] + b"\xff" + data[4:],
    "a line that is no pair": lambda data: b"7" + b" " * (len(data) - 2) + b"\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_validation_text_is_refused_and_made_again(root: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    whole, path = snapshot(folder), folder / "valid.jsonl"
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(UserError, match=r"valid\.jsonl: damaged; run `translate prepare` again"):
        Prepared.open(folder)
    prepare(experiment(root), folder, silent)
    assert snapshot(folder) == whole


@pytest.mark.parametrize("content", ["", "{", "[]", '{"counts": 5}', '{"format": 1}'])
def test_a_damaged_manifest_is_refused(root: Path, tmp_path: Path, content: str) -> None:
    prepare(experiment(root), tmp_path / "out", silent)
    (tmp_path / "out" / "manifest.json").write_text(content)
    with pytest.raises(UserError, match=r"manifest\.json: damaged"):
        Prepared.open(tmp_path / "out")


WRONG: list[object] = [None, True, -3, 2.5, "x", "../x", [], ["x"], {}, {"x": None}, {"../x": 3}]


def places(value: object, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the keys of each value in nested JSON."""
    if above:
        yield above
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(below, *above, key)


def put(value: Any, place: tuple[str | int, ...], new: object) -> Any:
    """Return a copy of nested JSON with another value at a place."""
    changed = copy.deepcopy(value)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    return changed


def test_values_of_wrong_types_in_a_manifest_are_refused_or_harmless(root: Path, tmp_path: Path) -> None:
    config, folder = experiment(root), tmp_path / "out"
    planned, manifest = plan_corpus(config), prepare(config, folder, silent).manifest
    refused = []
    for place in places(manifest):
        for wrong in WRONG:
            (folder / "manifest.json").write_text(json.dumps(put(manifest, place, wrong)), encoding="utf-8")
            try:
                found = Prepared.open(folder).manifest
                summary(found), differences(found, planned), mixture(found, config.data)
                round(max(found["counts"]["tokens_per_sentence"].values()))
            except UserError as error:
                refused.append((place, str(error)))
    assert all("\n" not in said and "run `translate prepare` again" in said for _, said in refused)
    for needed in ("fingerprint", "files", "counts", "tokenizer", "config", "inputs"):
        assert sum(place == (needed,) for place, _ in refused) >= len(WRONG) - 2, needed


@pytest.mark.parametrize("line", ["[" * 99_999, '["a", 5]', '[["a"], "b"]', "null", '["a", "b", "c"]'])
def test_lines_that_are_no_pair_of_texts_are_refused(root: Path, tmp_path: Path, line: str) -> None:
    folder = tmp_path / "out"
    manifest = prepare(experiment(root), folder, silent).manifest
    (folder / "valid.jsonl").write_text(line + "\n", encoding="utf-8")
    manifest["files"]["valid.jsonl"] = len(line) + 1
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(UserError, match=r"valid\.jsonl: damaged; run `translate prepare` again"):
        Prepared.open(folder)


BROKEN_OFFSETS = {
    "no vector": lambda offsets: offsets[None],
    "empty": lambda offsets: offsets[:0],
    "other type": lambda offsets: offsets.astype(np.float64),
    "decreasing": lambda offsets: np.concatenate((offsets[:1], offsets[-2:0:-1], offsets[-1:])),
    "beyond the end": lambda offsets: offsets + 5 * (np.arange(len(offsets)) > 3),
    "late start": lambda offsets: np.maximum(offsets, 1),
    "a sentence less": lambda offsets: np.delete(offsets, 1),
}


@pytest.mark.parametrize("damage", BROKEN_OFFSETS)
@pytest.mark.parametrize("side", ["src", "tgt"])
def test_offsets_that_do_not_divide_the_ids_are_refused(root: Path, tmp_path: Path, damage: str, side: str) -> None:
    folder = tmp_path / "out"
    prepare(experiment(root), folder, silent)
    path = folder / f"train.{side}.offsets.npy"
    np.save(path, BROKEN_OFFSETS[damage](np.load(path)))
    with pytest.raises(UserError, match="damaged.*; run `translate prepare` again"):
        read_tokens(folder)


def test_counts_that_differ_from_the_pairs_are_refused(root: Path, tmp_path: Path) -> None:
    manifest = prepare(experiment(root), tmp_path / "out", silent).manifest
    manifest["counts"]["pairs"][0] += 3
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(UserError, match="counts other pairs than there are"):
        Prepared.open(tmp_path / "out")


@pytest.mark.parametrize("name", ["train.de", "train.en", "valid.de", "test.en"])
def test_a_corpus_that_changes_while_it_is_read_is_refused(
    root: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the digest of the old text would stand for the new one; here under the same time stamp."""
    read = prepare_module.read_pairs

    def slowly(*arguments: Any) -> Iterator[Pair]:
        path = root / name
        before = path.stat()
        path.write_text(path.read_text(encoding="utf-8").replace("e", "a"), encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return read(*arguments)

    with monkeypatch.context() as changing:
        changing.setattr(prepare_module, "read_pairs", slowly)
        changing.setattr(prepare_module, "check_corpus", silent_check)
        with pytest.raises(UserError, match=f"^{name}: changed while the corpus was prepared; start again when"):
            prepare(experiment(root), tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()
    only(tmp_path / "out")
    inputs = prepare(experiment(root), tmp_path / "out", silent).manifest["inputs"]
    assert inputs[name] == sha256(root / name)


def silent_check(*_: object) -> None:
    pass


def test_a_manifest_of_another_format_is_refused(root: Path, tmp_path: Path) -> None:
    prepare(experiment(root), tmp_path / "out", silent)
    path = tmp_path / "out" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "format": 99}))
    with pytest.raises(UserError, match="has format 99"):
        Prepared.open(tmp_path / "out")


def test_the_error_for_an_unprepared_folder_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no prepared corpus there; run `translate prepare`"):
        Prepared.open(tmp_path)
    with pytest.raises(UserError, match=r"train\.src\.ids\.npy: missing"):
        read_tokens(tmp_path)


def test_a_prepared_corpus_that_may_not_be_read_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("translate.corpus.prepare.read_json", refused)
    with pytest.raises(UserError, match=r"manifest\.json: cannot be read: Permission denied; change the permissions"):
        Prepared.open(tmp_path)


def test_an_unwritable_destination_gives_a_one_sentence_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot write the prepared corpus: "):
        prepare(experiment(root), tmp_path / "file" / "out", silent)


def test_a_folder_without_write_permission_gives_a_one_sentence_error(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated, because tests in containers run as root, which may write everywhere."""

    def deny(self: Path, *_: object, **__: object) -> None:
        if not self.exists():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "mkdir", deny)
    with pytest.raises(UserError, match="out: cannot write the prepared corpus: Permission denied"):
        prepare(experiment(root), tmp_path / "out", silent)


FULL_DISK = """
import resource, sys
from pathlib import Path
from translate.commands.prepare import run
from translate.commands.prepare import PrepareOptions
from translate.errors import UserError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    run(PrepareOptions(config=Path(sys.argv[1]), out=Path(sys.argv[2])))
except UserError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize("limit", [300, 2000, 4500])
def test_a_full_disk_keeps_the_old_corpus_and_gives_a_one_sentence_error(
    root: Path, tmp_path: Path, limit: int
) -> None:
    """A limit on file sizes simulates a full disk while writing held-out text, pairs or the tokenizer."""
    folder = tmp_path / "out"
    prepare(experiment(root, vocab_size=317), folder, silent)
    before = snapshot(folder)
    done = run_python(FULL_DISK, write_config(tmp_path / "tiny.toml", root), folder, limit)
    assert f"refused: {folder}: cannot write the prepared corpus: File too large" in done.stdout
    assert done.stderr == ""
    assert snapshot(folder) == before
    only(folder)


def test_two_processes_take_turns(root: Path, tmp_path: Path) -> None:
    """Both would build in the same place; the second waits for the first."""
    folder = tmp_path / "prepared" / "out"
    said: list[str] = []
    folder.parent.mkdir()
    waiting = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        waiting.set()

    lock = os.open(folder.parent, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    second = threading.Thread(target=prepare, args=(experiment(root), folder, say), daemon=True)
    try:
        second.start()
        assert waiting.wait(60)
        assert not folder.exists()
    finally:
        os.close(lock)
    second.join(60)
    assert not second.is_alive()
    assert "waiting for another process" in said[0]
    assert "wrote" in said[-1]


def test_the_command_prepares_beside_the_working_directory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_config(tmp_path / "tiny.toml", Path("elsewhere"))
    overrides = [f"data.root={root}"]
    prepare_command(PrepareOptions(config=config, overrides=overrides))
    assert default_folder(config) == Path("prepared/tiny")
    assert Prepared.open(tmp_path / "prepared" / "tiny").train.n_pairs == 62
    assert "64 pairs read, 62 kept" in capsys.readouterr().out
    prepare_command(PrepareOptions(config=config, overrides=overrides))
    assert "prepared/tiny is up to date" in capsys.readouterr().out


def test_variants_are_stored_and_counted_and_old_pairs_stay_last(root: Path, tmp_path: Path) -> None:
    values = experiment(root).model_dump()
    values["data"]["replay"] = {"sources": [write_pairs(root, "old", PAIRS[61:66])], "share": 0.5}
    values["cleaning"]["test_overlap"] = False
    values["tokenizer"]["placeholders"] = 2
    values["augmentation"] = {"case": 0.2, "ending": 0.2, "symbols": 0.2}
    config = parse(values, "a test")
    prepared = prepare(config, tmp_path / "out", silent)
    cleaner, augmenter = Cleaner(config.cleaning, HeldOut()), Augmenter(config.augmentation, 2, dictionary("de-en"))
    new, old = ([*augmenter(cleaner.clean(pairs))] for pairs in (TRAIN, PAIRS[61:66]))
    store, decode = prepared.train, prepared.tokenizer.decode
    assert [(decode(store.src(i)), decode(store.tgt(i))) for i in range(store.n_pairs)] == new + old
    assert mixture(prepared.manifest, config.data) == ([Component(len(new)), Component(len(old), replayed=True)], 0.5)
    assert "words" in prepared.manifest["inputs"]
    counts = prepared.manifest["counts"]
    assert counts["added"] == augmenter.added
    assert counts["kept"] + sum(augmenter.added.values()) == store.n_pairs
    assert min(augmenter.added.values()) > 0


def test_no_variant_is_what_a_model_reads_of_a_test_pair_with_a_placeholder(root: Path, tmp_path: Path) -> None:
    names = ["Tom", "Anna", "Klaus", "Maria", "Peter", "Julia", "Paul"]
    pairs = [(f"%s schläft {place}.", f"%s sleeps {PLACES[place]}.") for place in PLACES]
    write_pairs(root, "train", [(source % name, target % name) for name in names for source, target in pairs])
    write_pairs(root, "test", [(source % "{name}", target % "{name}") for source, target in pairs])
    values = experiment(root, vocab_size=400).model_dump(mode="json")
    values["tokenizer"]["placeholders"] = 3
    values["augmentation"] = {"symbols": 1.0}
    prepared = prepare(parse(values, "a test"), tmp_path / "prepared", print)
    decode = prepared.tokenizer.decode
    seen = {decode(prepared.train.src(i)) for i in range(prepared.train.n_pairs)}
    assert any("\u27e61\u27e7" in text for text in seen)
    assert not {source % "\u27e61\u27e7" for source, _ in pairs} & seen


def test_no_variant_of_a_training_pair_is_a_test_pair(root: Path, tmp_path: Path) -> None:
    """A pair that differs from a test pair in nothing but a name becomes that pair by augmentation."""
    names = ["Tom", "Anna", "Klaus", "Maria", "Peter", "Julia", "Paul"]
    tested = [(f"{name} schläft.", f"{name} sleeps.") for name in names[:3]]
    trained = [(f"Heute schläft {name}.", f"Today {name} sleeps.") for name in names]
    trained += [(f"{name} schläft!", f"{name} sleeps") for name in names]
    write_pairs(root, "train", trained)
    write_pairs(root, "test", tested)
    values = experiment(root, vocab_size=400).model_dump(mode="json")
    values["tokenizer"]["placeholders"] = 3
    values["augmentation"] = {"case": 1.0, "ending": 1.0, "symbols": 1.0, "names": 1.0, "joined": 0.0}
    said: list[str] = []
    prepared = prepare(parse(values, "a test"), tmp_path / "prepared", said.append)
    decode = prepared.tokenizer.decode
    seen = [(decode(prepared.train.src(i)), decode(prepared.train.tgt(i))) for i in range(prepared.train.n_pairs)]

    def core(text: str) -> str:
        return "".join(letter for letter in re.sub(r"\u27e6\d+\u27e7", "", text).casefold() if letter.isalnum())

    held_out = {(core(source), core(target)) for source, target in tested}
    assert not held_out & {(core(source), core(target)) for source, target in seen}
    assert any("skipped, as they are validation or test pairs" in line for line in said)
    assert prepared.manifest["counts"]["dropped"]["test_overlap"] == 3


def test_a_tag_that_the_tokenizer_does_not_know_is_refused(root: Path, tmp_path: Path) -> None:
    """It would be spelled out, letter by letter, in every synthetic source."""
    known = prepare(experiment(root), tmp_path / "first", print).tokenizer
    (root / "mono.en").write_text("The bird stays.\n", encoding="utf-8")
    (root / "mono.de").write_text("Der Vogel bleibt.\n", encoding="utf-8")
    values = experiment(root).model_dump(mode="json")
    mono = {"kind": "mono", "path": "mono.en", "model": "none", "synthetic": "mono.de"}
    values["data"]["train"] = [values["data"]["train"][0], mono]
    with pytest.raises(UserError, match="begin with <BT>, which the tokenizer splits into"):
        prepare(parse(values, "a test"), tmp_path / "second", print, known)
    prepare(parse(values, "a test"), tmp_path / "third", print)
    before = experiment(root).model_dump(mode="json") | {"tokenizer": {"vocab_size": 330, "tags": ["<BT>"]}}
    knows_it = prepare(parse(before, "a test"), tmp_path / "fourth", print).tokenizer
    prepare(parse(values, "a test"), tmp_path / "fifth", print, knows_it)
    values["data"]["train"] = [values["data"]["train"][0], {**mono, "tag": False}]
    prepare(parse(values, "a test"), tmp_path / "second", print, known)


def test_weights_change_the_mixture_and_not_the_prepared_corpus(root: Path, tmp_path: Path) -> None:
    values = experiment(root).model_dump()
    values["data"]["train"] = [{**write_pairs(root, "few", PAIRS[:3]), "weight": 5.0}, *values["data"]["train"]]
    old = [{**write_pairs(root, "old", PAIRS[61:63]), "weight": 0.3}, write_pairs(root, "older", PAIRS[63:64])]
    values["data"]["replay"] = {"sources": old, "share": 0.4}
    values["cleaning"]["test_overlap"] = False
    config, said = parse(values, "a test"), []
    prepared = prepare(config, tmp_path / "out", silent)
    store, decode = prepared.train, prepared.tokenizer.decode
    stored = [(decode(store.src(i)), decode(store.tgt(i))) for i in range(store.n_pairs)]
    assert stored[:4] == PAIRS[:4]
    assert stored[-3:] == PAIRS[61:64]
    n = store.n_pairs - 6
    assert mixture(prepared.manifest, config.data) == (
        [Component(3, 5.0), Component(n), Component(2, 0.3, True), Component(1, 1.0, True)],
        0.4,
    )
    values["data"]["train"][0]["weight"] = 6.0
    changed = parse(values, "a test")
    again = prepare(changed, tmp_path / "out", said.append)
    assert "up to date" in said[-1]
    assert mixture(again.manifest, changed.data).components[0] == Component(3, 6.0)


def test_a_corpus_that_does_not_count_its_sources_is_refused(root: Path, tmp_path: Path) -> None:
    """Its weights would have no effect."""
    prepare(experiment(root), tmp_path / "out", silent)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["counts"]["pairs"]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(UserError, match=r"the key 'counts\.pairs' is missing; run `translate prepare` again"):
        Prepared.open(tmp_path / "out")


def test_symbols_need_placeholders(root: Path, tmp_path: Path) -> None:
    values = {**experiment(root).model_dump(), "augmentation": {"symbols": 0.2}}
    with pytest.raises(UserError, match=r"set tokenizer.placeholders, or augmentation.symbols to 0"):
        prepare(parse(values, "a test"), tmp_path / "out", silent)


@pytest.mark.parametrize(
    ("setting", "source", "target", "said"),
    [
        ("values", "de", "fr", "augmentation.values = 0.2 is for German and English, not de-fr; set it to 0"),
        ("formality", "de", "en", "augmentation.formality = 0.2 is for German targets, not en; set it to 0"),
    ],
)
def test_variants_of_other_languages_are_refused(
    root: Path, tmp_path: Path, setting: str, source: str, target: str, said: str
) -> None:
    values = {**experiment(root).model_dump(), "augmentation": {setting: 0.2}}
    values["data"] |= {"source": source, "target": target}
    with pytest.raises(UserError, match=re.escape(said)):
        prepare(parse(values, "a test"), tmp_path / "out", silent)


def test_a_source_says_the_form_of_address_and_its_tag_is_one_piece(root: Path, tmp_path: Path) -> None:
    pairs = [(f"Can you see {i} dogs?", f"Können Sie {i} Hunde sehen?") for i in range(2, 40)]
    pairs += [(f"Can you see {i} cats?", f"Kannst du {i} Katzen sehen?") for i in range(2, 40)]
    values = experiment(root).model_dump()
    values["data"] |= {"source": "en", "target": "de", "train": [write_pairs(root, "you", pairs)]}
    values["augmentation"] = {"formality": 0.5}
    made = prepare(parse(values, "a test"), tmp_path / "out", silent)
    found = [(made.tokenizer.decode(made.train.src(i)), made.tokenizer.decode(made.train.tgt(i))) for i in range(76)]
    tags = Counter((source.split()[0], "Sie" in target) for source, target in found if source.startswith("<"))
    assert tags.keys() == {("<formal>", True), ("<informal>", False)}
    assert 20 <= tags.total() <= 56
    for tag in ("<formal>", "<informal>"):
        assert tag in made.tokenizer.tokens(made.tokenizer.encode(tag))


def test_pairs_that_are_held_out_leave_the_training_text(root: Path, tmp_path: Path) -> None:
    values = experiment(root).model_dump()
    values["data"]["held_out"] = [write_pairs(root, "public", [PAIRS[2], (PAIRS[4][0], "x")])]
    made = prepare(parse(values, "a test"), tmp_path / "out", silent)
    assert made.manifest["counts"]["dropped"]["test_overlap"] >= 1
    texts = {made.tokenizer.decode(made.train.src(i)) for i in range(made.train.n_pairs)}
    assert PAIRS[2][0] not in texts
    assert PAIRS[3][0] in texts


def test_the_replay_share_does_not_change_the_prepared_corpus(root: Path, tmp_path: Path) -> None:
    values = experiment(root).model_dump()
    for share in (0.5, 0.2):
        values["data"]["replay"] = {"sources": [write_pairs(root, "old", PAIRS[:5])], "share": share}
        values["cleaning"]["duplicates"] = False
        said: list[str] = []
        prepare(parse(values, "a test"), tmp_path / "out", said.append)
    assert "is up to date" in said[0]


CHINESE = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))


def unspaced(n: int) -> list[Pair]:
    """Sentence pairs without spaces, 25 characters a side, with character frequencies like those of a language."""
    rng = np.random.default_rng(0)
    ranks = np.minimum(20 * rng.pareto(0.9, (n, 2, 25)), len(CHINESE) - 1).astype(int)
    return [("".join(CHINESE[i] for i in src), "".join(CHINESE[i] for i in tgt)) for src, tgt in ranks]


def tokenizer_text(pairs: list[Pair]) -> list[str]:
    size = tokenizer.TextSize.of("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs).encode())
    sentences = [side for pair in pairs for side in pair]
    return list(tokenizer.sample(sentences, len(sentences), tokenizer.affordable(size, len(sentences))))


def test_the_tokenizer_is_trained_on_all_of_a_small_corpus_and_a_memory_bounded_sample_of_a_large_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Text without spaces needs far more memory per character, so less of it is used."""
    spaced = [(f"ein Satz mit der Zahl {i}", f"a sentence with the number {i}") for i in range(700)]
    corpora = {"spaced": spaced, "unspaced": unspaced(300)}
    for pairs in corpora.values():
        assert tokenizer_text(pairs) == [side for pair in pairs for side in pair]
    monkeypatch.setattr(tokenizer, "_TRAINING_MEMORY", 90_000)
    taken = {name: sum(len(text.encode()) for text in tokenizer_text(pairs)) for name, pairs in corpora.items()}
    assert 90_000 / 3 * 0.7 < taken["spaced"] <= 90_000 / 3
    assert 90_000 / 53 * 0.7 < taken["unspaced"] <= 90_000 / 50


def test_long_words_are_counted_in_any_parts_of_a_text() -> None:
    lines = [f"{'kurz ' * 500}{'x' * 32} {'y' * 33} {'z' * (40 + i)}\n".encode() for i in range(99)]
    whole = tokenizer.TextSize.of(b"".join(lines))
    assert whole.in_long_words == sum(33 + 40 + i for i in range(99))
    assert tokenizer.TextSize.total(map(tokenizer.TextSize.of, lines)) == whole


@pytest.mark.slow
def test_text_without_spaces_is_prepared_in_less_than_a_gibibyte(tmp_path: Path) -> None:
    """Training the tokenizer on all 30 MB would take 1.6 GB."""
    write_pairs(tmp_path, "train", unspaced(200_000))
    write_pairs(tmp_path, "valid", unspaced(7))
    (tmp_path / "zh.toml").write_text(
        """[data]
source = "de"
target = "en"
train = [{ source = "train.de", target = "train.en" }]
valid = { source = "valid.de", target = "valid.en" }
[cleaning]
test_overlap = false
[tokenizer]
vocab_size = 8000
[training]
max_steps = 1
""",
        encoding="utf-8",
    )
    code = (
        "from translate.commands.main import main\n"
        "try:\n    main(['prepare', 'zh.toml', '--out', 'prepared'])\n"
        "finally:\n    print([l for l in open('/proc/self/status') if l.startswith('VmHWM')][0].split()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tmp_path / "prepared" / "manifest.json").exists(), done.stderr
    assert int(done.stdout.split()[-1]) < 2**20  # in KiB
