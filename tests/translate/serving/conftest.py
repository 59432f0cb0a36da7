"""Model folders for servers: the tiny random model in both directions."""

from dataclasses import replace
from pathlib import Path

import pytest

from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.serving.settings import ServeOptions
from translate.text.translation import Opening


@pytest.fixture(scope="session")
def folders(parts: ModelFolder, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Model folders for German-English and English-German."""
    back = tmp_path_factory.mktemp("back") / "model"
    spec = replace(parts.spec, source="en", target="de")
    model_folder.save(parts.model, parts.tokenizer, spec, back)
    return [parts.folder, back]


@pytest.fixture(scope="session")
def options(folders: list[Path]) -> ServeOptions:
    """Options of a server whose translations are those of the fixture `translator`."""
    return ServeOptions(model=folders, opening=Opening(threads=2))
