#!/usr/bin/env bash
# moz.l10n writes a variable of Fluent into Android's strings as its bare name: "{ $n } Dateien" becomes "n Dateien".
#
# Guess: moz.l10n reads messages of each format into one model. If it writes them in another one, a variable is what the
#        format has for one, or the conversion is refused.
# Miss:  a message of Fluent or MessageFormat 2 is refused by seven of its writers, as gettext, XLIFF and properties.
#        The one for Android writes names where numbers and texts belong: no placeholder is left, the file builds, and a
#        program says "n Dateien" for any number of files. A reference to the brand becomes "-brand". Attributes, such
#        as the title of a button, are not in the file either. What was read from Android keeps "%1$s" and goes to
#        MessageFormat 2 and back, so a test with files of Android alone does not show it.
. "$(dirname "$0")/environment.sh" moz.l10n==0.15.0 fluent.syntax==0.19.0 lxml==6.1.3
python - <<'PYTHON'
from finding import expect
from lxml import etree
from moz.l10n.formats import Format
from moz.l10n.message import parse_message, serialize_message
from moz.l10n.resource import parse_resource, serialize_resource


def written(message, target):
    """Return a message in another format, or None where it is refused."""
    try:
        return serialize_message(target, message)
    except ValueError:
        return None


message = parse_message(Format.fluent, "Hallo { $name }, { $n } neue von { -brand }")
TARGETS = [Format.gettext, Format.xliff, Format.properties, Format.plain_json, Format.ini, Format.dtd, Format.inc]
expect("refused", {one.name for one in TARGETS if written(message, one) is None}, {one.name for one in TARGETS})
expect("Fluent in Android", written(message, Format.android), "Hallo name, n neue von -brand")
message = parse_message(Format.mf2, "{$n :integer} Dateien vom {$day :date}")
expect("MessageFormat 2 in Android", written(message, Format.android), "n Dateien vom day")
message = parse_message(Format.android, "%1$d Dateien")
there = written(message, Format.mf2)
expect("Android in MessageFormat 2", there, "{$arg1 :integer @source=|%1$d|} Dateien")
expect("and back", written(parse_message(Format.mf2, there), Format.android), "%1$d Dateien")

resource = parse_resource(Format.fluent, """\
files = { $n ->
    [one] Eine Datei
   *[other] { $n } Dateien
}
save = Speichern
    .title = Speichert { $n } Dateien
""")
file = etree.fromstring("".join(serialize_resource(resource, Format.android)).encode())
expect("forms", [(one.get("quantity"), one.text) for one in file.iter("item")],
       [("one", "Eine Datei"), ("other", "n Dateien")])
expect("strings", [one.text for one in file.iter("string")], ["Speichern"])
PYTHON
