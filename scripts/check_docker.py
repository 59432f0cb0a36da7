#!/usr/bin/env python3
"""Run the steps of the Dockerfile without a container engine, then its server: on Linux, as root.

    python scripts/check_docker.py --build-arg TORCH_INDEX=URL

Each stage sees this machine's file system through an overlay, so what a step writes lands in a new folder. The Python
that runs this script is in /usr/local, like the one of the image; the pages of the base image are this machine's, and
so is the network, with the settings of pip in the environment. The server runs as in `docker run --read-only`: its
user, a read-only file system, a volume for /data. It must become healthy, translate with both shipped models, and
stop on SIGTERM. Then it runs again with the command of compose.yaml, which needs a key.

The steps of a Dockerfile that this script knows are those that ours has; another one is an error.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import yaml

ROOT = Path(__file__).resolve().parent.parent
PORT = 5000
SECONDS = 60  # for the server to start, and to stop
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of the base image
PASSED = re.compile(r"PIP_\w+|\w+_proxy|\w+_PROXY|SSL_CERT_FILE|REQUESTS_CA_BUNDLE")  # variables of this machine
GLOB = {"**/": "(.*/)?", "*": "[^/]*"}  # of .dockerignore, as regular expressions
FOLDER = "CHECK_DOCKER_FOLDER"  # variable with the folder of all stages, in the process that builds and runs

Step = tuple[str, str]  # an instruction and the rest of its line


def main() -> int:
    """Build and run; return 1 if a step fails."""
    args = parse_args()
    if sys.platform != "linux" or os.geteuid():
        print("check_docker.py: mounts file systems, so it needs Linux and root", file=sys.stderr)
        return 2
    with socket.socket() as probe:
        if not probe.connect_ex(("127.0.0.1", PORT)):
            print(f"check_docker.py: port {PORT} is in use; stop the program that uses it", file=sys.stderr)
            return 2
    if FOLDER not in os.environ:
        with tempfile.TemporaryDirectory(prefix="check-docker-", dir=args.folder) as place:
            # Mounts and processes end with their namespace, so nothing is mounted when the folder is removed.
            command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
            program = [sys.executable, *sys.argv]
            return subprocess.run([*command, *program], env=os.environ | {FOLDER: place}).returncode
    folder = Path(os.environ[FOLDER])
    try:
        image = build(steps((ROOT / "Dockerfile").read_text(encoding="utf-8")), folder, args.build_arg)
        check(image, folder / "volume")
    except (subprocess.CalledProcessError, ValueError, OSError) as error:
        print(f"check_docker.py: {error}", file=sys.stderr)
        return 1
    return 0


def steps(dockerfile: str) -> list[Step]:
    """Return the instructions of a Dockerfile in order."""
    lines = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ").split("\n")
    pairs = (line.strip().partition(" ") for line in lines if line.strip())
    return [(instruction.upper(), rest.strip()) for instruction, _, rest in pairs]


@dataclass
class Image:
    """A stage of a build.

    Attributes:
        root: its file system.
        own: folder of the files that its steps wrote.
        environment: of its processes; the arguments of the build are in `arguments`.
        folder: where its commands start.
        user: who runs them.
        volumes: folders that outlive a container.
        health, entrypoint, command: words of a command.
    """

    root: Path
    own: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    arguments: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "root"
    volumes: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    @classmethod
    def new(cls, place: Path) -> "Image":
        """Return an image with this machine's files, and this Python in /usr/local, below a new folder."""
        image = cls(place / "root", place / "own")
        mount_overlay(Path("/"), image.own, image.root)
        for name in ("proc", "dev"):
            subprocess.run(["mount", "--rbind", f"/{name}", image.root / name], check=True)
        local = image.root / "usr" / "local"
        if sys.base_prefix not in ("/usr", "/usr/local"):
            mount_overlay(Path(sys.base_prefix), place / "local", local)
            subprocess.run(["chroot", image.root, "ldconfig"], check=True)  # libpython, which may be shared
        elif not (local / "bin" / "python").exists():
            (local / "bin" / "python").symlink_to(f"{sys.base_prefix}/bin/python3")
        if (ROOT / ".git").exists():  # a build sees only what it copies
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", image.root / ROOT.relative_to("/")], check=True)
        return image

    def path(self, inside: str) -> Path:
        """Return where a path of the image is on this machine."""
        return self.root / os.path.join(self.folder, inside).lstrip("/")

    def popen(self, words: Sequence[str], stderr: int | None = None) -> "subprocess.Popen[bytes]":
        """Start a command in the image, whose messages go to `stderr`, by default those of this script."""
        homes = {line.split(":")[0]: line.split(":")[5] for line in self.path("/etc/passwd").read_text().splitlines()}
        environment = {"HOME": homes[self.user]} | self.environment | self.arguments
        enter = ["chroot", f"--userspec={self.user}", str(self.root), "/bin/sh", "-c", 'cd "$0" && exec "$@"']
        return subprocess.Popen([*enter, self.folder, *words], env=environment, stdout=subprocess.PIPE, stderr=stderr)

    def run(self, *words: str) -> str:
        """Run a command in the image and return its output; CalledProcessError if it fails."""
        with self.popen(words) as process:
            said, _ = process.communicate()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, shlex.join(words))
        return said.decode()


