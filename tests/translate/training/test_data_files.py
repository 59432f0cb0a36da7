"""A corpus that changed between two starts is detected, even if its size stays the same."""

import os

import pytest

from translate.errors import UserError


def flip(path):
    """Change the last byte but keep the size and the time."""
    status, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_that_changed_between_starts_is_named(toy):
    toy.trainer("run", max_steps=8).train()
    flip(toy.folder / "prepared/train.tgt.ids.npy")
    with pytest.raises(UserError, match=r"train.tgt.ids.npy: changed since .*run began"):
        toy.trainer("run", resume=True)
    flip(toy.folder / "prepared/train.tgt.ids.npy")
    toy.trainer("run", resume=True).train()


def test_a_changed_input_is_named_at_resume(toy):
    toy.trainer("run").train()
    for name, line in (("train.de", "rot rot rot rot\n"), ("train.en", "red red red red\n")):
        with (toy.folder / name).open("a", encoding="utf-8") as file:
            file.write(line)
    with pytest.raises(UserError, match=r"train.de, train.en: not what .*run was trained on"):
        toy.trainer("run", resume=True)
