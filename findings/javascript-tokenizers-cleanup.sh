#!/usr/bin/env bash
# The npm package @huggingface/tokenizers takes the space before a French question mark out of a translation.
#
# Guess: decoding gives the text that the tokens spell, in JavaScript as in Python: `clean_up_tokenization_spaces` is
#        for tokenizers that divide at punctuation, and off unless tokenizer_config.json says otherwise.
# Miss:  it is on unless the file says otherwise, and transformers 5 leaves the setting out of the files that it saves.
#        A space before ".", ",", "?" and "!" is dropped, one before ";" and ":" is kept: "Ça va ? Oui : demain !" loses
#        two of its three spaces. ".gitignore" is joined to the word before it, and so is ",5". The text is no longer
#        what the model said, and BLEU of the same ids is not that in Python.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 tokenizers==0.23.3
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
cat >decode.mjs <<'JAVASCRIPT'
import { Tokenizer } from '@huggingface/tokenizers'
import { readFileSync } from 'node:fs'

const read = (name) => JSON.parse(readFileSync(`saved/${name}.json`, 'utf8'))
const [ids, options] = process.argv.slice(2).map((text) => JSON.parse(text))
const tokenizer = new Tokenizer(read('tokenizer'), { ...read('tokenizer_config'), ...options })
process.stdout.write(JSON.stringify(ids.map((each) => tokenizer.decode(each))))
JAVASCRIPT
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import json
import subprocess

from finding import expect
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TEXTS = ["Ça va ? Oui : demain !", "Die Datei .gitignore fehlt", "ein Wert von ,5"]
words = ["\u2581" + word for text in TEXTS for word in text.split()]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["<unk>", *dict.fromkeys(words)])}, "<unk>"))
tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
python = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
python.save_pretrained("saved")
ids = [python(text)["input_ids"] for text in TEXTS]


def decode(**options):
    command = ["node", "decode.mjs", json.dumps(ids), json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


with open("saved/tokenizer_config.json") as file:
    expect("the setting is in the file", "clean_up_tokenization_spaces" in json.load(file), False)
expect("Python", [python.decode(each) for each in ids], TEXTS)
expect("JavaScript", decode(), ["Ça va? Oui : demain!", "Die Datei.gitignore fehlt", "ein Wert von,5"])
expect("JavaScript, turned off", decode(clean_up_tokenization_spaces=False), TEXTS)
PYTHON