def mount_overlay(lower: Path, place: Path, target: Path) -> None:
    """Mount a folder at `target` so that changes go into the new folder `place`."""
    work = place.with_name(f"{place.name}-work")
    for folder in (place, work, target):
        folder.mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={lower},upperdir={place},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, target], check=True)


def build(found: Sequence[Step], folder: Path, given: Mapping[str, str]) -> Image:
    """Run the steps and return the last stage; ValueError for an instruction that is not known.

    Args:
        found: the instructions.
        folder: for all stages.
        given: arguments of the build.
    """
    images: dict[str, Image] = {}
    for instruction, rest in found:
        print(f"{instruction} {rest}", flush=True)
        start = time.perf_counter()
        if instruction == "FROM":
            base, _, name = re.split(r"(\s+AS\s+|$)", rest, maxsplit=1, flags=re.IGNORECASE)
            if not re.fullmatch(r"python:\d+\.\d+-slim", base):
                raise ValueError(f"FROM {base}: only python:VERSION-slim can be replaced by this machine's Python")
            if base != (own := "python:{}.{}-slim".format(*sys.version_info)):
                raise ValueError(f"FROM {base}: run this script with that Python; this one is like {own}")
            images[name or str(len(images))] = image = Image.new(folder / f"stage-{len(images)}")
            continue
        step(image, instruction, rest, images, given)
        if (seconds := time.perf_counter() - start) >= 1:
            print(f"    {seconds:.0f} s", flush=True)
    size = sum(path.stat().st_size for path in image.own.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"the last stage adds {size / 1e6:,.0f} MB to the base image")
    return image


def step(image: Image, instruction: str, rest: str, images: Mapping[str, Image], given: Mapping[str, str]) -> None:
    """Carry out one step; ValueError if the instruction is not known."""
    match instruction:
        case "ARG":
            name, _, default = rest.partition("=")
            image.arguments[name] = given.get(name, default)
        case "ENV":
            for word in shlex.split(rest):
                name, _, value = word.partition("=")
                image.environment[name] = re.sub(r"\$(\w+)", lambda found: image.environment[found[1]], value)
        case "WORKDIR":
            image.folder = rest
            image.path("").mkdir(parents=True, exist_ok=True)
        case "COPY":
            copy(image, shlex.split(rest), images)
        case "RUN":
            passed = {name: value for name, value in os.environ.items() if PASSED.fullmatch(name)}
            before, image.environment = image.environment, passed | image.environment
            print(image.run("/bin/sh", "-c", rest), end="")
            image.environment = before
        case "USER":
            image.user = rest
        case "VOLUME":
            image.volumes.append(rest)
        case "HEALTHCHECK":
            image.health = json.loads(rest.partition("CMD ")[2])
        case "ENTRYPOINT":
            image.entrypoint = json.loads(rest)
        case "CMD":
            image.command = json.loads(rest)
        case "EXPOSE":
            if rest != str(PORT):
                raise ValueError(f"EXPOSE {rest}: the server listens on {PORT}")
        case _:
            raise ValueError(f"{instruction}: this script cannot carry out this instruction")


