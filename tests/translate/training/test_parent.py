"""Fine-tuning takes the parent's weights and tokenizer, resumes by itself, and refuses a mismatch."""

import dataclasses
import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.translate.training.conftest import before_update, interrupt
from tests.translate.training.test_loop import metrics
from transformer.config import SearchConfig, load_config
from transformer.model import Transformer
from translate.commands import prepare, train
from translate.commands.prepare import PrepareOptions
from translate.commands.train import TrainOptions
from translate.corpus.prepare import Prepared
from translate.corpus.tokenizer import Tokenizer
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder, TranslationSpec
from translate.training.parent import Parent
from translate.training.update import Updater


@pytest.fixture(autouse=True)
def in_the_folder_of_the_toy(toy, monkeypatch) -> None:
    """Work in the folder of the toy's experiments, corpora and runs."""
    monkeypatch.chdir(toy.folder)


@pytest.fixture
def parent(toy) -> Path:
    """A trained model folder."""
    return toy.trained("parent", max_steps=4) / "model"


def fine_tune(toy, run: str, parent: Path | None, *, resume: bool = False, **changes: dict[str, object]) -> Path:
    """The toy run fine-tuned from `parent`, with other settings in some sections and without the tokenizer section."""
    sections = {**toy.settings, "decoding": {}}
    settings = {name: {**section, **changes.get(name, {})} for name, section in sections.items()}
    settings["tokenizer"] = changes.get("tokenizer", {})
    Path("tuned.json").write_text(json.dumps(settings), encoding="utf-8")
    train.run(TrainOptions(config=Path("tuned.json"), run=Path(run), resume=resume, from_model=parent))
    return Path(run)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_same_weights(a: Path, b: Path) -> None:
    left, right = load_file(a / "model.safetensors"), load_file(b / "model.safetensors")
    assert left.keys() == right.keys()
    assert [name for name in left if not left[name].equal(right[name])] == []


def keep_first_weights(updater: Updater, batches: object, lr: float) -> None:
    """Store the initial weights in the current folder instead of making an update."""
    save_file(updater.model.state_dict(), "model.safetensors")
    raise KeyboardInterrupt


def test_fine_tuning_starts_from_weights_and_tokenizer_and_records_the_parent(toy, parent, monkeypatch):
    Path("other.de").write_text("haus und haus\nkatze\nrot und blau\n", encoding="utf-8")
    Path("other.en").write_text("house and house\ncat\nred and blue\n", encoding="utf-8")

    monkeypatch.setattr(Updater, "step", keep_first_weights)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(toy, "tuned", parent, data={"train": [{"source": "other.de", "target": "other.en"}]})
    assert_same_weights(Path(), parent)
    assert sha256(Path("prepared/tuned/tokenizer.model")) == sha256(parent / "tokenizer.model")
    manifest = json.loads(Path("tuned/manifest.json").read_text(encoding="utf-8"))
    assert manifest["parent"] == {
        "path": str(parent.resolve()),
        "weights_sha256": sha256(parent / "model.safetensors"),
        "tokenizer_sha256": sha256(parent / "tokenizer.model"),
    }
    assert json.loads(Path("tuned/config.json").read_text(encoding="utf-8"))["tokenizer"]["vocab_size"] == 300


def test_the_longest_source_is_the_maximum_of_both_trainings(toy, parent):
    """A fine-tuned model reads sources as long as its parent's or its own data, unless the former is unknown."""
    lengths = Prepared.open(toy.trainer("again").parts.prepared.folder).train.src_lengths
    path = parent / "translation.json"
    assert json.loads(path.read_text(encoding="utf-8"))["max_source_tokens"] == lengths.max()
    for known, expected in ((97, 97), (1, lengths.max()), (None, None)):
        values = json.loads(path.read_text(encoding="utf-8")) | {"max_source_tokens": known}
        path.write_text(json.dumps(values), encoding="utf-8")
        run = fine_tune(toy, f"tuned-{known}", parent, training={"max_steps": 1})
        assert TranslationSpec.load(run / "model").max_source_tokens == expected


MEASURED = {"best_source_tokens": 31, "low_confidence": -0.7, "low_rerank_score": -1.1, "reverse_weight": 0.3}


def measured(parent: Path) -> Path:
    """The parent with settings of the search and limits of flags, none of which is a default."""
    path = parent / "translation.json"
    decoding = {"beam_size": 3, "alpha": 1.5, "length_penalty": "average", "max_extra": 7}
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **MEASURED, "decoding": decoding}))
    return parent


