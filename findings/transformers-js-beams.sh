#!/usr/bin/env bash
# Transformers.js accepts `num_beams` and `num_return_sequences`, and keeps one greedy hypothesis.
#
# Guess: `num_beams: 4`, as an argument or in generation_config.json, searches with four beams, as the documentation of
#        the setting says; a setting that is not supported is an error, as `num_return_sequences: 3` is without beams.
# Miss:  a sampler for beams proposes four continuations, and the search takes the first of them. The output is the
#        greedy one, and the error for `num_return_sequences` is gone: one sequence comes, with `do_sample` as well.
#        `max_length` has no effect in a pipeline, as a `max_new_tokens` of 256 is put beside it and wins. Models of
#        OPUS-MT ask for four or six beams in their files, so a BLEU measured in Python is not that in a browser, and
#        no warning says so.
. "$(dirname "$0")/environment.sh" onnx==1.23.2 numpy==2.4.6 tokenizers==0.23.3
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/transformers@4.3.2
python - <<'PYTHON'
import transformers_js_model

# "morning" has the probability 0.4, "good morning" 0.6 * 0.36 = 0.216
table = {("guten", "<pad>"): {"good": 0.6, "morning": 0.4}}
table["guten", "good"] = {"morning": 0.36, "oh": 0.32, "yes": 0.32}
table |= {("guten", word): {"</s>": 1} for word in ("morning", "oh", "yes")}
words = ["<pad>", "</s>", "guten", "yes", "good", "morning", "oh"]
transformers_js_model.save("model", words, table)
PYTHON
cat >translate.mjs <<'JAVASCRIPT'
import { env, pipeline } from '@huggingface/transformers'

env.localModelPath = './'
env.allowRemoteModels = false
const translate = await pipeline('translation', 'model', { dtype: 'fp32' })
const seen = []
for (const options of JSON.parse(process.argv[2])) {
  try {
    seen.push((await translate('guten', options)).map((one) => one.translation_text))
  } catch (error) {
    seen.push(error.message)
  }
}
console.log(JSON.stringify(seen))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect


def translate(*options):
    command = ["node", "translate.mjs", json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


greedy, beams, several, error, short = translate(
    {}, {"num_beams": 4}, {"num_beams": 4, "num_return_sequences": 3}, {"num_return_sequences": 3}, {"max_length": 2}
)
expect("greedy", greedy, ["good morning"])
expect("four beams", beams, ["good morning"])
expect("three sequences of four beams", several, ["good morning"])
expect("three greedy sequences are an error", error.startswith("num_return_sequences has to be 1"), True)
(sampled,) = translate({"num_beams": 4, "num_return_sequences": 3, "do_sample": True})
expect("number of samples of three", len(sampled), 1)
expect("max_length of two tokens, one of which is the start", short, ["good morning"])
with open("model/generation_config.json") as file:
    settings = json.load(file)
with open("model/generation_config.json", "w") as file:
    json.dump({**settings, "num_beams": 4}, file)
expect("four beams in the file", translate({}), [["good morning"]])
PYTHON
