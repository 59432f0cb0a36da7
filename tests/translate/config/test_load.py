"""`extends`: a config file inherits the values that it does not set from another file."""

from pathlib import Path

import pytest

from translate.config.load import experiment_name, load, parse, setting
from translate.config.schema import MonoSource, TextSource
from translate.errors import UserError

BASE = """
[data]
source = "de"
target = "en"
train = [{ source = "train.de", target = "train.en" }]
valid = { kind = "sacrebleu", name = "wmt13" }
test.first = { source = "first.de", target = "first.en" }

[training]
max_steps = 300
warmup_steps = 70
"""
CHILD = """
extends = "base.toml"

[data]
valid = { source = "valid.de", target = "valid.en" }
test.second = { source = "second.de", target = "second.en" }

[training]
warmup_steps = 50
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE, encoding="utf-8")
    (tmp_path / "child.toml").write_text(CHILD, encoding="utf-8")
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def message(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('train = "train.de"', 'data.train = "train.de": must be a list, in square brackets'),
        ('train = ["train.de"]', 'data.train.0 = "train.de": must be a table, such as { key = value }'),
        ('valid = "valid.de"', 'data.valid = "valid.de": must be a table'),
        ('test = "test.de"', 'data.test = "test.de": must be a table'),
        ("replay = 0.5", "data.replay = 0.5: must be a table"),
    ],
)
def test_a_value_in_place_of_a_list_or_table_is_refused_in_the_terms_of_toml(
    folder: Path, line: str, said: str
) -> None:
    assert said in message(write(folder / "wrong.toml", f'extends = "base.toml"\n[data]\n{line}\n'))


def test_missing_values_come_from_the_base(folder: Path) -> None:
    base, child = load(folder / "base.toml"), load(folder / "child.toml")
    assert child.training == base.training.model_copy(update={"warmup_steps": 50})
    assert child.data.train == base.data.train
    assert child.model == base.model


def test_keys_are_replaced_not_merged(folder: Path) -> None:
    """A new source replaces all keys of the old one, and new test sets replace the old ones."""
    child = load(folder / "child.toml")
    assert child.data.valid == TextSource(source="valid.de", target="valid.en")
    assert list(child.data.test) == ["second"]


def test_a_file_that_only_extends_is_the_base(folder: Path) -> None:
    assert load(write(folder / "same.toml", 'extends = "base.toml"\n')) == load(folder / "base.toml")


def test_the_name_is_relative_to_the_file_and_bases_have_bases(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grandchild = write(folder / "rows" / "grandchild.toml", 'extends = "../child.toml"\n[training]\nmax_steps = 30\n')
    monkeypatch.chdir("/")
    training = load(grandchild).training
    assert (training.max_steps, training.warmup_steps) == (30, 50)


def test_a_byte_order_mark_is_not_part_of_the_file(folder: Path) -> None:
    marked = folder / "marked.toml"
    marked.write_text(CHILD, encoding="utf-8-sig")
    assert load(marked) == load(folder / "child.toml")


def test_an_experiment_is_named_after_its_file_or_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "toy"
    run.mkdir()
    monkeypatch.chdir(run)
    assert experiment_name(Path("config.json")) == "toy"
    assert experiment_name(Path("configs/base.toml")) == "base"


def test_white_space_around_an_override_is_not_part_of_it() -> None:
    assert setting(" data.root =  my data ") == ("data.root", "my data")
    assert setting(" training.seed = 7") == ("training.seed", 7)


def test_overrides_win_over_every_file(folder: Path) -> None:
    training = load(folder / "child.toml", ["training.warmup_steps=5", "training.seed=7"]).training
    assert (training.max_steps, training.warmup_steps, training.seed) == (300, 5, 7)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["training.seed=7", "training.lr=1", " training.seed =7"], "--set training.seed is given twice; leave one"),
        (["model.dropout=0", 'model={preset="tiny"}'], "--set model.dropout has no effect, as --set model comes after"),
    ],
)
def test_an_override_that_a_later_one_replaces_is_refused(folder: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(folder / "child.toml", overrides)


def test_an_override_of_a_part_of_an_earlier_one_is_taken(folder: Path) -> None:
    assert load(folder / "child.toml", ['model={preset="tiny"}', "model.dropout=0.25"]).model.dropout == 0.25


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("code", ["", "../..", "d e", "de\\n", "de-", "äö", "a" * 36])
def test_a_language_is_a_code(folder: Path, side: str, code: str) -> None:
    """Names of files contain it."""
    with pytest.raises(UserError, match=f"data.{side} .*should be a language code") as caught:
        load(folder / "child.toml", [f'data.{side}="{code}"'])
    assert "\n" not in str(caught.value)
    for fine in ("de", "gmq", "zh-Hans", "sr_Latn"):
        assert getattr(load(folder / "child.toml", [f'data.{side}="{fine}"']).data, side) == fine


def test_a_cycle_is_refused(folder: Path) -> None:
    one = write(folder / "one.toml", 'extends = "rows/two.toml"\n')
    two = write(folder / "rows" / "two.toml", 'extends = "../one.toml"\n')
    assert message(one) == (
        f"{one} extends {two} extends {two.parent}/../one.toml: a circle; remove `extends` from one of these files"
    )


def test_a_file_that_extends_itself_is_refused(folder: Path) -> None:
    assert "a circle" in message(write(folder / "self.toml", 'extends = "self.toml"\n'))


def test_a_missing_base_is_named_with_the_file_that_extends_it(folder: Path) -> None:
    lost = write(folder / "lost.toml", 'extends = "bsae.toml"\n')
    reason = "cannot read the config file: No such file or directory; correct the path"
    assert message(lost) == f"{lost} extends {folder}/bsae.toml: {reason}"


def test_a_base_with_invalid_toml_is_named(folder: Path) -> None:
    broken = write(folder / "broken.toml", "[data\n")
    heir = write(folder / "heir.toml", 'extends = "broken.toml"\n')
    assert message(heir).startswith(f"{heir} extends {broken}: not valid TOML: ")
    text = broken.rename(folder / "train.de")  # another suffix does not make it another format
    assert message(text).startswith(f"{text}: not valid TOML: ")


def test_an_unknown_key_of_a_base_names_both_files(folder: Path) -> None:
    wrong = write(folder / "wrong.toml", BASE.replace("warmup_steps", "warmup_step"))
    heir = write(folder / "heir.toml", 'extends = "wrong.toml"\n')
    assert message(heir) == (
        f"{heir} extends {wrong}: unknown key 'training.warmup_step'; did you mean 'training.warmup_steps'?"
    )


def test_a_name_that_is_not_a_string_is_refused(folder: Path) -> None:
    wrong = write(folder / "wrong.toml", "extends = 3\n")
    assert message(wrong) == f"{wrong}: extends = 3 must be the name of a TOML file, relative to this one"


LIBRARY = """
[news]
first = { path = "first.{language}.xz", licence = "CC0", origin = "somewhere" }
second = { path = "second.{language}.xz", licence = "CC0", origin = "somewhere" }

