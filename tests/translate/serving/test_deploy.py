"""The files for operators work: nginx, systemd, the Dockerfile and compose.yaml."""

import configparser
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import yaml

from tests.translate.serving.live import Live, live, until
from translate.options import parse
from translate.serving.access import KeyStore
from translate.serving.app import _max_body
from translate.serving.observing import set_up_log
from translate.serving.settings import ServeOptions

ROOT = Path(__file__).resolve().parents[3]
NGINX = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def unit() -> configparser.SectionProxy:
    """The section [Service] of the unit of systemd."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ROOT / "deploy" / "translate.service", encoding="utf-8")
    return parser["Service"]


def unit_command() -> list[str]:
    return shlex.split(unit()["ExecStart"])


def compose_command() -> list[str]:
    return shlex.split(COMPOSE["services"]["translate"]["command"])


@contextmanager
def nginx(server: Live, folder: Path, changes: Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """Run nginx with the file of the repository before a server; yield its address.

    Only the ports and the paths of the certificate are others, and what `changes` replaces.
    """
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        (pytest.fail if "CI" in os.environ else pytest.skip)("needs the programs nginx and openssl")
    host = "127.0.0.3"  # where no other test takes the port before nginx has it
    with socket.create_server((host, 0)) as free:
        port = free.getsockname()[1]
    key, certificate = folder / "translate.key", folder / "translate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout".split()  # noqa: SIM905
    subprocess.run([*command, key, "-out", certificate], check=True, capture_output=True)
    site = NGINX
    for old, new in (
        *changes,
        ("listen 443 ssl", f"listen {host}:{port} ssl"),
        ("http://127.0.0.1:5000", server.url),
        ("/etc/ssl/translate.pem", str(certificate)),
        ("/etc/ssl/translate.key", str(key)),
    ):
        assert site.count(old) == 1
        site = site.replace(old, new)
    (folder / "site.conf").write_text(site, encoding="utf-8")
    temporary = "\n".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"{'user root;' if os.geteuid() == 0 else ''} daemon off; pid {folder}/pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary} include {folder}/site.conf; }}\n",
        encoding="utf-8",
    )
    words = ["nginx", "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    checked = subprocess.run([*words, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    with subprocess.Popen(words) as process:
        try:
            until(lambda: not socket.socket().connect_ex((host, port)))
            yield f"https://{host}:{port}"
        finally:
            process.terminate()


def test_the_server_behind_nginx(options: ServeOptions, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    key = store.add("website")
    secured = replace(options, keys=store.path, require_key=True, proxy="127.0.0.1")
    body = {"q": "der Hund schläft.", "source": "de", "target": "en"}
    with live(secured, tmp_path) as server, nginx(server, tmp_path) as url:
        set_up_log()
        other = httpx.HTTPTransport(local_address="127.0.0.2", verify=False)
        with httpx.Client(base_url=url, transport=other, timeout=60) as http:
            assert http.post("/translate", json=body).status_code == 400
            answer = http.post("/translate", json=body | {"api_key": key})
            assert answer.json() == server.translate("der Hund schläft.", api_key=key).json()
            assert http.get("/metrics").status_code == 403
            assert f"<code>{url}/</code>" in http.get("/docs").text
            too_large = http.post("/translate", content=b"x" * _max_body(secured, secured.characters), headers={})
            assert too_large.headers["content-type"] == "application/json"  # of the server, not of nginx
    log = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    refused = next(entry for entry in log if entry["event"] == "request")
    assert refused["client"] == "address 127.0.0.2"
    assert answer.headers["x-request-id"] in {entry.get("id") for entry in log}


def test_the_server_under_a_path_of_nginx(options: ServeOptions, tmp_path: Path) -> None:
    """The changes of nginx.conf are those that docs/serve.md describes."""
    under = replace(options, proxy="127.0.0.1", url_prefix="/translator")
    changes = [("location / {", "location /translator/ {"), ("http://127.0.0.1:5000;", "http://127.0.0.1:5000/;")]
    page = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
    assert all(new.removesuffix(" {") in page for _, new in changes)
    fields = {"source": "de", "target": "en"}
    with (
        live(under, tmp_path) as server,
        nginx(server, tmp_path, changes) as url,
        httpx.Client(base_url=f"{url}/translator", verify=False, timeout=60) as http,
    ):
        answer = http.post("/translate_file", data=fields, files={"file": ("a.txt", b"der Hund")})
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(f"{url}/translator/download_file/")
        assert http.get(address).text == server.translate("der Hund").json()["translatedText"]
        assert http.get("/page/main.js").status_code == http.get("/").status_code == 200
        assert f"<code>{url}/translator/</code>" in http.get("/docs").text


def test_limits_of_nginx_are_above_those_of_the_server() -> None:
    found = re.search(r"client_max_body_size (\d+)m;", NGINX), re.search(r"proxy_read_timeout (\d+)s;", NGINX)
    size, timeout = (int(match[1]) for match in found if match)
    assert size * 2**20 >= _max_body(ServeOptions(), ServeOptions().characters)
    assert timeout > ServeOptions().timeout


def test_the_unit_and_the_compose_file_start_a_server_that_needs_a_key_and_trusts_its_proxy() -> None:
    for words in (unit_command()[1:], compose_command()):
        assert words[0] == "serve"
        options = parse(ServeOptions, "serve", words[1:])
        assert options.require_key
        assert options.keys is not None
        assert options.proxy
    # systemd makes this folder for the user of the service
    assert (
        parse(ServeOptions, "serve", unit_command()[2:]).keys
        == Path("/var/lib") / unit()["StateDirectory"] / "keys.sqlite"
    )
    assert int(unit()["TimeoutStopSec"]) > ServeOptions().grace
    service = COMPOSE["services"]["translate"]
    assert int(service["stop_grace_period"].removesuffix("s")) > ServeOptions().grace
    assert parse(ServeOptions, "serve", compose_command()[1:]).proxy == address_in_compose("nginx")


def address_in_compose(service: str) -> str:
    return str(COMPOSE["services"][service]["networks"]["inside"]["ipv4_address"])


def test_nginx_in_compose_finds_the_server_and_the_files_that_the_page_names() -> None:
    words = shlex.split(shlex.split(COMPOSE["services"]["nginx"]["command"])[2])
    edit = words[words.index("sed") + 1]
    edited = subprocess.run(["sed", edit], input=NGINX, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"proxy_pass http://([\d.:]+);", edited) == [f"{address_in_compose('translate')}:5000"]
    mounted = [volume.split(":")[1] for volume in COMPOSE["services"]["nginx"]["volumes"]]
    assert {*re.findall(r"/etc/ssl/[\w.]+", NGINX)} <= {*mounted}


def test_the_unit_is_one_that_systemd_reads(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs the program systemd-analyze")
    text = (ROOT / "deploy" / "translate.service").read_text(encoding="utf-8")
    file = tmp_path / "translate.service"
    file.write_text(text.replace(unit_command()[0], sys.executable), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True)
    problems = [line for line in done.stderr.splitlines() if "translate.service" in line]
    assert (done.returncode, problems) == (0, []), done.stderr


def test_the_build_sees_what_the_dockerfile_copies_and_nothing_else() -> None:
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {source for words in copied for source in words.split()}
    assert "*" in patterns
    assert {pattern[1:] for pattern in patterns if pattern.startswith("!")} == sources
    assert all((ROOT / source).exists() for source in sources)


@pytest.mark.slow
def test_the_image_builds_and_its_server_answers() -> None:
    """Downloads all packages, which takes minutes."""
    if shutil.which("docker") is None:
        pytest.skip("needs a container engine with the command docker")
    subprocess.run(["docker", "build", "--tag", "translate-test", ROOT], check=True)
    options = ["--rm", "--detach", "--read-only", "--tmpfs", "/tmp", "--publish", "127.0.0.1::5000"]
    started = subprocess.run(["docker", "run", *options, "translate-test"], capture_output=True, text=True, check=True)
    container = started.stdout.strip()
    try:
        port = subprocess.run(["docker", "port", container, "5000"], capture_output=True, text=True, check=True)
        url = f"http://{port.stdout.split()[0]}"
        until(lambda: answers(url), seconds=60)
        body = {"q": "Guten Morgen", "source": "de", "target": "en"}
        assert httpx.post(f"{url}/translate", json=body).json() == {"translatedText": "Good morning"}
    finally:
        subprocess.run(["docker", "stop", container], check=True, capture_output=True)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:
        return False
