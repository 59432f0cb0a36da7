"""Hook of mkdocs: README.md and RESULTS.md as pages of the site, and links between them and docs/.

The pages in docs/ are read as plain Markdown too, so they link to files of the repository. In the site, links to the
two files lead to their pages, and links to other files outside docs/ become plain text.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "start.md", "RESULTS.md": "results.md"}  # a README.md would be the page index.html
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are outside docs/."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Return the text of a page with links that hold in the site."""
    uri: str = page.file.src_uri
    source = {page: source for source, page in PAGES.items()}.get(uri, f"docs/{uri}")
    return _LINK.sub(lambda link: relinked(link, posixpath.dirname(source), posixpath.dirname(uri)), markdown)


def relinked(link: re.Match[str], folder: str, site_folder: str) -> str:
    """Return a link as it must be in the site.

    Args:
        link: its text and its target, relative to `folder`.
        folder: of the page in the repository.
        site_folder: of the page in the site.
    """
    text, target = link.groups()
    path, mark, anchor = target.partition("#")
    if not path or "://" in path:
        return link[0]
    found = posixpath.normpath(posixpath.join(folder, path))
    page = PAGES.get(found) or (found.removeprefix("docs/") if found.startswith("docs/") else None)
    return f"[{text}]({posixpath.relpath(page, site_folder or '.')}{mark}{anchor})" if page else text
