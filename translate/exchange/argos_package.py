"""The .argosmodel files of Argos Translate and LibreTranslate: export and import.

The file is a zip of one folder: metadata.json, the CTranslate2 model in model/, its tokenizer and perhaps README.md.
The tokenizer is sentencepiece.model, or bpe.model for text that Moses has tokenized. Data that finds the ends of
sentences (stanza, minisbd, spacy) is not read: this project has rules for that.

Source: argostranslate/package.py, tokenizer.py and translate.py of Argos Translate 1.11.
"""

import json
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformer.config import SearchConfig
from translate.corpus import moses_bpe
from translate.corpus.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from translate.errors import UserError
from translate.exchange import ctranslate2_folder
from translate.exchange.foreign_model import joint_vocabulary, sentencepiece_file
from translate.exchange.verification import Proof
from translate.models import registry
from translate.models.folder import (
    CTRANSLATE2_FILE,
    ModelFolder,
    TranslationSpec,
    ctranslate2_header,
    read_vocabularies,
    refuse_existing,
    write_text_parts,
    writing,
)
from translate.options import is_language_code, shown, spelled

SUFFIX = ".argosmodel"
VERSION = "1.0"  # of the package, which Argos Translate requires

_SENTENCEPIECE, _BPE = "sentencepiece.model", "bpe.model"
_SPECIAL = {PAD: "<blank>", BOS: "<s>", EOS: "</s>", UNK: "<unk>"}
_SETTINGS = {  # of CTranslate2's config.json, with the values that this project can follow
    "bos_token": ("<s>", None),
    "eos_token": ("</s>", None),
    "unk_token": ("<unk>", None),
    "decoder_start_token": ("<s>", None),
}
# Argos Translate searches with a beam of 4 and divides by length^0.2, which the paper's penalty equals at 20 tokens.
_DECODING = SearchConfig(beam_size=4, alpha=0.25)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)  # of `zipfile`
_SIDES = ("source", "target", "shared")
_READ = (CTRANSLATE2_FILE, "config.json", *(f"{side}_vocabulary.{kind}" for side in _SIDES for kind in ("json", "txt")))
_CODES = {"pb": "pt-BR", "zt": "zh-Hant"}  # of Argos Translate, which other programs do not have
_MOST_IN_MEMORY = 2**27  # bytes of a file other than the model's weights
_MOST_SHRUNK = 20  # times; weights are hardly smaller in a zip
_OURS = ("tokenizer.model", "translation.json")  # files of our CTranslate2 folders that Argos Translate does not read


