"""The doctor's report is complete, measured, and machine-readable."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from translate.commands import doctor as module
from translate.commands.doctor import DoctorOptions, run


def test_the_report_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    run(DoctorOptions(as_json=True))
    report = json.loads(capsys.readouterr().out)
    assert report["versions"]["python"] == platform.python_version()
    assert report["machine"]["threads"] == torch.get_num_threads()
    assert report["precision"]["fp32_gflops"] > 0
    assert report["precision"]["bf16_gflops"] > 0
    assert isinstance(report["precision"]["bf16_pays"], bool)


def test_the_text_names_every_finding(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    findings = {"machine": {"device": "cpu", "tuned": False}, "extras": {"plots": None}}
    monkeypatch.setattr(module, "examine", lambda: findings)
    run(DoctorOptions())
    words = [line.split() for line in capsys.readouterr().out.split("\n")]
    assert words == [["machine"], ["device", "cpu"], ["tuned", "no"], ["extras"], ["plots", "missing"], []]


def test_a_missing_package_is_named_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["torch>=2.6", 'no-such-package>=1; extra == "plots"', 'pytest; extra == "dev"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: needs)
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: Metadata())
    extras = module._extras()
    assert extras["dev"] == "complete"
    assert "no-such-package" in str(extras["plots"])
    assert "pip install '.[plots]'" in str(extras["plots"])
    assert module._required(None) == ["torch"]


def beside(folder: Path, name: str) -> None:
    """Install a distribution with a package `translate`, as far as its metadata go."""
    information = folder / f"{name.replace('-', '_')}-3.6.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.6\n", encoding="utf-8")
    (information / "top_level.txt").write_text("translate\n", encoding="utf-8")


def test_another_distribution_with_a_package_of_this_name_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module._shared() == "of transformer-translate alone"
    for name in ("translate-toolkit", "translate"):
        beside(tmp_path, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    shared = module._shared()
    assert "also of translate 3.6 and translate-toolkit 3.6, " in shared
    assert "an environment of its own" in shared


INITIAL = {
    "translate-toolkit": '"""Tools and API for localization engineering."""',
    "translate": "__all__ = ['Translator', '__version__']\n__version__ = '3.6.1'\nTranslator = None",
    "": None,
}


@pytest.mark.parametrize(
    ("owner", "arguments"), [*zip(INITIAL, [["doctor"], ["--version"], ["Guten Morgen"]], strict=True)]
)
def test_the_program_notices_that_the_package_is_anothers(tmp_path: Path, owner: str, arguments: list[str]) -> None:
    """One file is replaced when the other is installed second, and gone when the other is uninstalled."""
    ours = Path(module.__file__).parents[1]
    (tmp_path / "translate").mkdir()
    for path in ours.iterdir():
        if path.name not in ("__init__.py", "__pycache__"):
            (tmp_path / "translate" / path.name).symlink_to(path)
    if (content := INITIAL[owner]) is not None:
        (tmp_path / "translate" / "__init__.py").write_text(content, encoding="utf-8")
        beside(tmp_path, owner)
    code = "from translate.program import program; program()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}  # into ours
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("translate: ")
    assert (f"replaced by those of {owner} 3.6" if owner else "--force-reinstall") in line


class Metadata:
    def get_all(self, name: str) -> list[str]:
        return ["plots", "dev"]


@pytest.mark.parametrize(
    ("in_use", "better", "words"),
    [
        ("jemalloc", None, "jemalloc"),
        (None, "libjemalloc.so.2", "the C library's; training on a CPU is faster with LD_PRELOAD=libjemalloc.so.2"),
        (None, None, "the C library's; training on a CPU is faster with tcmalloc or jemalloc"),
    ],
)
def test_the_allocator_is_named_with_a_faster_one(monkeypatch, in_use, better, words):
    monkeypatch.setattr("translate.machine.allocator", lambda: in_use)
    monkeypatch.setattr("translate.machine.better_allocator", lambda: better)
    assert module._machine()["allocator"] == words


def test_the_verdict_on_bf16_follows_from_the_shown_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.machine.choose_device", lambda: torch.device("cpu"))
    for half, pays in ((1.4e9, False), (1.6e9, True)):
        rates = {torch.float32: 1e9, torch.bfloat16: half}
        monkeypatch.setattr("translate.machine.product_rate", lambda dtype, _, rates=rates, **more: rates[dtype])
        assert module._precision() == {"fp32_gflops": 1.0, "bf16_gflops": half / 1e9, "bf16_pays": pays}
