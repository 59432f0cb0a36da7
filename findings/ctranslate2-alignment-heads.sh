#!/usr/bin/env bash
# CTranslate2's attention is that of the first head alone, unless the specification of the model says 0 heads.
#
# Guess: `translate_batch(return_attention=True)` averages all heads of the last decoder layer; `alignment_heads=0`
#        means no attention.
# Miss:  `TransformerSpec.from_config` has alignment_heads=1, which is the first head; n is the average of the first n;
#        0 is the average of all. Soft alignments of a converted model are those of one arbitrary head.
. "$(dirname "$0")/environment.sh" ctranslate2==4.8.1 numpy==2.4.6
python - <<'PYTHON'
import ctranslate2, numpy as np
import ctranslate2_model
from finding import expect

def attention(**config):
    ctranslate2_model.save(".", **config)
    options = {"beam_size": 1, "max_decoding_length": 3, "return_attention": True}
    return np.array(ctranslate2.Translator(".").translate_batch([["a", "b", "</s>"]], **options)[0].attention[0])

def same(a, b):
    return bool(np.allclose(a, b, atol=1e-3))

every = attention(alignment_heads=ctranslate2_model.N_HEADS)
expect("the default is 1 head", same(attention(), attention(alignment_heads=1)), True)
expect("1 head is the average", same(attention(alignment_heads=1), every), False)
expect("2 heads are the average of all", same(attention(alignment_heads=2), every), False)
expect("0 heads are all heads", same(attention(alignment_heads=0), every), True)
PYTHON