def copy(image: Image, words: Sequence[str], images: Mapping[str, Image]) -> None:
    """Copy files from the repository or from another stage; ValueError for one that is not there, or ignored."""
    *sources, target = (word for word in words if not word.startswith("--"))
    stages = [word.removeprefix("--from=") for word in words if word.startswith("--from=")]
    patterns = [] if stages else (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    for source in sources:
        start = images[stages[0]].path(source) if stages else ROOT / source
        into = image.path(target) / ("" if start.is_dir() else start.name)
        n_files = 0
        for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
            name = path.relative_to(ROOT).as_posix() if not stages else ""
            if (path.is_file() or path.is_symlink()) and not is_ignored(name, patterns):
                place = into / path.relative_to(start) if start.is_dir() else into
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place, follow_symlinks=False)
                n_files += 1
        if not n_files:
            raise ValueError(f"COPY {source}: there are no such files, or .dockerignore leaves them out")


def is_ignored(path: str, patterns: Sequence[str]) -> bool:
    """Return whether .dockerignore leaves out a file; the last pattern that matches it or a folder of it decides."""
    ignored = False
    parents = [path, *(parent.as_posix() for parent in Path(path).parents)]
    for pattern in filter(None, (pattern.partition("#")[0].strip() for pattern in patterns)):
        glob = pattern.removeprefix("!")
        expression = re.sub(r"\*\*/|\*|[^*\[\]]+", lambda found: GLOB.get(found[0], re.escape(found[0])), glob)
        if any(re.fullmatch(expression, parent) for parent in parents):
            ignored = not pattern.startswith("!")
    return ignored


def check(image: Image, volume: Path) -> None:
    """Run the server of an image as in `docker run` and as in `docker compose up`; ValueError if it misbehaves."""
    for inside in image.volumes:  # a new volume begins with the files of the image
        subprocess.run(["cp", "-a", image.path(inside), volume], check=True)
        subprocess.run(["mount", "--bind", volume, image.path(inside)], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", image.path("/tmp")], check=True)
    subprocess.run(["mount", "-o", "remount,ro", image.root], check=True)
    body = {"q": "Guten Morgen", "source": "de", "target": "en"}
    with server(image, image.command):
        print(f"    {post(body)}, {post({'q': 'Good morning', 'source': 'en', 'target': 'de'})}")
    key = image.run(*image.entrypoint, "keys", "add", "website").strip()
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["translate"]
    with server(image, shlex.split(service["command"])):
        print(f"    without a key {post(body)}, with one {post(body | {'api_key': key})}")


@contextmanager
def server(image: Image, command: Sequence[str]) -> Iterator[None]:
    """Run a server until the block ends; ValueError if it is not healthy in time or does not stop as it should."""
    words = [*image.entrypoint, *command]
    print(shlex.join(words), flush=True)
    start = time.perf_counter()
    with image.popen(words) as process:
        try:
            while (tried := image.popen(image.health, subprocess.PIPE)).communicate() and tried.returncode:
                if process.poll() is not None:
                    raise ValueError(f"{shlex.join(words)}: ended before it was healthy")
                if time.perf_counter() - start > SECONDS:
                    raise ValueError(f"{shlex.join(words)}: is not healthy after {SECONDS} s")
                time.sleep(0.5)
            print(f"    healthy after {time.perf_counter() - start:.1f} s", flush=True)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(SECONDS)
    if code:
        raise ValueError(f"{shlex.join(words)}: ended with {code} after SIGTERM")
    print("    stopped on SIGTERM")


def post(body: Mapping[str, str]) -> str:
    """Return status and answer of a translation."""
    headers = {"Content-Type": "application/json"}
    request = Request(f"http://127.0.0.1:{PORT}/translate", json.dumps(body).encode(), headers)
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            return f"{answer.status} {json.load(answer)['translatedText']}"
    except HTTPError as error:
        return f"{error.code} {json.load(error)['error']}"


def parse_args() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--build-arg", action="append", default=[], metavar="NAME=VALUE", help="argument of the build; repeatable"
    )
    parser.add_argument("--folder", type=Path, help="where to make a temporary folder of about 2 GB")
    args = parser.parse_args()
    args.build_arg = dict(pair.split("=", 1) for pair in args.build_arg)
    return args


if __name__ == "__main__":
    sys.exit(main())
