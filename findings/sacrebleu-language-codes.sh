#!/usr/bin/env bash
# sacreBLEU divides Chinese into words for "zh" alone: for "zh-CN" or "zho_Hans", BLEU counts whole clauses.
#
# Guess: `BLEU(trg_lang="zh-CN")` and the code of FLORES, "zho_Hans", choose the tokenizer for Chinese as "zh" does, or
#        are errors; so with Japanese and Korean. That tokenizer makes a token of each Han character, also of rare ones
#        (extension B), and leaves "don’t" and "€5" as the other one does.
# Miss:  any other code is neither an error nor a warning: it has the tokenizer for English, for which all between two
#        punctuation marks is one word, so a good translation has the score 0. "ja" without its package is an error,
#        "ja-JP" is not. The tokenizer for Chinese divides "don’t" and "€5", but not two characters of extension B:
#        it has their range as "\u20000", which is the character U+2000 and a zero. Cantonese has many of them.
. "$(dirname "$0")/environment.sh" sacrebleu==2.6.0
python - <<'PYTHON'
from finding import expect
from sacrebleu.metrics import BLEU

REFERENCE = "我们昨天在北京的一家小餐馆吃了很好吃的饺子。"
HYPOTHESIS = "我们昨天在北京的一家小饭馆吃了很好吃的饺子。"


def by_language(code):
    """Return the tokenizer that the signature names, and the score."""
    bleu = BLEU(trg_lang=code)
    score = bleu.corpus_score([HYPOTHESIS], [[REFERENCE]]).score
    return bleu.get_signature().info["tok"], round(score, 1)


expect("zh", by_language("zh"), ("zh", 87.3))
for code in ("zh-CN", "zh_Hans", "zho_Hans", "zho", "ja-JP", "jpn_Jpan", "ko-KR"):
    expect(code, by_language(code), ("13a", 0.0))
try:
    BLEU(trg_lang="ja")
except RuntimeError:
    print("ja: RuntimeError, as its package is missing")
else:
    raise SystemExit("changed: ja was an error without its package")
tokenize = BLEU(tokenize="zh").tokenizer
for text, tokens in {"好吃": "好 吃", "𪚥𪚥": "𪚥𪚥", "don’t": "don ’ t", "€5": "€ 5"}.items():
    expect(f"{text}, tokens", tokenize(text), tokens)
    expect(f"{text}, tokens of 13a", BLEU(tokenize="13a").tokenizer(text), text)
PYTHON
