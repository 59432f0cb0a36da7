#!/usr/bin/env bash
# transformers 5 takes the pieces of a SentencePiece model, not its type: for T5, BPE is Unigram and bytes are unknown.
#
# Guess: T5Tokenizer, XLMRobertaTokenizer, MBart50Tokenizer and PLBartTokenizer give the pieces that SentencePiece gives
#        with the same file, whatever it was trained with: version 4 called SentencePiece, and a conversion reads the
#        settings.
# Miss:  the first three build a Unigram model of the pieces, with the ranks of BPE as scores: two sentences of three
#        are cut otherwise. Of a Unigram model with bytes, a letter beyond its alphabet is one unknown token, so that a
#        name comes back with gaps; a model without a space in front of the text gets one. The normalization is read,
#        and all ids exist, so nothing is reported. A T5 or mBART that was trained with a vocabulary of its own, under
#        version 4 or with another program, reads other input than it learned. PLBartTokenizer, which calls
#        SentencePiece, is right.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 sentencepiece==0.2.3 protobuf==7.36.2
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
python - <<'PYTHON'
import random
import shutil
from pathlib import Path

import sentencepiece
from finding import expect
from transformers import MBart50Tokenizer, PLBartTokenizer, T5Tokenizer, XLMRobertaTokenizer

random.seed(3)
words = """das haus ist alt und der garten ist groß wir gehen am morgen in die stadt sie kommt aus berlin
er schreibt einen brief an seine mutter über den sommer straße mädchen größe käse zug bahnhof fährt nach münchen
heute gestern nicht""".split()
sentences = [" ".join(random.choices(words, k=random.randint(3, 9))) + "." for _ in range(2000)]
sample = sentences[:200]
Path("corpus.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
t5_ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
classes = [
    (T5Tokenizer, "spiece.model", t5_ids),
    (XLMRobertaTokenizer, "sentencepiece.bpe.model", {}),
    (MBart50Tokenizer, "sentencepiece.bpe.model", {}),
    (PLBartTokenizer, "sentencepiece.bpe.model", {}),
]


def compare(text: str, **settings: object) -> tuple[list[str], dict[str, list[str]], dict[str, int]]:
    """Return the pieces of a text for SentencePiece and each class, and how many of 200 sentences have equal ones."""
    pieces, n_equal = {}, {}
    for kind, name, ids in classes:
        shutil.rmtree("model", ignore_errors=True)
        Path("model").mkdir()
        sentencepiece.SentencePieceTrainer.train(
            input="corpus.txt", model_prefix="own", hard_vocab_limit=False, minloglevel=2, **settings, **ids
        )
        own = sentencepiece.SentencePieceProcessor(model_file="own.model")
        shutil.copy("own.model", f"model/{name}")
        tokenizer = kind.from_pretrained("model")
        pieces[kind.__name__] = tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False)["input_ids"])
        n_equal[kind.__name__] = sum(tokenizer.tokenize(one) == own.encode(one, out_type=str) for one in sample)
    return own.encode(text, out_type=str), pieces, n_equal


def agree(pieces: dict[str, list[str]], stated: list[str], of_the_last: list[str]) -> None:
    """Compare the pieces of three classes with one list, and those of the last with another."""
    for name, seen in pieces.items():
        expect(f"  {name}", seen, of_the_last if name == "PLBartTokenizer" else stated)


def equal(n: int) -> dict[str, int]:
    """Return how many sentences have equal pieces, if the last class is right."""
    return {kind.__name__: 200 if kind is PLBartTokenizer else n for kind, _, _ in classes}


own, pieces, n_equal = compare("die straße ist groß.", vocab_size=200, model_type="unigram")
expect("Unigram, of 200 sentences", n_equal, equal(200))

own, pieces, n_equal = compare("die straße ist groß.", vocab_size=200, model_type="bpe")
expect("BPE, of 200 sentences", n_equal, equal(69))
agree(pieces, ["▁d", "ie", *own[1:]], ["▁die", *own[1:]])

own, pieces, _ = compare("aus łódź", vocab_size=400, model_type="unigram", byte_fallback=True)
letters = ["<0xC5>", "<0x82>", "<0xC3>", "<0xB3>", "d", "<0xC5>", "<0xBA>"]
expect("Unigram with bytes", own, ["▁aus", "▁", *letters])
agree(pieces, ["▁aus", "▁", "<unk>", "d", "<unk>"], own)

own, pieces, n_equal = compare("das haus", vocab_size=200, model_type="unigram", add_dummy_prefix=False)
expect("without a space in front", own, ["das", "▁haus"])
agree(pieces, ["▁das", "▁haus"], own)
PYTHON
