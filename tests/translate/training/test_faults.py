"""Full disks, damaged files and unusual corpora give a one-sentence error and never lose an earlier checkpoint."""

import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from transformer.config import CheckpointError
from translate.commands.main import main
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.training import checkpoints
from translate.training.checkpoints import Checkpoints
from translate.training.reporting import TIMED

FILES = (*model_folder.FILES, "optimizer.safetensors", "state.json")


def same_end(toy, *names: str) -> bool:
    """True if the runs have equal final weights and metrics."""

    def end(name: str) -> tuple[bytes, list[dict]]:
        lines = (toy.folder / name / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        records = [{k: v for k, v in json.loads(line).items() if k not in TIMED} for line in lines]
        records = [
            record for record in records if record.get("about") != "warm-up"
        ]  # only a short run has this warning
        return (toy.folder / name / "model/model.safetensors").read_bytes(), records

    return all(end(name) == end(names[0]) for name in names)


@contextmanager
def files_limited_to(n_bytes: int) -> Iterator[None]:
    """Make writes beyond `n_bytes` of a file fail, as on a full disk, after a partial write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", FILES[-2:] + FILES[1:2])
def test_a_disk_that_fills_during_a_save_loses_only_that_save(toy, monkeypatch, name):
    toy.trained("whole")
    size = (toy.folder / "whole/checkpoints/step-00000012" / name).stat().st_size
    trainer = toy.trainer("run")
    save = Checkpoints.save

    def fill(*arguments, **options):
        with files_limited_to(size - 1 if trainer.state.step == 8 else 2**30):
            save(*arguments, **options)

    with monkeypatch.context() as full:
        full.setattr(Checkpoints, "save", fill)
        with pytest.raises(UserError, match=r"step-00000008: cannot save the checkpoint: .*File too large"):
            trainer.train()
    assert [path.name for path in trainer.run.checkpoints.iterdir()] == ["step-00000004"]
    toy.trainer("run", resume=True).train()
    assert same_end(toy, "whole", "run")


FULL = """
mount -t tmpfs -o size=900k tmpfs "$1" || exit 77
"$2" -c "$5" train "$3" --run "$1/run" --prepared "$4"; echo "first: $?"
ls -A "$1/run/checkpoints"
mount -o remount,size=64m "$1"
"$2" -c "$5" train "$3" --run "$1/run" --prepared "$4" --resume; echo "second: $?"
cp -r "$1/run" "$4-run"
"""


@pytest.mark.slow
def test_a_really_full_disk_gives_a_one_sentence_error_and_the_run_resumes_later(toy, write_experiment, tmp_path):
    settings = {"keep_last": 12, "valid_every": 2}
    toy.trained("whole", **settings)
    config = write_experiment(**settings)
    (tmp_path / "disk").mkdir()
    # The disk seems to have room when training begins; others fill it later.
    code = "import shutil, sys; from translate.commands.main import main; disk = shutil.disk_usage('/'); "
    code += "shutil.disk_usage = lambda path: disk._replace(free=2**40); sys.exit(main())"
    arguments = [tmp_path / "disk", sys.executable, config, tmp_path / "prepared", code]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = ["unshare", "-rm", "sh", "-c", FULL, "sh", *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    except FileNotFoundError:
        pytest.skip("no unshare on this system")
    if done.returncode in (1, 77):
        pytest.skip(f"no file system of its own may be mounted here: {done.stderr.strip()}")
    first, *kept, second = done.stdout.split("\n")[:-1]
    assert first == "first: 2", done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert kept
    assert all(name.startswith("step-") for name in kept)
    assert second == "second: 0", done.stderr
    (tmp_path / "prepared-run").rename(tmp_path / "run")
    assert same_end(toy, "whole", "run")


def test_metrics_on_a_full_disk_give_a_one_sentence_error_and_a_partial_line_does_not_prevent_a_resume(
    toy, monkeypatch
):
    toy.trained("whole")
    trainer = toy.trainer("run")
    log = trainer.run.log

    def fill(record, **options):
        if record["step"] == 6:
            with files_limited_to(trainer.run.metrics.stat().st_size + 11):
                log(record, **options)
        log(record, **options)

    monkeypatch.setattr(type(trainer.run), "log", lambda self, record, **options: fill(record, **options))
    with pytest.raises(UserError, match=r"metrics.jsonl: cannot write the metrics: File too large; raise the limit"):
        trainer.train()
    monkeypatch.undo()
    assert not trainer.run.metrics.read_bytes().endswith(b"\n")
    toy.trainer("run", resume=True).train()
    assert same_end(toy, "whole", "run")


def test_a_run_whose_manifest_cannot_be_written_does_not_start(toy):
    trainer = toy.trainer("run")
    before = trainer.run.manifest.read_bytes()
    with files_limited_to(300), pytest.raises(UserError, match="run: cannot write the run: File too large"):
        toy.trainer("run")
    assert trainer.run.manifest.read_bytes() == before
    toy.trainer("run")


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


DAMAGES = (cut, flip, lambda data: b"", None)  # None deletes the file


def test_a_damaged_file_is_named_and_the_previous_checkpoint_gives_the_same_result(toy):
    toy.trained("whole")
    toy.trainer("eight", max_steps=8).train()
    for name, damage in zip(FILES, itertools.cycle(DAMAGES), strict=False):
        toy.said.clear()
        run = shutil.copytree(toy.folder / "eight", toy.folder / f"run-{name}")
        path = run / "checkpoints/step-00000008" / name
        path.unlink() if damage is None else path.write_bytes(damage(path.read_bytes()))
        toy.trainer(run.name, resume=True).train()
        said = "\n".join(toy.said)
        assert (run / "checkpoints/damaged-step-00000008").is_dir()
        assert "now damaged-step-00000008: " in said
        assert f"step-00000008/{name}: " in said
        assert "(step 4)" in said
        assert same_end(toy, "whole", run.name)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """One checkpoint; tests must undo their changes to it."""
    from tests.translate.training.conftest import Toy

    toy = Toy(tmp_path_factory.mktemp("saved"))
    toy.trainer("run", max_steps=4).train()
    return toy.folder / "run/checkpoints/step-00000004"


@given(data=st.data())
def test_no_flipped_bit_goes_unnoticed(saved, data):
    """In state.json a bit may change what JSON ignores; then the values are equal."""
    path = saved / data.draw(st.sampled_from(FILES))
    good, meta = path.read_bytes(), checkpoints.verify(saved)
    bad = bytearray(good)
    bad[data.draw(st.integers(0, len(good) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        path.write_bytes(bad)
        if path.name == "state.json":
            try:
                assert checkpoints.verify(saved) == meta
            except CheckpointError as error:
                assert path.name in str(error)  # noqa: PT017 -- either is right
        else:
            with pytest.raises(CheckpointError, match=path.name):
                checkpoints.verify(saved)
    finally:
        path.write_bytes(good)


def test_additional_files_do_not_disturb_a_resume(toy):
    toy.trained("whole")
    toy.trainer("run", max_steps=8).train()
    (toy.folder / "run/checkpoints/step-00000008/notes.txt").write_text("mine", encoding="utf-8")
    (toy.folder / "run/checkpoints/notes.txt").write_text("mine", encoding="utf-8")
    toy.trainer("run", resume=True).train()
    weights = [(toy.folder / name / "model/model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]
    assert (toy.folder / "run/checkpoints/notes.txt").exists()


def test_a_damaged_older_checkpoint_does_not_end_a_run(toy):
    """Saving checks every checkpoint for the average."""
    toy.trainer("run", max_steps=8).train()
    (toy.folder / "run/checkpoints/step-00000004/state.json").write_text("{", encoding="utf-8")
    toy.trainer("run", resume=True).train()
    assert any("damaged-step-00000004" in line for line in toy.said)
    assert (toy.folder / "run/model").is_dir()


def test_a_damaged_checkpoint_is_left_out_of_the_average_and_named(toy):
    trainer = toy.trainer("run")

    def damage() -> None:
        path = toy.folder / "run/checkpoints/step-00000008/model.safetensors"
        path.write_bytes(flip(path.read_bytes()))

    trainer.before("checkpoints", "load_final", damage)
    trainer.train()
    assert any("damaged-step-00000008" in line for line in toy.said)
    assert any(line.endswith("made of the checkpoints of steps 12") for line in toy.said)
    last = load_file(toy.folder / "run/checkpoints/step-00000012/model.safetensors")
    for name, tensor in load_file(toy.folder / "run/model/model.safetensors").items():
        assert tensor.equal(last[name])


def test_a_run_with_only_damaged_checkpoints_is_never_restarted(toy):
    """Not at the second attempt either, when the damaged ones have been moved aside."""
    toy.trainer("run").train()
    for folder in checkpoints.folders(toy.folder / "run/checkpoints"):
        (folder / "model.safetensors").write_bytes(b"")
    metrics = (toy.folder / "run/metrics.jsonl").read_bytes()
    for _ in range(2):
        with pytest.raises(UserError, match="no checkpoint is usable"):
            toy.trainer("run", resume=True)
    assert (toy.folder / "run/metrics.jsonl").read_bytes() == metrics


@pytest.mark.parametrize("lost", [["checkpoints", "model"], ["checkpoints"]])
def test_a_run_without_its_checkpoints_is_not_begun_again(toy, lost):
    toy.trainer("run").train()
    for name in lost:
        shutil.rmtree(toy.folder / "run" / name)
    metrics = (toy.folder / "run/metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match="checkpoints: the checkpoints are gone; restore them"):
        toy.trainer("run", resume=True)
    assert (toy.folder / "run/metrics.jsonl").read_bytes() == metrics


def test_a_run_killed_in_its_first_save_begins_again(toy, monkeypatch):
    """It gives the warnings of its start again, and its metrics have each once."""
    too_long = {"warmup_steps": 50}
    toy.trained("whole", **too_long)
    trainer = toy.trainer("run", **too_long)

    def die(*_: object, **__: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as killed:
        killed.setattr(Checkpoints, "save", die)
        with pytest.raises(InterruptedError):
            trainer.train()
    toy.trainer("run", resume=True, **too_long).train()
    assert same_end(toy, "whole", "run")
    assert (toy.folder / "run/metrics.jsonl").read_text(encoding="utf-8").count("warm-up") == 1


def test_an_ended_run_that_is_resumed_has_one_final_record(toy):
    toy.trained("whole")
    toy.trainer("run").train()
    toy.trainer("run", resume=True).train()
    assert same_end(toy, "whole", "run")


@pytest.mark.parametrize("name", model_folder.FILES)
@pytest.mark.parametrize(
    "damage", [cut, lambda data: b"", lambda data: b"\x00\xff" * 50, None], ids=["cut", "empty", "foreign", "deleted"]
)
def test_a_damaged_final_model_gives_a_one_line_error(saved, tmp_path, capsys, name, damage):
    folder = shutil.copytree(saved, tmp_path / "model")
    path = folder / name
    path.unlink() if damage is None else path.write_bytes(damage(path.read_bytes()))
    assert main(["text", "--model", str(folder), "rot"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert name in captured.err
    assert captured.err.count("\n") == 1


def write_pairs(toy, name: str, pairs: list[tuple[str, str]]) -> None:
    for language, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
        (toy.folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")


LONG = ("rot blau " * 250, "red blue " * 250)
SHORT = [(f"{a} und {b}", f"{c} and {d}") for a, c in (("rot", "red"), ("blau", "blue")) for b, d in (("hund", "dog"),)]


@pytest.mark.parametrize("max_tokens", [20, 3000])
def test_one_line_of_500_words_among_short_ones_is_trained_on_or_named(toy, max_tokens):
    toy.settings["cleaning"] = {"max_words": 1000, "max_characters": 10_000}
    toy.settings["tokenizer"] = {"vocab_size": 290}
    write_pairs(toy, "train", [*SHORT, LONG])
    toy.trainer("run", max_tokens=max_tokens, batch_tokens=max(max_tokens, 160)).train()
    assert (toy.folder / "run/model").is_dir()
    left_out = f"1 of 3 pairs are longer than training.max_tokens = {max_tokens}"
    assert any(left_out in line for line in toy.said) == (max_tokens == 20)


def test_one_pair_to_train_on_and_one_to_validate_on_suffice(toy):
    toy.settings["tokenizer"] = {"vocab_size": 275}
    write_pairs(toy, "train", SHORT[:1])
    write_pairs(toy, "valid", [("blau", "blue")])
    toy.trainer("run", max_steps=3, valid_bleu_sentences=5).train()
    assert (toy.folder / "run/model").is_dir()


def test_empty_lines_harm_neither_training_nor_validation(toy):
    write_pairs(toy, "valid", [("", ""), SHORT[0], ("rot", ""), ("", "red")])
    with (toy.folder / "train.de").open("a") as german, (toy.folder / "train.en").open("a") as english:
        german.write("\n\nrot\n")
        english.write("\nred\n\n")
    toy.trainer("run", max_steps=4, valid_bleu_sentences=5).train()
    assert (toy.folder / "run/model").is_dir()


def test_a_checkpoint_of_another_vocabulary_is_refused_with_both_sizes(toy):
    toy.trainer("run").train()
    toy.settings["tokenizer"] = {"vocab_size": 290}
    toy.trainer("other").train()
    newest = toy.folder / "run/checkpoints/step-00000012"
    shutil.rmtree(newest)
    shutil.copytree(toy.folder / "other/checkpoints/step-00000012", newest)
    toy.settings["tokenizer"] = {"vocab_size": 300}
    toy.trainer("run", resume=True)
    assert any("has shape (290, 16), the config asks for (300, 16)" in line for line in toy.said)
    assert any("(step 8)" in line for line in toy.said)


def test_ids_beyond_the_vocabulary_give_a_one_sentence_error(toy):
    trainer = toy.trainer("run")
    ids = toy.folder / "prepared/train.src.ids.npy"
    data = bytearray(ids.read_bytes())
    data[-2:] = (1234).to_bytes(2, "little")
    ids.write_bytes(data)
    with pytest.raises(UserError, match="prepared: holds the token id 1234, but the model has 300 tokens"):
        trainer.train()
