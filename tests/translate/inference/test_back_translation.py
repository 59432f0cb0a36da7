"""The synthetic side of monolingual sources is translated once, kept, and continued after a kill."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
import torch

from tests.translate.conftest import SENTENCES
from transformer.model import Transformer
from translate.commands.main import main
from translate.config.load import parse
from translate.config.schema import ExperimentConfig, Source, TokenizerConfig
from translate.corpus.prepare import input_hashes, plan_corpus, prepare
from translate.corpus.sources import TAG, read_pairs
from translate.corpus.tokenizer import train
from translate.errors import UserError
from translate.files import read_lines, write_json
from translate.inference.back_translation import BackTranslations
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder, save
from translate.text.translation import Opening, Search
from translate.training.run import Run

NATURAL = [f"the dog sees {n} birds in the house." for n in range(23)]


@pytest.fixture
def model(parts: ModelFolder, tmp_path: Path) -> Path:
    """A random model from de to en."""
    save(parts.model, parts.tokenizer, parts.spec, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def experiment(model: Path, tmp_path: Path) -> ExperimentConfig:
    """English to German, with German text that a de-en model translates back."""
    root = tmp_path / "data"
    root.mkdir()
    (root / "mono.de").write_text("".join(f"{line}\n" for line in NATURAL), encoding="utf-8")
    for side in ("en", "de"):
        (root / f"x.{side}").write_text("".join(f"{line} {side}\n" for line in SENTENCES), encoding="utf-8")
    real = {"source": "x.{source}", "target": "x.{target}"}
    mono = {"kind": "mono", "path": "mono.de", "model": str(model), "method": "beam"}
    data = {"source": "en", "target": "de", "root": str(root), "train": [real, mono], "valid": real}
    values = {"data": data, "tokenizer": {"vocab_size": 330}, "cleaning": {"test_overlap": False}}
    return parse(values, "experiment")


def planned(config: ExperimentConfig, tmp_path: Path) -> BackTranslations:
    return BackTranslations(config, lambda message: None, tmp_path / "synthetic")


def complete(config: ExperimentConfig, tmp_path: Path) -> ExperimentConfig:
    sides = planned(config, tmp_path)
    sides.make()
    return sides.config


def pairs(config: ExperimentConfig) -> list[tuple[str, str]]:
    return list(read_pairs(config.data.train[1], Path(config.data.root)))


def test_the_other_side_is_the_model_s_translation(experiment: ExperimentConfig, model: Path, tmp_path: Path) -> None:
    translations = [translation.text for translation in Translator.load(model).translate_lines(NATURAL)]
    found = pairs(complete(experiment, tmp_path))
    assert found == [(f"{TAG} {made}" if made else "", line) for made, line in zip(translations, NATURAL, strict=True)]


def test_a_sample_of_the_lines_is_paired_with_its_own_translations(
    experiment: ExperimentConfig, model: Path, tmp_path: Path
) -> None:
    mono = experiment.data.train[1].model_copy(update={"lines": 5})
    data = experiment.data.model_copy(update={"train": (experiment.data.train[0], mono)})
    found = pairs(complete(experiment.model_copy(update={"data": data}), tmp_path))
    whole = pairs(complete(experiment, tmp_path))
    assert len(found) == 5
    assert [whole.index(pair) for pair in found] == [4, 9, 13, 18, 22]


def test_the_opposite_model_chooses_among_the_hypotheses(
    experiment: ExperimentConfig, parts: ModelFolder, model: Path, tmp_path: Path
) -> None:
    """Distillation of what both models know together; another model that chooses makes another text."""
    places = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        other, folder = Transformer(parts.model.config), tmp_path / f"opposite-{seed}"
        save(other, parts.tokenizer, replace(parts.spec, source="en", target="de"), folder)
        mono = experiment.data.train[1].model_copy(update={"beam_size": 3, "rerank": str(folder)})
        data = experiment.data.model_copy(update={"train": (experiment.data.train[0], mono)})
        found = complete(experiment.model_copy(update={"data": data}), tmp_path)
        expected = Translator.load(
            model, Search(beam_size=3, rerank=folder), opening=Opening(precision="auto")
        ).translate_lines(NATURAL)
        assert [source.removeprefix(f"{TAG} ") for source, _ in pairs(found)] == [one.text for one in expected]
        places.append(found.data.train[1].synthetic)  # type: ignore[union-attr]
    assert len(set(places)) == 2


def test_draws_from_the_most_probable_token_are_greedy_search(experiment: ExperimentConfig, tmp_path: Path) -> None:
    def made(**settings: object) -> list[tuple[str, str]]:
        mono = experiment.data.train[1].model_copy(update=settings)
        data = experiment.data.model_copy(update={"train": (experiment.data.train[0], mono)})
        return pairs(complete(experiment.model_copy(update={"data": data}), tmp_path))

    drawn = {"method": "sampling", "top_k": None}
    greedy = made(method="beam", beam_size=1)
    assert made(**drawn | {"top_k": 1}) == greedy
    assert made(**drawn) != greedy


def test_a_translation_is_made_once(
    experiment: ExperimentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = complete(experiment, tmp_path)
    monkeypatch.setattr(Translator, "load", None)
    assert complete(experiment, tmp_path) == first
    assert complete(first, tmp_path) == first


@pytest.mark.parametrize("method", ["beam", "sampling", "greedy"])
def test_texts_in_a_row_with_one_method_share_a_translator(
    method: str, experiment: ExperimentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The translations are those of a translator for each text."""
    (tmp_path / "data" / "other.de").write_text("".join(f"{line}\n" for line in NATURAL[::-1]), encoding="utf-8")
    first = experiment.data.train[1].model_copy(update={"method": method})
    second = first.model_copy(update={"path": "other.de"})

    def completed(*train: Source, place: str) -> ExperimentConfig:
        data = experiment.data.model_copy(update={"train": train})
        return complete(experiment.model_copy(update={"data": data}), tmp_path / place)

    alone = [pairs(completed(first, source, place=f"alone {source.path}")) for source in (first, second)]
    loaded, load = [], Translator.load
    monkeypatch.setattr(Translator, "load", lambda *args, **settings: loaded.append(args) or load(*args, **settings))
    assert pairs(completed(first, second, place="together")) == alone[1]
    assert pairs(completed(second, first, place="turned")) == alone[0]
    assert len(loaded) == 2


