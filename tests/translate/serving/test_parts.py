"""Keys, rate limits, stored files and the pool of models, without HTTP."""

import gc
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import weakref
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.requests import Request

from tests.translate.serving.live import until
from translate.commands.main import main
from translate.commands.serve import _remove_abandoned
from translate.errors import UserError
from translate.files import locked
from translate.inference.torch_engine import TorchEngine
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.models.origin import Origin
from translate.serving import files
from translate.serving.access import Access, KeyStore, Rates
from translate.serving.api import _append, _threads
from translate.serving.engines import ModelPool, Scheduler, Ticket
from translate.serving.files import KEPT_SECONDS, FileStore
from translate.serving.glossaries import Glossaries
from translate.serving.observing import _forget_dead
from translate.serving.service import Service
from translate.serving.settings import ServeOptions
from translate.text.translation import Opening


def test_the_command_adds_lists_and_revokes_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ["--file", str(tmp_path / "new" / "keys.sqlite")]
    assert main(["keys", "add", "anna", "--requests", "5", "--minute-characters", "0", *file]) == 0
    secret = capsys.readouterr().out.strip()
    store = KeyStore(tmp_path / "new" / "keys.sqlite")
    key = store.find(secret)
    assert key is not None
    assert (key.name, key.requests_per_minute, key.max_characters, key.characters_per_minute) == ("anna", 5, None, 0)
    assert store.path.stat().st_mode & 0o077 == 0
    assert main(["keys", "revoke", "anna", *file]) == 0
    assert store.find(secret) is None
    assert main(["keys", "list", *file]) == 0
    shown = capsys.readouterr().out
    assert "anna" in shown
    assert secret not in shown
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute("DELETE FROM keys")
    assert main(["keys", "list", *file]) == 0
    assert "there are no keys" in capsys.readouterr().err