@pytest.mark.parametrize("own", [{}, {"alpha": 0.0}, {"beam_size": 4, "max_extra": 50}], ids=str)
def test_settings_of_the_search_are_the_parents_where_the_experiment_sets_none(toy, parent, own, capsys):
    run = fine_tune(toy, "tuned", measured(parent), training={"max_steps": 1}, decoding=own)
    before, after = (TranslationSpec.load(folder) for folder in (parent, run / "model"))
    assert after.decoding == dataclasses.replace(before.decoding, **own)
    assert (after.best_source_tokens, after.reverse_weight) == (31, 0.3)
    assert (after.low_confidence, after.low_rerank_score) == (None, None), "measured on other probabilities"
    recorded = json.loads((run / "config.json").read_text(encoding="utf-8"))
    assert recorded["decoding"] == after.decoding.decoding()
    (said,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("[decoding]"))
    taken = [f"{key} = {json.dumps(value)}" for key, value in recorded["decoding"].items() if key not in own]
    assert said == f"[decoding] {', '.join(taken)}: as in {parent}"


def test_nothing_that_was_measured_in_one_direction_is_taken_over_for_the_other(toy, parent):
    data = {"source": "en", "target": "de"}
    run = fine_tune(toy, "back", measured(parent), training={"max_steps": 1}, data=data)
    spec = TranslationSpec.load(run / "model")
    assert spec.decoding == SearchConfig()
    assert [name for name in MEASURED if getattr(spec, name) is not None] == []


def test_a_resumed_run_has_the_settings_of_a_parent_that_is_gone(toy, parent):
    fine_tune(toy, "tuned", measured(parent), training={"max_steps": 4})
    before = TranslationSpec.load(Path("tuned/model"))
    shutil.rmtree(parent.parent)
    run = fine_tune(toy, "tuned", None, resume=True, training={"max_steps": 5})
    assert TranslationSpec.load(run / "model") == before


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("stop", [2, 6])
def test_fine_tuning_resumes_bit_for_bit_with_or_without_naming_the_parent(toy, parent, monkeypatch, stop, named):
    """It needs the parent again before its first checkpoint (step 4), but not after."""
    whole = fine_tune(toy, "whole", parent)
    with monkeypatch.context() as stopped:
        before_update(stop, interrupt, stopped)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(toy, "halves", parent)
    if stop == 6 and not named:
        shutil.rmtree(parent.parent)
    halves = fine_tune(toy, "halves", parent if named else None, resume=True)
    assert_same_weights(whole / "model", halves / "model")
    assert json.loads((halves / "manifest.json").read_text())["parent"]["path"] == str(parent.resolve())


def test_resuming_from_another_model_is_refused(toy, parent, monkeypatch):
    fine_tune(toy, "tuned", parent)
    with pytest.raises(UserError, match=r"tuned: its run began from .*parent.model, and .* is another .*weights_sha"):
        fine_tune(toy, "tuned", Path("tuned"), resume=True)
    with pytest.raises(UserError, match="its run began without --from"):
        fine_tune(toy, "parent", Path("tuned"), resume=True)
    with pytest.raises(UserError, match="continue with --resume"):
        fine_tune(toy, "tuned", parent)


def test_without_a_checkpoint_a_changed_parent_is_refused(toy, parent, monkeypatch):
    with monkeypatch.context() as stopped:
        before_update(2, interrupt, stopped)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(toy, "tuned", parent)
    tensors = load_file(parent / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, parent / "model.safetensors")
    with pytest.raises(UserError, match="began from is gone or has changed"):
        fine_tune(toy, "tuned", None, resume=True)


def test_after_a_checkpoint_another_model_in_the_place_of_the_parent_does_not_matter(toy, parent, monkeypatch):
    with monkeypatch.context() as stopped:
        before_update(6, interrupt, stopped)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(toy, "tuned", parent)
    old = ModelFolder.open(parent)
    narrow = Transformer(dataclasses.replace(old.model.config, d_model=12))
    model_folder.save(narrow, old.tokenizer, old.spec, parent, replace=True)
    assert load_config(fine_tune(toy, "tuned", None, resume=True) / "model") == old.model.config


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"d_model": 24}}, r"model.d_model = 24 in the experiment and 16 in .*set the key to 16"),
        ({"model": {"n_encoder_layers": 3}}, "model.n_encoder_layers = 3 in the experiment and 1 in"),
        ({"model": {"d_ff": 7}}, "model.d_ff = 7 in the experiment and 24 in"),
        ({"model": {"d_k": 5}}, "model.d_k = 5 in the experiment and 8 in"),
        ({"model": {"norm": "pre"}}, 'model.norm = "pre" in the experiment and "post" in .*set the key to "post",'),
        ({"model": {"attention_bias": True}}, "model.attention_bias = true in .*set the key to false,"),
        ({"model": {"window": 3}}, "model.window = 3 in the experiment and none in .*: take the key out,"),
        ({"tokenizer": {"vocab_size": 301}}, "tokenizer.vocab_size = 301 in the experiment and 300 in"),
        ({"data": {"source": "nl"}}, 'data.source = "nl" in the experiment and "de" in'),
        ({"data": {"target": "fr"}}, 'data.target = "fr" in the experiment and "en" in'),
    ],
)
def test_settings_that_differ_from_the_parent_are_refused_with_both_values(toy, changes, words):
    toy.trainer("parent", max_steps=1).train()
    with pytest.raises(UserError, match=words):
        fine_tune(toy, "tuned", Path("parent"), **changes)
    assert not Path("prepared/tuned").exists()
    assert not Path("tuned").exists()