def test_another_text_model_or_method_gives_a_new_translation(
    experiment: ExperimentConfig, model: Path, tmp_path: Path
) -> None:
    complete(experiment, tmp_path)
    mono = experiment.data.train[1].model_copy(update={"method": "greedy"})
    data = experiment.data.model_copy(update={"train": (mono,)})
    complete(experiment.model_copy(update={"data": data}), tmp_path)
    (tmp_path / "data" / "mono.de").write_text("the dog sees\n", encoding="utf-8")
    complete(experiment, tmp_path)
    opened = ModelFolder.open(model)
    with torch.no_grad():
        next(opened.model.parameters()).add_(1)
    save(opened.model, opened.tokenizer, opened.spec, model, replace=True)
    complete(experiment, tmp_path)
    decoding = replace(opened.spec.decoding, beam_size=3)
    save(opened.model, opened.tokenizer, replace(opened.spec, decoding=decoding), model, replace=True)
    complete(experiment, tmp_path)
    assert len([*(tmp_path / "synthetic").iterdir()]) == 5
    seeded = experiment.data.train[1].model_copy(update={"seed": 7})  # the seed of the noise, since nothing is sampled
    complete(experiment.model_copy(update={"data": data.model_copy(update={"train": (seeded,)})}), tmp_path)
    assert len([*(tmp_path / "synthetic").iterdir()]) == 5


