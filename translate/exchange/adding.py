"""Install a model from anywhere in the user's data folder: `add`, `update` and `remove`.

A source is a repository of the Hugging Face hub, a package of Argos Translate (a file or an address), or a folder with
a model of this project, Hugging Face Marian, fairseq or JoeyNMT. What is installed is a folder that `models.registry`
finds by its name: the model in a format of this project or of CTranslate2, source.json and a card. It appears when it
is complete and has been opened once. Nothing else in this project downloads a model.
"""

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from transformer.config import CheckpointError
from translate.errors import Say, UserError, reason
from translate.exchange import download, importing
from translate.exchange.argos_package import ArgosPackage
from translate.files import json_sha256, locked, new_folder, recover_folders, sha256, write_text
from translate.inference.translator import open_engine
from translate.models import folder as model_folder
from translate.models import origin, registry
from translate.models.folder import (
    CTRANSLATE2_FILE,
    EXPORTED_FILES,
    FILES,
    ORIGIN_FILE,
    LanguageError,
    NoLanguagesError,
    TranslationSpec,
    WritingError,
    model_in,
    writing,
)
from translate.models.origin import Origin, license_of
from translate.models.registry import language_name
from translate.options import is_language_code
from translate.tables import rendered
from translate.text.translation import Opening

_NAME = re.compile(r"\w[\w.+-]{0,99}")
_REMOVED = re.compile(r"\..+\.removed-[0-9a-z_]{8,16}")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PACKAGES = (".argosmodel", ".zip")
_HUBS = ("huggingface.co", "www.huggingface.co", "hf.co")  # HF_ENDPOINT may be a mirror of it
_PAGES = ("tree", "blob", "commit", "resolve", "raw")  # of a repository, before a revision; the last ones are of a file

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
    _check(wanted)
    _clean()
    with _found(wanted, say) as found:
        return _install(found, wanted, say)


def update(name: str, say: Say) -> None:
    """Replace an added model by the newest one of its source, if there is a newer one or if the model is damaged.

    With HF_HUB_OFFLINE the newest one of the hub is that of the cache.

    Raises UserError as `add`, and if the model was not added.
    """
    with _held(name) as (folder, before):
        _clean()
        _update_held(folder, before, say)


def _update_held(folder: Path, before: Origin, say: Say) -> None:
    name, is_damaged = folder.name, _is_damaged(folder)
    if not is_damaged and before.kind == "hub" and _COMMIT.fullmatch(before.wanted):
        say(f"{name}: was added at the commit {before.wanted[:12]}, and stays there; add another with --revision")
        return
    if not is_damaged and before.kind == "address" and download.Address.read(before.source).sha256:
        say(f"{name}: was added with the digest of its file, and stays as it is")
        return
    wanted = Wanted(
        source=before.source,
        name=name,
        revision=before.wanted or None,
        source_language=None if is_damaged else TranslationSpec.load(folder).source,
        target_language=before.to or None,
    )
    try:
        _update(before, wanted, say, is_damaged=is_damaged)
    except download.GoneError as error:
        raise UserError(
            f"{before.source}: is gone, or you may not read it any more, and {name} stays as it is; restore it, or "
            f"remove {name} and add another model"
        ) from error
    except LanguageError as error:
        raise UserError(
            f"{before.source}: its newest revision is for other languages, and {name} stays as it is; add that one "
            "under another name with translate models add"
        ) from error


def _is_damaged(folder: Path) -> bool:
    """Return whether an added model cannot be used."""
    try:
        open_engine(folder, Opening(target=TranslationSpec.load(folder).targets[0]))
    except (UserError, CheckpointError):
        return True
    return False


def _update(before: Origin, wanted: Wanted, say: Say, *, is_damaged: bool) -> None:
    name, is_hub = wanted.name, before.kind == "hub"
    if is_hub and download.is_offline():
        say(f"{name}: HF_HUB_OFFLINE is set, so the cache is used, and no newer revision is looked for")
    if is_hub and not is_damaged and download.newest_commit(before.source, wanted.revision) == before.revision:
        say(f"{name}: is up to date ({before.revision[:12]})")
        return
    with _found_again(before, say) as found:
        if is_damaged:
            say(f"{name}: is damaged, and is added again")
        if not is_hub and not is_damaged and found.origin.sha256 == before.sha256:
            say(f"{name}: is up to date")
        else:
            _install(found, wanted, say, replaces=True)


