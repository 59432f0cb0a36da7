#!/usr/bin/env bash
# With a SentencePiece model of one's own, NllbTokenizer of transformers 5 has either the words or the languages.
#
# Guess: NllbTokenizer, MBartTokenizer and MBart50Tokenizer that are made with `vocab_file`, or from a folder with
#        this file, have its pieces and their language codes; a language that they have not is an error as `src_lang`.
#        M2M100Tokenizer leaves the code of the language out of a text with `skip_special_tokens`.
# Miss:  `vocab_file` is documented and not read by the first three: each word is <unk>, without an error. From a
#        folder NLLB has the words and no language code: "deu_Latn" is <unk>, and so each sentence begins with the
#        same unknown token, whatever its language. Names of languages are not checked. M2M100 has words and codes,
#        but each translation is "__en__ ..." as text. Who adapts NLLB to a vocabulary of their own, as guides for new
#        languages do, trains a model that sees no words, or cannot be told a language. mBART from a folder is right,
#        and so is PLBart either way.
. "$(dirname "$0")/environment.sh" transformers==5.23.0 sentencepiece==0.2.3 protobuf==7.36.2
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import itertools
import json
import pathlib

import sentencepiece
import transformers
from finding import expect

WORDS = "der die das Haus Baum ist war rot klein und nicht Katze Hund the house tree is was red small and not".split()
FILE = "folder/sentencepiece.bpe.model"
pathlib.Path("folder").mkdir()
pathlib.Path("corpus.txt").write_text("\n".join(map(" ".join, itertools.permutations(WORDS, 2))))
sentencepiece.SentencePieceTrainer.train(
    input="corpus.txt", model_prefix="model", model_type="bpe", vocab_size=60, minloglevel=2
)
pathlib.Path("model.model").rename(FILE)
MODEL = sentencepiece.SentencePieceProcessor(model_file=FILE)
PIECES = MODEL.encode("das Haus ist rot", out_type=str)


def look(tokenizer, language):
    """Return whether a sentence has the pieces of the model, none of them, and whether the language has a token."""
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("das Haus ist rot").input_ids)
    words = [token for token in tokens if token not in ("</s>", language)]
    known = tokenizer.convert_tokens_to_ids(language) != tokenizer.unk_token_id
    return ("all" if words[-len(PIECES):] == PIECES else "none" if set(words) <= {"<unk>", "▁"} else "some"), known


def either(name, language):
    """Return the same for a tokenizer that is made with the file, and for one that is made from the folder."""
    kind = getattr(transformers, name)
    made = look(kind(vocab_file=FILE, src_lang=language), language)
    return made, look(kind.from_pretrained("folder", src_lang=language), language)


expect("NLLB: pieces, and language code", either("NllbTokenizer", "deu_Latn"), (("none", True), ("all", False)))
expect("mBART: the same", either("MBartTokenizer", "de_DE"), (("none", True), ("all", True)))
expect("mBART-50: the same", either("MBart50Tokenizer", "de_DE"), (("none", True), ("all", True)))
expect("PLBart: the same", either("PLBartTokenizer", "__java__"), (("all", True), ("all", True)))

for name in ("NllbTokenizer", "MBartTokenizer", "MBart50Tokenizer"):
    tokenizer = getattr(transformers, name).from_pretrained("folder")
    tokenizer.src_lang = "deutsch"
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("das").input_ids)
    expect(f"{name}: the token of a language that does not exist", tokens.count("<unk>"), 1)

pieces = ["<s>", "<pad>", "</s>", "<unk>", *map(MODEL.id_to_piece, range(3, len(MODEL)))]
pathlib.Path("vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
tokenizer = transformers.M2M100Tokenizer(vocab_file="vocab.json", spm_file=FILE, src_lang="de", tgt_lang="en")
ids = tokenizer(text_target="das Haus").input_ids
expect("M2M100: the text of a target", tokenizer.decode(ids, skip_special_tokens=True), "__en__ das Haus")
PYTHON