def test_the_root_may_be_a_link_to_another_place(experiment: ExperimentConfig, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    link = tmp_path / "elsewhere" / "deep" / "link"
    link.symlink_to(tmp_path / "data", target_is_directory=True)
    data = experiment.data.model_copy(update={"root": str(link)})
    linked = complete(experiment.model_copy(update={"data": data}), tmp_path)
    assert pairs(linked) == pairs(complete(experiment, tmp_path))


@pytest.mark.parametrize("method", ["beam", "sampling", "greedy"])
def test_an_interrupted_translation_continues_to_the_same_text(
    method: str, experiment: ExperimentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mono = experiment.data.train[1].model_copy(update={"method": method})
    data = experiment.data.model_copy(update={"train": (experiment.data.train[0], mono)})
    experiment = experiment.model_copy(update={"data": data})
    whole = pairs(complete(experiment, tmp_path))
    (place,) = (tmp_path / "synthetic").glob("*.txt")
    text = place.read_bytes()
    place.unlink()
    lines = text.splitlines(keepends=True)
    # As after a kill: some lines, and part of the next one.
    place.with_name(f".{place.name}.partial").write_bytes(b"".join(lines[:7]) + b"unfinished")
    translated: list[str] = []
    translate_lines = Translator.translate_lines

    def counted(self: Translator, window: list[str]) -> object:
        translated.extend(window)
        return translate_lines(self, window)

    monkeypatch.setattr(Translator, "translate_lines", counted)
    assert pairs(complete(experiment, tmp_path)) == whole
    assert place.read_bytes() == text
    assert translated == NATURAL[7:]


def test_a_prepared_corpus_contains_the_pairs_and_the_tag(experiment: ExperimentConfig, tmp_path: Path) -> None:
    config = complete(experiment, tmp_path)
    prepared = prepare(config, tmp_path / "prepared", lambda message: None)
    assert TAG in prepared.tokenizer.tokens(prepared.tokenizer.encode(f"{TAG} der"))
    (made,) = (tmp_path / "synthetic").glob("*.txt")
    assert {"mono.de", made.name} <= prepared.manifest["inputs"].keys()
    assert prepared.manifest["counts"]["read"] == len(SENTENCES) + len(NATURAL)
    assert len(list(read_lines(made))) == len(NATURAL)


def test_two_translations_of_one_base_name_are_two_inputs(experiment: ExperimentConfig, tmp_path: Path) -> None:
    root = tmp_path / "data"
    names = [f"{folder}/mono.en" for folder in ("first", "second")]
    for name in names:
        (root / name).parent.mkdir()
        (root / name).write_text("".join(f"{line} {name}\n" for line in NATURAL), encoding="utf-8")
    real, mono = experiment.data.train
    train = (real, *(mono.model_copy(update={"synthetic": name}) for name in names))
    config = experiment.model_copy(update={"data": experiment.data.model_copy(update={"train": train})})
    before = input_hashes(config)
    for name in names:
        with (root / name).open("r+", encoding="utf-8") as file:
            file.write("X")
        now = input_hashes(config)
        assert {key for key in now if now[key] != before[key]} == {name}
        before = now


def test_a_translation_that_was_made_is_the_same_input_in_any_folder(
    experiment: ExperimentConfig, tmp_path: Path
) -> None:
    here, there = complete(experiment, tmp_path / "here"), complete(experiment, tmp_path / "there" / "deep")
    assert here.data.train[1] != there.data.train[1]
    assert input_hashes(here) == input_hashes(there)
    assert plan_corpus(here) == plan_corpus(there)
    run = Run(tmp_path / "run")
    run.checkpoints.mkdir(parents=True)
    write_json(run.config, here.model_dump(mode="json"))
    run.check_settings(there, resume=True)


def test_a_run_is_not_continued_on_other_text_of_a_model(experiment: ExperimentConfig, tmp_path: Path) -> None:
    """It is refused before that is written, and not as another setting, which the user has not changed."""
    run, before = Run(tmp_path / "run"), planned(experiment, tmp_path).config
    run.checkpoints.mkdir(parents=True)
    write_json(run.config, before.model_dump(mode="json"))
    run.check_settings(before, resume=True)
    text = tmp_path / "data" / "mono.de"
    text.write_text("".join(f"{line}\n" for line in NATURAL[1:]), encoding="utf-8")
    with pytest.raises(UserError, match=r"models would write other text .*\(data.train\): a text, a model"):
        run.check_settings(planned(experiment, tmp_path).config, resume=True)
    mono = experiment.data.train[1].model_copy(update={"method": "greedy"})
    data = experiment.data.model_copy(update={"train": (experiment.data.train[0], mono)})
    with pytest.raises(UserError, match=r"other settings \(data.train\)"):
        run.check_settings(planned(experiment.model_copy(update={"data": data}), tmp_path).config, resume=True)


@pytest.fixture
def paired(experiment: ExperimentConfig, model: Path) -> ExperimentConfig:
    """German to English, with pairs whose targets the de-en model writes anew; two of them have an empty side."""
    root = Path(experiment.data.root)
    lines = [*NATURAL[:17], "", NATURAL[17]], [*SENTENCES[:17], SENTENCES[17], ""]
    for side, texts in zip(("de", "en"), lines, strict=True):
        (root / f"pairs.{side}").write_text("".join(f"{line}\n" for line in texts), encoding="utf-8")
    pair = {"source": "pairs.{source}", "target": "pairs.{target}", "model": str(model), "beam_size": 3}
    values = experiment.model_dump(mode="json", exclude_defaults=True)
    data = {**values["data"], "source": "de", "target": "en", "train": [{"source": "x.de", "target": "x.en"}, pair]}
    return parse({**values, "data": data}, "experiment")


def with_pairs(experiment: ExperimentConfig, **changes: object) -> ExperimentConfig:
    real, source = experiment.data.train
    train = (real, source.model_copy(update=changes))
    return experiment.model_copy(update={"data": experiment.data.model_copy(update={"train": train})})


def test_a_target_becomes_the_nearest_hypothesis(
    paired: ExperimentConfig, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    natural = pairs(paired)
    found = pairs(complete(paired, tmp_path))
    assert [source for source, _ in found] == [source for source, _ in natural]
    assert found[17:] == natural[17:]  # with an empty side
    translator = Translator.load(model, Search(beam_size=3), opening=Opening(precision="auto"))
    hypotheses = [[one.text for one in best] for best in translator.n_best([a for a, _ in natural[:17]], 3)]
    assert any(target != best[0] for (_, target), best in zip(found, hypotheses, strict=False))
    for (_, target), (_, reference), best in zip(found, natural, hypotheses, strict=False):
        assert target in best
        bleu = sacrebleu.sentence_bleu(target, [reference]).score
        assert bleu == pytest.approx(max(sacrebleu.sentence_bleu(one, [reference]).score for one in best))


@pytest.mark.parametrize(
    ("changes", "places", "weight"),
    [
        ({"weight": 0.25}, [3, 7, 11, 15, 18], 1.0),
        ({"weight": 0.25, "lines": 3}, [6, 12, 18], 1.0),
        ({"weight": 2.5, "lines": 3}, [6, 12, 18], 2.5),
        ({"weight": 2.5, "lines": 70}, [*range(19)], 2.5),
    ],
)
def test_the_share_of_an_epoch_is_translated(
    paired: ExperimentConfig, tmp_path: Path, changes: dict[str, object], places: list[int], weight: float
) -> None:
    natural = pairs(paired)
    config = complete(with_pairs(paired, **changes), tmp_path)
    assert [source for source, _ in pairs(config)] == [natural[place][0] for place in places]
    assert config.data.train[1].weight == weight
    assert complete(config, tmp_path) == config


def test_new_targets_are_continued_after_an_interruption(paired: ExperimentConfig, tmp_path: Path) -> None:
    whole = pairs(complete(paired, tmp_path))
    (place,) = (tmp_path / "synthetic").glob("*.jsonl")
    text = place.read_bytes()
    lines = text.splitlines(keepends=True)
    place.with_name(f".{place.name}.partial").write_bytes(b"".join([b'["a", "b"]\n', *lines[1:7]]) + b'["unfin')
    place.unlink()
    assert pairs(complete(paired, tmp_path)) == [("a", "b"), *whole[1:]]
    for changes in ({"beam_size": 2}, {"weight": 0.5}, {"lines": 5}):
        complete(with_pairs(paired, **changes), tmp_path)
    assert len([*(tmp_path / "synthetic").glob("*.jsonl")]) == 4


def test_new_targets_are_inputs_of_the_corpus(paired: ExperimentConfig, tmp_path: Path) -> None:
    config = complete(paired, tmp_path / "here")
    (made,) = (tmp_path / "here" / "synthetic").glob("*.jsonl")
    assert {"pairs.de", "pairs.en", made.name} <= input_hashes(config).keys()
    assert plan_corpus(config) == plan_corpus(complete(paired, tmp_path / "there" / "deep"))
    prepared = prepare(config, tmp_path / "prepared", lambda message: None)
    assert prepared.manifest["counts"]["read"] == len(SENTENCES) + 19


def test_new_pairs_may_be_a_file_of_the_user(paired: ExperimentConfig, tmp_path: Path) -> None:
    texts = [("Zeile\u2028eins", "tab\tone"), ("zwei", "two"), ("", "three"), ("vier", "four")]
    file = Path(paired.data.root) / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(pair)}\n" for pair in texts), encoding="utf-8")
    assert pairs(with_pairs(paired, synthetic="mine.jsonl")) == texts
    assert pairs(with_pairs(paired, synthetic="mine.jsonl", lines=2)) == texts[1::2]
    assert complete(with_pairs(paired, synthetic="mine.jsonl"), tmp_path).data.train[1].synthetic == "mine.jsonl"
    for wrong in ('["one"]', '["one", 2]', '{"de": "a", "en": "b"}', "", "3", '["\\ud800", "b"]'):
        file.write_text(f'["a", "b"]\n{wrong}\n', encoding="utf-8")
        with pytest.raises(UserError, match=r"mine.jsonl, line 2: not a pair of texts; write it as JSON"):
            pairs(with_pairs(paired, synthetic="mine.jsonl"))


def test_damaged_new_targets_are_made_again_once_the_file_is_removed(paired: ExperimentConfig, tmp_path: Path) -> None:
    config = complete(paired, tmp_path)
    whole = pairs(config)
    (place,) = (tmp_path / "synthetic").glob("*.jsonl")
    place.write_bytes(place.read_bytes()[:-9])
    with pytest.raises(UserError, match=r"jsonl: damaged; remove the file, and run `translate prepare` again"):
        pairs(config)
    place.unlink()
    assert pairs(complete(paired, tmp_path)) == whole


def test_pairs_that_cannot_be_read_are_found_before_the_first_translation(
    paired: ExperimentConfig, tmp_path: Path
) -> None:
    source = paired.data.train[1]
    broken = source.model_copy(update={"target": "x.en"})
    data = paired.data.model_copy(update={"train": (source, broken)})
    with pytest.raises(UserError, match=r"pairs.de has 19 lines but .*x.en has 210"):
        complete(paired.model_copy(update={"data": data}), tmp_path)
    assert not (tmp_path / "synthetic").exists()


def test_a_path_without_a_name_is_a_mistake(paired: ExperimentConfig, model: Path, tmp_path: Path) -> None:
    for path in ("", " "):
        source = {"kind": "tsv", "path": path, "model": str(model)}
        values = paired.model_dump(mode="json", exclude_defaults=True)
        config = parse({**values, "data": {**values["data"], "train": [source]}}, "experiment")
        with pytest.raises(UserError, match="cannot be read|no such file"):
            complete(config, tmp_path)


def test_a_pair_with_the_target_of_a_test_pair_is_no_training_text(paired: ExperimentConfig, tmp_path: Path) -> None:
    """A new target is near to the old one, so it would be near to that of the test pair."""
    natural, root = pairs(paired), Path(paired.data.root)
    (root / "valid.de").write_text("ein anderer Satz\n", encoding="utf-8")
    (root / "valid.en").write_text(f"{natural[3][1]}\n", encoding="utf-8")
    valid = paired.data.valid.model_copy(update={"source": "valid.de", "target": "valid.en"})
    data = paired.data.model_copy(update={"valid": valid, "train": paired.data.train[1:]})
    cleaning = paired.cleaning.model_copy(update={"test_overlap": True})
    config = complete(paired.model_copy(update={"data": data, "cleaning": cleaning}), tmp_path)
    found = [*read_pairs(config.data.train[0], root)]
    assert [made == old for made, old in zip(found, natural, strict=True)][:17] == [n == 3 for n in range(17)]
    assert natural[3] not in pairs(complete(paired, tmp_path))
    prepared = prepare(config, tmp_path / "prepared", lambda message: None)
    assert prepared.manifest["counts"]["dropped"]["test_overlap"] == 1


def test_pairs_need_a_model_of_their_direction(paired: ExperimentConfig, tmp_path: Path) -> None:
    turned = paired.model_copy(update={"data": paired.data.model_copy(update={"source": "en", "target": "de"})})
    with pytest.raises(
        UserError, match=r"pairs.de \+ pairs.en: needs a model from en to de, and .* translates de to en"
    ):
        complete(turned, tmp_path)
    values = paired.model_dump(mode="json", exclude_defaults=True)
    for section, message in (
        ({"train": [{"source": "x.de", "target": "x.en", "beam_size": 3}]}, "beam_size, lines and synthetic belong to"),
        ({"valid": values["data"]["train"][1]}, "valid: translations are made for training alone"),
    ):
        with pytest.raises(UserError, match=message):
            parse({**values, "data": {**values["data"], **section}}, "experiment")


def test_unusable_sources_give_a_one_sentence_error(experiment: ExperimentConfig, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="mono.de: has no synthetic side yet; make it with `translate prepare`"):
        pairs(experiment)
    turned = experiment.data.model_copy(update={"source": "de", "target": "en"})
    with pytest.raises(UserError, match="needs a model from en to de, and .* translates de to en; name another model"):
        complete(experiment.model_copy(update={"data": turned}), tmp_path)
    gone = experiment.data.train[1].model_copy(update={"path": "nowhere.de"})
    data = experiment.data.model_copy(update={"train": (gone,)})
    with pytest.raises(UserError, match="nowhere.de: no such file; correct the path, or data.root"):
        complete(experiment.model_copy(update={"data": data}), tmp_path)
    other = experiment.data.train[1].model_copy(update={"synthetic": "x.en"})
    with pytest.raises(UserError, match="mono.de has 23 lines but .*x.en has 210"):
        list(read_pairs(other, Path(experiment.data.root)))


def test_everything_is_checked_before_the_first_translation(experiment: ExperimentConfig, tmp_path: Path) -> None:
    real, mono = experiment.data.train
    for changes, message in (
        ({"path": "nowhere.de"}, "nowhere.de: no such file"),
        ({"rerank": mono.model, "beam_size": 3}, "translates de-en, but reranking de-en needs a model for en-de"),
    ):
        data = experiment.data.model_copy(update={"train": (real, mono, mono.model_copy(update=changes))})
        with pytest.raises(UserError, match=message):
            complete(experiment.model_copy(update={"data": data}), tmp_path)
    assert not (tmp_path / "synthetic").exists()


def test_prepare_checks_the_files_before_it_translates(
    experiment: ExperimentConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    values = experiment.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    values["data"]["valid"] |= {"source": "nowhere.en"}
    (tmp_path / "my.json").write_text(json.dumps(values), encoding="utf-8")
    assert main(["prepare", "my.json"]) == 2
    assert "nowhere.en: no such file" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()


def test_nothing_is_translated_where_only_a_table_is_wanted(experiment: ExperimentConfig, tmp_path: Path) -> None:
    sides = planned(experiment, tmp_path)
    with pytest.raises(UserError, match="mono.de: not translated with .* yet; run `translate prepare`, or the grid"):
        sides.require()
    assert complete(experiment, tmp_path) == sides.config
    sides.require()


def test_a_tokenizer_that_splits_the_tag_is_refused_also_for_a_corpus_that_is_there(
    experiment: ExperimentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = complete(experiment, tmp_path)
    without = train(SENTENCES, TokenizerConfig(vocab_size=330))
    refused = "sources begin with <BT>, which the tokenizer splits into ▁ .*: set tag = false"
    with pytest.raises(UserError, match=refused):
        prepare(config, tmp_path / "new", lambda message: None, without)
    with monkeypatch.context() as patch:  # as an older version did
        patch.setattr("translate.corpus.prepare.check_corpus", lambda *_: None)
        prepare(config, tmp_path / "old", lambda message: None, without)
    with pytest.raises(UserError, match=refused):
        prepare(config, tmp_path / "old", lambda message: None, without)
    (real, mono) = config.data.train
    for change in ({"tag": False}, {"side": "source"}):
        data = config.data.model_copy(update={"train": (real, mono.model_copy(update=change))})
        prepare(config.model_copy(update={"data": data}), tmp_path / "new", lambda message: None, without)
    tagged = train(SENTENCES, TokenizerConfig(vocab_size=340), [TAG])
    for _ in range(2):
        prepare(config, tmp_path / "tagged", lambda message: None, tagged)
