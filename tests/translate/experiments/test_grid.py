"""Grid files: the runs they describe, and a one-sentence error for every mistake."""

import tomllib
from pathlib import Path

import pytest

from tests.translate.experiments.conftest import GRID, Write
from translate.config.load import load
from translate.errors import UserError
from translate.experiments.grid import Axis, _axes, load_grid, row_name, slug

TWO_SETTINGS = """
config = "toy.toml"
baseline = { depth = "small" }

[settings]
training.max_steps = 3

[axes.depth]
small = {}
large = { model = { n_encoder_layers = 2, n_decoder_layers = 3 } }
"""


def test_a_grid_is_every_combination_with_every_seed(write: Write) -> None:
    grid = load_grid(write(GRID), [])
    assert grid.rows == [("post", "1"), ("post", "3"), ("pre", "1"), ("pre", "3")]
    found = [(c.config.model.norm, c.config.decoding.beam_size, c.config.training.seed, c.seed) for c in grid.cells]
    assert found == [(norm, beam, seed, seed) for norm in ("post", "pre") for beam in (1, 3) for seed in (1, 2)]
    assert grid.baseline == ("post", "1")
    assert grid.score_on == ("valid", "toy")


def test_an_axis_may_set_several_keys_and_settings_hold_for_all_rows(write: Write) -> None:
    grid = load_grid(write(TWO_SETTINGS), ["training.warmup_steps=2"])
    layers = {
        c.row: (c.config.model.n_encoder_layers, c.config.model.n_decoder_layers, c.config.training.max_steps)
        for c in grid.cells
    }
    assert layers == {("small",): (1, 1, 3), ("large",): (2, 3, 3)}
    assert {c.config.training.warmup_steps for c in grid.cells} == {2}


def test_a_grid_and_an_experiment_are_not_taken_for_each_other(write: Write) -> None:
    path = write(GRID)
    with pytest.raises(UserError, match=r"norm\.toml: is a grid of experiments; run it with translate experiment"):
        load(path)
    with pytest.raises(UserError, match=r"toy\.toml: is one experiment; train it with translate train"):
        load_grid(path.parent / "toy.toml", [])


def test_a_setting_of_the_command_line_does_not_change_an_axis(write: Write) -> None:
    with pytest.raises(UserError, match=r"--set model.norm=pre has no effect, as the axis norm sets it in every row"):
        load_grid(write(GRID), ["model.norm=pre"])
    grid = load_grid(write(TWO_SETTINGS), ["model.n_encoder_layers=3"])
    assert [c.config.model.n_encoder_layers for c in grid.cells] == [3, 2]


