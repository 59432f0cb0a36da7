#!/usr/bin/env bash
# jiwer takes "10 km" with a no-break space, or two words with a line end between them, for one word.
#
# Guess: `jiwer.wer` divides texts as `str.split` does: tabs, line ends and no-break spaces are spaces.
#        `ExpandCommonEnglishContractions` leaves "Anna's book" alone.
# Miss:  words end at U+0020 alone. Two white spaces or more become one such space, so that "a" and "b" are two words
#        if two tabs or line ends are between them, and one word if it is one, against which "a b" has an error rate of
#        1. French has a no-break space before "?" and in "10 km", which a transcript or a system may write as a space;
#        a reference that is wrapped has line ends. Each such place counts as a wrong word and a missing one. And
#        "Anna's book" is "Anna is book", so that the references get verbs which nobody said.
. "$(dirname "$0")/environment.sh" jiwer==4.0.0
python - <<'PYTHON'
import jiwer
from finding import expect

NO_BREAK = "\N{NO-BREAK SPACE}"
SPACES = {"tab": "\t", "line end": "\n", "no-break": NO_BREAK, "ideographic": "\N{IDEOGRAPHIC SPACE}"}
for name, space in SPACES.items():
    one, two = f"a{space}b", f"a{space}{space}b"
    rates = [jiwer.wer("a b", text) for text in (one, two, " ".join(one.split()))]
    expect(f"one {name}, two, divided", rates, [1.0, 0.0, 0.0])
question, typed = f"Où est{NO_BREAK}: Paris{NO_BREAK}?", "Où est : Paris ?"
expect("question", jiwer.wer(typed, question), 0.8)
expect("question, divided", jiwer.wer(" ".join(typed.split()), " ".join(question.split())), 0.0)
counts = jiwer.process_words("eins\nzwei drei", "eins zwei drei")
expect("transcript", [counts.hits, counts.substitutions, counts.deletions, counts.insertions], [1, 1, 0, 1])
expand = jiwer.ExpandCommonEnglishContractions()
expect("possessive", expand("Anna's book, let's go"), "Anna is book, let us go")
expect("has", expand("she's got it"), "she is got it")
PYTHON
