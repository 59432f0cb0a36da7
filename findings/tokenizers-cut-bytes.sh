#!/usr/bin/env bash
# tokenizers decodes a run of bytes to no letter at all if one byte is missing, where SentencePiece keeps the letters.
#
# Guess: a translation that ends at `max_new_tokens` inside a letter has one replacement character at its end; the
#        letters before it are complete, and are there.
# Miss:  the decoder "ByteFallback" takes all bytes that stand side by side as one text. If that is not UTF-8, each
#        byte becomes a replacement character: "東京都" without its last byte is eight of them, and no letter.
#        SentencePiece gives "東京" and two for the same ids. A name in letters that the vocabulary lacks is lost as a
#        whole if a limit or one wrong byte falls into it, and a page that shows a translation while it is written
#        shows no letter of the name at two of three steps. "ByteLevel" keeps the letters.
. "$(dirname "$0")/environment.sh" tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
python - 2>training.log <<'PYTHON' || { cat training.log >&2; exit 1; }
import io

from finding import expect
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

out = io.BytesIO()
SentencePieceTrainer.train(
    sentence_iterator=iter(["wir fahren nach haus", "sie ruht"] * 9),
    model_writer=out,
    vocab_size=300,
    hard_vocab_limit=False,
    byte_fallback=True,
    model_type="bpe",
    minloglevel=2,
)
processor = SentencePieceProcessor(model_proto=out.getvalue())
pieces = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
vocabulary = {piece: i for i, piece in enumerate(pieces)}
tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
levels = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
levels.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
levels.decoder = decoders.ByteLevel()

ids = processor.encode("wir fahren nach 東京都")
bad = "\ufffd"
for n_cut, decoded, right in ((0, "東京都", "東京都"), (1, bad * 8, f"東京{bad * 2}"), (2, bad * 7, f"東京{bad}")):
    kept = ids[: len(ids) - n_cut]
    expect(f"tokenizers, {n_cut} bytes missing", tokenizer.decode(kept).strip(), f"wir fahren nach {decoded}")
    expect(f"SentencePiece, {n_cut} bytes missing", processor.decode(kept), f"wir fahren nach {right}")
expect("tokenizers, a letter missing", tokenizer.decode(ids[:-3]).strip(), "wir fahren nach 東京")
wrong = [*processor.encode("Čáslav"), pieces.index("<0xC4>"), *processor.encode("Žďár")[1:]]
expect("tokenizers, one byte too many", tokenizer.decode(wrong).count(bad) > 3, True)
expect("SentencePiece, one byte too many", processor.decode(wrong), f"Čáslav{bad}Žďár")
expect("ByteLevel", levels.decode(levels.encode("東京都").ids[:-1]), f"東京{bad}")
PYTHON
