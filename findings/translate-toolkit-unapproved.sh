#!/usr/bin/env bash
# xliff2po takes a final translation of XLIFF for a draft, and a text that needs a review for a translation.
#
# Guess: a target with state="needs-review-translation" becomes fuzzy in PO; one with state="final" or "translated", or
#        without a state, does not.
# Miss:  Translate Toolkit goes by the attribute `approved` of the unit alone. Without it, each target is fuzzy, whatever its
#        state, so that pocompile and msgfmt leave the finished translations out. With approved="yes", a target that is "new"
#        or needs a review is in the program. Many tools write states and never `approved`, which is optional.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 polib==1.2.0
unit() {  # SOURCE ATTRIBUTES-OF-UNIT ATTRIBUTES-OF-TARGET
    printf '<trans-unit id="%s" %s><source>%s</source><target %s>Haus</target></trans-unit>\n' "$1" "$2" "$1" "$3"
}
{
    printf '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    printf '<file original="a" source-language="en" target-language="de" datatype="plaintext"><body>\n'
    unit "no state" '' ''
    unit translated '' 'state="translated"'
    unit final '' 'state="final"'
    unit "approved, new" 'approved="yes"' 'state="new"'
    unit "approved, needs a review" 'approved="yes"' 'state="needs-review-translation"'
    printf '</body></file></xliff>\n'
} >de.xlf
xliff2po --progress=none de.xlf de.po
pocompile --progress=none de.po de.mo
python - <<'PYTHON'
import polib
from finding import expect

expect("fuzzy", [one.msgid for one in polib.pofile("de.po") if one.fuzzy], ["no state", "translated", "final"])
expect("in the program", [one.msgid for one in polib.mofile("de.mo")], ["approved, needs a review", "approved, new"])
PYTHON
