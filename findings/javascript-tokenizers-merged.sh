#!/usr/bin/env bash
# The npm package @huggingface/tokenizers leaves the spaces alone that a tokenizer.json joins to the words beside them.
#
# Guess: a tokenizer.json whose pre-tokenizer divides text at each space and joins the space to the next word gives the
#        same tokens in JavaScript as in Python: it is what SentencePiece does, and the file says it in one field.
# Miss:  the behaviors "MergedWithNext" and "MergedWithPrevious" of "Split" act as "Isolated". The space is a piece of
#        its own, so a word never matches its entry with a space, and byte-pair encoding builds it from shorter pieces,
#        all of which are known. The model reads other tokens than in training: a German-English one answered
#        "Gutenant" to "Guten Morgen". "Metaspace", the other way to write it, does not divide text at all there. Merges
#        that never cross a space come out right all the same; a list of words does not. "Isolated" is right.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
cat >encode.mjs <<'JAVASCRIPT'
import { Tokenizer } from '@huggingface/tokenizers'
import { readFileSync } from 'node:fs'

const tokenizer = new Tokenizer(JSON.parse(readFileSync('tokenizer.json', 'utf8')), {})
process.stdout.write(JSON.stringify(tokenizer.encode('Guten Morgen, Anna').tokens))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect
from tokenizers import Tokenizer, models, pre_tokenizers

SPACES = [" ", "Guten ", "Morgen, ", " Morgen,", " Anna", "\u2581Guten", "\u2581Morgen,", "\u2581Anna"]
WORDS = ["Guten", "Morgen,", "Anna", *SPACES]


def encode(pre_tokenizer):
    """Return the tokens of "Guten Morgen, Anna" in Python and in JavaScript."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*WORDS, "?"])}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.save("tokenizer.json")
    out = subprocess.run(["node", "encode.mjs"], check=True, capture_output=True).stdout
    return tokenizer.encode("Guten Morgen, Anna").tokens, json.loads(out)


alone = ["Guten", " ", "Morgen,", " ", "Anna"]
expect("next", encode(pre_tokenizers.Split(" ", "merged_with_next")), (["Guten", " Morgen,", " Anna"], alone))
expect("previous", encode(pre_tokenizers.Split(" ", "merged_with_previous")), (["Guten ", "Morgen, ", "Anna"], alone))
expect("isolated", encode(pre_tokenizers.Split(" ", "isolated")), (alone, alone))
joined = ["\u2581Guten", "\u2581Morgen,", "\u2581Anna"]
expect("Metaspace", encode(pre_tokenizers.Metaspace()), (joined, ["".join(joined)]))
PYTHON
