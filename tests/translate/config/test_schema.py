"""An error in an experiment file is one sentence with the file, the key and a way to fix it."""

import contextlib
import json
import math
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import DECODING, LengthRule
from translate.config.load import load, parse, unknown_key
from translate.config.schema import DecodingSection, ExperimentConfig, HubSource, TextSource
from translate.errors import UserError
from translate.text.translation import Search

TOML = """
[data]
source = "de"
target = "en"
train = [
    {source = "train.de", target = "train.en"},
    {kind = "hub", id = "x/y", split = "train", source = "translation.de", target = "translation.en"},
]
valid = {source = "valid.de", target = "valid.en"}

[data.test.small]
kind = "tsv"
path = "test.tsv"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def problem(path: Path, *overrides: str) -> str:
    """The error message of loading, without the leading path."""
    with pytest.raises(UserError) as caught:
        load(path, overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def added(path: Path, text: str) -> Path:
    path.write_text(TOML + text, encoding="utf-8")
    return path


def test_a_file_becomes_typed_sections_with_defaults(path: Path) -> None:
    config = load(path)
    first, second = config.data.train
    assert isinstance(first, TextSource)
    assert isinstance(second, HubSource)
    assert (first.source, second.id, config.data.root) == ("train.de", "x/y", ".")
    assert config.tokenizer == ExperimentConfig.model_fields["tokenizer"].default


def test_a_config_cannot_be_changed_afterwards(path: Path) -> None:
    config = load(path)
    with pytest.raises(ValueError, match="frozen"):
        setattr(config.data, "root", "elsewhere")  # noqa: B010


def test_every_problem_opens_with_the_file(path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load(added(path, "[training]\nlearning_rate = 1.0\n"))
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "tag",
    ["", " ", "a b", "a\u00a0b", "\n", "\0", "\ud800", "▁BT", "<s>", "</s>", "<pad>", "<unk>", "<0x0A>", "⟦7⟧", "<BT>"],
)
def test_a_tag_that_cannot_be_a_piece_or_is_there_already_is_refused(path: Path, tag: str) -> None:
    with pytest.raises(UserError) as caught:
        parse({**load(path).model_dump(mode="json"), "tokenizer": {"tags": ["<BT>", tag]}}, "x")
    assert f"{json.dumps(tag)} cannot be a tag" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[training]\nwarmup_step = 400\n",
            "unknown key 'training.warmup_step'; did you mean 'training.warmup_steps'?",
        ),
        ("[data.replay]\nsources = [{source = 'a', target = 'b'}]\nshar = 1\n", "did you mean 'data.replay.share'?"),
        ("[trainin]\nseed = 1\n", "unknown key 'trainin'; did you mean 'training'?"),
        ("[tokenizer]\nvocabsize = 99\n", "did you mean 'tokenizer.vocab_size'?"),
        (
            "[decoding]\nqqq = 1\n",
            "unknown key 'decoding.qqq'; known keys: alpha, beam_size, length_penalty, max_extra",
        ),
        ("[data.test.more]\nsource = 'a'\ntarget = 'b'\ntargets = 'c'\n", "did you mean 'data.test.more.target'?"),
        (
            "[data.test.more]\nkind = 'jsonl'\npaths = 'c'\nsource = 'a'\ntarget = 'b'\npath = 'd'\n",
            "'data.test.more.path'?",
        ),
    ],
)
def test_an_unknown_key_comes_with_the_nearest_known_one(path: Path, text: str, words: str) -> None:
    assert words in problem(added(path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[training]\nseed = '5'\n", 'training.seed = "5": '),
        ("[training]\nseed = 5.0\n", "training.seed = 5.0: "),
        ("[training]\nseed = true\n", "training.seed = true: "),
        ("[training]\nlr = 'fast'\n", 'training.lr = "fast": '),
        ("[cleaning]\nduplicates = 1\n", "cleaning.duplicates = 1: "),
        ("[training]\nprecision = 'fp8'\n", "'auto', 'fp32' or 'bf16'"),
        ("[model]\nd_model = 1.5\n", "model.d_model = 1.5: "),
        ("[training]\nbatch_tokens = 255\n", "training: max_tokens = 256 exceeds batch_tokens = 255"),
        ("[data.test.more]\nkind = 'text'\nsource = 5\ntarget = 'b'\n", "data.test.more.source = 5: "),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_its_key(path: Path, text: str, words: str) -> None:
    assert words in problem(added(path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[training]\nmax_steps = 0\n", "training.max_steps = 0: input should be greater than or equal to 1"),
        ("[training]\nlabel_smoothing = 1.0\n", "training.label_smoothing = 1.0: input should be less than 1"),
        ("[tokenizer]\nvocab_size = 3\n", "tokenizer.vocab_size = 3: input should be greater than or equal to 16"),
        (
            "[decoding]\nlength_penalty = 'mean'\n",
            "decoding.length_penalty = \"mean\": input should be 'gnmt', 'average'",
        ),
        ("[decoding]\nalpha = -0.5\n", "decoding.alpha = -0.5: input should be greater than or equal to 0"),
        ("[data.test.more]\nkind = 'grammar'\nsplit = 'test'\npairs = 0\n", "data.test.more.pairs = 0: "),
        ("[data.test.more]\nsource = 'a'\ntarget = 'b'\nweight = 0\n", "data.test.more.weight = 0: "),
        ("[data.test.more]\nsource = 'a'\ntarget = 'b'\nweight = 2\n", "weight is for training; remove the key"),
        ("[data.test.more]\nsource = 'a'\ntarget = 'b'\nkeep_identical = true\n", "keep_identical is for training"),
        ("[data.test.more]\nkind = 'mono'\npath = 'a'\nmodel = 'en-de'\n", "name a source that has both sides"),
        (
            "[[data.held_out]]\nsource = 'a'\ntarget = 'b'\nmodel = 'de-en'\n",
            "data.held_out.0: translations are made for training alone",
        ),
        ("[[data.held_out]]\nsource = 'a'\ntarget = 'b'\nweight = 2\n", "data.held_out.0: weight is for training"),
    ],
)
def test_a_value_out_of_range_is_named_with_its_bound(path: Path, text: str, words: str) -> None:
    assert words in problem(added(path, text))


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        (
            "[data.test.words]\nkind = 'hub'\nid = 'x'\nsplit = 't'\nsource = 'a'\ntarget = 'b'\nrevison = 'v1'\n",
            "data.test.words.revison",
            "revision",
        ),
        ("[data.replay]\nsources = [{kind = 'words', weigth = 2}]\n", "data.replay.sources.0.weigth", "weight"),
    ],
)
def test_the_key_of_a_source_is_named_as_in_the_file(path: Path, text: str, key: str, near: str) -> None:
    """The key excludes the kind of the source, even if a test set is named like a kind."""
    section = key.rpartition(".")[0]
    assert problem(added(path, text)) == f"unknown key '{key}'; did you mean '{section}.{near}'?"


def test_an_unknown_key_of_the_word_list_is_named_as_in_the_file(path: Path) -> None:
    message = problem(path, 'data.train=[{kind="words", foo=1}]')
    assert message == "unknown key 'data.train.0.foo'; known keys: keep_identical, kind, weight"


def test_an_int_serves_as_a_float(path: Path) -> None:
    assert load(path, ["decoding.alpha=1"]).decoding.alpha == 1.0


def test_names_of_files_and_columns_may_hold_the_languages(path: Path) -> None:
    """One file then serves both directions."""
    text = """[data]
        source = "de"
        target = "en"
        root = "{source}"
        train = [{ source = "a.{source}", target = "{source}-{target}/a.{target}" }]
        valid = { kind = "jsonl", path = "{target}.jsonl", source = "pair.{source}", target = "pair.{target}" }
        test.one = { source = "b.{source}{source}", target = "b.{other}" }
        replay = { sources = [{ source = "c.{source}", target = "c.{target}" }] }
    """
    path.write_text(text, encoding="utf-8")
    for source, target in (("de", "en"), ("en", "de")):
        data = load(path, [f"data.source={source}", f"data.target={target}"]).data
        assert data.train == (TextSource(source=f"a.{source}", target=f"{source}-{target}/a.{target}"),)
        assert data.test["one"] == TextSource(source=f"b.{source}{source}", target="b.{other}")
        assert data.valid.model_dump()["path"] == f"{target}.jsonl"
        assert data.valid.model_dump()["source"] == f"pair.{source}"
        assert data.replay is not None
        assert data.replay.sources == (TextSource(source=f"c.{source}", target=f"c.{target}"),)
        assert data.root == "{source}"
        assert parse(load(path).model_dump(), "again") == load(path)


def test_a_missing_key_is_named(path: Path) -> None:
    path.write_text('[data]\nsource = "de"\n', encoding="utf-8")
    assert "the key 'data.target' is missing" in problem(path)


def test_a_missing_key_of_a_source_is_named(path: Path) -> None:
    assert "the key 'data.test.more.path' is missing" in problem(added(path, "[data.test.more]\nkind = 'tsv'\n"))


def test_an_unknown_kind_of_source_is_named_with_the_existing_kinds(path: Path) -> None:
    message = problem(added(path, "[data.test.more]\nkind = 'csv'\npath = 'x'\n"))
    assert (
        "data.test.more.kind = \"csv\": must be one of 'text', 'tsv', 'tmx', 'jsonl', 'parquet', 'hub', 'grammar', "
        "'words', 'phrases', 'sacrebleu'" in message
    )


def test_no_training_source_is_an_error(path: Path) -> None:
    assert problem(path, "data.train=[]") == "data.train has 0 values; it needs 1 or more"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert (
        problem(tmp_path / "absent.toml") == "cannot read the config file: No such file or directory; correct the path"
    )


@pytest.mark.parametrize("name", ["my", "my.tml"])
def test_a_missing_file_that_has_its_name_with_another_ending_is_suggested(tmp_path: Path, name: str) -> None:
    (tmp_path / "my.toml").touch()
    said = problem(tmp_path / name)
    assert said == f"cannot read the config file: No such file or directory; did you mean {tmp_path / 'my.toml'}?"


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    assert problem(tmp_path) == "cannot read the config file: Is a directory; name a file"


def test_an_undecodable_file_is_named_with_the_byte(path: Path) -> None:
    path.write_bytes(b'[data]\nsource = "fran\xe7ais"\n')
    assert problem(path) == "not UTF-8 text (byte 21); save it as UTF-8"


def test_broken_toml_is_named_with_its_place(path: Path) -> None:
    path.write_text("[data]\nsource = \n", encoding="utf-8")
    assert problem(path).startswith("not valid TOML: ")
    assert "line 2" in problem(path)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize(
    ("value", "message"),
    [("1" * 5000, r"Exceeds the limit \(4300 digits\)[^;]*"), ("[" * 100_000, "maximum recursion depth exceeded.*")],
    ids=["digits", "nesting"],
)
def test_a_number_or_list_that_cannot_be_read_is_refused(tmp_path: Path, suffix: str, value: str, message: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_text(f"seed = {value}" if suffix == ".toml" else f'{{"seed": {value}}}', encoding="utf-8")
    assert re.fullmatch(f"not valid {suffix[1:].upper()}: {message}", problem(path))


@pytest.mark.parametrize("value", ["1" * 5000, "0x" + "f" * 5000, "-0x" + "f" * 5000])
def test_a_setting_with_too_many_digits_is_refused(path: Path, value: str) -> None:
    assert problem(path, f"training.seed={value}").startswith("training.seed = ")


@pytest.mark.parametrize(
    ("override", "section", "key", "value"),
    [
        ("training.seed=7", "training", "seed", 7),
        ("training.lr = 1e-3", "training", "lr", 1e-3),
        ("training.adam_betas=[0.9, 0.997]", "training", "adam_betas", (0.9, 0.997)),
        ("data.root=/data/a=b", "data", "root", "/data/a=b"),
        ('data.root="quoted"', "data", "root", "quoted"),
        ("model.preset=paper-big", "model", "preset", "paper-big"),
        ("cleaning.duplicates=false", "cleaning", "duplicates", False),
    ],
)
def test_an_override_replaces_one_value(path: Path, override: str, section: str, key: str, value: object) -> None:
    """A value is parsed as TOML if possible, else taken as text, so a shell needs no quotes."""
    before, after = load(path), load(path, [override])
    assert getattr(getattr(after, section), key) == value
    assert after.model_dump(exclude={section: {key}}) == before.model_dump(exclude={section: {key}})


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("training.seeds=3", "unknown key 'training.seeds'; did you mean 'training.seed'?"),
        ("label_smoothing=0.2", "unknown key 'label_smoothing'; did you mean training.label_smoothing?"),
        ("training.dropout=0.2", "unknown key 'training.dropout'; did you mean model.dropout?"),
        ("training.seed=x", 'training.seed = "x": '),
        ("training.seed", "--set training.seed: write section.key=value"),
        ("=5", "--set =5: write section.key=value"),
        ("training.seed=2\ntraining.lr=0.1", 'training.seed = "2\\ntraining.lr=0.1": '),
        ("training..seed=5", "write section.key=value"),
        ("data.source.x=5", "--set data.source.x: 'source' is not a section"),
    ],
)
def test_a_wrong_override_gives_a_one_sentence_error(path: Path, override: str, words: str) -> None:
    assert words in problem(path, override)


@given(value=st.text(max_size=12))
def test_any_text_after_the_equals_sign_is_a_value_or_a_user_error(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    path = tmp_path_factory.mktemp("config") / "experiment.toml"
    path.write_text(TOML, encoding="utf-8")
    with contextlib.suppress(UserError):
        assert isinstance(load(path, [f"data.root={value}"]).data.root, str)


def test_parse_errors_name_the_given_origin() -> None:
    with pytest.raises(UserError, match="^config.json: the key 'data' is missing$"):
        parse({}, "config.json")


def test_the_resolved_config_reads_back_as_itself(path: Path) -> None:
    """A run directory keeps its config as JSON."""
    config = load(path)
    assert parse(config.model_dump(mode="json"), "a run") == config


def test_the_nearest_key_or_all_keys() -> None:
    assert unknown_key("a.seeed", ["seed", "steps"]) == "unknown key 'a.seeed'; did you mean 'a.seed'?"
    assert unknown_key("zzz", ["steps", "seed"]) == "unknown key 'zzz'; known keys: seed, steps"


@pytest.mark.parametrize(
    "override",
    [
        "decoding.alpha=inf",
        "decoding.alpha=nan",
        "decoding.alpha=10.1",
        "decoding.beam_size=257",
        "training.adam_betas=[0.9, 1.0]",
        "training.adam_betas=[-0.1, 0.98]",
        "training.seed=9223372036854775808",
        "training.lr=inf",
        "training.lr=nan",
        "training.clip_norm=inf",
    ],
)
def test_values_that_computation_cannot_handle_are_refused(path: Path, override: str) -> None:
    assert problem(path, override).startswith(override.partition("=")[0])


SETTINGS = st.one_of(
    st.integers(-2, 12_000),
    st.sampled_from([10, 256, 257, 10_000, 10_001]),
    st.floats(-1, 12),
    st.sampled_from([math.inf, math.nan, True, "mean", *get_args(LengthRule)]),
)


@given(st.sampled_from(DECODING), SETTINGS)
def test_a_search_has_the_same_bounds_in_an_experiment_and_in_the_options(name: str, value: object) -> None:
    """Or a model could be trained with settings that a translation refuses."""
    accepted = []
    for kind in (DecodingSection, Search):
        try:
            accepted.append(getattr(kind(**{name: value}), name) == value)  # type: ignore[arg-type]
        except ValueError:
            accepted.append(False)
    assert accepted[0] == accepted[1]


def test_a_byte_order_mark_is_ignored(path: Path) -> None:
    config = load(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path) == config