@pytest.mark.parametrize("learned", ["parent", "tuned"])
def test_learned_positions_and_sinusoids_are_named_if_they_differ(toy, learned):
    settings = {"positions": "learned", "max_length": 70}
    before = dict(toy.settings["model"])
    toy.settings["model"] |= settings if learned == "parent" else {}
    toy.trainer("parent", max_steps=1).train()
    toy.settings["model"] = before
    with pytest.raises(UserError, match=r'model.positions = "(learned|sinusoidal)" in the experiment and "(?!\1)'):
        fine_tune(toy, "tuned", Path("parent"), model=settings if learned == "tuned" else {})


def test_training_the_other_direction_starts_from_the_same_weights(toy, parent, capsys, monkeypatch):
    corpora = {name: {"source": f"{name}.en", "target": f"{name}.de"} for name in ("train", "valid")}
    data = {"source": "en", "target": "de", "train": [corpora["train"]], "valid": corpora["valid"]}
    run = fine_tune(toy, "back", parent, data=data)
    assert "translates de to en: its weights begin the other direction" in capsys.readouterr().err
    spec = TranslationSpec.load(run / "model")
    assert (spec.source, spec.target) == ("en", "de")
    monkeypatch.setattr(Updater, "step", keep_first_weights)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(toy, "again", parent, data=data)
    assert_same_weights(Path(), parent)


def test_taking_over_weights_draws_no_random_numbers(parent):
    """Otherwise a run from a parent could not be repeated by a later version; training opens it before it seeds."""
    model, opened = Transformer(load_config(parent)), Parent.open(parent, print)
    before = torch.get_rng_state()
    opened.load_into(model)
    assert torch.get_rng_state().equal(before)


def test_the_final_model_may_keep_a_share_of_its_parent(toy, parent):
    run = fine_tune(toy, "tuned", parent, training={"parent_share": 0.0, "max_steps": 4})
    alone = load_file(run / "model/model.safetensors")
    fine_tune(toy, "tuned", parent, resume=True, training={"parent_share": 0.25, "max_steps": 4})
    before, mixed = load_file(parent / "model.safetensors"), load_file(run / "model/model.safetensors")
    for name, tensor in mixed.items():
        torch.testing.assert_close(tensor, 0.75 * alone[name] + 0.25 * before[name])
    assert not all(mixed[name].equal(alone[name]) for name in mixed)
    assert "interpolation weight 0.25" in (run / "card.md").read_text()


def test_a_share_of_a_parent_that_is_missing_or_has_changed_is_refused(toy, parent, capsys):
    with pytest.raises(UserError, match="--from"):
        fine_tune(toy, "alone", None, training={"parent_share": 0.5})
    settings = {"parent_share": 0.5, "max_steps": 4}
    run = fine_tune(toy, "tuned", parent, training=settings)
    shutil.rmtree(parent)
    shutil.rmtree(run / "parent")  # as in a run of an earlier version
    with pytest.raises(UserError, match="parent_share"):
        fine_tune(toy, "tuned", None, resume=True, training={**settings, "max_steps": 6})
    assert (run / "model").exists()
    assert [line["step"] for line in metrics(run, "train")] == [1, 2, 3, 4], "it is refused before an update"


@pytest.mark.parametrize("stop", [2, 6])
def test_a_parent_that_moves_during_a_run_is_still_in_its_end(toy, parent, monkeypatch, stop):
    settings = {"parent_share": 0.5}
    whole = fine_tune(toy, "whole", parent, training=settings)
    with monkeypatch.context() as stopped:
        before_update(stop, interrupt, stopped)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(toy, "halves", parent, training=settings)
    parent.rename(parent.with_name("moved"))
    assert_same_weights(whole / "model", fine_tune(toy, "halves", None, resume=True, training=settings) / "model")


