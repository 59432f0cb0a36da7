#!/usr/bin/env bash
# The npm package @huggingface/tokenizers finds an added token inside of words, although it has `single_word`.
#
# Guess: an added token with `single_word` is found where it is a word of its own, and nowhere else, as in Python.
# Miss:  the setting is read and never used. "Bank", added as a term of its own, is cut out of "Banken" and
#        "Bankdrücken", for which the vocabulary has better pieces, and the rest is encoded as the beginning of another
#        word. All ids exist, so nothing is reported. An added token of two letters, such as a unit, changes most
#        sentences. Training in Python has the words whole; the model reads other input in a browser.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
cat >encode.mjs <<'JAVASCRIPT'
import { Tokenizer } from '@huggingface/tokenizers'
import { readFileSync } from 'node:fs'

const tokenizer = new Tokenizer(JSON.parse(readFileSync('tokenizer.json', 'utf8')), {})
process.stdout.write(JSON.stringify(JSON.parse(process.argv[2]).map((text) => tokenizer.encode(text).tokens)))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

TEXTS = ["die Bank", "Bankdrücken", "die Datenbank", "die Banken"]
PIECES = ["<unk>", *(f"\u2581{word}" for word in ("", "die", "Bankdrücken", "Datenbank", "Banken", "en")), *"abdeknrtü"]


def encode(word, **settings):
    """Return the tokens of the texts in Python and in JavaScript."""
    tokenizer = Tokenizer(models.Unigram([(piece, -2.0) for piece in PIECES], 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_tokens([AddedToken(word, normalized=False, **settings)])
    tokenizer.save("tokenizer.json")
    out = subprocess.run(["node", "encode.mjs", json.dumps(TEXTS)], check=True, capture_output=True).stdout
    return [tokenizer.encode(text).tokens for text in TEXTS], json.loads(out)


whole = [["\u2581Bankdrücken"], ["\u2581die", "\u2581Datenbank"], ["\u2581die", "\u2581Banken"]]
in_python, in_javascript = encode("Bank", single_word=True)
expect("Python", in_python[1:], whole)
expect("JavaScript, alone", in_javascript[0] == in_python[0] and in_python[0][-1] == "Bank", True)
expect("JavaScript", in_javascript[3], ["\u2581die", "\u2581", "Bank", "\u2581en"])
expect("JavaScript is as without the setting", in_javascript == encode("Bank")[1], True)
expect("and so is Python without it", encode("Bank")[0] == in_javascript, True)
PYTHON
