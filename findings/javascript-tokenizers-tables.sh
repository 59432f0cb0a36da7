#!/usr/bin/env bash
# The npm package @huggingface/tokenizers does not read the normalization table of a SentencePiece model.
#
# Guess: the normalizer "Precompiled" applies the table that tokenizer.json holds in base 64, as the package in Python
#        does; or, where it cannot, it is an error.
# Miss:  the table is not read. Each model gets NFKC with the spaces of `nmt_nfkc`, written out as code. A model that
#        was trained with `nmt_nfkc_cf`, which lowers letters, reads capitals, which it has never seen: each sentence
#        begins with an unknown token, and in German so does each noun. With `nfkc` a Persian word is divided at its
#        non-joiner; replacements of a table of one's own are not made. Even with the default table an emoji of
#        several people becomes several emojis. No warning comes.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
cat >encode.mjs <<'JAVASCRIPT'
import { Tokenizer } from '@huggingface/tokenizers'
import { readFileSync } from 'node:fs'

const tokenizer = new Tokenizer(JSON.parse(readFileSync('tokenizer.json', 'utf8')), {})
process.stdout.write(JSON.stringify(JSON.parse(process.argv[2]).map((text) => tokenizer.encode(text).ids)))
JAVASCRIPT
printf '00E4\t0061 0065\n' >own.tsv  # "ae" for "ä"
python - 2>training.log <<'PYTHON' || { cat training.log >&2; exit 1; }
import io
import json
import subprocess

from finding import expect
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

JOINED, APART = "می\u200cروم", "می روم"
FAMILY, PEOPLE = "👩\u200d👦", "👩 👦"


def encode(texts, **rule):
    """Return the pieces of the texts by SentencePiece, and by tokenizers in Python and in JavaScript."""
    lines = ["Das Haus ist alt", "guten morgen herr bär", JOINED, APART, FAMILY, PEOPLE, "a ä"] * 9
    out = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, vocab_size=60, hard_vocab_limit=False, minloglevel=2, **rule
    )
    model = ModelProto.FromString(out.getvalue())
    names = [piece.piece for piece in model.pieces]
    tokenizer = Tokenizer(models.Unigram([(piece.piece, piece.score) for piece in model.pieces], 0))
    tokenizer.normalizer = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save("tokenizer.json")
    command = ["node", "encode.mjs", json.dumps(texts)]
    ids = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    processor = SentencePieceProcessor(model_proto=out.getvalue())
    read = [[processor.encode(text), tokenizer.encode(text).ids, each] for text, each in zip(texts, ids, strict=True)]
    return [["".join(names[i] for i in each).lstrip("\u2581") for each in kinds] for kinds in read]


(capital,) = encode(["Das Haus"], normalization_rule_name="nmt_nfkc_cf")
expect("nmt_nfkc_cf", capital, ["das\u2581haus", "das\u2581haus", "<unk>as\u2581<unk>aus"])
persian, ligature = encode([JOINED, "\ufb01n"], normalization_rule_name="nfkc")
expect("nfkc", persian, [JOINED, JOINED, APART.replace(" ", "\u2581")])
(own,) = encode(["bär"], normalization_rule_tsv="own.tsv")
expect("own table", own, ["baer", "baer", "b<unk>r"])
family, words = encode([FAMILY, "Das Haus"])
expect("default", family, [FAMILY, FAMILY, PEOPLE.replace(" ", "\u2581")])
expect("default, words", words, ["Das\u2581Haus"] * 3)
PYTHON
