"""The examples of docs/serve.md, run with the shipped models."""

import subprocess
from pathlib import Path

import translate
from tests.programs import program
from tests.test_readme import blocks, page
from tests.translate.serving.live import live
from translate.serving.settings import Serve


def test_the_examples_answer_what_the_page_shows(tmp_path: Path) -> None:
    models = Path(translate.__file__).parent / "models"
    session = program("outputs").session
    shown_blocks = [block.removesuffix("\n") for block in blocks(page("serve.md"), "console")]
    examples = [step for block in shown_blocks for step in session(block) if step[0].startswith("curl ")]
    assert len(examples) >= 3
    with live(Serve(model=[models / "de-en", models / "en-de"], threads=1), tmp_path) as server:
        for command, shown in examples:
            here = command.replace("http://127.0.0.1:5000", server.url)
            done = subprocess.run(f"{here} --silent", shell=True, check=True, capture_output=True, text=True)
            assert done.stdout == shown
