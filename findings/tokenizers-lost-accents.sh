#!/usr/bin/env bash
# tokenizers loses accents of decomposed Vietnamese that SentencePiece keeps, with the same normalization table.
#
# Guess: the normalizer "Precompiled", which fast tokenizers of XLM-R, mBART and T5 have, gives for all text what
#        SentencePiece gives with the table that both read from the model: letters and accents are joined, as in NFKC.
# Miss:  it looks up a letter with all its accents at once, if that has fewer than six bytes, takes what fits the
#        beginning and drops the rest: "người" (person) becomes "ngươi" (you), "Việt" becomes "Viẹt". Japanese and
#        Korean of six bytes and more stay in parts, which are rare or unknown pieces. German and Czech letters have one
#        accent, and are right. Text that was copied from PDF or from names of files on macOS is decomposed; a fast
#        tokenizer reads another sentence there than the slow one, or than the model did in training.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
python - <<'PYTHON'
import io
import unicodedata

from finding import expect
from sentencepiece import SentencePieceNormalizer, SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from tokenizers.normalizers import Precompiled

file = io.BytesIO()
SentencePieceTrainer.train(sentence_iterator=iter(["ab"] * 9), model_writer=file, vocab_size=6, minloglevel=2)
table = ModelProto.FromString(file.getvalue()).normalizer_spec.precompiled_charsmap
tokenizers, sentencepiece = Precompiled(table), SentencePieceNormalizer(rule_name="nmt_nfkc")


def normalized(text):
    """Return what SentencePiece and tokenizers make of a text that is decomposed."""
    text = unicodedata.normalize("NFD", text)
    return sentencepiece.Normalize(text).removeprefix("▁"), tokenizers.normalize_str(text)


for same in ("Äpfel", "příliš"):
    expect("one accent", normalized(same), (same, same))
expect("Vietnamese, two accents", normalized("người"), ("người", "ngươi"))
expect("Vietnamese, two accents", normalized("Việt"), ("Việt", "Viẹt"))
for text in ("が", "한"):
    expect("Japanese and Korean", normalized(text), (text, unicodedata.normalize("NFD", text)))
PYTHON
