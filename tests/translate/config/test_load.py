"""`extends`: a config file inherits the values that it does not set from another file."""

from pathlib import Path

import pytest

from translate.config.data import TextSource
from translate.config.load import load
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


def test_overrides_win_over_every_file(folder: Path) -> None:
    training = load(folder / "child.toml", ["training.warmup_steps=5", "training.seed=7"]).training
    assert (training.max_steps, training.warmup_steps, training.seed) == (300, 5, 7)


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
    assert message(lost) == f"{lost} extends {folder}/bsae.toml: cannot read the config file: No such file or directory"


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
