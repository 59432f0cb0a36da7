"""TMX: the pairs of a memory, read as a stream, as a corpus and as a glossary."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from translate.config.schema import TmxSource
from translate.corpus.sources import describe, identity, read_pairs
from translate.documents.tmx import pairs
from translate.errors import UserError
from translate.inference.translator import open_glossary

MEMORY = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="de-DE" datatype="html" segtype="sentence"/><body>
<tu tuid="1"><note>kein Text</note><tuv xml:lang="de-DE"><prop type="x">y</prop>
<seg>Der <bpt i="1">&lt;b></bpt>Hund<ept i="1">&lt;/b></ept>
  bellt<ph x="1"/>.</seg></tuv><tuv xml:lang="EN-gb"><seg>The <hi type="term">dog</hi> barks.</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Le chien</seg></tuv><tuv xml:lang="de"><seg>Der Hund</seg></tuv></tu>
<tu><tuv lang="en"><seg>cat</seg></tuv><tuv lang="de"><seg>Katze</seg></tuv><tuv lang="en"><seg>tomcat</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Katze</seg></tuv><tuv xml:lang="en"><seg>kitty</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg/></tuv><tuv xml:lang="en"><seg>nothing</seg></tuv></tu>
</body></tmx>
"""
PAIRS = [("Der Hund bellt.", "The dog barks."), ("Katze", "cat"), ("Katze", "kitty")]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tmx"
    path.write_text(MEMORY, encoding="utf-8")
    return path


def test_pairs_have_both_languages_and_no_codes(memory: Path) -> None:
    assert list(pairs(memory, "de", "en")) == PAIRS
    assert list(pairs(memory, "en", "de")) == [(target, source) for source, target in PAIRS]
    assert list(pairs(memory, "fr", "de")) == [("Le chien", "Der Hund")]


REGIONS = """<tmx><body>
<tu><tuv xml:lang="pt-PT"><seg>autocarro</seg></tuv><tuv xml:lang="pt-BR"><seg>ônibus</seg></tuv>
<tuv xml:lang="en_US"><seg>bus</seg></tuv></tu>
<tu><tuv xml:lang="pt"><seg>casa</seg></tuv><tuv xml:lang="EN-us"><seg>house</seg></tuv></tu>
<tu><tuv xml:lang="pt-PT"><seg>comboio</seg></tuv><tuv xml:lang="en"><seg>train</seg></tuv></tu>
<tu><tuv xml:lang="zh"><seg>\u8fd9</seg></tuv><tuv xml:lang="en"><seg>this</seg></tuv></tu>
</body></tmx>"""


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("pt", "en", [("autocarro", "bus"), ("casa", "house"), ("comboio", "train")]),
        ("pt-BR", "en-US", [("ônibus", "bus"), ("casa", "house")]),
        ("PT_pt", "en", [("autocarro", "bus"), ("casa", "house"), ("comboio", "train")]),
        ("pt-AO", "en", [("casa", "house")]),
        ("zh-SG", "en", [("\u8fd9", "this")]),  # in the script of "zh", and "zh-TW" is not
    ],
)
def test_a_language_may_be_one_in_a_region(
    source: str, target: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "regions.tmx"
    path.write_text(REGIONS, encoding="utf-8")
    assert list(pairs(path, source, target)) == expected


def test_a_memory_in_other_languages_is_refused(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "regions.tmx").write_text(REGIONS, encoding="utf-8")
    with pytest.raises(UserError, match="no unit in 'zh-TW' and 'en'"):
        list(pairs(tmp_path / "regions.tmx", "zh-TW", "en"))
    with pytest.raises(UserError, match=r"memory.tmx: has no unit in 'de' and 'p'.*languages are de, de-de, en, en-gb"):
        list(pairs(memory, "de", "p"))  # the beginning of a code is no language
    (tmp_path / "empty.tmx").write_text("<tmx><header/><body/></tmx>")
    assert not list(pairs(tmp_path / "empty.tmx", "de", "en"))


def test_a_memory_is_a_corpus(memory: Path) -> None:
    source = TmxSource(kind="tmx", path="memory.tmx")
    assert list(read_pairs(source, memory.parent, "de-en")) == PAIRS
    assert describe(source) == "memory.tmx"
    assert list(identity(source, memory.parent, "de-en")) == ["memory.tmx"]
    (memory.parent / "packed.tmx.gz").write_bytes(gzip.compress(memory.read_bytes()))
    assert list(read_pairs(TmxSource(kind="tmx", path="packed.tmx.gz"), memory.parent, "de-en")) == PAIRS


def test_a_memory_is_a_glossary_with_the_first_translation_of_each_segment(memory: Path) -> None:
    glossary = open_glossary(memory, "de", "en")
    assert glossary is not None
    assert dict(glossary) == {"Der Hund bellt.": "The dog barks.", "Katze": "cat"}
    with pytest.raises(UserError, match="no unit in 'de' and 'it'"):
        open_glossary(memory, "de", "it")


@pytest.mark.parametrize("text", ["<html/>", "<tmx><body><tu>", "", "words"])
def test_other_files_are_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(text)
    with pytest.raises(UserError, match=r"a\.tmx") as error:
        list(pairs(path, "de", "en"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_memory_that_is_not_compressed_as_its_name_says_is_named(memory: Path, suffix: str) -> None:
    path = memory.rename(memory.with_name(f"memory.tmx{suffix}"))
    with pytest.raises(UserError, match=rf"memory\.tmx\{suffix}: the compressed file is damaged .*; copy it again"):
        list(pairs(path, "de", "en"))


def test_a_large_memory_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    unit = (
        '<tu><tuv xml:lang="de"><seg>Das ist ein Satz.</seg></tuv><tuv xml:lang="en"><seg>A sentence.</seg></tuv></tu>'
    )
    path.write_text(f"<tmx><header/><body>{unit * 7_000}</body></tmx>")
    tracemalloc.start()
    assert sum(1 for _ in pairs(path, "de", "en")) == 7_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 2
