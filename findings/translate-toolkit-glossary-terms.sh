#!/usr/bin/env bash
# tbx2po takes the first term of each language from a TBX glossary, also a deprecated one; tbx2tmx takes the right ones.
#
# Guess: an entry with two English and two German terms gives all four, in one unit or in several, whatever reads it in
#        Translate Toolkit. Of the status of a term no guess was written.
# Miss:  `source` and `target` of a unit are the first terms, and tbx2po writes these alone. If the glossary lists the word
#        to avoid first, as "deprecatedTerm-admn-sts", it is the translation, and the preferred one is lost without a
#        note. tbx2tmx, of the same package, leaves that word out and writes a pair for each other combination. With
#        a PO glossary, a text is translated with the very word that the terminologist forbids.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 polib==1.2.0
term() { printf '<tig><term>%s</term><termNote type="administrativeStatus">%s-admn-sts</termNote></tig>' "$1" "$2"; }
{
    printf '<martif type="TBX-Basic" xml:lang="en"><text><body><termEntry id="c1">'
    printf '<langSet xml:lang="en">%s%s</langSet>' "$(term car preferredTerm)" "$(term automobile admittedTerm)"
    printf '<langSet xml:lang="de">%s%s</langSet>' "$(term Karre deprecatedTerm)" "$(term Auto preferredTerm)"
    printf '</termEntry></body></text></martif>'
} >glossary.tbx
tbx2po --progress=none glossary.tbx glossary.po
tbx2tmx --progress=none -l de glossary.tbx glossary.tmx
python - <<'PYTHON'
import polib
from finding import expect
from translate.storage.tbx import tbxfile
from translate.storage.tmx import tmxfile

pair = [("car", "Karre")]
expect("units", [(unit.source, unit.target) for unit in tbxfile.parsefile("glossary.tbx").units], pair)
expect("PO", [(entry.msgid, entry.msgstr) for entry in polib.pofile("glossary.po")], pair)
expect("comments of PO", [entry.comment for entry in polib.pofile("glossary.po")], ["Part of speech:"])
pairs = [(unit.source, unit.target) for unit in tmxfile.parsefile("glossary.tmx").units]
expect("TMX", pairs, [("car", "Auto"), ("automobile", "Auto")])
PYTHON