def remove(name: str, say: Say) -> None:
    """Remove an added model; UserError if there is none of this name. Files in the cache of the hub stay."""
    with _held(name) as (folder, _):
        _clean()
        doomed = folder.with_name(f".{name}.removed-{os.urandom(8).hex()}")
        target = f", a link; {os.path.realpath(folder)} stays" if folder.is_symlink() else ""
        folder.rename(doomed)  # so that no process finds half of it
        with suppress(FileNotFoundError):  # another command is cleaning up
            _delete(doomed)
    say(f"removed {name}{target}")


def _delete(path: Path) -> None:
    """Delete a folder, or a link and not what it leads to."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


def added() -> list[str]:
    """Return the names of the added models."""
    return sorted(path.parent.name for path in _place().glob(f"[!.]*/{ORIGIN_FILE}") if path.is_file())


def _place() -> Path:
    return registry.home() / "models"


def _added(name: str) -> tuple[Path, Origin]:
    folder = _place() / name
    _check_link(folder)
    if not _NAME.fullmatch(name) or not folder.is_dir():
        is_shipped = any(known == name for known, _ in registry.installed())
        where = "as that one comes with the program" if is_shipped else "see translate models"
        raise UserError(f"{name}: no added model has this name, {where}; name one that was added")
    if (found := Origin.load(folder)) is None:
        raise UserError(f"{folder}: was not added by translate models add; copy or remove the folder yourself")
    return folder, found


def _check_link(folder: Path) -> None:
    """Raise UserError for a link to a folder that is not there, such as one on a disk that is not mounted."""
    if folder.is_symlink() and not folder.exists():
        raise UserError(
            f"{folder}: is a link to {os.path.realpath(folder)}, which is not there; mount its disk, or delete the link"
        )


@contextmanager
def _held(name: str) -> Iterator[tuple[Path, Origin]]:
    """Yield the folder and the origin of an added model, which no other command updates or removes in this block."""
    folder, _ = _added(name)
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / ORIGIN_FILE))
        except BlockingIOError as error:
            raise UserError(f"{name}: another command updates or removes it; wait until it is done") from error
        except OSError as error:
            _added(name)  # names it if it was removed meanwhile
            raise UserError(f"{folder / ORIGIN_FILE}: cannot be locked: {reason(error)}") from error
        yield _added(name)


def _clean() -> None:
    """Remove what killed commands left, and nothing of a command that is running."""
    for path in _place().glob(".*.removed-*"):
        if _REMOVED.fullmatch(path.name):
            with suppress(OSError):  # perhaps the command that renamed it does so too
                _delete(path)
    recover_folders(_place())
    download.clean(_downloads())


def _downloads() -> Path:
    return registry.home() / "downloads"


def _check(wanted: Wanted) -> None:
    """Raise UserError for a value that no model can have."""
    if wanted.name is not None:
        _check_new(wanted.name)
    if wanted.revision == "":
        raise UserError("--revision '': name a commit, a tag or a branch, or leave it out")
    for option, code in (("--from", wanted.source_language), ("--to", wanted.target_language)):
        if code is not None and not is_language_code(code):
            raise UserError(f"{option} {code!r}: is no language code, such as de; correct it, or leave it out")


def _check_new(name: str) -> None:
    """Raise UserError if a model cannot have this name."""
    if not _NAME.fullmatch(name):
        rule = "a name has up to 100 letters, digits, '.', '_', '+' and '-'"
        raise UserError(f"{name!r} cannot be the name of the model: {rule}; choose another one with --name")
    if name in origin.ACTIONS:
        rule = "it is a word of translate models"
        raise UserError(f"{name!r} cannot be the name of the model: {rule}; choose another one with --name")
    place = _place() / name
    _check_link(place)
    taken = dict([*reversed(registry.installed())]).get(name, place)
    if os.path.exists(taken):
        update = f", or get a newer one with translate models update {name}" if name in added() else ""
        raise UserError(f"{name}: {taken} has this name; choose another one with --name{update}")


# Sources


@contextmanager
def _found(wanted: Wanted, say: Say) -> Iterator[_Found]:
    """Yield the files of a source, downloaded if they are elsewhere."""
    source, path = wanted.source, _expanded(wanted.source)
    is_there = bool(source) and os.path.exists(path)
    repository, revision = (None, None) if is_there else _repository(source)
    if None not in (revision, wanted.revision) and revision != wanted.revision:
        raise UserError(f"--revision {wanted.revision}: {source} names another one; leave --revision out")
    if wanted.revision is not None and not repository:
        raise UserError(f"--revision: {source} is no repository of the hub; leave it out")
    if is_there:
        yield _from_path(path, say)
    elif repository:
        yield _from_hub(repository, wanted.revision or revision)
    elif source.lower().startswith(("http://", "https://")):
        with _from_address(source) as found:
            yield found
    else:
        raise UserError(
            f"{source}: is no file, no folder, no address and no repository of the hub, such as "
            "Helsinki-NLP/opus-mt-de-en; correct it"
        )


@contextmanager
def _found_again(before: Origin, say: Say) -> Iterator[_Found]:
    """Yield the files of the source of an added model, whatever else has its name meanwhile."""
    if before.kind == "hub":
        yield _from_hub(before.source, before.wanted or None)
    elif before.kind == "address":
        with _from_address(before.source) as found:
            yield found
    elif os.path.exists(before.source):
        yield _from_path(Path(before.source), say)
    else:
        raise download.GoneError(f"{before.source}: no such file or folder")


def _expanded(source: str) -> Path:
    """Return a path with ~ replaced by the home directory, where there is one."""
    with suppress(RuntimeError):
        return Path(source).expanduser()
    return Path(source)


def _repository(source: str) -> tuple[str | None, str | None]:
    """Return the name of a repository, and the revision that the address of a page of it names; None for none."""
    scheme, _, rest = source.partition("://")
    if not rest:
        is_file = source.endswith(_PACKAGES) or source.startswith((".", "~"))
        return (source.rstrip("/") if _REPOSITORY.fullmatch(source.rstrip("/")) and not is_file else None), None
    hubs = _HUBS if os.environ.get("HF_HUB_OFFLINE") else (*_HUBS, download.endpoint().partition("://")[2])
    place = next((hub for hub in hubs if rest.lower().startswith(f"{hub.lower()}/")), None)
    if place is None or scheme.lower() not in ("http", "https"):
        return None, None
    path = urlsplit(f"//{rest}").path.strip("/")
    owner, name, kind, *others = [*path.split("/"), "", "", ""]
    if kind not in ("", *_PAGES) or not _REPOSITORY.fullmatch(f"{owner}/{name}") or name.endswith(_PACKAGES):
        return None, None
    if kind in ("resolve", "raw") and path.endswith(_PACKAGES):  # a file that is a model
        return None, None
    revision = unquote(others[0])
    return f"{owner}/{name}", revision if revision not in ("", "main") else None


def _from_hub(repository: str, revision: str | None) -> _Found:
    found = download.snapshot(repository, revision, lambda names: _needed(repository, names))
    digest = json_sha256({name: sha256(found.folder / name) for name in found.names})
    license = license_of(_text(found.folder / _CARD))
    known = Origin("hub", repository, revision or "", found.commit, digest, license)
    return _Found(found.folder, repository.partition("/")[2], known)


def _from_path(path: Path, say: Say) -> _Found:
    path = path.resolve()
    if path.is_file():
        return _from_package(path, str(path), "path")
    name = path.parent.name if path.name == "model" else path.name
    files = _files(path, say)  # first, as it may be any folder, with any number of large files
    folder = files[0].parent
    digest = json_sha256({file.name: sha256(file) for file in files})
    before = Origin.load(folder)  # of a copy of an added model, whose card is ours
    license = before.license if before else license_of(_text(folder / _CARD))
    return _Found(folder, name, Origin("path", str(path), sha256=digest, license=license))


def _files(path: Path, say: Say) -> list[Path]:
    """Return the files of the model in a folder; UserError if it holds none."""
    own = model_in(path, exported=True)
    if own is None and (path / CTRANSLATE2_FILE).is_file():
        lacks = " and no ".join(name for name in EXPORTED_FILES if not (path / name).is_file())
        raise UserError(f"{path}: is a CTranslate2 folder that has no {lacks}; export it again with translate export")
    if own is None and (path / "metadata.json").is_file() and (path / "model" / CTRANSLATE2_FILE).is_file():
        raise UserError(
            f"{path}: is an unpacked package of Argos Translate; name the .argosmodel file, or zip the folder"
        )
    if own is None and any(path.glob("checkpoints/step-*")):
        own = model_folder.resolve(path, say)
    if own is not None:
        return _own_files(own)
    if importing.toolkit_of(path) == "Marian":
        weights = next((path / name for name in _WEIGHTS[_MARIAN] if (path / name).is_file()), path)
        files = [*(path / name for name in (*_MARIAN, *_OPTIONAL)), weights]
    else:
        files = sorted(path.iterdir())
    return [file for file in files if file.is_file()]


@contextmanager
def _from_address(source: str) -> Iterator[_Found]:
    place, address = _downloads(), download.Address.read(source)
    with writing(place, replace=True):
        place.mkdir(parents=True, exist_ok=True)
    with download.fetched(address, place) as package:
        try:
            found = _from_package(package, source, "address")
        except UserError:
            package.unlink()
            raise
        yield found


def _from_package(path: Path, source: str, kind: origin.Kind) -> _Found:
    with ArgosPackage(path, source) as package:
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
        with _named(found, new, place):
            said = _write_model(found, wanted, new)
            spec = _with_languages(TranslationSpec.load(new), wanted, new)
            # Is what was written a model? Its conversion for CTranslate2 is kept for the first use.
            open_engine(new, Opening(target=spec.targets[0]))
        known = replace(found.origin, to=wanted.target_language or "")
        known.save(new)
        _write_card(name, known, spec, new)
        if replaces and not place.exists():  # where there are no locks
            raise UserError(f"{name}: was removed meanwhile, and stays so; add it again with translate models add")
        n_bytes = sum(path.stat().st_size for path in new.iterdir())
    about = ", ".join(filter(None, [f"{n_bytes / 1e6:.1f} MB", known.license, known.revision[:12]]))
    say(f"added {name} ({about}){said}")
    return place


@contextmanager
def _named(found: _Found, new: Path, place: Path) -> Iterator[None]:
    """Name the source in errors of this block, instead of the folders that it was copied from and to.

    Where the model cannot be written, the place is named that it was to have.
    """
    shown = str(found.path) if found.origin.kind == "path" else found.origin.source
    try:
        yield
    except WritingError as error:
        raise UserError(str(error).replace(str(new / _IMPORTED), str(place)).replace(str(new), str(place))) from error
    except NoLanguagesError as error:
        raise UserError(f"{shown}: does not name its languages; name them with --from and --to") from error
    except (UserError, CheckpointError) as error:
        said = str(error)
        for path in (new / _IMPORTED, new, found.path):
            said = said.replace(str(path), shown)
        raise (LanguageError if isinstance(error, LanguageError) else UserError)(said) from error


def _with_languages(spec: TranslationSpec, wanted: Wanted, folder: Path) -> TranslationSpec:
    """Return the spec with the target language that was asked for, and write it; UserError if the model lacks it."""
    if not spec.speaks(wanted.source_language, wanted.target_language):
        asked = " ".join(filter(None, [wanted.source_language, "to", wanted.target_language or "any language"]))
        raise LanguageError(
            f"{folder}: translates from {spec.source} to {', '.join(spec.targets)}, not from {asked}; choose another "
            "model or other languages"
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
        with ArgosPackage(found.path, found.origin.source) as package:
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
    into, *others = (
        [", ".join(map(language_name, spec.targets))] if spec.needs_choice else map(language_name, spec.targets)
    )
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.name != _CARD)
    values = {
        "source": known.source,
        "revision": known.revision or "-",
        "sha256": known.sha256,
        "license": known.license or "not stated",
        "size": f"{n_bytes / 1e6:.1f} MB",
    } | ({"other target languages": ", ".join(others)} if others else {})
    table = rendered([{name: key, "value": value} for key, value in values.items()], "github")
    head = f"# {language_name(spec.source)} to {into}: {' '.join(known.source.split())}\n\n{table}\n"
    write_text(folder / _CARD, f"{head}\n## The card of its authors\n\n{theirs}\n" if theirs else head)
