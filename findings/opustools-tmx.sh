#!/usr/bin/env bash
# OpusTools writes a TMX file that is no XML as soon as an alignment has two sentences on one side.
#
# Guess: `opus_read -wm tmx` marks "&" and "<", and joins the sentences of an alignment in one segment, as it does for
#        `-wm moses`; the file is as well-formed as its input.
# Miss:  characters are right, and so is "moses". But each source sentence begins a unit, and each target sentence ends
#        one: with two of a side, the tags do not match. Most corpora of OPUS have such alignments, and a reader of XML
#        refuses the file at the first. A reader that repairs has "Zwei." as the source of "One. Two.", and of two
#        target sentences the first alone, so a translation memory or a corpus gets wrong pairs.
. "$(dirname "$0")/environment.sh" opustools==1.9.0 lxml==6.1.3
python - <<'PYTHON'
import gzip
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from finding import expect
from lxml import etree

sentences = {
    "de": ["Haus &amp; Hof.", "Eins.", "Zwei.", "Drei. Vier."],
    "en": ["House &amp; yard.", "One. Two.", "Three.", "Four."],
}
for language, texts in sentences.items():
    numbered = "".join(f'<s id="{i}">{text}</s>' for i, text in enumerate(texts, 1))
    with zipfile.ZipFile(f"Own_latest_raw_{language}.zip", "w") as archive:
        archive.writestr(f"Own/raw/{language}/page.xml", f"<text>{numbered}</text>")


def read(mode: str, links: list[str], *names: str) -> None:
    """Write the aligned sentences."""
    group = "".join(f'<link xtargets="{link}" />\n' for link in links)
    head = '<cesAlign version="1.0">\n<linkGrp fromDoc="de/page.xml.gz" toDoc="en/page.xml.gz">\n'
    with gzip.open("Own_latest_xml_de-en.xml.gz", "wt") as file:
        file.write(f"{head}{group}</linkGrp>\n</cesAlign>\n")
    command = "opus_read -d Own -s de -t en -p raw -r latest -dl . -q".split()
    subprocess.run([*command, "-wm", mode, "-w", *names], check=True, capture_output=True)


def units(name: str) -> list[list[str]]:
    """Return the texts of each unit for a reader that repairs."""
    root = etree.parse(name, etree.XMLParser(recover=True)).getroot()
    return [[seg.text for seg in unit.findall("tuv/seg")] for unit in root.iter("tu")]


def is_xml(name: str) -> bool:
    """Whether a reader of XML accepts the file."""
    try:
        ElementTree.parse(name)
    except ElementTree.ParseError as error:
        print(error)
        return False
    return True


read("moses", ["1;1", "2 3;2", "4;3 4"], "own.de", "own.en")
lines = [Path(f"own.{language}").read_text(encoding="utf-8").splitlines() for language in sentences]
stated = [("Haus & Hof.", "House & yard."), ("Eins. Zwei.", "One. Two."), ("Drei. Vier.", "Three. Four.")]
expect("Moses", list(zip(*lines)), stated)
read("tmx", ["1;1"], "one.tmx")
expect("1:1 is XML", is_xml("one.tmx"), True)
expect("1:1", units("one.tmx"), [["Haus & Hof.", "House & yard."]])
read("tmx", ["1;1", "2 3;2"], "two.tmx")
expect("2:1 is XML", is_xml("two.tmx"), False)
expect("2:1, repaired", units("two.tmx"), [["Haus & Hof.", "House & yard."], ["Eins."], ["Zwei.", "One. Two."]])
read("tmx", ["4;3 4"], "three.tmx")
expect("1:2 is XML", is_xml("three.tmx"), False)
expect("1:2, repaired", units("three.tmx"), [["Drei. Vier.", "Three."]])
PYTHON
