#!/usr/bin/env bash
# NLTK's ToktokTokenizer writes "&amp;" for an ampersand between spaces, and leaves the one in "R&D" as it is.
#
# Guess: the tokens, put together, are the text without its spaces, as with NLTK's other tokenizers for words but for
#        their quotation marks; a text is no HTML.
# Miss:  the tokenizer replaces "&" by "&amp;" and "|" by "&#124;", as the Perl script did whose output went to a parser
#        that needs it. It does so only between spaces, so that "Müller & Söhne" has another sign than "R&D". No method
#        turns the tokens back. A vocabulary that is counted with them has no "&" of its own, a model that is trained on
#        them writes "&amp;" into its texts, and scores and alignments with texts of another tokenizer miss these words.
. "$(dirname "$0")/environment.sh" nltk==3.10.4
python - <<'PYTHON'
from finding import expect
from nltk.tokenize import NLTKWordTokenizer, ToktokTokenizer

TEXTS = {
    "„Haus“, sagte er.": ["„", "Haus", "“", ",", "sagte", "er", "."],
    "R&D und AT&T": ["R&D", "und", "AT&T"],
    "Müller & Söhne": ["Müller", "&amp;", "Söhne"],
    "ja | nein": ["ja", "&#124;", "nein"],
}
for text, tokens in TEXTS.items():
    expect(text, ToktokTokenizer().tokenize(text), tokens)
expect("NLTKWordTokenizer", NLTKWordTokenizer().tokenize("Müller & Söhne | ja"), ["Müller", "&", "Söhne", "|", "ja"])
PYTHON