def export(folder: ModelFolder, to: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write the file `to` after comparing its CTranslate2 folder with the original.

    Args:
        int8: store the weights as 8-bit integers.

    Raises UserError if `to` exists or has another suffix, and as `ctranslate2_folder.fill`; then nothing is written.
    """
    if to.suffix != SUFFIX:
        raise UserError(f"{to}: Argos Translate installs files that end in {SUFFIX}; name such a file with --out")
    with writing(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.parent) as place:
            model, partial = Path(place, "model"), Path(place, to.name)
            model.mkdir()
            proof = ctranslate2_folder.fill(folder, model, texts, int8=int8)
            _pack(folder, model, partial)
            refuse_existing(to)
            partial.rename(to)
    return proof


def _pack(folder: ModelFolder, model: Path, to: Path) -> None:
    """Write the zip with one top-level folder, because Argos Translate unpacks all packages into one place."""
    spec = folder.spec
    root = f"translate-{spec.source}_{spec.target}-{VERSION.replace('.', '_')}"
    files = [path for path in sorted(model.iterdir()) if path.name not in _OURS]
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(f"{root}/metadata.json", json.dumps(_metadata(spec.source, spec.target), indent=2) + "\n")
        if card := registry.card(folder.folder):
            package.writestr(f"{root}/README.md", card)
        package.writestr(f"{root}/sentencepiece.model", folder.tokenizer.serialized)
        for path in files:
            package.write(path, f"{root}/model/{path.name}")


def _metadata(source: str, target: str) -> dict[str, str]:
    return {
        "package_version": VERSION,
        "argos_version": VERSION,
        "from_code": source,
        "from_name": registry.language_name(source),
        "to_code": target,
        "to_name": registry.language_name(target),
    }


class ArgosPackage:
    """A package that is open for reading; UserError if it is damaged, or no package of a translation model.

    Attributes:
        metadata: of metadata.json.
        name: for a model that is made of it.
    """

    def __init__(self, path: Path, shown: str) -> None:
        self._shown = shown
        try:
            self._zip = zipfile.ZipFile(path)
            members = self._zip.infolist()
        except (OSError, *_DAMAGED) as error:
            raise self._damaged(error) from error
        for member in members:
            self._check_member(member)
        self._members = {member.filename: member for member in members if not member.is_dir()}
        places = [name for name in self._members if name.rpartition("/")[2] == "metadata.json" and name.count("/") < 2]
        if len(places) != 1:
            raise UserError(f"{shown}: is no package of Argos Translate, as it has no metadata.json; name another file")
        self._root = places[0].removesuffix("metadata.json")
        self.metadata = self._json("metadata.json")
        self.source, self.target = (self._code(key) for key in ("from_code", "to_code"))
        if self.source == self.target:
            raise UserError(f"{shown}: translates from {self.source} to {self.target}; get it again, or name another")
        self.name = f"argos-{self.source}-{self.target}"
        self.version = self._version()
        if (kind := self.metadata.get("type", "translate")) != "translate":
            raise UserError(f"{shown}: is a package of the kind {kind!r}, which does not translate; name another one")
        if self.metadata.get("target_prefix"):
            raise UserError(f"{shown}: its model needs a target_prefix, which is not supported here; name another one")

    def __enter__(self) -> "ArgosPackage":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def extract(self, folder: Path) -> None:
        """Write a folder with its CTranslate2 model, for `CTranslate2Engine.open`; UserError if that is impossible."""
        prefix = f"{self._root}model/"
        files = [f"{prefix}{name}" for name in _READ if f"{prefix}{name}" in self._members]
        if f"{prefix}model.bin" not in files:
            raise UserError(f"{self._shown}: has no model of CTranslate2; name another one")
        for name in files:
            member = self._members[name]
            if not name.endswith(CTRANSLATE2_FILE):
                self._check_size(member)
            elif member.file_size > max(_MOST_IN_MEMORY, _MOST_SHRUNK * member.compress_size):
                raise UserError(
                    f"{self._shown}: its {CTRANSLATE2_FILE} has {member.file_size:,} bytes in "
                    f"{member.compress_size:,}, which no weights have; get it from its authors"
                )
            self._copy(name, folder / name.removeprefix(prefix))
        if (folder / "config.json").is_file():
            settings = self._json("model/config.json")
            for key, supported in _SETTINGS.items():
                if settings.get(key) not in supported:
                    raise UserError(f"{self._shown}: its model has another {key}, which is not supported here")
        else:  # in packages of CTranslate2 2, whose settings are in the model
            (folder / "config.json").write_text("{}\n", encoding="utf-8")
        source, target = read_vocabularies(folder)
        tokenizer = self._tokenizer(source, target)
        layer = _alignment_layer(folder / CTRANSLATE2_FILE)
        write_text_parts(tokenizer, TranslationSpec(self.source, self.target, _DECODING, alignment_layer=layer), folder)
        if self._has("README.md"):
            (folder / "README.md").write_bytes(self._read("README.md"))

    def _tokenizer(self, source: Sequence[str], target: Sequence[str]) -> Tokenizer:
        if self._has(_SENTENCEPIECE):
            model = sentencepiece_file(self._read(_SENTENCEPIECE), f"{self._shown}/{_SENTENCEPIECE}")
            ids = [{piece: i for i, piece in enumerate([*_SPECIAL.values(), *side])} for side in (source, target)]
            return joint_vocabulary(ids[0], ids[1], (model, model), _SPECIAL).tokenizer
        if self._has(_BPE):
            pieces = [*dict.fromkeys([*_SPECIAL.values(), *source, *target])]
            try:
                return moses_bpe.MosesBpe.of(self._read(_BPE), pieces, self.source, self.target)
            except UserError as error:
                raise UserError(f"{self._shown}: {error}") from error
        raise UserError(f"{self._shown}: has neither {_SENTENCEPIECE} nor {_BPE}; name another one")

    def _check_member(self, member: zipfile.ZipInfo) -> None:
        """Raise UserError for a link, or a path that leads out of the package, which are not even skipped."""
        parts = member.filename.replace("\\", "/").split("/")
        leads_out = ".." in parts or not parts[0] or ":" in parts[0]
        if leads_out or stat.S_ISLNK(member.external_attr >> 16):
            fault = "which leads out of the package" if leads_out else "which is a link"
            raise UserError(
                f"{self._shown}: holds {member.filename!r}, {fault}, so nothing of it was used; get it from its authors"
            )
        if member.flag_bits & 1:
            raise UserError(f"{self._shown}: is encrypted; unpack it with its password, and zip it without one")

    def _code(self, key: str) -> str:
        code = self.metadata.get(key)
        if not is_language_code(code):
            raise UserError(f"{self._shown}: its metadata.json has no {key}, a code of a language; get it again")
        language, hyphen, region = spelled(code.replace("_", "-")).partition("-")  # its authors may write DE or pt-br
        return _CODES.get(language, language) + hyphen + region

    def _version(self) -> str:
        version = self.metadata.get("package_version", "")
        if not isinstance(version, str | int | float):
            raise UserError(
                f"{self._shown}: its metadata.json has the package_version {shown(version)}, which is no number or "
                "text; get it again"
            )
        return str(version)

    def _has(self, name: str) -> bool:
        return self._root + name in self._members

    def _read(self, name: str) -> bytes:
        member = self._members[self._root + name]
        self._check_size(member)
        try:
            return self._zip.read(member)
        except (OSError, *_DAMAGED) as error:
            raise self._damaged(error) from error

    def _check_size(self, member: zipfile.ZipInfo) -> None:
        if member.file_size > _MOST_IN_MEMORY:
            name = member.filename.removeprefix(self._root)
            raise UserError(f"{self._shown}: its {name} is larger than {_MOST_IN_MEMORY:,} bytes; name another one")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            values = json.loads(self._read(name))
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from error
        if not isinstance(values, dict):
            raise UserError(f"{self._shown}: its {name} holds no object; get it again")
        return values

    def _copy(self, name: str, to: Path) -> None:
        with to.open("wb") as file:
            try:
                member = self._zip.open(self._members[name])
                while chunk := member.read(2**20):
                    file.write(chunk)
            except _DAMAGED as error:
                raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> UserError:
        return UserError(f"{self._shown}: is no zip file, or damaged ({error}); get it again")


def _alignment_layer(path: Path) -> int:
    """Return the decoder layer whose attention CTranslate2 returns for a model.bin; the last one if it does not say."""
    variables = ctranslate2_header(path)
    layers = [int(found[1]) for name in variables if (found := re.match(r"decoder/layer_(\d+)/", name))]
    named = variables.get("decoder/alignment_layer")
    layer = -1 if named is None else int.from_bytes(named.value, "little", signed=True)
    return layer if layer >= 0 else max(layers, default=0)
