#!/usr/bin/env bash
# MarianTokenizer reads a letter that its SentencePiece model does not know as a known token, if the other language has it.
#
# Guess: a letter that source.spm lacks is the unknown token, as encoding with SentencePiece alone says.
# Miss:  SentencePiece gives ids, or pieces as text. As text an unknown letter is the letter itself, and MarianTokenizer
#        looks it up in a vocabulary of both languages, which has it from the target. It is known there, with an
#        embedding that training saw as an output alone. Two unknown letters side by side are one piece, and unknown. A
#        conversion that takes SentencePiece's ids translates such sentences otherwise than transformers.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 sentencepiece==0.2.3 protobuf==7.35.1
python - 2>tokenizer.log <<'PYTHON'
import io, json
import sentencepiece
from finding import expect
from transformers import MarianTokenizer

def train(sentences):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 9), model_writer=model, vocab_size=40, hard_vocab_limit=False, minloglevel=2
    )
    return model.getvalue()

def pieces(serialized):
    processor = sentencepiece.SentencePieceProcessor(model_proto=serialized)
    return [processor.id_to_piece(i) for i in range(3, processor.vocab_size())]

source, target = train(["der hund sieht ein haus", "die katze ruht"]), train(["Very big Vans move", "Xaver waits"])
for name, content in (("source.spm", source), ("target.spm", target)):
    with open(name, "wb") as file:
        file.write(content)
names = ["</s>", "<unk>", *dict.fromkeys([*pieces(source), *pieces(target)]), "<pad>"]
with open("vocab.json", "w") as file:
    json.dump({name: i for i, name in enumerate(names)}, file)

tokenizer = MarianTokenizer("source.spm", "target.spm", "vocab.json", source_lang="de", target_lang="en")
processor = sentencepiece.SentencePieceProcessor(model_proto=source)

def known(text):
    ids = tokenizer(text)["input_ids"][:-1]
    return [tokenizer.unk_token_id != i for i in ids]

expect("source.spm knows V", processor.piece_to_id("V") != processor.unk_id(), False)
expect("vocab.json has V", "V" in names, True)
expect("MarianTokenizer reads V as known", known("V")[-1], True)
expect("MarianTokenizer reads VX as known", known("VX")[-1], False)
PYTHON
