"""The documentation builds as a site without a warning, and no page loads anything from the network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import program

ROOT = Path(__file__).parents[1]


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
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
    assert (tmp_path / "results.html").exists()
    assert (tmp_path / "files" / "scripts" / "results" / "grid-seeds.json").exists()
    assert (tmp_path / "search" / "search_index.js").exists()  # for pages opened from disk


def test_inline_code_breaks_only_after_marks_that_join_words() -> None:
    html = "<p><code>tests/test_site.py: de-en --every-head __call__</code> a b_c</p><pre><code>one\n</code></pre>"
    found = program("docs_code").on_page_content(html).split("<wbr>")
    end = "__call__</code> a b_c</p><pre><code>one\n</code></pre>"
    assert found == ["<p><code>tests/", "test_", "site.py: ", "de-en ", "--every-head ", end]