def test_a_parent_may_be_named_with_its_digest(toy, parent, monkeypatch):
    digest = sha256(parent / "model.safetensors")
    for suffix in (digest[:8], f"sha256:{digest[:12]}", digest):
        assert Parent.open(Path(f"{parent}@{suffix}"), print) == Parent.open(parent, print)
    wrong = ("0" if digest[0] != "0" else "1") * 8
    with pytest.raises(
        UserError, match=rf"model: the SHA-256 of its weights begins with {digest[:16]}, not with {wrong};"
    ):
        fine_tune(toy, "tuned", Path(f"{parent}@{wrong}"))
    assert not Path("tuned").exists()
    for bad in ("", "1234567", "12345678g"):
        with pytest.raises(UserError, match="after @ come the first digits of the SHA-256"):
            Parent.open(Path(f"{parent}@{bad}"), print)
    at = parent.rename(parent.with_name("a@12345678"))
    assert Parent.open(at, print).folder == at, "the name of a folder comes first"
    monkeypatch.setenv("TRANSLATE_HOME", str(toy.folder / "home"))
    for place in (toy.folder / "home/models", Path("runs")):
        place.mkdir(parents=True)
        named = at.rename(place / "my@home")
        assert Parent.open(Path("my@home"), print).folder == named
        assert Parent.open(Path(f"my@home@{digest[:8]}"), print).folder == named
        named.rename(at)


def test_dropout_and_initialisation_may_differ_and_unused_tokenizer_settings_are_reported(toy, parent, capsys):
    rates = {"dropout": 0.2, "attention_dropout": 0.1, "ffn_dropout": 0.3, "init_gain": 0.7}
    fine_tune(toy, "tuned", parent, model=rates, tokenizer={"vocab_size": 300, "algorithm": "unigram"})
    assert "[tokenizer] algorithm: without effect" in capsys.readouterr().err
    assert json.loads(Path("tuned/model/config.json").read_text())["model"]["dropout"] == 0.2


def test_a_run_with_replay_learns_from_both_corpora_and_resumes_bit_for_bit(toy, parent, monkeypatch):
    Path("new.de").write_text("haus katze haus katze\nrot und blau und rot\nhund und haus hund\n", encoding="utf-8")
    Path("new.en").write_text("house cat house cat\nred and blue and red\ndog and house dog\n", encoding="utf-8")
    old = {"sources": [{"source": "train.de", "target": "train.en"}], "share": 0.7}
    data = {"train": [{"source": "new.de", "target": "new.en"}], "replay": old}
    whole = fine_tune(toy, "whole", parent, data=data)
    counts = json.loads((whole / "manifest.json").read_text())["data"]["counts"]
    assert counts["pairs"] == [3, counts["kept"] - 3]
    assert counts["pairs"][1] > 100
    with monkeypatch.context() as stopped:
        before_update(7, interrupt, stopped)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(toy, "halves", parent, data=data)
    assert_same_weights(whole / "model", fine_tune(toy, "halves", None, resume=True, data=data) / "model")
    with pytest.raises(UserError, match=r"other settings \(data.replay.share\)"):
        fine_tune(toy, "halves", None, resume=True, data={**data, "replay": {**old, "share": 0.6}})
    data["replay"] = {"sources": data["train"]}
    with pytest.raises(UserError, match=r"data.replay is empty after cleaning: 3 duplicate"):
        fine_tune(toy, "other", parent, data=data)


def test_a_corpus_may_be_prepared_before_fine_tuning(toy, parent, capsys):
    settings = {**toy.settings, "tokenizer": {}}
    Path("tuned.json").write_text(json.dumps(settings), encoding="utf-8")
    prepare.run(PrepareOptions(config=Path("tuned.json"), from_model=parent))
    tokenizer = (parent / "tokenizer.model").read_bytes()
    assert Path("prepared/tuned/tokenizer.model").read_bytes() == tokenizer
    capsys.readouterr()
    fine_tune(toy, "tuned", parent)
    assert "prepared/tuned is up to date" in "".join(capsys.readouterr())
    with pytest.raises(UserError, match=r"vocab_size = 77 in the experiment"):
        prepare.run(PrepareOptions(config=Path("tuned.json"), overrides=["tokenizer.vocab_size=77"], from_model=parent))


@pytest.mark.parametrize("kind", ["two tokenizers", "several target languages"])
def test_an_imported_model_that_training_would_misread_is_refused(toy, parent, kind):
    shutil.copyfile(parent / "tokenizer.model", parent / "target.model")
    piece = Tokenizer.load(parent / "tokenizer.model").tokens([7])[0]
    change = {"target_sha256": sha256(parent / "target.model")} if kind == "two tokenizers" else {"tags": {"da": piece}}
    dataclasses.replace(TranslationSpec.load(parent), **change).save(parent)
    with pytest.raises(UserError, match="cannot be fine-tuned"):
        fine_tune(toy, "tuned", parent)
