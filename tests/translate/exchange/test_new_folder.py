"""A folder is there whole or not at all."""

from pathlib import Path

import pytest

from translate.errors import UserError
from translate.exchange.new_folder import new_folder


def test_the_folder_has_its_name_only_when_all_is_written(tmp_path: Path) -> None:
    to = tmp_path / "new" / "model"
    with new_folder(to) as folder:
        (folder / "a").write_text("b", encoding="utf-8")
        assert not to.exists()
    assert (to / "a").read_text(encoding="utf-8") == "b"
    assert list(to.parent.iterdir()) == [to]


@pytest.mark.parametrize("error", [UserError("no"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_failure(tmp_path: Path, error: BaseException) -> None:
    def fail_half_way() -> None:
        with new_folder(tmp_path / "model") as folder:
            (folder / "a").write_text("b", encoding="utf-8")
            raise error

    with pytest.raises(type(error)):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_refused_and_stays(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists already"), new_folder(tmp_path):
        pass
    assert tmp_path.is_dir()


def test_a_disk_that_refuses_is_a_mistake_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot write the model"), new_folder(tmp_path / "file" / "model"):
        pass
