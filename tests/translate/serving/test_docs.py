"""The examples of docs/serve.md, run with the shipped models."""

import re
import subprocess
from pathlib import Path

import numpy as np

import translate
from tests.programs import program
from tests.test_readme import blocks, page
from tests.translate.serving.live import live
from translate.serving.settings import ServeOptions
from translate.text.translation import Opening


def test_the_examples_answer_what_the_page_shows(tmp_path: Path) -> None:
    models = Path(translate.__file__).parent / "models"
    session = program("outputs").session
    shown_blocks = [block.removesuffix("\n") for block in blocks(page("serve.md"), "console")]
    examples = [step for block in shown_blocks for step in session(block) if step[0].startswith("curl ")]
    assert len(examples) >= 3
    with live(ServeOptions(model=[models / "de-en", models / "en-de"], opening=Opening(threads=1)), tmp_path) as server:
        for command, shown in examples:
            here = command.replace("http://127.0.0.1:5000", server.url)
            done = subprocess.run(f"{here} --silent", shell=True, check=True, capture_output=True, text=True)
            assert done.stdout == shown


def test_the_examples_of_the_api_are_answers_of_the_shipped_models(tmp_path: Path) -> None:
    models = Path(translate.__file__).parent / "models"
    with live(ServeOptions(model=[models / "de-en", models / "en-de"], suggestions=tmp_path / "s"), tmp_path) as server:
        description = server.http.get("/openapi.json").json()
        schemas = description["components"]["schemas"]
        n_same = 0
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                answer = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema", {})
                example = schemas.get(answer.get("$ref", "").rpartition("/")[2], {}).get("example")
                if example is None or path == "/translate_file":
                    continue
                needed = {n: body["properties"][n]["examples"][0] for n in body["required"]} if body else None
                found = server.http.request(method, path, json=needed).json()
                if path == "/alignment":  # int8 rounds otherwise on another processor
                    assert np.abs(np.array(found.pop("weights")) - np.array(example.pop("weights"))).max() < 0.05
                if path == "/languages":
                    found = found[:1]
                if path == "/frontend/settings":  # this server collects suggestions
                    found["suggestions"] = False
                assert found == example, path
                n_same += 1
    assert n_same == 7


def test_the_table_of_statuses_has_those_of_the_description_and_of_any_address(tmp_path: Path) -> None:
    listed = re.findall(r"^\| (\d{3}) \|", page("serve.md"), re.MULTILINE)
    models = Path(translate.__file__).parent / "models"
    with live(ServeOptions(model=[models / "de-en"]), tmp_path) as server:
        paths = server.http.get("/openapi.json").json()["paths"]
        described = {
            code for operations in paths.values() for each in operations.values() for code in each["responses"]
        }
        elsewhere = {server.http.get("/nowhere"), server.http.put("/translate"), server.http.post("/page/common.css")}
        assert {answer.status_code for answer in elsewhere} == {404, 405}
        assert all(answer.json().keys() == {"error"} for answer in elsewhere)
    assert {*listed} == described - {"200"} | {"404", "405", "500"}
