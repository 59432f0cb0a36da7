#!/usr/bin/env bash
# Babel turns the previous source text of a fuzzy PO entry into a comment of the translator.
#
# Guess: `read_po` keeps `#| msgid "..."`, and `write_po(include_previous=True)` writes it again.
# Miss:  it is written as `# | msgid "..."`, an ordinary comment, which no other tool reads as the previous text; and an
#        entry that was `c-format` alone is `python-format` too, so a check of formats is run that nobody asked for.
. "$(dirname "$0")/environment.sh" babel==2.19.0
cat >de.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#, c-format, fuzzy
#| msgid "%d old files"
msgid "%d new files"
msgstr "%d alte Dateien"
PO
python - <<'PYTHON'
import io
from babel.messages.pofile import read_po, write_po
from finding import expect

written = io.BytesIO()
with open("de.po", "rb") as file:
    catalog = read_po(file)
expect("previous text of the entry", [list(entry.previous_id) for entry in catalog if entry.id], [[]])
write_po(written, catalog, include_previous=True, omit_header=True)
comment, flags = [line for line in written.getvalue().decode().splitlines() if line.startswith("#")]
expect("previous text written", comment, '# | msgid "%d old files"')
expect("flags written", sorted(flags.removeprefix("#, ").split(", ")), ["c-format", "fuzzy", "python-format"])
PYTHON
