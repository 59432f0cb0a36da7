#!/usr/bin/env bash
# pycaption writes SCC captions in which each umlaut or eszett deletes the letter in front of it: "Größe" is "Gße".
#
# Guess: a German SubRip file that becomes SCC keeps its letters, as the format has umlauts, the eszett and low
#        quotation marks; what it lacks is left out or replaced.
# Miss:  such letters are in the extended set of CEA-608, whose codes delete the character before them, so that old
#        decoders show a plain letter. The writer puts none there, and the word's own letter, or a space, is deleted:
#        by ttconv in "Größe" as well as by pycaption's own reader, which both do as the standard says. "über" at the
#        start and "é", which is in the basic set, are right. What the format lacks, such as low quotation marks,
#        dashes and the euro, is a pound sign. Nothing is reported. Captions of a German or Portuguese programme for
#        American broadcasters have gaps in most lines.
. "$(dirname "$0")/environment.sh" pycaption==2.3.14 ttconv==1.2.3
python - <<'PYTHON' 2>messages.log
from finding import expect
from pycaption import SCCReader, SCCWriter, SRTReader, SRTWriter
from ttconv.scc import reader
from ttconv.srt import writer


def captions(text):
    """Return one caption as SCC, as each library reads it again."""
    scc = SCCWriter().write(SRTReader().read(f"1\n00:00:02,000 --> 00:00:05,000\n{text}\n"))
    subrip = SRTWriter().write(SCCReader().read(scc)), writer.from_model(reader.to_model(scc))
    return [" ".join(captioned.split("\n\n")[0].splitlines()[2:]) for captioned in subrip]


for text, by_pycaption, by_ttconv in (
    ("Die Straße", "Die Strße", "Die Strße"),
    ("Es ist öfter so", "Es istöfter so", "Es istöfter so"),
    ("Die Größe", "Die Göße", "Die Gße"),
    ("über", "über", "über"),
    ("Das Café", "Das Café", "Das Café"),
    ("3 € – „Ja“", "3 £ £ £J“", "3 £ £ £J“"),
):
    expect(text, captions(text), [by_pycaption, by_ttconv])
PYTHON
