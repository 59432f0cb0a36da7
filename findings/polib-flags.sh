#!/usr/bin/env bash
# polib refuses a PO file whose flags or comments have no space after their sign, which gettext and Babel read.
#
# Guess: `#,fuzzy` is the flag fuzzy and `#comment` a comment, as for `msgfmt --statistics`: the sign alone counts.
# Miss:  a "Syntax error" as an OSError, as if the file were not there; and polib reads the same lines with a space.
. "$(dirname "$0")/environment.sh" babel==2.19.0 polib==1.2.0
python - <<'PYTHON'
import io
import polib
from babel.messages.pofile import read_po
from finding import expect

def seen_by_polib(line):
    with open("de.po", "w") as file:
        file.write(FIRST + line + ENTRY)
    try:
        entry = polib.pofile("de.po")[-1]
    except OSError as error:
        return str(error)
    return entry.flags, entry.tcomment

def seen_by_babel(line):
    entry = read_po(io.StringIO(FIRST + line + ENTRY)).get("Open")
    return sorted(entry.flags), "".join(entry.user_comments)

FIRST, ENTRY = 'msgid "Close"\nmsgstr "Zu"\n\n', '\nmsgid "Open"\nmsgstr "Auf"\n'
for spaced, close, read in (("#, fuzzy", "#,fuzzy", (["fuzzy"], "")), ("# comment", "#comment", ([], "comment"))):
    expect(f"polib, {spaced}", seen_by_polib(spaced), read)
    expect(f"polib, {close}", seen_by_polib(close), "Syntax error in po file de.po (line 4)")
    expect(f"Babel, {close}", seen_by_babel(close), read)
PYTHON
