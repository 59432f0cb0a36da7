#!/usr/bin/env bash
# Transformers.js truncates a long source at its very end, so that the end token and the language are the first to go.
#
# Guess: `truncation: true` makes room for the special tokens, as in Python: a source that is too long loses its last
#        words and keeps its end token.
# Miss:  the ids are cut after the special tokens were added, and these go first. The source of Marian, M2M100 and T5
#        then has no </s>, and that of the first mBART, which ends in its language, has neither: the model reads a
#        sentence without an end, which training never showed it. `truncation_side: "left"` has no effect, and a pair
#        loses its second text alone. The translation pipeline truncates each source, to the `model_max_length` of
#        the file, without a warning, and has no option for it.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 tokenizers==0.23.3
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/transformers@4.3.2
cat >encode.mjs <<'JAVASCRIPT'
import { AutoTokenizer, env } from '@huggingface/transformers'

env.localModelPath = './'
env.allowRemoteModels = false
const tokenizer = await AutoTokenizer.from_pretrained('tokenizer')
const words = ([text, ...pair]) => {
  const options = { truncation: true, return_tensor: false, ...(pair.length ? { text_pair: pair[0] } : {}) }
  return tokenizer(text, options).input_ids.map((id) => tokenizer.decode([id]))
}
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(words)))
JAVASCRIPT
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import json
import subprocess

from finding import expect
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer

SPECIAL, WORDS = ["<unk>", "</s>", "de_DE"], ["eins", "zwei", "drei", "vier", "fünf", "sechs"]


def encode(texts, single, side="right"):
    """Return the tokens of the texts with a limit of four in Python and in JavaScript."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*SPECIAL, *WORDS])}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [(word, i) for i, word in enumerate(SPECIAL)]
    template = {"single": single, "pair": "$A </s> $B </s>", "special_tokens": special}
    tokenizer.post_processor = processors.TemplateProcessing(**template)
    tokenizer.add_special_tokens(SPECIAL)
    subprocess.run(["mkdir", "-p", "tokenizer"], check=True)
    tokenizer.save("tokenizer/tokenizer.json")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4, "truncation_side": side}
    with open("tokenizer/tokenizer_config.json", "w") as file:
        json.dump({**settings, "unk_token": "<unk>", "eos_token": "</s>"}, file)
    python = AutoTokenizer.from_pretrained("tokenizer")
    command = ["node", "encode.mjs", json.dumps(texts)]
    out = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [python.convert_ids_to_tokens(python(*text, truncation=True)["input_ids"]) for text in texts], out


short, long = ["eins zwei drei"], [" ".join(WORDS)]
in_python, in_javascript = encode([short, long], "$A </s>")
expect("Python", in_python, [["eins", "zwei", "drei", "</s>"]] * 2)
expect("JavaScript", in_javascript, [["eins", "zwei", "drei", "</s>"], ["eins", "zwei", "drei", "vier"]])
in_python, in_javascript = encode([long], "$A </s> de_DE")
expect("as mBART, Python", in_python, [["eins", "zwei", "</s>", "de_DE"]])
expect("as mBART, JavaScript", in_javascript, [["eins", "zwei", "drei", "vier"]])
in_python, in_javascript = encode([long], "$A </s>", side="left")
expect("left side, Python", in_python, [["vier", "fünf", "sechs", "</s>"]])
expect("left side, JavaScript", in_javascript, [["eins", "zwei", "drei", "vier"]])
in_python, in_javascript = encode([["eins zwei", "drei vier"]], "$A </s>")
expect("pair, Python", in_python, [["eins", "</s>", "drei", "</s>"]])
expect("pair, JavaScript", in_javascript, [["eins", "zwei", "</s>", "drei"]])
PYTHON
