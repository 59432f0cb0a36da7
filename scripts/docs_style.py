"""Hook of mkdocs: the site has the colours of all pages of this project, `translate/pictures/colours.css`."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

COLOURS = Path(__file__).parents[1] / "translate" / "pictures" / "colours.css"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the site with the style sheet."""
    files.append(File.generated(config, "site/colours.css", content=COLOURS.read_text(encoding="utf-8")))
    return files
