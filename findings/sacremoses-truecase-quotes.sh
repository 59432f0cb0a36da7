#!/usr/bin/env bash
# Sacremoses's detruecaser leaves the first word small behind German and French quotation marks and behind a dash.
#
# Guess: `MosesTruecaser` writes the first word of a sentence as it is written inside of sentences, also behind an
#        opening quotation mark, and `MosesDetruecaser` makes its first letter large again there. Of the dash no guess
#        was written.
# Miss:  the truecaser goes by the word and lowers it behind any mark. The detruecaser knows straight quotation marks
#        and brackets as what may stand before the first word, as Moses had them after its own tokenizer, and not „, “,
#        ‚, « or », nor a hyphen or a dash. A sentence that is truecased and detruecased is another one: all that a
#        person says in a German novel, and each line of a French dialogue, begins with a small letter, and BLEU counts
#        it as wrong.
. "$(dirname "$0")/environment.sh" sacremoses==0.2.0
python - 2>/dev/null <<'PYTHON'
from finding import expect
from sacremoses import MosesDetruecaser, MosesTruecaser

SENTENCE = "Die Katze sah die Maus ."
CORPUS = ["Er sah die Katze .", "Sie sah die Maus .", "Heute sah er die Katze und die Maus .", SENTENCE]
truecaser, detruecaser = MosesTruecaser(), MosesDetruecaser()
truecaser.train([sentence.split() for sentence in CORPUS * 5])


def there_and_back(sentence):
    return detruecaser.detruecase(truecaser.truecase(sentence, return_str=True), return_str=True)


expect("truecased", truecaser.truecase(f"„ {SENTENCE}", return_str=True), "„ die Katze sah die Maus .")
for mark in ("", '" ', "( "):
    expect(f"first word behind {mark!r}", there_and_back(mark + SENTENCE), mark + SENTENCE)
for mark in ("„ ", "“ ", "‚ ", "« ", "» ", "- ", "– "):
    expect(f"first word behind {mark!r}", there_and_back(mark + SENTENCE), f"{mark}d{SENTENCE[1:]}")
PYTHON
