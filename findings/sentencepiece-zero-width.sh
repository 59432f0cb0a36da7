#!/usr/bin/env bash
# SentencePiece's default normalization makes two words of one that has a zero-width non-joiner.
#
# Guess: `nmt_nfkc` drops the non-joiner, and the word stays whole.
# Miss:  the non-joiner, which typesetters put into "Auflage" to keep f and l apart, becomes a space, as do marks of
#        writing direction and the byte order mark; a joiner, a word joiner and a soft hyphen stay, as characters that a
#        model has seldom seen. So "Auflage" is the words "Auf" and "lage" for the model, and comes back so when it is
#        copied; Persian words, which are often spelt with it, come apart. `nfkc` keeps it.
. "$(dirname "$0")/environment.sh" sentencepiece==0.2.3
python - <<'PYTHON'
from finding import expect
from sentencepiece import SentencePieceNormalizer

default, nfkc = SentencePieceNormalizer(rule_name="nmt_nfkc"), SentencePieceNormalizer(rule_name="nfkc")
for name, text, seen in (
    ("non-joiner", "Auf\u200clage", "▁Auf▁lage"),
    ("left-to-right mark", "Auf\u200elage", "▁Auf▁lage"),
    ("byte order mark", "Auf\ufefflage", "▁Auf▁lage"),
    ("joiner", "Auf\u200dlage", "▁Auf\u200dlage"),
    ("word joiner", "Auf\u2060lage", "▁Auf\u2060lage"),
    ("soft hyphen", "Auf\u00adlage", "▁Auf\u00adlage"),
):
    expect(f"{name}, nmt_nfkc", default.Normalize(text), seen)
    expect(f"{name}, nfkc", nfkc.Normalize(text), "▁" + text)
PYTHON
