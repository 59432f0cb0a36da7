"""Ctrl-C ends a translation at once, though searches go on in other threads; what is finished has been written."""

import runpy
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from tests import forks
from translate.models.folder import ModelFolder

SLOW = "niemals"  # a batch with this word takes a minute, in which a thread cannot be stopped
PROGRAM = f"""
import signal, sys, time
from translate.inference.ctranslate2_engine import CTranslate2Engine
from translate.inference.torch_engine import TorchEngine
from translate.commands.main import program

def slowed(search):
    def slow(self, requests, config):
        if any("{SLOW}" in self.tokenizer.decode(request.ids) for request in requests):
            print("begins", file=sys.stderr, flush=True)
            time.sleep(60)
        return search(self, requests, config)
    return slow

for engine in (TorchEngine, CTranslate2Engine):
    engine.search_batch = slowed(engine.search_batch)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for jobs in the background
program()
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arguments", ["decode", "text --engine torch", "text --engine ctranslate2"])
def test_an_interrupted_translation_ends_at_once(
    arguments: str, sent: signal.Signals, parts: ModelFolder, tmp_path: Path
) -> None:
    if "ctranslate2" in arguments:
        pytest.importorskip("ctranslate2")
    text = "".join(f"der Hund {n}.\n" for n in range(600)) + f"{SLOW} {SLOW}.\n" * 40
    (tmp_path / "x.de").write_text(text, encoding="utf-8")
    given = [*arguments.split(), "--model", str(parts.folder), "--threads", "2", "--input", "x.de"]
    with (
        (tmp_path / "x.en").open("w", encoding="utf-8") as out,
        (tmp_path / "said").open("w+", encoding="utf-8") as err,
        forks.Popen(["-c", PROGRAM, *given], tmp_path, stdout=out, stderr=err) as process,
    ):
        while b"begins\n" not in (tmp_path / "said").read_bytes():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sent)
        begin = time.perf_counter()
        code = process.wait(30)
        seconds = time.perf_counter() - begin
    said = (tmp_path / "said").read_text(encoding="utf-8")
    assert code == (130 if sent == signal.SIGINT else -sent)
    assert seconds < 20  # of the minute that the thread still has
    assert "Traceback" not in said
    if sent == signal.SIGINT:
        assert (tmp_path / "x.en").read_text(encoding="utf-8").count("\n") >= 64


class Interrupted(ModuleType):
    """A module during whose import Ctrl-C is pressed."""

    def __getattr__(self, name: str) -> object:
        if name == "program":
            raise KeyboardInterrupt
        raise AttributeError(name)


def test_the_import_of_the_program_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "translate.commands.main", Interrupted("main"))
    with pytest.raises(SystemExit) as end:
        runpy.run_module("translate", run_name="__main__")
    assert end.value.code == 130
