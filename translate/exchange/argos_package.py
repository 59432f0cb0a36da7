"""Export to an .argosmodel file, which Argos Translate and LibreTranslate install.

The file is a zip of one folder: metadata.json, the CTranslate2 model in model/, sentencepiece.model and, if the model
has a card, README.md.

Source: argostranslate/package.py of Argos Translate 1.11.
"""

import json
import re
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from translate.errors import UserError
from translate.exchange import ctranslate2_folder
from translate.exchange.verification import Proof
from translate.models import registry
from translate.models.folder import ModelFolder, refuse_existing, writing

SUFFIX = ".argosmodel"
VERSION = "1.0"  # of the package, which Argos Translate requires

_CODE = re.compile(r"[A-Za-z0-9_-]+")
_OURS = ("tokenizer.model", "translation.json")  # files of our CTranslate2 folders that Argos Translate does not read


def export(folder: ModelFolder, to: Path, texts: Sequence[str], *, int8: bool = False) -> Proof:
    """Write the file `to` after comparing its CTranslate2 folder with the original.

    Args:
        int8: store the weights as 8-bit integers.

    Raises UserError if `to` exists or has another suffix, if a language is no code, and as `ctranslate2_folder.fill`;
    then nothing is written.
    """
    if to.suffix != SUFFIX:
        raise UserError(f"{to}: Argos Translate installs files that end in {SUFFIX}; name such a file with --out")
    for code in (folder.spec.source, folder.spec.target):
        if not _CODE.fullmatch(code):
            raise UserError(
                f"{folder.folder}: its language {code[:40]!r} would be a part of file names in the package; write a "
                "code of letters, digits, '-' and '_' in its translation.json"
            )
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
