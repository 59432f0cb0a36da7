"""Hook of mkdocs: pages and colours of the site from files outside docs/, and links between them and docs/.

The pages in docs/ are read as plain Markdown too, so they link to files of the repository. In the site, links to the
files in `PAGES` lead to their pages, links to other files lead to copies, and links to folders become plain text. A
drawing with links becomes part of its page, because links in an image do not work.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "start.md",  # a README.md would be the page index.html
    "RESULTS.md": "results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "translate/models/de-en/README.md": "models/de-en.md",
    "translate/models/en-de/README.md": "models/en-de.md",
}
COLOURS = ROOT / "translate" / "pictures" / "colours.css"  # of all pages that this project makes
COPIES = "files"  # the folder of the site with copies of linked files
_LINK = re.compile(r"(\[[^\]]*\]\(|\b(?:src|srcset)=\")([^)\s\"]+)([)\"])")
_DRAWING = re.compile(r'<img [^>]*src="([^"]+/architecture\.svg)"[^>]*>')
_HREF = re.compile(r'(?<=href=")([^"]+)')


def on_files(files: Files, *, config: Any) -> Files:
    """Add the colours, the pages that are outside docs/, and copies of the files that pages link to."""
    files.append(File.generated(config, "site/colours.css", content=COLOURS.read_text(encoding="utf-8")))
    texts = {source: (ROOT / source).read_text(encoding="utf-8") for source in PAGES}
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=texts[source]))
    docs = {path.relative_to(ROOT).as_posix(): path for pattern in ("*.md", "*.svg") for path in _docs(pattern)}
    texts |= {name: path.read_text(encoding="utf-8") for name, path in docs.items()}
    for copied in sorted({found for name, text in texts.items() for found in copies(text, posixpath.dirname(name))}):
        files.append(File.generated(config, f"{COPIES}/{copied}", content=(ROOT / copied).read_bytes()))
    return files


def _docs(pattern: str) -> list[Path]:
    return sorted((ROOT / "docs").rglob(pattern))


def copies(text: str, folder: str) -> set[str]:
    """Return the files outside docs/ that a text links to, except those that are pages.

    Args:
        text: a page or a drawing.
        folder: of the text, relative to the root of the repository.
    """
    targets = [link[2] for link in _LINK.finditer(text)] + [link[0] for link in _HREF.finditer(text)]
    found = {posixpath.normpath(posixpath.join(folder, target.partition("#")[0])) for target in targets}
    outside = {name for name in found if not name.startswith(("docs/", "..", "http")) and name not in PAGES}
    return {name for name in outside if (ROOT / name).is_file()}


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Return the text of a page with links that hold in the site."""
    uri: str = page.file.src_uri
    source = _source(uri)

    def relink(link: re.Match[str]) -> str:
        before, target, after = link.groups()
        place = relinked(target, posixpath.dirname(source), posixpath.dirname(uri))
        if place is None:
            return before[1:-2] if before.startswith("[") else link[0]
        return f"{before}{place}{after}"

    return _LINK.sub(relink, markdown)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Return the HTML of a page with its drawings as part of it."""
    folder = posixpath.dirname(_source(page.file.src_uri))

    def drawn(image: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, image[1]))
        svg = (ROOT / path).read_text(encoding="utf-8")

        def relink(href: re.Match[str]) -> str:
            place = relinked(href[0], posixpath.dirname(path), posixpath.dirname(page.file.src_uri))
            return (place or href[0]).replace(".md", ".html")

        return _HREF.sub(relink, re.sub("^ *@media.*\n", "", svg, flags=re.MULTILINE))

    return _DRAWING.sub(drawn, html)


def _source(uri: str) -> str:
    """Return the file of a page in the repository."""
    return {page: source for source, page in PAGES.items()}.get(uri, f"docs/{uri}")


def relinked(target: str, folder: str, site_folder: str) -> str | None:
    """Return the target of a link as it must be in the site; None if the site does not have it.

    Args:
        target: relative to `folder`.
        folder: of the page in the repository.
        site_folder: of the page in the site.
    """
    path, mark, anchor = target.partition("#")
    if not path or "://" in path:
        return target
    found = posixpath.normpath(posixpath.join(folder, path))
    place = PAGES.get(found) or (found.removeprefix("docs/") if found.startswith("docs/") else None)
    if place is None and (ROOT / found).is_file():
        place = f"{COPIES}/{found}"
    return place and f"{posixpath.relpath(place, site_folder or '.')}{mark}{anchor}"
