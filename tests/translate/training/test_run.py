"""The run directory: after a kill, the complete lines of the metrics are kept."""

import itertools
import json
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translate.training.conftest import before_update
from translate.config.load import parse
from translate.config.schema import ExperimentConfig
from translate.corpus.prepare import Prepared, prepare
from translate.errors import Say, UserError
from translate.files import sha256, write_json
from translate.inference import back_translation
from translate.training.plan import Start
from translate.training.run import Run
from translate.training.train import train_experiment

RECORDS = [
    {"kind": "train", "step": 1, "loss": 5.25, "nested": {"a": {"b": [1, 2]}}},
    {"kind": "valid", "step": 1, "bleu": None, "text": "Straße } {"},
    {"kind": "checkpoint", "step": 3, "folder": "step-00000003"},
    {"kind": "train", "step": 5, "loss": float("nan")},
    {"kind": "final", "step": 5, "averaged": [3, 5]},
]


def test_a_run_whose_first_start_was_killed_may_begin(toy, monkeypatch):
    run, config = Run(toy.folder / "run"), toy.config()
    run.folder.mkdir()
    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", lambda *_: sys.exit())
        killed.setattr(Path, "unlink", lambda *_: None)
        for path in (run.config, run.manifest):
            with pytest.raises(SystemExit):
                write_json(path, {})
    assert len(list(run.folder.iterdir())) == 2
    run.check_settings(config, resume=False)
    (run.folder / ".other.partial").touch()
    with pytest.raises(UserError, match="exists and is not a run"):
        run.check_settings(config, resume=False)


def test_complete_lines_before_a_cut_are_kept(tmp_path):
    run = Run(tmp_path)
    for record in RECORDS:
        run.log(record)
    whole = run.metrics.read_bytes()
    for n in range(len(whole) + 1):
        run.metrics.write_bytes(whole[:n])
        run.forget_after(5)
        # A line that lacks only its newline is complete.
        assert run.metrics.read_bytes() == whole[: whole.rfind(b"\n", 0, n + 1) + 1]


@given(tail=st.binary(max_size=40), step=st.integers(0, 6))
def test_no_trailing_bytes_prevent_a_resume(tmp_path_factory, tail, step):
    run = Run(tmp_path_factory.mktemp("run"))
    for record in RECORDS:
        run.log(record)
    with run.metrics.open("ab") as file:
        file.write(tail.replace(b"{", b""))  # not a record
    run.forget_after(step)
    kept = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    assert [record["step"] for record in kept] == [record["step"] for record in RECORDS if record["step"] <= step]


