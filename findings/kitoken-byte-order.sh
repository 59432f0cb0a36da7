#!/usr/bin/env bash
# kitoken turns the bytes of an unknown letter around, so that "Smørrebrød" comes back with four bytes that are no text.
#
# Guess: kitoken, which reads models of SentencePiece, gives the pieces and ids that SentencePiece gives.
# Miss:  so it is for letters that the model has, and for models of type BPE. With a Unigram model that falls back to
#        bytes, a letter of two bytes is written with the second first, one of three from the last to the first. All
#        ids exist, so a translation model reads them, and `decode` returns bytes that are not UTF-8. A corpus in
#        German shows nothing, until a name from Norway or Poland is in a sentence.
. "$(dirname "$0")/environment.sh" kitoken==0.11.1 sentencepiece==0.2.3
python - <<'PYTHON' 2>training.log
import io

from finding import expect
from kitoken import Kitoken
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

LINES = ["Die Größe des Hauses ist wichtig.", "Der Hund läuft schnell über die Straße.", "Zwei Frauen sehen ein Haus."]


def tokenizers(kind):
    """Return a model of SentencePiece, and kitoken's reading of it."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(20 * LINES), model_writer=model, model_type=kind, vocab_size=320, byte_fallback=True,
        hard_vocab_limit=False,
    )
    return SentencePieceProcessor(model_proto=model.getvalue()), Kitoken.from_sentencepiece(model.getvalue())


def compare(kind, text):
    """Return the pieces of the text for both, without the space in front."""
    reference, other = tokenizers(kind)
    return [" ".join(reference.id_to_piece(list(ids))[1:]) for ids in (reference.encode(text), other.encode(text))]


for word in ("Haus", "Größe", "Qx"):
    pieces = compare("unigram", f"x {word}")
    expect(f"unigram, {word!r}, equal", pieces[0] == pieces[1], True)
expect("unigram, 'ø'", compare("unigram", "ø"), ["<0xC3> <0xB8>", "<0xB8> <0xC3>"])
expect("unigram, '語'", compare("unigram", "語"), ["<0xE8> <0xAA> <0x9E>", "<0x9E> <0xAA> <0xE8>"])
expect("bpe, 'ø'", compare("bpe", "ø"), 2 * ["<0xC3> <0xB8>"])
kitoken = tokenizers("unigram")[1]
expect("decoded", kitoken.decode(kitoken.encode("Smørrebrød")), b"Sm\xb8\xc3rrebr\xb8\xc3d")
PYTHON
