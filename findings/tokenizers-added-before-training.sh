#!/usr/bin/env bash
# tokenizers gives tokens that are added before it trains the ids of letters: an "a" is padding, and is not decoded.
#
# Guess: special tokens that `add_special_tokens` has given the ids 0 and 1 keep them, and the pieces that are trained
#        then get others, or the trainer takes them up: no two pieces have one id.
# Miss:  the tokens keep their ids, and the trainer, which knows nothing of them, counts from 0 as well. The first two
#        letters of the vocabulary have the ids of padding and of the end: a batch of real text is masked where it has
#        them, and `decode` leaves them out. The size of the vocabulary counts both, so it is larger than all ids. It is
#        so with all four kinds of models, without an error or a warning; only `special_tokens` of the trainer is safe.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3
python - <<'PYTHON'
from finding import expect
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<pad>", "</s>"]
TRAINERS = {
    "BPE": trainers.BpeTrainer,
    "WordPiece": trainers.WordPieceTrainer,
    "WordLevel": trainers.WordLevelTrainer,
    "Unigram": trainers.UnigramTrainer,
}
LINES = ["der mann geht in das haus", "die frau kommt aus dem haus"] * 20


def trained(name, special):
    tokenizer = Tokenizer(getattr(models, name)())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([] if special else SPECIAL)
    tokenizer.train_from_iterator(LINES, TRAINERS[name](vocab_size=40, special_tokens=special, show_progress=False))
    return tokenizer


for name in TRAINERS:
    for special, said in (([], "added before"), (SPECIAL, "given to the trainer")):
        tokenizer = trained(name, special)
        vocabulary = tokenizer.get_vocab()
        twice = len(vocabulary) - len(set(vocabulary.values()))
        expect(f"{name}, special tokens {said}: pieces with an id of another", twice, 0 if special else 2)
        beyond = tokenizer.get_vocab_size() - max(vocabulary.values()) - 1
        expect("  its size, less the ids that there are", beyond, 0 if special else 2)
tokenizer = trained("BPE", [])
ids = tokenizer.encode("ada").ids
expect("BPE, padding in a text that has none", tokenizer.token_to_id("<pad>") in ids, True)
expect("BPE, 'ada' encoded and decoded", tokenizer.decode(ids), "")
safe = trained("BPE", SPECIAL)
expect("BPE, the same with the trainer's", safe.decode(safe.encode("ada").ids), "ada")
PYTHON
