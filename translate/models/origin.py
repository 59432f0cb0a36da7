"""Where an added model came from: source.json beside its files, and the head of its card."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from translate.errors import UserError
from translate.files import read_json, write_json
from translate.models.folder import ORIGIN_FILE
from translate.options import validate

ACTIONS = ("add", "update", "remove")  # of `translate models`, so these are no names of models
Kind = Literal["hub", "address", "path"]

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.MULTILINE | re.DOTALL)
_LONGEST = 100  # characters of a license


@dataclass(frozen=True)
class Origin:
    """Where a model came from.

    Attributes:
        kind: "hub" for a repository, "address" for a package that was downloaded, "path" for a file or folder.
        source: the name of the repository, the address or the path.
        wanted: the revision that was asked for; "" for the newest.
        revision: the commit of a repository or the version of a package; "" if it has none.
        sha256: digest of a package, or of the names and digests of the files that were read.
        license: as its authors name it; "" if they do not.
        to: the target language that was chosen, of several; "" for none.
    """

    kind: Kind
    source: str
    wanted: str = ""
    revision: str = ""
    sha256: str = ""
    license: str = ""
    to: str = ""

    def __post_init__(self) -> None:
        validate(self)

    @classmethod
    def load(cls, folder: Path) -> "Origin | None":
        """Return the origin of a model folder; None if `translate models add` did not write it."""
        try:
            return cls(**read_json(folder / ORIGIN_FILE))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{folder / ORIGIN_FILE}: damaged; delete this folder and add the model again") from error

    def save(self, folder: Path) -> None:
        """Write source.json into a folder."""
        write_json(folder / ORIGIN_FILE, asdict(self))


def front_matter(card: str) -> tuple[dict[str, Any], str]:
    """Return the YAML at the head of a card of the hub, and the text after it."""
    import yaml  # takes time, which each translation would spend

    found = _FRONT_MATTER.match(card)
    if found is None:
        return {}, card
    try:
        values = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date or a number that cannot be
        values = None
    return values if isinstance(values, dict) else {}, card[found.end() :]


def license_of(card: str) -> str:
    """Return the license that a card of the hub names, at most 100 characters of it; "" for none."""
    values, _ = front_matter(card)
    named = values.get("license_name") if values.get("license") == "other" else values.get("license")
    several = named if isinstance(named, list) else [named]
    # Cut before they are joined: a short card may repeat a long text by aliases, and nest lists without end.
    texts = [" ".join(text[: 2 * _LONGEST].split()) for text in several[:_LONGEST] if isinstance(text, str)]
    license = ", ".join(filter(None, texts))
    return license if len(license) <= _LONGEST else f"{license[: _LONGEST - 3]}..."
