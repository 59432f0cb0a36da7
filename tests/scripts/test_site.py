"""The documentation as a site: built without a warning, and read in headless Chromium."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.programs import program
from tests.translate.browser import chromium, scrolls_sideways, sync_api, too_faint

pytest.importorskip("material", reason="needs the packages of `make docs`")

ROOT = Path(__file__).parents[2]
PAGES = (
    "index.html",
    "start.html",
    "guide/2-trainable-attention.html",
    "guide/7-the-paper.html",
    "research-log.html",
    "results.html",
)
_SCALES = "all => all.map((e) => e.getBoundingClientRect().width / e.naturalWidth)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    with chromium() as running:
        yield running


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"?([^\"> ]+)|<link[^>]* href=\"?([^\"> ]+)", text)
        assert not [url for urls in loaded for url in urls if url.startswith(("http", "//"))], page
        local = {url.partition("#")[0] for urls in loaded for url in urls} | {
            url.partition("#")[0] for url in re.findall(r"<(?:a|source)[^>]* (?:href|srcset)=\"?([^\"> ]+)", text)
        }
        if page.name != "404.html":  # whose links begin at the root of a server
            assert not [url for url in local if url and ":" not in url and not (page.parent / url).exists()], page
    assert (site / "results.html").exists()
    assert (site / "files" / "scripts" / "results" / "grid-seeds.json").exists()
    assert (site / "search" / "search_index.js").exists()  # for pages opened from disk


def test_inline_code_breaks_only_after_marks_that_join_words() -> None:
    html = "<p><code>tests/test_site.py: de-en --every-head __call__</code> a b_c</p><pre><code>one\n</code></pre>"
    found = program("docs_code").on_page_content(html).split("<wbr>")
    end = "__call__</code> a b_c</p><pre><code>one\n</code></pre>"
    assert found == ["<p><code>tests/", "test_", "site.py: ", "de-en ", "--every-head ", end]
    wrapped = "<p><code>translate\nconfigs/demo.toml</code></p>"  # a line of Markdown ends inside the code
    assert program("docs_code").on_page_content(wrapped) == wrapped.replace("\n", "\n<wbr>").replace("/d", "/<wbr>d")


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (1400, "dark")])
def test_pages_fit_the_window_and_have_enough_contrast(
    request: pytest.FixtureRequest,
    browser: "sync_api.Browser",
    site: Path,
    width: int,
    theme: Literal["light", "dark"],
) -> None:
    """No width has texts of its own, and no theme a layout. With `--screenshots FOLDER`, also take pictures."""
    place, said = request.config.getoption("screenshots"), list[str]()
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    for name in PAGES:
        page.goto((site / name).as_uri())
        assert not scrolls_sideways(page)
        assert not too_faint(page, 30)
        if width == 390:  # figures scroll sideways, so that their words of 12 px stay readable
            scales = page.eval_on_selector_all("p > img[src$='.svg']", _SCALES)
            assert all(12 * scale > 11 for scale in scales)
        if place is not None:
            page.screenshot(path=place / f"site-{Path(name).stem}-{width}-{theme}.png", full_page=True)
    page.close()
    assert not said
