"""The benchmark of documents: the same text in each kind of file, and documents that programs made."""

import gzip
import shutil
from io import BytesIO
from pathlib import Path

import pytest

from tests.programs import case

bench = case("documents")


def test_each_kind_has_the_same_text(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("\n".join(f"Satz {n} hat genau sieben Wörter heute." for n in range(37)).encode()))
    wanted = bench.paragraphs(path, 7 * 31)
    assert sum(map(len, wanted)) == 31
    texts = [" ".join(sentences) for sentences in wanted]
    assert bench.content("lines", wanted)[1].decode().splitlines() == texts
    for kind, n_bold in (("plain", 0), ("formatted", 3)):
        file = docx.Document(BytesIO(bench.content(kind, wanted)[1]))
        assert [" ".join(paragraph.text.split()) for paragraph in file.paragraphs] == texts
        bold = [run.text for paragraph in file.paragraphs for run in paragraph.runs if run.bold]
        assert [len(text.split()) for text in bold] == [2] * n_bold


def test_samples_of_libraries_and_by_hand_stay_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("docx", "pptx", "odfdo"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("samples.VARIANTS", 1)
    assert bench.structure() == {"documents": 6, "identical": 6, "read_by_pandoc": 0, "words_kept": 0}
