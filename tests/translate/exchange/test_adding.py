"""Models are added, updated and removed from a hub on the loopback address, packages and folders."""

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from safetensors import SafetensorError

from tests import forks
from tests.translate.conftest import SENTENCES
from tests.translate.exchange import hub as hubs
from tests.translate.exchange import packages
from tests.translate.exchange.hub import Hub
from tests.translate.exchange.marian_files import marian_files
from translate.commands.main import main
from translate.exchange import adding, ctranslate2_folder, download
from translate.files import locked
from translate.models.folder import ModelFolder, TranslationSpec
from translate.models.origin import Origin

constants = pytest.importorskip("huggingface_hub.constants")

NAME = "owner/tiny-de-en"
NEEDED = {
    "config.json",
    "vocab.json",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "README.md",
    "model.safetensors",
}


def hurried(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Let one module not wait; without `time.sleep` itself, a wait for a process would keep a core busy."""
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None}))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that the client of this process asks, and empty folders for models and downloads."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRANSLATE_MODEL", raising=False)
    # The comparison and the measurement, which take longer than what is tested here, have their own tests.
    monkeypatch.setattr("translate.exchange.marian.find_spec", lambda name: None)
    monkeypatch.setattr("transformer.search.alignment.sharpest_layer", lambda model: 0)
    with hubs.running() as hub:
        for name, value in (
            ("ENDPOINT", hub.url),
            ("HF_HUB_CACHE", str(tmp_path / "cache")),
            ("HF_HUB_OFFLINE", False),
        ):
            monkeypatch.setattr(constants, name, value)
        template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        hurried(monkeypatch, "huggingface_hub.file_download")
        yield hub


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a command that fails with exit code 2."""
    assert main(["models", *arguments]) == 2
    error = told(capsys)
    assert error.count("\n") == 1, error
    return error


def test_a_repository_is_downloaded_converted_and_listed(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (commit,) = hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    assert f"added tiny-de-en (0.6 MB, cc-by-4.0, {commit[:12]})" in told(capsys)
    assert {*hub.fetched()} == NEEDED
    assert main(["--model", "tiny-de-en", "--beam", "1", "der Hund schläft."]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert main(["models", "--json"]) == 0
    (listed,) = (model for model in json.loads(capsys.readouterr().out) if model["name"] == "tiny-de-en")
    assert (listed["source"], listed["target"], listed["license"]) == ("de", "en", "cc-by-4.0")
    assert (listed["origin"]["source"], listed["origin"]["revision"]) == (NAME, commit)
    assert main(["models", "tiny-de-en"]) == 0
    card = capsys.readouterr().out
    for part in (NAME, commit, "cc-by-4.0", "0.6 MB", listed["origin"]["sha256"], "It knows nothing."):
        assert part in card
    assert "license:" not in card


def test_the_model_is_that_of_an_import_of_the_same_files(hub: Hub, models: Path, tmp_path: Path) -> None:
    files = marian_files()
    hub.add(NAME, files)
    adding.add(adding.Wanted(source=NAME), print)
    for name, content in files.items():
        (tmp_path / "theirs").mkdir(exist_ok=True)
        (tmp_path / "theirs" / name).write_bytes(content)
    assert main(["import", "theirs", "--out", "ours"]) == 0
    for path in (tmp_path / "ours").iterdir():
        assert (models / "tiny-de-en" / path.name).read_bytes() == path.read_bytes()
    before = Origin.load(models / "tiny-de-en")
    assert main(["models", "add", "theirs", "--name", "local"]) == 0
    assert (models / "local" / "model.safetensors").read_bytes() == (tmp_path / "ours/model.safetensors").read_bytes()
    local = Origin.load(models / "local")
    assert before is not None
    assert local is not None
    assert (local.kind, local.source, local.license) == ("path", str(tmp_path / "theirs"), before.license)
    assert main(["models", "add", str(models / "local"), "--name", "copy"]) == 0
    copy = Origin.load(models / "copy")
    assert copy is not None
    assert (copy.source, copy.license) == (str(models / "local"), before.license)


def test_an_address_of_a_page_of_the_hub_is_its_repository(hub: Hub, models: Path) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", f"{hub.url}/{NAME}/", "--name", "a"]) == 0
    assert (models / "a" / "translation.json").is_file()


def test_an_old_revision_is_added_and_stays_and_the_newest_is_updated(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = hub.add(NAME, marian_files(7), marian_files(8))
    assert main(["models", "add", NAME, "--revision", old, "--name", "old"]) == 0
    assert main(["models", "add", NAME, "--name", "new"]) == 0
    weights = [(models / name / "model.safetensors").read_bytes() for name in ("old", "new")]
    assert weights[0] != weights[1]
    Path(NAME).mkdir(parents=True)  # a folder of this name is not the source
    newer = "f" * 40
    hub.repositories[NAME].commits[newer] = marian_files(9)
    told(capsys)
    asked = len(hub.requests)
    assert main(["models", "update"]) == 0
    said = told(capsys)
    assert f"new (0.6 MB, cc-by-4.0, {newer[:12]})" in said
    assert f"old: was added at the commit {old[:12]}, and stays there" in said
    assert len(hub.requests) > asked
    after = [(models / name / "model.safetensors").read_bytes() for name in ("old", "new")]
    assert after[0] == weights[0]
    assert after[1] != weights[1]
    assert main(["models", "update", "new"]) == 0
    assert f"new: is up to date ({newer[:12]})" in told(capsys)


def test_an_update_that_fails_leaves_the_model(hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    before = {path.name: path.read_bytes() for path in (models / "tiny-de-en").iterdir()}
    hub.repositories[NAME].commits["f" * 40] = marian_files(8) | {"model.safetensors": b"no weights"}
    told(capsys)
    error = refused(capsys, "update", "tiny-de-en")
    assert f"{NAME}/model.safetensors: is damaged" in error
    assert error.count("tiny-de-en") == NAME.count("tiny-de-en")  # nothing is said twice
    assert {path.name: path.read_bytes() for path in (models / "tiny-de-en").iterdir()} == before
    assert [path.name for path in models.iterdir()] == ["tiny-de-en"]


def test_an_update_of_all_models_goes_on_after_one_that_fails(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    for name in ("first", "second"):
        assert main(["models", "add", NAME, "--name", name]) == 0
    (models / "first" / "source.json").write_text("{")
    hub.repositories[NAME].commits["f" * 40] = marian_files(8)
    told(capsys)
    assert main(["models", "update"]) == 2
    assert "first: not updated" in told(capsys)
    origin = Origin.load(models / "second")
    assert origin is not None
    assert origin.revision == "f" * 40


def test_what_is_wrong_with_several_models_is_said_once(
    hub: Hub, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    for name in ("first", "second"):
        assert main(["models", "add", NAME, "--name", name]) == 0
    monkeypatch.setenv("HF_ENDPOINT", "nowhere")
    told(capsys)
    assert main(["models", "update"]) == 2
    found = told(capsys)
    assert "first, second: not updated: HF_ENDPOINT=nowhere: is no address" in found
    assert found.count("HF_ENDPOINT") == 1


def test_only_added_models_are_removed(hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    shutil.copytree(models / "tiny-de-en", models / "own")
    (models / "own" / "source.json").unlink()
    assert main(["models", "remove", "tiny-de-en"]) == 0
    assert [path.name for path in models.iterdir()] == ["own"]
    told(capsys)
    assert "was not added" in refused(capsys, "remove", "own")
    for name in ("tiny-de-en", "de-en", "../models/own", "."):
        assert "no added model has this name" in refused(capsys, "remove", name)
    assert "names nothing" in refused(capsys, "remove", "")
    assert (models / "own").is_dir()


def test_of_a_model_that_is_a_link_the_link_is_removed(
    hub: Hub, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    elsewhere = tmp_path / "disk/tiny"
    elsewhere.parent.mkdir()
    (models / "tiny-de-en").rename(elsewhere)
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir()}
    (models / "tiny-de-en").symlink_to(elsewhere)
    (models / ".old.removed-0123456789abcdef").symlink_to(elsewhere)  # of a killed command
    told(capsys)
    assert main(["models", "remove", "tiny-de-en"]) == 0
    assert f"removed tiny-de-en, a link; {elsewhere} stays" in told(capsys)
    assert not any(models.iterdir())
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == before


@pytest.mark.parametrize("action", ["add", "update", "remove"])
def test_a_model_on_a_disk_that_is_not_mounted_is_named(
    action: str, hub: Hub, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    models.mkdir(parents=True, exist_ok=True)
    (models / "tiny-de-en").symlink_to(tmp_path / "disk/tiny")
    told(capsys)
    assert f"link to {tmp_path / 'disk/tiny'}, which is not there; mount its disk, or delete the link" in refused(
        capsys, action, NAME if action == "add" else "tiny-de-en"
    )
    assert not (tmp_path / "disk").exists()


@pytest.mark.parametrize("other", ["remove", "update"])
def test_a_model_that_is_being_updated_is_not_removed(
    other: str, hub: Hub, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    hub.repositories[NAME].commits["f" * 40] = marian_files(8)
    hub.stalls["model.safetensors"] = 100_000
    told(capsys)
    update = ["-m", "translate", "models", "update", "tiny-de-en"]
    settings = environment(hub, tmp_path) | {"PYTHONPATH": str(Path(__file__).parents[3])}
    with forks.Popen(update, env=settings) as process:
        assert hub.stalled.wait(60)
        assert "another command updates or removes it; wait until it is done" in refused(capsys, other, "tiny-de-en")
        hub.go_on.set()
        assert process.wait(120) == 0
    assert main(["models", "remove", "tiny-de-en"]) == 0
    assert not any(models.iterdir())


def test_without_locks_an_update_does_not_bring_a_removed_model_back(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    hub.repositories[NAME].commits["f" * 40] = marian_files(8)
    told(capsys)
    opened = adding.open_engine

    def removed(*arguments: Any) -> Any:
        if arguments[0] != models / "tiny-de-en":  # the new one
            shutil.rmtree(models / "tiny-de-en")
        return opened(*arguments)

    monkeypatch.setattr(adding, "open_engine", removed)
    assert "tiny-de-en: was removed meanwhile, and stays so" in refused(capsys, "update", "tiny-de-en")
    assert not any(models.iterdir())


def test_what_a_killed_download_left_in_the_cache_is_removed_unless_it_is_still_locked(
    hub: Hub, models: Path, tmp_path: Path
) -> None:
    filelock = pytest.importorskip("filelock")
    hub.add(NAME, marian_files())
    folder = "models--owner--tiny-de-en"
    digests = ["a" * 40, "b" * 40, "c" * 40]
    parts = [tmp_path / "cache" / folder / "blobs" / f"{digest}.0123abcd.incomplete" for digest in digests]
    parts[0].parent.mkdir(parents=True)
    parts[2] = parts[2].with_name(f"{digests[2]}.incomplete")  # as older clients name it
    other = tmp_path / "cache/models--owner--other/blobs/x.incomplete"
    other.parent.mkdir(parents=True)
    for path in (*parts, other):
        path.write_bytes(b"1")
    lock = tmp_path / "cache/.locks" / folder / f"{digests[1]}.lock"
    lock.parent.mkdir(parents=True)
    with filelock.FileLock(lock):
        assert main(["models", "add", NAME]) == 0
    assert [path.exists() for path in (*parts, other)] == [False, True, False, True]
    assert main(["models", "add", NAME, "--name", "again"]) == 0
    assert [path.exists() for path in (*parts, other)] == [False, False, False, True]


def test_a_broken_connection_goes_on_and_the_bytes_are_equal(hub: Hub, models: Path) -> None:
    files = marian_files()
    hub.add(NAME, files)
    hub.breaks["model.safetensors"] = [1000, 70_000]
    found = download.snapshot(NAME, None, lambda names: sorted(NEEDED))
    assert {name: (found.folder / name).read_bytes() for name in NEEDED} == {name: files[name] for name in NEEDED}
    assert hub.fetched().count("model.safetensors") == 3


def test_a_wrong_digest_is_refused_and_the_file_is_asked_for_again(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    for name in ("model.safetensors", "vocab.json", "config.json"):
        hub.repositories[NAME].says[name] = "0" * 64 if name == "model.safetensors" else "0" * 40
        assert f"{name} is not the file that the hub describes" in refused(capsys, "add", NAME)
        assert not models.exists() or not any(models.iterdir())
        del hub.repositories[NAME].says[name]
    assert main(["models", "add", NAME]) == 0


def test_a_gated_repository_needs_the_token_of_someone_who_has_consented(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(NAME, marian_files(), token="hf_secret")
    error = refused(capsys, "add", NAME)
    assert f"its authors ask for consent first; give it at {hub.url}/{NAME}, and set HF_TOKEN" in error
    assert not models.exists() or not any(models.iterdir())
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert main(["models", "add", NAME]) == 0
    assert "hf_secret" not in "".join(
        path.read_text("utf-8", "replace") for path in models.rglob("*") if path.is_file()
    )


def test_without_a_network_the_cache_is_used_if_the_user_says_so(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    told(capsys)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    n = len(hub.requests)
    assert main(["models", "add", NAME, "--name", "again"]) == 0
    assert (models / "again/model.safetensors").read_bytes() == (models / "tiny-de-en/model.safetensors").read_bytes()
    told(capsys)
    assert "is not in the cache" in refused(capsys, "add", "owner/other")
    assert main(["models", "update", "tiny-de-en"]) == 0
    said = told(capsys)
    assert "HF_HUB_OFFLINE is set, so the cache is used, and no newer revision is looked for" in said
    assert "is up to date" in said
    assert len(hub.requests) == n


def test_an_update_without_a_network_takes_what_the_cache_has(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.add(NAME, marian_files())
    for name in ("old", "new"):
        assert main(["models", "add", NAME, "--name", name]) == 0
    newer = "f" * 40
    hub.repositories[NAME].commits[newer] = marian_files(8)
    assert main(["models", "update", "new"]) == 0
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    n = len(hub.requests)
    assert main(["models", "update"]) == 0
    assert (models / "old/model.safetensors").read_bytes() == (models / "new/model.safetensors").read_bytes()
    assert len(hub.requests) == n
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
    told(capsys)
    assert main(["models", "update", "old"]) == 2
    assert "is not in the cache" in told(capsys)


def test_what_cannot_be_had_is_one_sentence(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(NAME, marian_files())
    hub.add("owner/t5", {"config.json": b"{}", "model.safetensors": b"", "spiece.model": b""})
    hub.add("owner/bart", marian_files() | {"config.json": b'{"model_type": "bart"}'})
    hub.add("owner/empty", {})
    hub.add("owner/torn", marian_files() | {"model.safetensors": marian_files()["model.safetensors"][:-1000]})
    hub.add("owner/text", marian_files() | {"source.spm": b"no model"})
    hub.add("owner/other-text", marian_files() | {"target.spm": b"no model"})
    for source, sentence in (
        ("owner/gone", "has no model of this name that you may read"),
        ("owner/t5", "neither a Marian model nor one of this project, as it has no vocab.json and no source.spm"),
        ("owner/bart", "owner/bart: is not a Hugging Face Marian folder: model_type = 'bart'"),
        ("owner/empty", "as it has no config.json"),
        ("owner/torn", "owner/torn/model.safetensors: is damaged or truncated"),
        ("owner/text", "owner/text/source.spm: is not a SentencePiece model, or is damaged; copy it again"),
        ("owner/other-text", "owner/other-text/target.spm: is not a SentencePiece model, or is damaged; copy it again"),
        ("gone.argosmodel", "is no file, no folder, no address and no repository"),
        ("./gone/away", "is no file, no folder, no address and no repository"),
        (f"{hub.url}/gone.argosmodel", "status 404"),
        ("http://[", "is not an address"),
        ("https://", "names no server"),
        ("https:///de_en.argosmodel", "names no server"),
        (f"{hub.url.replace('//', '//user:secret@')}/x.zip", "holds a user or password"),
        (f"{hub.url}/x.zip#readme", "ends in no digest"),
        (f"{hub.url}/x.zip#sha256=12", "ends in no digest"),
    ):
        assert sentence in refused(capsys, "add", source)
    assert "has no revision gone" in refused(capsys, "add", NAME, "--revision", "gone")
    assert "has no revision" in refused(capsys, "add", NAME, "--revision", "../..")
    for name in ("a/b", "..", ".hidden", "", "add", "a b", "a" * 101):
        assert "choose another one" in refused(capsys, "add", NAME, "--name", name)
    hub.add("owner/update", marian_files())
    error = refused(capsys, "add", "owner/update")
    assert "'update' cannot be the name of the model: it is a word of translate models" in error
    assert "with --name" in error
    assert f"{NAME}: is for en, not fi" in refused(capsys, "add", NAME, "--to", "fi")
    for option in ("--from", "--to"):
        for code in ("", "../..", "d e"):
            assert f"{option}: {code!r} is no language code" in refused(capsys, "add", NAME, option, code)
    for source in (NAME, str(Path.cwd()), f"{hub.url}/x.zip"):
        assert "--revision '': name a commit" in refused(capsys, "add", source, "--revision", "")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    error = refused(capsys, "add", "owner/other")
    assert "http://127.0.0.1:9 cannot be reached" in error
    assert "set HF_HUB_OFFLINE=1" in error
    for place in (models, models.parent / "downloads"):
        assert not place.exists() or not any(place.iterdir())


def test_a_name_that_is_taken_gets_advice_that_works(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], parts: ModelFolder
) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    shutil.copytree(parts.folder, models / "own")
    (models / "torn").mkdir()
    told(capsys)
    advice = "translate models update "
    assert f"{advice}tiny-de-en" in refused(capsys, "add", NAME)
    assert main(["models", "update", "tiny-de-en"]) == 0
    told(capsys)
    n = len(hub.requests)
    for name in ("de-en", "own", "torn"):
        error = refused(capsys, "add", NAME, "--name", name)
        assert f"{name} has this name; choose another one with --name" in error
        assert advice not in error
    assert len(hub.requests) == n  # before a download


def test_an_added_folder_is_what_its_name_means_where_it_lies(
    models: Path, parts: ModelFolder, capsys: pytest.CaptureFixture[str], hub: Hub
) -> None:
    for place in ("tiny", "runs/tiny/model"):
        shutil.copytree(parts.folder, place)
    assert main(["models", "add", "./tiny"]) == 0
    for place in ("tiny", "runs/tiny/model"):
        Path(place, "model.safetensors").write_bytes(b"another one")
    told(capsys)
    assert main(["--model", "tiny", "der Hund schläft."]) == 0
    assert told(capsys).count(f"using {models / 'tiny'}, not runs/tiny or ./tiny; ") == 1
    assert main(["models", "update", "tiny"]) == 2
    assert "tiny/model.safetensors: the file is damaged or truncated" in told(capsys)


def test_an_update_whose_source_is_gone_keeps_the_model(
    hub: Hub, models: Path, parts: ModelFolder, package: tuple[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    shutil.copytree(parts.folder, "mine")
    sources = {"a": NAME, "b": str(Path("mine").absolute()), "c": package[0]}
    for name, source in sources.items():
        assert main(["models", "add", source, "--name", name]) == 0
    shutil.rmtree("mine")
    hub.repositories.clear()
    told(capsys)
    for name, source in sources.items():
        error = refused(capsys, "update", name)
        assert f"{source}: is gone, or you may not read it any more, and {name} stays as it is" in error
        assert main(["models", name]) == 0


def test_an_update_for_other_languages_names_no_option_that_it_lacks(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    assert main(["models", "add", NAME]) == 0
    hub.add("owner/de-north", marian_files(codes=("dan", "nob"), languages=("de", "gmq")))
    assert main(["models", "add", "owner/de-north", "--to", "nb"]) == 0
    hub.repositories[NAME].commits["f" * 40] = marian_files(languages=("fr", "en"))
    hub.repositories["owner/de-north"].commits["f" * 40] = marian_files(codes=("dan",), languages=("de", "gmq"))
    told(capsys)
    for name in ("tiny-de-en", "de-north"):
        error = refused(capsys, "update", name)
        assert "its newest revision is for other languages" in error
        assert "--" not in error


def test_what_a_folder_lacks_is_said_before_its_files_are_read(
    hub: Hub, models: Path, parts: ModelFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(path: Path) -> str:
        pytest.fail(f"{path} was read")

    monkeypatch.setattr("translate.exchange.adding.sha256", unread)
    ctranslate2_folder.export(parts, Path("exported"), SENTENCES[:5])
    for name in ("tokenizer.model", "translation.json"):
        for folder in (parts.folder, Path("exported")):
            shutil.rmtree("torn", ignore_errors=True)
            shutil.copytree(folder, "torn")
            Path("torn", name).unlink()
            error = refused(capsys, "add", "torn")
            assert str(Path("torn").absolute()) in error
            assert f"has no {name}" in error
    Path("photos").mkdir()
    Path("photos", "a.jpg").write_bytes(b"")
    assert "has neither config.json" in refused(capsys, "add", "photos")
    Path("photos", "config.json").write_text("{}")
    assert "as its config.json has no model_type" in refused(capsys, "add", "photos")
    Path("unpacked/model").mkdir(parents=True)
    for name in ("metadata.json", "model/model.bin"):
        Path("unpacked", name).write_bytes(b"")
    assert "name the .argosmodel file" in refused(capsys, "add", "unpacked")


def test_a_run_without_a_final_model_gives_its_newest_checkpoint(
    hub: Hub, models: Path, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in ("step-00000003", "step-00000005"):
        shutil.copytree(parts.folder, f"runs/mine/checkpoints/{step}")
    assert main(["models", "add", "runs/mine"]) == 0
    assert "step-00000005" in told(capsys)
    assert (models / "mine/model.safetensors").is_file()


def test_the_languages_of_a_model_are_codes(
    hub: Hub, models: Path, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path.name: path.read_bytes() for path in parts.folder.iterdir()}
    values = json.loads(files["translation.json"])
    changes = ({"source": "../.."}, {"target": "a/b"}, {"target": ""}, {"tags": {"../..": "x"}}, {"source": "d|e"})
    for n, change in enumerate(changes):
        hub.add(f"owner/{n}", files | {"translation.json": json.dumps(values | change).encode()})
        error = refused(capsys, "add", f"owner/{n}")
        assert f"owner/{n}/translation.json: damaged, or not written by this program" in error
        assert "language code" in error
    hub.add("owner/tags", files | {"translation.json": json.dumps(values | {"tags": {"en": ">>no piece<<"}}).encode()})
    error = refused(capsys, "add", "owner/tags")
    assert "owner/tags/translation.json: its tags of languages are no pieces of the tokenizer" in error
    assert not any(models.iterdir())


def test_a_card_is_a_table_whatever_its_values_hold(
    hub: Hub, models: Path, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path("a | b\n## c")
    shutil.copytree(parts.folder, place)
    (place / "README.md").write_text('---\nlicense: "x | y\\n\\n# z"\n---\n# Theirs\n', encoding="utf-8")
    assert main(["models", "add", str(place.absolute()), "--name", "odd"]) == 0
    head = (models / "odd/README.md").read_text(encoding="utf-8").partition("\n## The card of its authors\n")[0]
    title, empty, *table = head.rstrip("\n").split("\n")
    assert title.startswith("# German to English: ")
    assert empty == ""
    assert len(table) == 7
    for line in table:
        assert len(re.findall(r"(?<!\\)\|", line)) == 3, line


def test_leftovers_of_killed_commands_are_removed_and_nothing_else(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add(NAME, marian_files())
    downloads = models.parent / "downloads"
    stays = [
        models / ".running.partial/model.bin", models / ".hidden/file", models / "own/file", downloads / ("a" * 16),
        downloads / f"{'a' * 16}.json", downloads / ("b" * 16), downloads / "notes", models / "kept/file",
    ]  # fmt: skip
    goes = [
        models / ".gone.removed-0123456789abcdef/gone/file", models / ".killed.partial/model.bin",
        models / ".kept.old/file", downloads / ("c" * 16), downloads / ("d" * 16), downloads / f"{'e' * 16}.json",
    ]  # fmt: skip
    for path in (*stays, *goes, models / ".restored.old/file"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if path.name in ("b" * 16, "c" * 16) else b"1")
    (downloads / f"{'a' * 16}.json").write_text('{"etag": "x", "size": 9}')
    with locked(models / ".running.partial"), locked(downloads / ("b" * 16)):
        assert main(["models", "add", NAME]) == 0
        assert [path for path in stays if not path.exists()] == []
        assert [path for path in goes if path.exists()] == []
        assert not [*models.glob(".gone*"), *models.glob(".killed*"), *models.glob(".*.old")]
        assert (models / "restored/file").read_bytes() == b"1"


def test_a_full_disk_is_one_sentence_wherever_it_is_full(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    hub.add(NAME, marian_files())
    with monkeypatch.context() as patch:
        patch.setattr("huggingface_hub.file_download.http_get", full)
        error = refused(capsys, "add", NAME)
    assert "cannot be stored in the cache" in error
    assert "No space left on device; free space on the disk" in error
    with monkeypatch.context() as patch:
        patch.setattr("translate.exchange.adding.write_text", full)
        error = refused(capsys, "add", NAME)
    assert "tiny-de-en: cannot write the model: No space left on device" in error
    assert not any(models.iterdir())
    assert main(["models", "add", NAME]) == 0


def test_a_full_disk_names_the_place_of_the_model_and_not_its_source(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    hub.add(NAME, marian_files())
    monkeypatch.setattr("transformer.checkpoint_io.save_model", full)
    error = refused(capsys, "add", NAME)
    assert f"{models / 'tiny-de-en'}: cannot write the model: No space left on device; free space on the disk" in error
    assert not any(models.iterdir())


def test_a_failure_of_the_client_of_the_hub_is_said_once_and_not_by_it(hub: Hub, tmp_path: Path) -> None:
    """Its warnings of a nearly full cache and of a connection that breaks come on stderr."""
    script = (
        "import shutil, sys; from collections import namedtuple; import huggingface_hub.file_download as client;"
        "client.time.sleep = lambda seconds: None;"
        "client.shutil.disk_usage = lambda path: namedtuple('Usage', 'free')(1);"
        "from translate.commands.main import main; sys.exit(main(sys.argv[1:]))"
    )
    hub.add(NAME, marian_files())
    add = ["-c", script, "models", "add", NAME]
    settings = environment(hub, tmp_path) | {"PYTHONPATH": str(Path(__file__).parents[3]), "HF_HUB_DISABLE_XET": "1"}
    settings |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    for variable, is_quiet in (({}, True), ({"HF_HUB_VERBOSITY": "warning"}, False)):
        hub.breaks["model.safetensors"] = [1000, *[0] * 9]
        done = forks.run(add, env=settings | variable)
        assert done.returncode == 2
        assert (done.stderr.count("\n") == 1) == is_quiet, done.stderr
        assert ("Trying to resume" in done.stderr) != is_quiet
        assert "cannot be reached, or the connection broke" in done.stderr


def test_a_model_that_names_no_languages_gets_them_by_options(
    hub: Hub, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: content for name, content in marian_files().items() if name != "tokenizer_config.json"}
    hub.add(NAME, files)
    Path("theirs").mkdir()
    for name, content in files.items():
        Path("theirs", name).write_bytes(content)
    for arguments in ([NAME], ["./theirs"], [NAME, "--from", "de"], [NAME, "--to", "en"]):
        error = refused(capsys, "add", *arguments)
        assert "theirs" in error or NAME in error
        assert "does not name its languages; name them with --from and --to" in error
    assert main(["import", "theirs", "--out", "ours"]) == 2
    assert "theirs: does not name its languages; name them with --from and --to" in told(capsys)
    assert main(["models", "add", NAME, "--from", "de", "--to", "en"]) == 0
    assert main(["models", "update"]) == 0


def test_arguments_that_would_be_ignored_are_refused(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["add"], ["remove"], ["de-en", "--name", "a"], ["--revision", "a"], ["update", "a", "--to", "de"],
        ["remove", "a", "--json"], ["de-en", "en-de"],
    ):  # fmt: skip
        refused(capsys, *arguments)
    for arguments in (["install", "x/half"], ["delete", "de-en"], ["install", "x/half", "--name", "a"]):
        error = refused(capsys, *arguments)
        assert f"{arguments[0]}: is no action of translate models; write add, update or remove before" in error


def test_models_of_several_languages_are_chosen_by_to(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.add("owner/de-north", marian_files(codes=("dan", "nob"), languages=("de", "gmq")))
    assert main(["models", "add", "owner/de-north"]) == 0
    assert "--to LANGUAGE" in told(capsys)
    said = {}
    for language in ("da", "nb"):
        assert main(["--model", "de-north", "--to", language, "--beam", "1", "der Hund schläft."]) == 0
        said[language] = capsys.readouterr().out
    assert said["da"] != said["nb"]
    for arguments in (["--model", "de-north", "der Hund"], ["--model", "de-north", "--to", "fi", "der Hund"]):
        assert main(arguments) == 2
        assert "da" in told(capsys)
    assert main(["models"]) == 0
    assert "de-2 languages" in capsys.readouterr().out
    assert main(["--from", "de", "--to", "nb", "--beam", "1", "der Hund schläft."]) == 0
    assert capsys.readouterr().out == said["nb"]
    assert main(["models", "add", "owner/de-north", "--to", "nb", "--name", "de-nb"]) == 0
    told(capsys)
    assert main(["models"]) == 0
    (row,) = (line for line in capsys.readouterr().out.split("\n") if line.startswith("de-nb "))
    assert "languages" not in row
    assert " de-nb " in row.removeprefix("de-nb")
    assert "# German to Norwegian Bokmal: owner/de-north\n" in (models / "de-nb/README.md").read_text("utf-8")
    assert "Danish" in (models / "de-nb/README.md").read_text("utf-8")
    assert main(["--model", "de-nb", "--beam", "1", "der Hund schläft."]) == 0
    assert capsys.readouterr().out == said["nb"]
    spec = TranslationSpec.load(models / "de-nb")
    hub.repositories["owner/de-north"].commits["f" * 40] = marian_files(8, ("dan", "nob"), ("de", "gmq"))
    assert main(["models", "update", "de-nb"]) == 0
    assert TranslationSpec.load(models / "de-nb").target == spec.target == "nb"


def test_a_model_of_this_project_is_added_from_the_hub_and_from_a_folder(
    hub: Hub, models: Path, parts: ModelFolder, tmp_path: Path
) -> None:
    files = {path.name: path.read_bytes() for path in parts.folder.iterdir()}
    hub.add("owner/ours", files | {"README.md": b"# Ours\n", "optimizer.pt": b"not needed"})
    assert main(["models", "add", "owner/ours"]) == 0
    shutil.copytree(parts.folder, tmp_path / "runs/mine/model")
    assert main(["models", "add", "runs/mine"]) == 0
    for name in ("ours", "mine"):
        assert files.items() <= {path.name: path.read_bytes() for path in (models / name).iterdir()}.items()
        assert not (models / name / "optimizer.pt").exists()
    assert "## The card of its authors\n\n# Ours" in (models / "ours/README.md").read_text(encoding="utf-8")
    assert {*hub.fetched()} == {*files, "README.md"}


def environment(hub: Hub, folder: Path) -> dict[str, str]:
    names = {"HF_ENDPOINT": hub.url, "HF_HOME": folder / "hf", "TRANSLATE_HOME": folder / "home"}
    return os.environ | {name: str(value) for name, value in names.items()}


def test_a_killed_download_is_done_by_the_same_command(tmp_path: Path) -> None:
    """The program with HF_ENDPOINT, as a user runs it; kill -9 in the middle of the weights."""
    files = marian_files()
    add = ["-m", "translate", "models", "add", NAME]
    with hubs.running() as hub:
        hub.add(NAME, files)
        hub.stalls["model.safetensors"] = 100_000
        settings = environment(hub, tmp_path)
        with forks.Popen(add, env=settings) as process:
            assert hub.stalled.wait(60)
            process.send_signal(signal.SIGKILL)
        hub.go_on.set()
        assert not list((tmp_path / "home").rglob("*.json"))
        before = len(hub.requests)
        forks.run(add, env=settings).check_returncode()
        again = [path.rpartition("/")[2] for method, path, _ in hub.requests[before:] if "/cdn/" in path]
        assert again == ["model.safetensors"]
        assert not [*(tmp_path / "hf").rglob("*.incomplete")]
        blobs = {path.read_bytes() for path in (tmp_path / "hf").rglob("snapshots/*/*")}
        assert blobs == {files[name] for name in NEEDED}
        model = tmp_path / "home" / "models" / "tiny-de-en"
        forks.run([*add, "--name", "again"], env=settings).check_returncode()
        for name in ("model.safetensors", "tokenizer.model", "target.model", "config.json", "translation.json"):
            assert (model.with_name("again") / name).read_bytes() == (model / name).read_bytes()
        said = subprocess.run(
            [sys.executable, "-m", "translate", "--model", "tiny-de-en", "--beam", "1", "der Hund schläft."],
            env=settings, check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert said.stdout.strip()


@pytest.fixture
def package(hub: Hub, tmp_path: Path) -> tuple[str, bytes]:
    """The address of a package, which is behind a redirect, and its bytes."""
    path = packages.write(tmp_path / "x.argosmodel", packages.files(tmp_path / "model", SENTENCES))
    content = path.read_bytes()
    path.unlink()
    hub.add("owner/packages", {"x.argosmodel": content})
    return f"{hub.url}/owner/packages/resolve/main/x.argosmodel", content


def ranges(hub: Hub) -> list[str | None]:
    return [asked for method, path, asked in hub.requests if method == "GET" and "/cdn/" in path]


def test_a_package_at_an_address_goes_on_where_it_broke(
    hub: Hub,
    package: tuple[str, bytes],
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, content = package
    hurried(monkeypatch, "translate.exchange.download")
    hub.breaks["x.argosmodel"] = [5000, 7000]
    digest = hashlib.sha256(content).hexdigest()
    assert main(["models", "add", f"{url}#sha256={digest}"]) == 0
    assert ranges(hub) == [None, "bytes=5000-", "bytes=12000-"]
    found = Origin.load(models / "argos-de-en")
    assert found is not None
    assert (found.kind, found.sha256, found.revision) == ("address", digest, "1.7")
    assert not any((models.parent / "downloads").iterdir())
    hub.add("owner/packages", {"x.argosmodel": content + b"\0"})
    n = len(hub.requests)
    assert main(["models", "update"]) == 0
    assert "was added with the digest of its file, and stays as it is" in told(capsys)
    assert len(hub.requests) == n


@pytest.mark.parametrize("name", ["de en.argosmodel", "für dich.zip", "100%.zip", "a+b&c=d.zip"])
def test_an_address_is_written_as_people_write_it(
    name: str, hub: Hub, package: tuple[str, bytes], models: Path
) -> None:
    hub.add("owner/packages", {name: package[1]})
    assert main(["models", "add", f"{hub.url}/owner/packages/resolve/main/{name}"]) == 0
    assert main(["models", "update"]) == 0


def test_any_page_of_a_repository_is_the_repository_at_that_revision(
    hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """HF_ENDPOINT is set to a mirror, and the addresses are of the mirror or of the hub."""
    old, new = hub.add(NAME, marian_files(7), marian_files(8))
    for n, (place, page, commit) in enumerate(
        (
            (hub.url, "/tree/main", new), ("https://huggingface.co", "", new), ("https://hf.co", "/?library=x", new),
            ("https://huggingface.co", f"/tree/{old}", old), (hub.url, f"/blob/{old}/README.md#top", old),
            ("HTTPS://HuggingFace.co", f"/commit/{old}", old), (hub.url, f"/resolve/{old}/a.json?download=true", old),
        )
    ):  # fmt: skip
        assert main(["models", "add", f"{place}/{NAME}{page}", "--name", f"a{n}"]) == 0
        found = Origin.load(models / f"a{n}")
        assert found is not None
        assert (found.kind, found.source, found.revision) == ("hub", NAME, commit)
        assert found.wanted == ("" if commit == new else old)
    told(capsys)
    error = refused(capsys, "add", f"{hub.url}/{NAME}/tree/{old}", "--revision", new)
    assert "names another one; leave --revision out" in error
    assert "--revision" not in refused(capsys, "add", f"{hub.url}/{NAME}/tree/nosuch")
    assert main(["models", "add", f"{hub.url}/{NAME}/tree/{old}", "--revision", old]) == 0


@pytest.mark.parametrize(
    "value", ["nonsense", "ftp://example.org", "http://[", "http://127.0.0.1:abc", " http://127.0.0.1"]
)
def test_an_endpoint_that_is_no_address_is_named(value: str, tmp_path: Path) -> None:
    settings = os.environ | {"HF_ENDPOINT": value, "TRANSLATE_HOME": str(tmp_path)}
    done = forks.run(["-m", "translate", "models", "add", NAME], env=settings)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"HF_ENDPOINT={value}: is no address of a hub" in done.stderr


@pytest.mark.parametrize("damage", ["model.safetensors", "translation.json", "cut"])
def test_an_update_mends_a_damaged_model(
    damage: str, hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (commit,) = hub.add(NAME, marian_files())
    assert main(["models", "add", NAME, "--revision", commit, "--name", "a"]) == 0
    before = {path.name: path.read_bytes() for path in (models / "a").iterdir()}
    if damage == "cut":
        (models / "a/model.safetensors").write_bytes(before["model.safetensors"][:1000])
    else:
        (models / "a" / damage).unlink()
    told(capsys)
    assert main(["--model", "a", "Hallo"]) == 2
    assert told(capsys).endswith(", or get it again with translate models update a\n")
    assert main(["models", "update"]) == 0
    assert "a: is damaged, and is added again" in told(capsys)
    assert {path.name: path.read_bytes() for path in (models / "a").iterdir()} == before
    assert main(["models", "update", "a"]) == 0
    assert "stays there" in told(capsys)


@pytest.mark.parametrize("length", ["abc", "-5", "1" * 30])
def test_a_length_that_is_no_number_is_none(length: str, tmp_path: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(b"content")

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        address = download.Address.read(f"http://127.0.0.1:{server.server_port}/x.zip")
        with download.fetched(address, tmp_path) as path:
            assert path.read_bytes() == b"content"


def test_a_download_that_is_no_package_is_not_kept(
    hub: Hub, package: tuple[str, bytes], models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, content = package
    hub.add("owner/packages", {"x.argosmodel": b"<html>"})
    assert "is no zip file, or damaged" in refused(capsys, "add", url)
    assert not any((models.parent / "downloads").iterdir())
    hub.add("owner/packages", {"x.argosmodel": content})
    assert main(["models", "add", url]) == 0


def test_a_complete_download_is_taken_again_only_if_it_is_still_that_of_the_server(
    hub: Hub, package: tuple[str, bytes], models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    url, content = package
    for newer in (content, content + b"\0"):
        with monkeypatch.context() as patch:
            patch.setattr("translate.exchange.adding.write_text", full)
            assert main(["models", "add", url, "--name", "a"]) == 2
        hub.add("owner/packages", {"x.argosmodel": newer})
        assert main(["models", "add", url, "--name", "a"]) == 0
        found = Origin.load(models / "a")
        assert found is not None
        assert found.sha256 == hashlib.sha256(newer).hexdigest()
        assert main(["models", "remove", "a"]) == 0
    assert not any((models.parent / "downloads").iterdir())


def test_an_interrupted_package_is_continued_by_the_same_command_unless_it_has_changed(
    hub: Hub,
    package: tuple[str, bytes],
    models: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, content = package
    hurried(monkeypatch, "translate.exchange.download")
    hub.breaks["x.argosmodel"] = [5000, *[0] * 9]
    error = refused(capsys, "add", url)
    assert "the connection broke" in error
    assert "which goes on after 5,000 bytes" in error
    assert not models.exists() or not any(models.iterdir())
    hub.breaks.clear()
    hub.requests.clear()
    assert main(["models", "add", url]) == 0
    assert ranges(hub) == ["bytes=5000-"]
    hub.breaks["x.argosmodel"] = [5000, *[0] * 9]
    told(capsys)
    refused(capsys, "add", url, "--name", "again")
    hub.breaks.clear()
    hub.repositories["owner/packages"].commits["f" * 40] = {"x.argosmodel": content + b"\0"}  # another file
    hub.requests.clear()
    assert main(["models", "add", url, "--name", "again"]) == 0
    assert Origin.load(models / "again").sha256 == hashlib.sha256(content + b"\0").hexdigest()  # type: ignore[union-attr]
    told(capsys)
    assert main(["models", "update", "again"]) == 0
    assert "again: is up to date" in told(capsys)


def test_a_package_with_another_digest_is_refused_and_not_kept(
    hub: Hub, package: tuple[str, bytes], models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, _ = package
    assert "is not the file with this SHA-256" in refused(capsys, "add", f"{url}#sha256={'0' * 64}")
    assert not models.exists() or not any(models.iterdir())
    assert main(["models", "add", url]) == 0


@pytest.mark.parametrize(
    ("source", "remedy"), [("", "name a model"), ("~nobody-of-this-name/model.argosmodel", "correct it")]
)
def test_a_source_that_is_nothing_is_one_sentence(
    source: str,
    remedy: str,
    models: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["models", "add", source]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert remedy in error
