#!/usr/bin/env bash
# ICU writes German numbers in words with invisible soft hyphens: what looks like "dreiundzwanzig" is another text.
#
# Guess: `{n, spellout}` for 23 in German is "dreiundzwanzig", fourteen letters, as in English "twenty-three".
# Miss:  it has two soft hyphens (U+00AD), one at each joint, and so do words for numbers have in Dutch, Danish, Swedish and
#        Italian, not in English and French. Nobody sees them, but a search for the word does not find it, it is not equal
#        to the word in a reference translation, each counts for a limit of characters, and a tokenizer that knows the
#        word gets an unknown letter.
. "$(dirname "$0")/environment.sh" icu4py==1.2.0
python - <<'PYTHON'
from finding import expect
from icu4py.messageformat import MessageFormat

def soft_hyphens(language, n):
    return MessageFormat("{n, spellout}", language).format({"n": n}).count("\N{SOFT HYPHEN}")

text = MessageFormat("{n, spellout}", "de").format({"n": 23})
expect("23", text, "drei\xadund\xadzwanzig")
expect("without soft hyphens", text.replace("\N{SOFT HYPHEN}", ""), "dreiundzwanzig")
seen = {"de": 2, "en": 0, "fr": 0, "nl": 2, "sv": 1, "da": 2, "it": 1}
expect("in 23", {language: soft_hyphens(language, 23) for language in seen}, seen)
PYTHON