def test_the_final_record_is_dropped_if_it_will_be_written_again(tmp_path):
    run = Run(tmp_path)
    for record in RECORDS:
        run.log(record)
    run.forget_after(5, end=True)
    kinds = [json.loads(line)["kind"] for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    assert kinds == ["train", "valid", "checkpoint", "train"]


def test_a_run_that_another_process_made_before_the_lock_is_kept(toy, monkeypatch):
    locked = Run.locked

    def locked_late(run: Run) -> AbstractContextManager[None]:
        monkeypatch.undo()
        toy.trainer("run").train()
        return locked(run)

    monkeypatch.setattr(Run, "locked", locked_late)
    run = Run(toy.folder / "run")
    with pytest.raises(UserError, match="already contains a run"):
        train_experiment(Start(toy.config(), run, toy.folder / "prepared"), toy.said.append)
    assert len(json.loads(run.manifest.read_text(encoding="utf-8"))["starts"]) == 1


def test_a_run_directory_is_locked_while_its_corpus_is_prepared_and_until_it_ends(toy, monkeypatch):
    """Two starts of one command never train the same run."""
    run, refused = Run(toy.folder / "run"), []

    def start_again() -> None:
        with pytest.raises(UserError, match="another process trains there"):
            train_experiment(Start(toy.config(), run, toy.folder / "other", resume=True), toy.said.append)
        refused.append(run.has_begun)

    def say(message: str) -> None:
        toy.said.append(message)
        if message.startswith("wrote "):
            start_again()

    before_update(3, start_again, monkeypatch)
    train_experiment(Start(toy.config(), run, toy.folder / "prepared"), say)
    assert refused == [False, True]


def test_a_corpus_that_was_prepared_elsewhere_is_trained_on_without_its_data(toy):
    runs = [Run(toy.folder / name) for name in ("here", "there")]
    data = {**toy.settings["data"], "root": str(toy.folder / "absent")}
    train_experiment(Start(toy.config(), runs[0], toy.folder / "prepared"), toy.said.append)
    moved = (toy.folder / "prepared").rename(toy.folder / "moved")
    train_experiment(Start(parse({**toy.settings, "data": data}, "toy"), runs[1], moved), toy.said.append)
    weights = {sha256(run.model / "model.safetensors") for run in runs}
    records = [json.loads(run.manifest.read_text(encoding="utf-8"))["data"] for run in runs]
    assert len(weights) == 1
    assert records[0] == records[1]
    assert any("is not on this machine" in message for message in toy.said)
    other = parse({**toy.settings, "data": data, "cleaning": {"max_words": 7}}, "toy")
    with pytest.raises(UserError, match=r"prepared with other settings.*max_words"):
        train_experiment(Start(other, Run(toy.folder / "other"), moved), toy.said.append)


def test_a_root_in_the_home_of_an_unknown_user_is_one_sentence(toy):
    data = {**toy.settings["data"], "root": "~no-such-user/data"}
    with pytest.raises(UserError, match=r"^~no-such-user/data: no home folder of that user"):
        train_experiment(
            Start(parse({**toy.settings, "data": data}, "toy"), Run(toy.folder / "run"), toy.folder / "p"), print
        )


@pytest.mark.parametrize("moment", ["prepared", "opened"])
def test_a_corpus_that_another_training_would_replace_stays_until_all_have_opened_it(toy, monkeypatch, moment):
    """The other one begins when this one has prepared its corpus, or opens it to train."""
    data = {**toy.settings["data"], "train": [{"source": "valid.de", "target": "valid.en"}]}
    other = parse({**toy.settings, "data": data, "cleaning": {"test_overlap": False}}, "other")
    folder, stopped = toy.folder / "prepared", threading.Event()

    def compete() -> None:
        prepare(other, folder, lambda message: stopped.set() if "waiting" in message else None)
        stopped.set()

    second = threading.Thread(target=compete, daemon=True)

    def overtake() -> None:
        second.start()
        assert stopped.wait(60), "it has replaced the corpus, or waits"

    run, config = Run(toy.folder / "run"), toy.config(max_steps=1)
    opening, n = Prepared.open, itertools.count(1)

    def opened(path: Path) -> Prepared:
        if moment == "opened" and next(n) == 2:
            overtake()
        return opening(path)

    with monkeypatch.context() as patch:
        patch.setattr(Prepared, "open", opened)
        say = lambda message: overtake() if moment == "prepared" and message.startswith("wrote ") else None  # noqa: E731
        train_experiment(Start(config, run, folder), say)
    second.join(60)
    alone = prepare(config, toy.folder / "alone", toy.said.append)
    recorded = json.loads(run.manifest.read_text(encoding="utf-8"))["data"]
    assert recorded["fingerprint"] == alone.manifest["fingerprint"]
    assert recorded["files"] == {name: sha256(alone.folder / name) for name in alone.manifest["files"]}
    assert Prepared.open(folder).train.n_pairs < alone.train.n_pairs, "the second has its turn afterwards"


def test_text_is_translated_back_only_where_the_run_can_begin(toy, monkeypatch):
    made: list[bool] = []

    class Sides:
        def __init__(self, config: ExperimentConfig, say: Say) -> None:
            self.config = config

        def make(self) -> None:
            made.append((toy.folder / "prepared").exists())

    monkeypatch.setattr(back_translation, "BackTranslations", Sides)
    pairs, gone = toy.settings["data"]["train"][0], {"source": "gone.de", "target": "gone.en"}

    def mono(synthetic: str, **keys: object) -> dict[str, object]:
        return {"kind": "mono", "path": "train.en", "model": "none", "synthetic": synthetic, **keys}

    def start(run: str = "run", parent: Path | None = None, **sections: dict[str, object]) -> None:
        settings = {name: {**toy.settings.get(name, {}), **section} for name, section in sections.items()}
        config = parse({**toy.settings, **settings}, "toy")
        train_experiment(
            Start(config, Run(toy.folder / run), toy.folder / "prepared", from_model=parent), toy.said.append
        )

    for error in ("", "already contains a run"):
        with pytest.raises(UserError, match=error) if error else nullcontext():
            start(data={"train": [pairs, mono("train.de", tag=False)]})
    assert made == [False]  # once, before the corpus was prepared
    later = mono("made-later.de")
    with pytest.raises(UserError, match=r"gone\.de: no such file"):
        start("other", data={"train": [pairs, later], "valid": gone})
    with pytest.raises(UserError, match=r"data\.test\.a/b: the name becomes part of a file name"):
        start("other", data={"train": [pairs, later], "test": {"a/b": pairs}})
    with pytest.raises(UserError, match="begin with <BT>, which the tokenizer splits into"):
        start("other", toy.folder / "run", data={"train": [pairs, later]})
    with pytest.raises(UserError, match="needs a tokenizer with two placeholders or more"):
        start("other", data={"train": [pairs, later]}, augmentation={"symbols": 0.1})
    assert made == [False]


def test_a_corpus_that_a_run_was_trained_on_is_not_replaced_by_another_when_it_is_resumed(toy):
    def start(**training: object) -> None:
        config = toy.config(**training)
        train_experiment(Start(config, Run(toy.folder / "run"), toy.folder / "prepared", resume=True), toy.said.append)

    start(max_steps=3)
    before = {path.name: path.read_bytes() for path in (toy.folder / "prepared").iterdir()}
    text = {side: toy.folder / f"train.{side}" for side in ("de", "en")}
    whole = {side: path.read_bytes() for side, path in text.items()}
    for side, path in text.items():
        path.write_bytes(whole[side] + b"rot\n")
    with pytest.raises(UserError, match=r"train\.de, train\.en: not what .*run was trained on; restore the data"):
        start(max_steps=5)
    assert {path.name: path.read_bytes() for path in (toy.folder / "prepared").iterdir()} == before
    for side, path in text.items():
        path.write_bytes(whole[side])
    start(max_steps=5)
    assert toy.said[-1].startswith("final model:")


def test_durable_records_are_synced_to_disk(tmp_path, monkeypatch):
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    Run(tmp_path).log({"step": 1})
    assert not synced
    Run(tmp_path).log({"step": 3}, durable=True)
    assert len(synced) == 1