def test_axes_that_act_after_training_are_known(write: Write) -> None:
    norm, beam = load_grid(write(GRID), []).axes
    average = GRID.replace("decoding.beam_size", "training.average_last").replace("beam_size = 1", "average_last = 1")
    assert (norm.retrains, beam.retrains) == (True, False)
    assert not load_grid(write(average), []).axes[1].retrains


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("model.norm = [", "model.nrom = [", "unknown key 'model.nrom'; did you mean 'model.norm'?"),
        ("seeds =", "seed =", "unknown key 'seed'; did you mean 'seeds'?"),
        ('"pre"]', '"pre"]\n"model.norm" = ["post"]', "two axes for model.norm (norm, norm); keep one of them"),
        ('"pre"]', '"pre"]\nx.a = { model.norm = "pre" }', "two axes for model.norm (norm, x); keep one of them"),
        ('"pre"]', '"pre"]\nx.a = { data.weights = { a = 1 } }\ny.a = { "data.weights.a" = 2 }',
         "two axes for data.weights.a (x, y); keep one of them"),
        ('"pre"]', '"pre"]\ntraining.seed = [1]', "axes set training.seed; name the seeds in `seeds` instead"),
        ("[axes]", "[settings]\ntraining.seed = 7\n[axes]", "training.seed = 7 has no effect; name the seeds in"),
        ('[axes]\nmodel.norm', '[settings]\ntraining.final = "best"\n[axes]\ntraining.average_last = [1]\nmodel.norm',
         'row 1, post, 1: training.average_last has no effect with training.final = "best"'),
        ('baseline = { norm = "post", beam_size = 1 }', "", "has no baseline; name the row to compare with"),
        (', beam_size = 1 }', " }", "baseline names no value of beam_size"),
        ("beam_size = 1 }", "beam_size = 2 }", "baseline.beam_size = 2: no value of that axis; it has 1, 3"),
        ("beam_size = 1 }", "beam = 1 }", "baseline.beam: there is no such axis; the axes are norm, beam_size"),
        ('["post", "pre"]', '["post", "post"]', "axes.model.norm needs one or more values, each once"),
        ('["post", "pre"]', "[]", "axes.model.norm needs one or more values, each once"),
        ('["post", "pre"]', '"post"', "axes.model.norm = post: write a list of values, or a table of settings"),
        ("[1, 2]", "[1, 1]", "seeds has 1 twice; name each seed once"),
        ("[1, 2]", "[]", "seeds has 0 values; it needs 1 or more"),
        ('"pre"]', '"both"]', "row both, 1: model.norm = \"both\": input should be 'post' or 'pre'"),
        ("[axes]", 'score_on = ["wmt"]\n[axes]', "score_on has 'wmt', which is no set of the experiment: valid, toy"),
        ('config = "toy.toml"', "", "the key 'config' is missing"),
        ('"toy.toml"', '"my.toml"', "cannot read the config file: No such file or directory"),
    ],
)  # fmt: skip
def test_a_mistake_gives_a_one_sentence_error(write: Write, old: str, new: str, message: str) -> None:
    assert old in GRID
    with pytest.raises(UserError) as error:
        load_grid(write(GRID.replace(old, new, 1)), [])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_setting_in_a_table_that_an_axis_replaces_is_refused(write: Write) -> None:
    axis = 'text."a" = { data.weights = { prose = 1 } }\n'
    grid = write('config = "toy.toml"\nbaseline = { text = "a" }\n[axes]\n' + axis)
    with pytest.raises(UserError, match=r"--set data.weights.talks=0.5 has no effect, as the axis text sets it"):
        load_grid(grid, ["data.weights.talks=0.5"])


def test_an_axis_may_be_a_list_in_a_table_of_a_section(write: Write) -> None:
    for name, setting in (("data.replay.share", "share"), ("data.weights.prose", "prose")):
        path = write(f'config = "toy.toml"\nbaseline = {{ {setting} = 0.3 }}\n[axes]\n{name} = [0.3, 0.5]\n')
        with path.open("rb") as file:
            (axis,) = _axes(tomllib.load(file)["axes"], str(path))
        assert axis == Axis(setting, {"0.3": {name: 0.3}, "0.5": {name: 0.5}})


def test_no_axes_is_a_mistake(write: Write) -> None:
    with pytest.raises(UserError, match=r"has no axes; name the settings that vary under \[axes\]"):
        load_grid(write(GRID.partition("[axes]")[0] + "[axes]\n"), [])


def test_an_impossible_model_is_refused_before_anything_runs(write: Write) -> None:
    with pytest.raises(UserError, match=r"row .*not a multiple"):
        load_grid(
            write(GRID.replace("model.norm = [", "model.n_heads = [3] #").replace('norm = "post"', "n_heads = 3")), []
        )


def test_published_scores_belong_to_rows(write: Write) -> None:
    published = '[published]\nsource = "a paper"\nbleu = { "post, 1" = 3.0, mid = 4.0 }\n'
    with pytest.raises(UserError, match="published scores for 'mid', which is no row"):
        load_grid(write(GRID + published), [])


@pytest.mark.parametrize(
    ("row", "name"), [(("6 + 6",), "6-6-seed3"), (("a/b", "0.5"), "a-b-0.5-seed3"), ((), "seed3"), (("..",), "seed3")]
)
def test_names_of_files_have_plain_characters(row: tuple[str, ...], name: str) -> None:
    assert slug(row, 3) == name
    assert Path(slug(row, 3)).name == slug(row, 3)


def test_a_long_row_has_a_name_that_files_can_have(write: Write, tmp_path: Path) -> None:
    label = "encoder layers " * 40
    grid = load_grid(write(f'config = "toy.toml"\nbaseline = {{ x = "{label}" }}\n[axes]\nx."{label}" = {{}}\n'), [])
    (name,) = {slug(cell.row, cell.seed) for cell in grid.cells}
    assert name.endswith("-seed1")
    (tmp_path / f".{name}-0123456789.json.12345.partial").touch()


def test_a_row_is_called_by_its_labels() -> None:
    assert row_name(("post", "3")) == "post, 3"