[words]
list = { kind = "tsv", path = "list.tsv", columns = ["de", "en"], split = "|" }

[mono]
english = { kind = "mono", path = "text.en.xz", language = "en" }
german = { kind = "mono", path = "text.de.xz", language = "de" }
"""
CHOICE = """
[data]
source = "de"
target = "en"
library = "corpora/library.toml"
train = [{ kind = "words" }]
valid = { source = "valid.de", target = "valid.en" }

[data.weights]
news = 2
second = 0.25

[training]
max_steps = 1
"""


@pytest.fixture
def choice(tmp_path: Path) -> Path:
    write(tmp_path / "corpora" / "library.toml", LIBRARY)
    return write(tmp_path / "configs.toml", CHOICE)


def test_a_weight_of_a_corpus_overrides_that_of_its_group(choice: Path) -> None:
    found = load(choice).data.train
    assert [(s.kind, s.weight) for s in found] == [("text", 2.0), ("text", 0.25), ("words", 1.0)]
    assert isinstance(found[0], TextSource)
    assert (found[0].source, found[0].target) == ("first.de.xz", "first.en.xz")


def test_a_weight_is_an_override_like_any_other_and_0_drops_a_corpus(choice: Path) -> None:
    assert [s.kind for s in load(choice, ["data.weights.first=0", "data.weights.words=1"]).data.train] == [
        "text",
        "tsv",
        "words",
    ]


def test_text_in_one_language_fits_one_direction(choice: Path) -> None:
    mono = ["data.weights.mono=0.5", 'data.mono.model="a"', 'data.mono.method="greedy"']
    for languages, path in ([], "text.en.xz"), (['data.source="en"', 'data.target="de"'], "text.de.xz"):
        *_, source, _ = load(choice, [*mono, *languages]).data.train
        assert isinstance(source, MonoSource)
        assert (source.path, source.weight, source.model, source.method) == (path, 0.5, "a", "greedy")
    *_, source, _ = load(choice, [*mono, 'data.mono.side="source"']).data.train
    assert isinstance(source, MonoSource)
    assert source.path == "text.de.xz"


def test_a_corpus_may_have_keys_of_its_own_which_go_before_those_of_all(choice: Path) -> None:
    """German text as a source, English text as a target."""
    own = '[own]\nsaid = { kind = "mono", path = "said.de", language = "de", side = "source", model = "b" }\n'
    write(choice.parent / "corpora" / "library.toml", LIBRARY + own)
    found = load(choice, ["data.weights.mono=3", "data.weights.own=0.5", 'data.mono.model="a"']).data.synthetic_sources
    assert [(s.path, s.side, s.model, s.weight) for s in found] == [
        ("text.en.xz", "target", "a", 3.0),
        ("said.de", "source", "b", 0.5),
    ]
    (only,) = load(choice, ["data.weights.mono=1", 'data.mono={model="a", side="source"}']).data.synthetic_sources
    assert only.path == "text.de.xz"


def test_texts_of_both_sides_have_keys_of_their_side(choice: Path) -> None:
    """German text is translated, English text translated back."""
    source, target = 'data.mono.source={model="a", method="beam", lines=5}', 'data.mono.target={model="b", lines=7}'
    shared = ["data.weights.mono=3", "data.mono.tag=false", 'data.mono.method="greedy"', "data.mono.lines=3"]
    both = load(choice, [*shared, source, target]).data.synthetic_sources
    assert {(s.path, s.side, s.model, s.method, s.lines, s.tag) for s in both} == {
        ("text.de.xz", "source", "a", "beam", 5, False),
        ("text.en.xz", "target", "b", "greedy", 7, False),
    }
    for table, path in (source, "text.de.xz"), (target, "text.en.xz"):
        (only,) = load(choice, [*shared, table]).data.synthetic_sources
        assert only.path == path


def test_corpora_of_two_files_share_the_keys_of_their_table(choice: Path) -> None:
    plain = load(choice).data.train
    found = load(choice, ['data.text.model="a"', "data.text.beam_size=3"]).data
    assert [source.kind for source in found.train] == [source.kind for source in plain]
    for source in found.train:
        shared = {"model": "a", "beam_size": 3} if isinstance(source, TextSource) else {}
        assert source == plain[found.train.index(source)].model_copy(update=shared)
    assert found.models == ("a",)


@pytest.mark.parametrize("language", ["", ", language = 3"])
def test_text_whose_language_is_unknown_is_refused_if_it_is_chosen(choice: Path, language: str) -> None:
    library = write(
        choice.parent / "corpora" / "library.toml",
        LIBRARY + f'[own]\nsaid = {{ kind = "mono", path = "said.de"{language} }}\n',
    )
    load(choice)
    with pytest.raises(UserError) as caught:
        load(choice, ["data.weights.own=1", 'data.mono.model="a"'])
    assert f"{library}: own.said: has no language; add the code of its text, such as language" in str(caught.value)


EVALUATION = """
[tests]
public = { path = "public.{language}", use = "evaluation" }
"""


@pytest.mark.parametrize(
    "override",
    [
        "data.weights.public=1",
        "data.weights.tests=0.5",
        'data.train=[{source="public.de", target="public.en"}]',
        'data.replay={sources=[{source="public.de", target="public.en"}]}',
        'data.train=[{kind="mono", path="public.en", model="a"}]',
    ],
)
def test_an_evaluation_set_is_no_training_text(choice: Path, override: str) -> None:
    write(choice.parent / "corpora" / "library.toml", LIBRARY + EVALUATION)
    with pytest.raises(UserError, match=r"public is an evaluation set of .*; remove it from data.weights, data.train"):
        load(choice, [override])


def test_an_evaluation_set_is_held_out_and_may_be_a_test_set(choice: Path) -> None:
    write(choice.parent / "corpora" / "library.toml", LIBRARY + EVALUATION)
    data = load(choice, ['data.test.mine={source="public.{source}", target="public.{target}"}']).data
    (held_out,) = data.held_out
    assert isinstance(held_out, TextSource)
    assert (held_out.source, held_out.target) == ("public.de", "public.en")
    assert data.test["mine"] == held_out


def test_another_use_of_a_corpus_is_refused(choice: Path) -> None:
    library = write(choice.parent / "corpora" / "library.toml", LIBRARY + EVALUATION.replace("evaluation", "test"))
    assert message(choice) == f'{library}: tests.public.use = "test": must be "evaluation"'


def test_a_corpus_may_have_a_path_for_each_language(choice: Path) -> None:
    own = '[own]\nformal = { paths = { de = "formal.de", en = "both.en" } }\n'
    write(choice.parent / "corpora" / "library.toml", LIBRARY + own)
    for languages, paths in (
        ([], ("formal.de", "both.en")),
        (['data.source="en"', 'data.target="de"'], ("both.en", "formal.de")),
    ):
        source = load(choice, ["data.weights.own=3", *languages]).data.train[-2]
        assert isinstance(source, TextSource)
        assert (source.source, source.target, source.weight) == (*paths, 3.0)


def test_a_side_that_does_not_exist_is_refused_and_drops_no_text(choice: Path) -> None:
    with pytest.raises(UserError, match='side = "targets"'):
        load(choice, ["data.weights.mono=1", 'data.mono={model="a", side="targets"}'])


def test_the_library_is_found_beside_the_file_that_names_it_and_is_not_in_the_resolved_experiment(
    choice: Path, tmp_path: Path
) -> None:
    child = write(tmp_path / "elsewhere" / "child.toml", 'extends = "../configs.toml"\n[training]\nmax_steps = 2\n')
    config = load(child)
    assert len(config.data.train) == 3
    assert parse(config.model_dump(mode="json"), "again") == config


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("data.weights.new=1", "unknown key 'data.weights.new'; did you mean data.weights.'news'?"),
        ("data.weights.news=-1", "data.weights.news = -1: must be a number from 0 to 1000"),
        ("data.weights.news=1001", "data.weights.news = 1001: must be a number from 0 to 1000"),
        ("data.weights.news=inf", "data.weights.news = Infinity: must be a number from 0 to 1000"),
        ("data.weights.news=nan", "data.weights.news = NaN: must be a number from 0 to 1000"),
        (f"data.weights.news={10**400}", f"data.weights.news = {10**79}: must be a number from 0 to 1000"),
        ('data.weights.news="much"', 'data.weights.news = "much": must be a number from 0 to 1000'),
        ("data.weights.news=true", "data.weights.news = true: must be a number from 0 to 1000"),
        ("data.weights=3", "data.weights = 3: must be a table"),
        ("data.mono=3", "data.mono = 3: must be a table"),
        ("data.mono.source=3", "data.mono.source = 3: must be a table"),
        ("data.train=3", "data.train = 3: must be a list"),
        ('data.library="none.toml"', "none.toml: cannot read the config file"),
        ("data.library=3", "data.library = 3: must be the path of a TOML file"),
    ],
)
def test_a_mistake_in_the_weights_is_named(choice: Path, setting: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load(choice, [setting])
    assert said.replace("data.weights.'news'", "'data.weights.news'") in str(caught.value)


def test_a_choice_without_a_corpus_is_named(choice: Path) -> None:
    with pytest.raises(UserError, match=r"data.weights chooses no corpus of .*library.toml .*weight above 0"):
        load(choice, ["data.train=[]", "data.weights={news=0}"])
    assert load(choice, ["data.train=[]", "data.weights={first=1}"]).data.train


def test_a_weight_that_another_would_replace_is_refused(choice: Path) -> None:
    for table in ("text", "mono", "mono.target"):
        with pytest.raises(UserError, match=rf"data.{table}.weight: data.weights gives .*; remove the key"):
            load(choice, [f"data.{table}.weight=3"])
    library = choice.parent / "corpora" / "library.toml"
    write(library, LIBRARY.replace('path = "first.{language}.xz"', 'path = "first.{language}.xz", weight = 3'))
    assert message(choice).startswith(f"{library}: news.first.weight: data.weights gives")


def test_a_name_that_occurs_twice_in_a_library_is_refused(choice: Path) -> None:
    write(choice.parent / "corpora" / "library.toml", LIBRARY + '\n[more]\nfirst = { path = "other.{language}" }\n')
    assert "more.first: the name occurs twice" in message(choice)


@pytest.mark.parametrize("path", ["3", "[]", "false", '["a", "b"]'])
@pytest.mark.parametrize("kind", ["", 'kind = "tsv", '])
def test_a_path_of_a_library_that_is_no_text_is_refused(choice: Path, kind: str, path: str) -> None:
    library = write(choice.parent / "corpora" / "library.toml", f"[news]\nsecond = {{ {kind}path = {path} }}\n")
    assert message(choice) == f'{library}: news.second.path = {path}: must be text, such as "news.{{language}}.gz"'


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        ('path = "a.{language}", column = 3', "unknown key 'column'"),
        ('path = "a.{language}", weigth = 3', "unknown key 'weigth'; did you mean 'weight'?"),
        ('path = "a.{language}", kind = "jsonl"', "the key 'source' is missing"),
        ('kind = "tsv", path = "a.tsv", split = 3', "split = 3: input should be a valid string"),
        ('kind = "tvs", path = "a.tsv"', 'kind = "tvs": must be one of'),
    ],
)
def test_a_mistake_in_a_corpus_is_found_in_its_library(choice: Path, corpus: str, said: str) -> None:
    library = write(choice.parent / "corpora" / "library.toml", f"[news]\nsecond = {{ {corpus} }}\n")
    assert message(choice).startswith(f"{library}: news.second: {said}")


def test_a_mistake_in_the_keys_that_corpora_share_is_not_blamed_on_the_library_alone(choice: Path) -> None:
    library = choice.parent / "corpora" / "library.toml"
    for override, where in (
        ('data.text={modell="a"}', "news.first with data.text: unknown key 'modell'; did you mean 'model'?"),
        ("data.text={lines=3}", "news.first with data.text: beam_size, lines and synthetic belong to a model"),
        ('data.mono={model="a",top=3}', "mono.english with data.mono: unknown key 'top'"),
    ):
        with pytest.raises(UserError) as caught:
            load(choice, ["data.weights={mono=1, first=1}", override])
        assert where in str(caught.value)
        assert str(caught.value).startswith(f"{library}: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model.d_model = -1", "model.d_model = -1"),
        ("model.n_heads = 7", "model.d_model = 512 is not a multiple of model.n_heads = 7"),
        ('model.preset = "smal"', "smal"),
        ("training.adam_betas = [0.9, 0.9, 0.9]", "training.adam_betas has 3 values; it takes 2"),
        ("training.adam_betas = [0.9]", "'training.adam_betas.1' is missing"),
        ('extends = "a\\u0000b"', "must be the name of a TOML file"),
        (
            'data.train = [{ kind = "mono", path = "a", model = "b", side = "source", noise = 0.5 }]',
            "data.train.0: noise: is for synthetic sources",
        ),
    ],
)
def test_values_that_cannot_be_used_are_found_in_the_file(folder: Path, text: str, said: str) -> None:
    extends = "" if "extends" in text else 'extends = "base.toml"\n'
    wrong = message(write(folder / "wrong.toml", extends + text))
    assert wrong.startswith(f"{folder / 'wrong.toml'}")
    assert said in wrong


@pytest.mark.parametrize("line", ["news = 3", "[news]\nfirst = 3"])
def test_a_library_of_anything_but_tables_is_refused(choice: Path, line: str) -> None:
    write(choice.parent / "corpora" / "library.toml", line)
    assert "library.toml: news: must be a table of corpora" in message(choice)
