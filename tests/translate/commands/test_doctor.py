"""The doctor's report is complete, measured, and machine-readable."""

import json
import platform

import pytest
import torch

from translate.commands import doctor as module
from translate.commands.doctor import Doctor, run


def test_the_report_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    run(Doctor(as_json=True))
    report = json.loads(capsys.readouterr().out)
    assert report["versions"]["python"] == platform.python_version()
    assert report["machine"]["threads"] == torch.get_num_threads()
    assert report["precision"]["fp32_gflops"] > 0
    assert report["precision"]["bf16_gflops"] > 0
    assert isinstance(report["precision"]["bf16_pays"], bool)


def test_the_text_names_every_finding(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    findings = {"machine": {"device": "cpu", "tuned": False}, "extras": {"plots": None}}
    monkeypatch.setattr(module, "examine", lambda: findings)
    run(Doctor())
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
