"""Install a model from anywhere in the user's data folder: `add`, `update` and `remove`.

A source is a repository of the Hugging Face hub, a package of Argos Translate (a file or an address), or a folder with
a model of this project, Hugging Face Marian, fairseq or JoeyNMT. What is installed is a folder that `models.registry`
finds by its name: the model in a format of this project or of CTranslate2, source.json and a card. It appears when it
is complete and has been opened once. Nothing else in this project downloads a model.
"""

import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from transformer.config import CheckpointError
from translate.errors import Say, UserError
from translate.exchange import download, importing
from translate.exchange.argos_package import Package
from translate.files import json_sha256, new_folder, sha256, write_text
from translate.inference.engine import open_engine
from translate.models import origin, registry
from translate.models.folder import CTRANSLATE2_FILE, FILES, TranslationSpec, model_in, writing
from translate.models.origin import Origin, license_of
from translate.models.registry import language_name
from translate.text.translation import Opening

_NAME = re.compile(r"\w[\w.+-]{0,99}")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PACKAGES = (".argosmodel", ".zip")

_CARD, _IMPORTED = "README.md", "imported"
_TRANSLATION = "translation.json"  # of models of this project
_OURS = ("config.json", _TRANSLATION, "tokenizer.model")
_MARIAN = ("config.json", "vocab.json", "source.spm")
_OPTIONAL = (_CARD, "tokenizer_config.json", "generation_config.json", "target.spm", "target.model")
_WEIGHTS = {_OURS: ("model.safetensors", CTRANSLATE2_FILE), _MARIAN: ("model.safetensors", "pytorch_model.bin")}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to install.

    Attributes:
        source: a repository, an address, or a path of a file or folder.
        name: of the model; None makes one of the source.
        revision: of a repository; None is the newest.
        source_language, target_language: codes, for a model that does not name them, or to choose one of several
            target languages; None takes those of the model.
    """

    source: str
    name: str | None = None
    revision: str | None = None
    source_language: str | None = None
    target_language: str | None = None


@dataclass(frozen=True)
class _Found:
    """The files of a source.

    Attributes:
        path: a folder, or a package.
        name: for the model, if the user gives none.
    """

    path: Path
    name: str
    origin: Origin


def add(wanted: Wanted, say: Say) -> Path:
    """Install a model and return its folder.

    Args:
        say: receives what was installed, and whether it was compared with the original.

    Raises UserError if there is no such source, if it is another kind of model or damaged, if a model of this name
    exists, or if it cannot be written; then nothing is installed.
    """
    if wanted.name is not None:
        _check_new(wanted.name)
    with _found(wanted) as found:
        return _install(found, wanted, say)


def update(name: str, say: Say) -> None:
    """Replace an added model by the newest one of its source, if there is a newer one; otherwise it is unchanged.

    Raises UserError as `add`, and if the model was not added.
    """
    folder, before = _added(name)
    if before.kind == "hub":
        if _COMMIT.fullmatch(before.wanted):
            say(f"{name}: was added at the commit {before.wanted[:12]}, and stays there; add another with --revision")
            return
        if download.newest_commit(before.source, before.wanted or None) == before.revision:
            say(f"{name}: is up to date ({before.revision[:12]})")
            return
    spec = TranslationSpec.load(folder)
    wanted = Wanted(
        source=before.source,
        name=name,
        revision=before.wanted or None,
        source_language=spec.source,
        target_language=before.to or None,
    )
    is_hub = before.kind == "hub"  # also where there is a folder of this name
    with nullcontext(_from_hub(before.source, wanted.revision)) if is_hub else _found(wanted) as found:
        if not is_hub and found.origin.sha256 == before.sha256:
            say(f"{name}: is up to date")
        else:
            _install(found, wanted, say, replaces=True)


def remove(name: str, say: Say) -> None:
    """Remove an added model; UserError if there is none of this name. Files in the cache of the hub stay."""
    folder, _ = _added(name)
    doomed = Path(tempfile.mkdtemp(prefix=f".{name}.removed-", dir=folder.parent))
    folder.rename(doomed / name)  # so that no process finds half of it
    shutil.rmtree(doomed)
    say(f"removed {name}")


def added() -> list[str]:
    """Return the names of the added models."""
    place = _place()
    return [
        name for name, folder in registry.installed() if folder == place / name and (folder / origin.FILE).is_file()
    ]


def _place() -> Path:
    return registry.home() / "models"


def _added(name: str) -> tuple[Path, Origin]:
    folder = _place() / name
    if not _NAME.fullmatch(name) or not folder.is_dir():
        raise UserError(f"{name}: no added model has this name; translate models lists the names")
    if (found := Origin.load(folder)) is None:
        raise UserError(f"{folder}: was not added by translate models add; copy or remove the folder yourself")
    return folder, found


def _check_new(name: str) -> None:
    """Raise UserError if a model cannot have this name."""
    if not _NAME.fullmatch(name) or name in ("add", "remove", "update"):
        raise UserError(
            f"--name {name!r}: a name has up to 100 letters, digits, '.', '_', '+' and '-'; choose another one"
        )
    if taken := next((folder for known, folder in registry.installed() if known == name), None):
        raise UserError(
            f"{name}: {taken} has this name; choose another one with --name, or get a newer one with translate models "
            f"update {name}"
        )


# Sources


@contextmanager
def _found(wanted: Wanted) -> Iterator[_Found]:
    """Yield the files of a source, downloaded if they are elsewhere."""
    source, path = wanted.source, _expanded(wanted.source)
    if source and path.exists():
        if wanted.revision:
            raise UserError(f"--revision: {path} is no repository of the hub; leave it out")
        yield _from_path(path)
    elif repository := _repository(source):
        yield _from_hub(repository, wanted.revision)
    elif source.startswith(("http://", "https://")):
        if wanted.revision:
            raise UserError(f"--revision: {source} is no repository of the hub; leave it out")
        place = registry.home() / "downloads"
        with writing(place, replace=True):
            place.mkdir(parents=True, exist_ok=True)
        address = download.Address.read(source)
        with download.fetched(address, place) as package:
            yield _from_package(package, source, "address")
    else:
        raise UserError(
            f"{source}: is no file, no folder, no address and no repository of the hub, such as "
            "Helsinki-NLP/opus-mt-de-en; correct it"
        )


def _expanded(source: str) -> Path:
    """Return a path with ~ replaced by the home directory, where there is one."""
    with suppress(RuntimeError):
        return Path(source).expanduser()
    return Path(source)


def _repository(source: str) -> str | None:
    """Return the name of a repository, which may be given as the address of its page."""
    from huggingface_hub.constants import ENDPOINT

    name = source.removeprefix(f"{ENDPOINT}/").rstrip("/")
    is_file = name.endswith(_PACKAGES) or name.startswith((".", "~"))
    return name if _REPOSITORY.fullmatch(name) and not is_file else None


def _from_hub(repository: str, revision: str | None) -> _Found:
    found = download.snapshot(repository, revision, lambda names: _needed(repository, names))
    digest = json_sha256({name: sha256(found.folder / name) for name in found.names})
    license = license_of(_text(found.folder / _CARD))
    known = Origin("hub", repository, revision or "", found.commit, digest, license)
    return _Found(found.folder, repository.partition("/")[2], known)


def _from_path(path: Path) -> _Found:
    path = path.resolve()
    if path.is_file():
        return _from_package(path, str(path), "path")
    name = path.parent.name if path.name == "model" else path.name
    folder = model_in(path, exported=True) or path
    digest = json_sha256({file.name: sha256(file) for file in sorted(folder.iterdir()) if file.is_file()})
    return _Found(folder, name, Origin("path", str(path), sha256=digest, license=license_of(_text(folder / _CARD))))


def _from_package(path: Path, source: str, kind: origin.Kind) -> _Found:
    with Package(path, source) as package:
        return _Found(path, package.name, Origin(kind, source, revision=package.version, sha256=sha256(path)))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _needed(repository: str, names: Collection[str]) -> list[str]:
    """Return the files to download, small ones first; UserError if they are not those of a model that can be used."""
    required = _OURS if _TRANSLATION in names else _MARIAN
    weights = next((name for name in _WEIGHTS[required] if name in names), None)
    missing = [name for name in required if name not in names]
    if weights is None or missing:
        lacks = " and no ".join(missing or ["weights"])
        raise UserError(
            f"{repository}: is neither a Marian model nor one of this project, as it has no {lacks}; choose another, "
            "such as Helsinki-NLP/opus-mt-de-en"
        )
    optional = [name for name in names if name in _OPTIONAL or re.fullmatch(r"\w+_vocabulary\.json", name)]
    return [*required, *optional, weights]


# Installation


def _install(found: _Found, wanted: Wanted, say: Say, *, replaces: bool = False) -> Path:
    """Write the model folder; it appears, or replaces another, when it is complete."""
    name = wanted.name or _own_name(found)
    if not replaces:
        _check_new(name)
    place = _place() / name
    with writing(place, replace=replaces), new_folder(place, replace=replaces, durable=True) as new:
        with _named(found, new):
            said = _write_model(found, wanted, new)
            spec = _with_languages(TranslationSpec.load(new), wanted, new)
            target = spec.target if spec.target in spec.targets else spec.targets[0]
            # Is what was written a model? Its conversion for CTranslate2 is kept for the first use.
            open_engine(new, Opening(target=target))
        known = replace(found.origin, to=wanted.target_language or "")
        known.save(new)
        _write_card(name, known, spec, new)
        n_bytes = sum(path.stat().st_size for path in new.iterdir())
    about = ", ".join(filter(None, [f"{n_bytes / 1e6:.1f} MB", known.license, known.revision[:12]]))
    say(f"added {name} ({about}){said}")
    return place


@contextmanager
def _named(found: _Found, new: Path) -> Iterator[None]:
    """Name the source in errors of this block, instead of the folders that it was copied from and to."""
    try:
        yield
    except (UserError, CheckpointError) as error:
        said = str(error)
        for path in (new / _IMPORTED, new, found.path):
            said = said.replace(str(path), found.origin.source)
        raise UserError(said) from error


def _with_languages(spec: TranslationSpec, wanted: Wanted, folder: Path) -> TranslationSpec:
    """Return the spec with the target language that was asked for, and write it; UserError if the model lacks it."""
    if not spec.speaks(wanted.source_language, wanted.target_language):
        raise UserError(
            f"{folder}: translates from {spec.source} to {', '.join(spec.targets)}; leave --from and --to out, or "
            "choose another model"
        )
    if wanted.target_language not in (None, spec.target):
        spec = spec.towards(wanted.target_language)
        spec.save(folder)
    return spec


def _own_name(found: _Found) -> str:
    return re.sub(r"[^\w.+-]+", "-", found.name).strip(".-+") or "model"


def _write_model(found: _Found, wanted: Wanted, new: Path) -> str:
    """Write the files of the model into the folder `new`; return whether it was compared with the original."""
    languages = {"source": wanted.source_language, "target": wanted.target_language}
    if found.path.is_file():
        with Package(found.path, found.origin.source) as package:
            package.extract(new)
        return ""
    if own := model_in(found.path, exported=True):
        for path in _own_files(own):
            shutil.copyfile(path, new / path.name)
        return ""
    imported = new / _IMPORTED
    said = importing.import_folder(found.path, imported, **languages)
    for path in imported.iterdir():
        path.rename(new / path.name)
    imported.rmdir()
    if card := _text(found.path / _CARD):
        write_text(new / _CARD, card)
    return said


def _own_files(folder: Path) -> list[Path]:
    """Return the files of a model of this project, without those of a checkpoint."""
    names = [*FILES, CTRANSLATE2_FILE, _CARD, "target.model"]
    return [path for path in [*(folder / name for name in names), *folder.glob("*_vocabulary.*")] if path.is_file()]


def _write_card(name: str, known: Origin, spec: TranslationSpec, folder: Path) -> None:
    """Write the card: what is known of the model, and the card of its authors."""
    theirs = origin.front_matter(_text(folder / _CARD))[1].strip()
    into = ", ".join(map(language_name, spec.targets))
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.name != _CARD)
    rows = {
        "source": known.source,
        "revision": known.revision or "-",
        "sha256": known.sha256,
        "license": known.license or "not stated",
        "size": f"{n_bytes / 1e6:.1f} MB",
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    head = f"# {language_name(spec.source)} to {into}: {known.source}\n\n| {name} | |\n|---|---|\n{table}\n"
    write_text(folder / _CARD, f"{head}\n## The card of its authors\n\n{theirs}\n" if theirs else head)
