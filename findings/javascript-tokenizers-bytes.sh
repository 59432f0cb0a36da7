#!/usr/bin/env bash
# The npm package @huggingface/tokenizers writes no bytes for unknown letters, if the model is Unigram.
#
# Guess: `byte_fallback` in tokenizer.json gives the bytes of a letter that the vocabulary lacks, in JavaScript as in
#        Python, for both kinds of models that have it.
# Miss:  so it is with byte-pair encoding. For Unigram, which is SentencePiece's default, the setting is not read: the
#        letters are the unknown token, several side by side one of them, though the vocabulary has the 256 bytes
#        and decoding joins bytes. A translation model with bytes can copy names and emojis that are new to it; in a
#        browser it reads <unk> there, which it never saw in training, as with bytes no text has one.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
cat >encode.mjs <<'JAVASCRIPT'
import { Tokenizer } from '@huggingface/tokenizers'
import { readFileSync } from 'node:fs'

const tokenizer = new Tokenizer(JSON.parse(readFileSync('tokenizer.json', 'utf8')), {})
const ids = JSON.parse(process.argv[2]).map((text) => tokenizer.encode(text).ids)
process.stdout.write(JSON.stringify(ids.map((each) => [each, tokenizer.decode(each)])))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TEXTS = ["der Fluss", "der Ørstedsfluss", "東京 🙂"]
PIECES = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", *"derFflust"]


def read(model):
    """Return ids and decoded ids of the texts in Python and in JavaScript."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    tokenizer.save("tokenizer.json")
    command = ["node", "encode.mjs", json.dumps(TEXTS)]
    out = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    return [[each, tokenizer.decode(each, skip_special_tokens=False)] for each in ids], out


pairs = models.BPE({piece: i for i, piece in enumerate(PIECES)}, [], unk_token="<unk>", byte_fallback=True)
in_python, in_javascript = read(pairs)
expect("byte pairs are equal", in_python == in_javascript, True)
unigram = models.Unigram([(piece, -2.0) for piece in PIECES], 0, True)
in_python, in_javascript = read(unigram)
expect("Unigram in Python", [text for _, text in in_python], TEXTS)
expect("Unigram in JavaScript", [text for _, text in in_javascript], [TEXTS[0], "der <unk>rstedsfluss", "<unk> <unk>"])
expect("unknown tokens in JavaScript", [ids.count(0) for ids, _ in in_javascript], [0, 1, 2])
PYTHON
