#!/usr/bin/env bash
# moz.l10n takes out the space between two tags of an XLIFF source when it writes the file again.
#
# Guess: an XLIFF file that `parse_resource` and `serialize_resource` read and write has the same texts, sources and
#        targets, whatever tags stand in them: white space in a segment is text.
# Miss:  the target keeps its space. The source, which is no message for the library and is kept as XML, loses each text
#        of white space alone: "A <g>b</g> <x/>c" is "A <g>b</g><x/>c". A source of tags alone has line ends in it
#        instead, as an element that only orders others. The text of the source is another one, so a translation memory
#        finds no match, and who translates the file again has "Klicken Sie" and the name of the button as one word.
. "$(dirname "$0")/environment.sh" moz.l10n==0.15.0 lxml==6.1.3
python - <<'PYTHON'
from finding import expect
from lxml import etree
from moz.l10n.formats import Format
from moz.l10n.resource import parse_resource, serialize_resource

NAMESPACE = "urn:oasis:names:tc:xliff:document:1.2"


def copied(content):
    """Return the text of the source and of the target, both written with this content, in a copy of the file."""
    xliff = f"""<xliff version="1.2" xmlns="{NAMESPACE}"><file original="f" source-language="de" target-language="de"
        datatype="plaintext"><body><trans-unit id="u"><source>{content}</source><target>{content}</target></trans-unit>
        </body></file></xliff>"""
    copy = "".join(serialize_resource(parse_resource(Format.xliff, xliff))).encode()
    unit = etree.fromstring(copy).find(f".//{{{NAMESPACE}}}trans-unit")
    return ["".join(part.itertext()) for part in unit]


BUTTON = '<g id="1">Klicken Sie</g> <g id="2">OK</g>'
for content, source, target in (
    (f"Jetzt: {BUTTON}!", "Jetzt: Klicken SieOK!", "Jetzt: Klicken Sie OK!"),
    ('A <g id="1">b</g> <x id="2"/>c', "A bc", "A b c"),
    ('Ein <g id="1">Wort</g>, noch <g id="2">eins</g>', "Ein Wort, noch eins", "Ein Wort, noch eins"),
):
    expect(content, copied(content), [source, target])
source, target = copied(BUTTON)
expect("tags alone, source has a line end", ("\n" in source, target), (True, "Klicken Sie OK"))
PYTHON
