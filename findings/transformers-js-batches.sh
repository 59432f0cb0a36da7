#!/usr/bin/env bash
# Transformers.js goes on with a translation behind its end, as long as another sentence of the batch is not ready.
#
# Guess: a list of sentences gives the translations that each sentence gives alone; a row that has ended is filled with
#        padding until the last one ends, as in Python.
# Miss:  a row that has ended takes further words. The search stops at a step at which all rows have an end at the same
#        time, and decoding drops the ends between the words, so that "good morning oh oh oh" is returned. No training
#        says what follows an end. A model that repeats it, as some do, looks right; with another, all translations
#        but the longest have words added, and rows that never end together run to the limit. One sentence at a time
#        is right.
. "$(dirname "$0")/environment.sh" onnx==1.23.2 numpy==2.4.6 tokenizers==0.23.3
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/transformers@4.3.2
cat >translate.mjs <<'JAVASCRIPT'
import { env, pipeline } from '@huggingface/transformers'

env.localModelPath = './'
env.allowRemoteModels = false
const translate = await pipeline('translation', 'model', { dtype: 'fp32' })
const seen = []
for (const texts of JSON.parse(process.argv[2])) {
  seen.push((await translate(texts, { max_new_tokens: 8 })).map((one) => one.translation_text))
}
console.log(JSON.stringify(seen))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

import transformers_js_model
from finding import expect

WORDS = ["<pad>", "</s>", "ja", "guten", "morgen", "yes", "good", "morning", "oh"]


def translate(behind):
    """Translate each sentence alone and both, with a model that puts `behind` after the end."""
    table = {("ja", "<pad>"): {"yes": 1}, ("ja", "yes"): {"</s>": 1}, ("guten", "<pad>"): {"good": 1}}
    table |= {("guten", "good"): {"morning": 1}, ("guten", "morning"): {"</s>": 1}}
    for source in ("ja", "guten"):
        table |= {(source, "oh"): {"</s>": 1}, (source, "</s>"): {behind: 1}}
    transformers_js_model.save(f"{behind[0]}/model", WORDS, table)
    jobs = json.dumps([["ja"], ["guten morgen"], ["ja", "guten morgen"]])
    command = ["node", "../translate.mjs", jobs]
    return json.loads(subprocess.run(command, cwd=behind[0], check=True, capture_output=True).stdout)


expect("an end behind the end", translate("</s>"), [["yes"], ["good morning"], ["yes", "good morning"]])
*alone, both = translate("oh")
expect("a word behind the end, alone", alone, [["yes"], ["good morning"]])
expect("a word behind the end, in a batch", both, ["yes oh oh oh", "good morning oh oh oh"])
PYTHON
