#!/usr/bin/env bash
# tokenizers gives single letters other ids each time that it trains WordPiece or Unigram on the same text.
#
# Guess: training has no random part, so the same lines give the same file, as with BPE and with SentencePiece.
# Miss:  the same pieces come out, but the letters of a WordPiece vocabulary that continue a word, and the rarest letters
#        of a Unigram model, are numbered in the order of a hash table. Text of frequent words is encoded alike, so nothing
#        seems wrong; names and rare words are not. A vocabulary that is trained again does not fit a model that was
#        trained with the first one, though all its pieces are there.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3
cat >train.py <<'PYTHON'
import json, random
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SYLLABLES = ["ka", "to", "mi", "ren", "sa", "ul", "be", "gro", "fen", "li", "ost"]
rng = random.Random(0)
WORDS = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(400)]
LINES = [" ".join(rng.choices(WORDS, k=8)) for _ in range(1000)]
TRAINERS = {
    "BPE": (models.BPE(), trainers.BpeTrainer, {}),
    "WordPiece": (models.WordPiece(unk_token="?"), trainers.WordPieceTrainer, {"special_tokens": ["?"]}),
    "Unigram": (models.Unigram(), trainers.UnigramTrainer, {"special_tokens": ["?"], "unk_token": "?"}),
}
found = {}
for name, (model, trainer, options) in TRAINERS.items():
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(LINES, trainer(vocab_size=150, show_progress=False, **options))
    texts = " ".join(LINES), "lbgf rtsk"
    found[name] = [sorted(tokenizer.get_vocab()), *(tokenizer.encode(text).ids for text in texts)]
print(json.dumps(found))
PYTHON
for _ in $(seq 14); do python train.py >>found; done
python - <<'PYTHON'
import json
from finding import expect

runs = [json.loads(line) for line in open("found")]
for name in runs[0]:
    pieces, frequent, rare = (len({json.dumps(run[name][i]) for run in runs}) for i in range(3))
    print(f"{name}, 14 times: {pieces} set of pieces, {frequent} encoding of frequent words, {rare} of a rare one")
    expect(f"{name}: pieces and frequent words are the same", (pieces, frequent), (1, 1))
    expect(f"{name}: a rare word is too", rare == 1, name == "BPE")
PYTHON