@pytest.mark.parametrize("has_file", [False, True])
def test_a_list_without_keys_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str], has_file: bool) -> None:
    file = tmp_path / "keys.sqlite"
    if has_file:
        KeyStore(file).add("anna")
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("DELETE FROM keys")
    assert main(["keys", "list", "--json", "--file", str(file)]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == []
    assert f"{file}: there are no keys" in shown.err
    assert file.exists() == has_file


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add"], "name the key"),
        (["add", "anna"], "a key with this name already"),
        (["revoke", "bert"], "no valid key with this name"),
        (["add", "a\nb"], "one line of printable characters"),
        (["list", "anna"], "leave the name out"),
        (["revoke", "anna", "--requests", "5"], "--requests: is only for translate keys add"),
        (["list", "--characters", "5"], "--characters: is only for translate keys add"),
        (["list", "--minute-characters", "5"], "--minute-characters: is only for translate keys add"),
        (["add", "carl", "--requests", str(2**63)], "--requests: 9223372036854775808 is out of range"),
        (["add", "carl", "--json"], "--json: is only for translate keys list"),
    ],
)
def test_mistakes_with_keys_give_a_one_sentence_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    KeyStore(tmp_path / "keys.sqlite").add("anna")
    assert main(["keys", *arguments, "--file", str(tmp_path / "keys.sqlite")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert [(key.name, key.revoked) for key in KeyStore(tmp_path / "keys.sqlite").all()] == [("anna", None)]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2:ffff:0:0:1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::7", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_limits_count_the_addresses_of_an_ipv6_network_as_one(host: str, name: str, tmp_path: Path) -> None:
    with closing(Rates(tmp_path / "rates.sqlite")) as rates:
        request = Request({"type": "http", "client": (host, 5000), "state": {}})
        assert Access(ServeOptions(), None, rates).admit(request, "").name == f"address {name}"


def test_a_file_of_keys_that_the_system_refuses_is_not_taken_for_another_file(tmp_path: Path) -> None:
    """A full disk, a folder and a locked file are mended in other ways than a file of another program."""
    (tmp_path / "folder").mkdir()
    for action in (["list"], ["add", "anna"]):
        code, said = _keys(*action, "--file", str(tmp_path / "folder"))
        assert code == 2
        assert "folder: cannot be read or written" in said
        assert said.endswith("or name another file\n")
    code, said = _keys("add", "anna", "--file", str(tmp_path / "full.sqlite"), limit=0)
    assert code == 2
    assert "full.sqlite: cannot be read or written" in said
    assert "free space on the disk" in said


def _keys(*arguments: str, limit: int | None = None) -> tuple[int, str]:
    """Return the exit code and stderr of `translate keys`, where files may have so many bytes."""
    code = "import resource, sys\nfrom translate.commands.main import main\n"
    if limit is not None:
        code += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}sys.exit(main(['keys', *sys.argv[1:]]))", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_no_key_is_added_to_the_database_of_another_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as database, database:
        database.execute("CREATE TABLE history (address TEXT)")
    before = other.read_bytes()
    assert main(["keys", "add", "anna", "--file", str(other)]) == 2
    assert "other.sqlite: is no file of API keys" in capsys.readouterr().err
    assert other.read_bytes() == before


def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"no database" * 100)
    for name in ("missing", "damaged"):
        with pytest.raises(UserError, match=name):
            KeyStore(tmp_path / name).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "0", "--model", "nowhere"], "no such file, folder"),
        (["--port", "0", "--require-key"], "--require-key needs"),
        (["--port", "0", "--keys", "nowhere.sqlite"], "translate keys add"),
        (["--host", "192.0.2.1"], "choose another address"),
        (["--host", "übung..example"], "choose another address"),
        (["--host", ""], "--host: is empty"),
        (["--port", "0", "--suggestions", "."], "name a file that can be written"),
        (["--port", "0", "--cors", "https://example.org/"], "is not an origin"),
        *[
            (["--port", "0", "--cors", origin], "is not an origin")
            for origin in ("example.org", "https://Example.org", "https://example.org:443", "https://übung.example")
        ],
        (["--port", "0", "--url-prefix", "translator/"], "--url-prefix translator/: is not such a path"),
        (["--port", "0", "--proxy", "127.0.0.1,nginx"], "--proxy nginx: is not an address or network"),
        (["--port", "0", "--proxy", "10.0.0.1/8"], "--proxy 10.0.0.1/8: is not an address or network"),
    ],
)
def test_mistakes_at_the_start_give_a_one_sentence_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (ServeOptions(), (4, 2)),
        (ServeOptions(workers=3), (3, 1)),
        (ServeOptions(workers=11), (1, 1)),
        (ServeOptions(workers=3, opening=Opening(threads=5)), (4, 1)),
    ],
)
def test_workers_share_the_cores_that_the_process_may_use(
    monkeypatch: pytest.MonkeyPatch, options: ServeOptions, expected: tuple[int, int]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    assert _threads(options) == expected


def test_rates_are_counted_for_each_client_and_minute(tmp_path: Path) -> None:
    now = [60.0]
    rates = Rates(tmp_path / "rates.sqlite", lambda: now[0])
    same = Rates(tmp_path / "rates.sqlite", lambda: now[0])  # of another worker process
    assert [rates.count("a"), same.count("a"), rates.count("b"), rates.count("a")] == [1, 2, 1, 3]
    now[0] = 119.0
    assert rates.count("a") == 4
    assert rates.seconds_left() == 1
    now[0] = 120.0
    assert [rates.count("a"), same.count("a")] == [1, 2]
    rates.close()
    same.close()


def test_what_is_taken_back_after_its_minute_is_no_credit(tmp_path: Path) -> None:
    now = [119.9]
    with closing(Rates(tmp_path / "rates.sqlite", lambda: now[0])) as rates:
        minute = rates.minute
        rates.count("a", 61)
        rates.refund("a", 11, minute)
        assert rates.count("a", 5) == 55
        now[0] = 120.0
        assert rates.count("a", 7) == 7
        rates.refund("a", 5, minute)
        assert rates.count("a", 1) == 8


@pytest.mark.parametrize("now", [60.0, 83.3, 110.7, 119.9])
def test_a_client_that_waits_as_long_as_it_is_told_begins_a_new_minute(tmp_path: Path, now: float) -> None:
    times = [now]
    with closing(Rates(tmp_path / "rates.sqlite", lambda: times[0])) as rates:
        rates.count("a", 7)
        times[0] += rates.seconds_left()
        assert rates.count("a") == 1
        assert times[0] - now <= 60


def test_a_byte_order_mark_is_no_part_of_the_first_term() -> None:
    assert Glossaries().get("\ufeffHaus\thouse\r\nSee\tlake") == {"Haus": "house", "See": "lake"}


def test_files_are_removed_when_they_are_old(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    old, new = (store.find(store.add("a b.md", "en", b"x\r\n")) for _ in range(2))
    assert old is not None
    assert new is not None
    assert old.name.endswith(".a_b_en.md")
    assert new.read_bytes() == b"x\r\n"
    past = time.time() - KEPT_SECONDS - 5
    os.utime(old, (past, past))
    store.sweep()
    assert store.find(old.name) is None
    assert store.find(new.name) == new
    for name in ("../a", "", "x", f"{old.name}/../a"):
        with pytest.raises(ValueError, match=".*"):
            store.find(name)


def test_folders_of_killed_servers_are_removed_and_those_of_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("translate-serve-killed", "translate-serve-running", "other"):
        (tmp_path / name / "files").mkdir(parents=True)
    with locked(tmp_path / "translate-serve-running"):
        _remove_abandoned()
    assert {path.name for path in tmp_path.iterdir()} == {"translate-serve-running", "other"}


def test_files_of_a_full_store_give_way_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MAX_BYTES", 1000)
    store = FileStore(tmp_path)
    for _ in range(30):
        store.add("a.txt", "en", b"x" * 100)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1200


def test_models_are_loaded_on_first_use_and_unloaded_when_idle(parts: ModelFolder, folders: list[Path]) -> None:
    opened: list[Path] = []

    def open_engine(folder: Path) -> TorchEngine:
        opened.append(folder)
        return TorchEngine(replace(parts, folder=folder, spec=ModelFolder.open(folder).spec))

    pool = ModelPool([*folders, folders[0]], 0.0, open_engine)
    assert pool.pairs == [("de", "en"), ("en", "de")]
    assert opened == []
    with pool.engine(("de", "en")) as engine:
        pool.unload_idle()
        assert pool.n_loaded == 1  # it is in use
        with pool.engine(("de", "en")) as again:
            assert again is engine
    pool.unload_idle()
    assert pool.n_loaded == 0
    with pool.engine(("de", "en")):
        assert opened == [folders[0]] * 2
    with pytest.raises(KeyError), pool.engine(("de", "xx")):
        pass


def test_a_model_of_several_languages_is_loaded_once_and_serves_them_all(parts: ModelFolder, tmp_path: Path) -> None:
    tags = dict(zip(("da", "nb", "sv"), parts.tokenizer.tokens([40, 41, 42]), strict=True))
    spec = replace(parts.spec, target="gmq", tags=tags)
    model_folder.save(parts.model, parts.tokenizer, spec, tmp_path / "north")
    Origin("hub", "owner/north", revision="c" * 40, license="mit").save(tmp_path / "north")
    pool, scheduler = ModelPool([tmp_path / "north"], 0.0), Scheduler(2, 512)
    assert pool.pairs == [("de", "da"), ("de", "nb"), ("de", "sv")]
    assert [(card["name"], card["targets"], card["license"], card["origin"]) for card in pool.cards] == [
        ("north", ["da", "nb", "sv"], "mit", "owner/north")
    ]
    service = Service(pool, scheduler)
    for target in tags:
        opening = Opening(target=target)
        expected = Translator.load(tmp_path / "north", opening=opening)("der Hund schläft im Haus.")
        said = service.translate(Ticket("a client"), ["der Hund schläft im Haus."], "de", target, "text")
        assert said.texts == [expected]
    assert pool.n_loaded == 1
    with pool.engine(("de", "da")) as one, pool.engine(("de", "nb")) as other, pool.engine(("de", "da")) as again:
        assert one is again
        assert one is not other
        assert one.translator is other.translator  # type: ignore[attr-defined]


def test_an_unloaded_model_leaves_the_memory(folders: list[Path]) -> None:
    gc.freeze()  # what other tests have left is not looked at again and again
    pool, scheduler = ModelPool(folders[:1], 0.0), Scheduler(2, 512)
    Service(pool, scheduler).translate(Ticket("a client"), ["der Hund"], "de", "en", "text")
    with pool.engine(("de", "en")) as engine:
        alive = weakref.ref(engine)
    del engine
    pool.unload_idle()
    until(lambda: gc.collect() >= 0 and alive() is None)
    scheduler.close()


def test_a_damaged_model_is_not_read_again_for_every_request(parts: ModelFolder, folders: list[Path]) -> None:
    opened: list[Path] = []

    def open_engine(folder: Path) -> TorchEngine:
        opened.append(folder)
        if len(opened) == 2:
            raise UserError("damaged")
        return TorchEngine(replace(parts, folder=folder, spec=ModelFolder.open(folder).spec))

    pool = ModelPool(folders[:1], 60.0, open_engine)
    with pool.engine(("de", "en")) as engine:
        pass
    os.utime(folders[0] / "config.json", (1, 1))
    for _ in range(3):
        with pool.engine(("de", "en")) as again:
            assert again is engine
    assert len(opened) == 2


def test_a_model_that_has_another_language_pair_now_is_not_used(parts: ModelFolder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(parts.folder, tmp_path / "model"))
    pool = ModelPool([folder], 60.0)
    with pool.engine(("de", "en")) as engine:
        pass
    spec = replace(parts.spec, source="en", target="de")
    model_folder.save(parts.model, parts.tokenizer, spec, folder, replace=True)
    with pool.engine(("de", "en")) as again:
        assert again is engine


def test_gauges_of_killed_processes_are_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    for number in (dead.pid, os.getpid()):
        (tmp_path / f"gauge_livesum_{number}.db").touch()
    _forget_dead(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"gauge_livesum_{os.getpid()}.db"]


def test_counts_of_earlier_minutes_are_deleted(tmp_path: Path) -> None:
    now = [60.0]
    with closing(Rates(tmp_path / "rates.sqlite", lambda: now[0])) as rates:
        for client in ("a", "b", "c"):
            rates.count(client)
        now[0] = 120.0
        rates.count("d")
    with closing(sqlite3.connect(tmp_path / "rates.sqlite")) as database:
        assert database.execute("SELECT client FROM requests").fetchall() == [("d",)]


def test_a_model_whose_files_were_replaced_is_loaded_again(parts: ModelFolder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(parts.folder, tmp_path / "model"))
    pool = ModelPool([folder], 60.0, lambda folder: TorchEngine(ModelFolder.open(folder)))
    for _ in range(3):
        with pool.engine(("de", "en")) as engine, pool.engine(("de", "en")) as same:
            assert same is engine
        shutil.copy(folder / "config.json", tmp_path / "new")
        (tmp_path / "new").rename(folder / "config.json")
        with pool.engine(("de", "en")) as new:
            assert new is not engine


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_suggestion_that_a_full_disk_cuts_is_refused_and_spoils_no_other(tmp_path: Path) -> None:
    import resource
    import signal

    path, fields = tmp_path / "suggestions", {"q": "Hund", "s": "dog"}
    _append(path, fields)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, before[1]))
        with pytest.raises(OSError, match="File too large|No space left"):
            _append(path, fields)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    _append(path, fields)
    first, _, last = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first)["s"] == json.loads(last)["s"] == "dog"
