#!/usr/bin/env bash
# transformers and CTranslate2 give a Marian model other position encodings than Marian itself.
#
# Guess: a model of OPUS-MT is the same function in all three: the converters compute the sinusoids that Marian computes,
#        in Marian's order, all sines before all cosines.
# Miss:  the order is Marian's, the wavelengths are not. Marian takes those of tensor2tensor: channel i of d / 2 has
#        10000^(i / (d/2 - 1)), so that the last one is 10000. MarianMTModel, and CTranslate2 from Marian's own file, take
#        those of the paper, 10000^(i / (d/2)). The first position is equal, so short sentences hide it. In a model of
#        width 256 for German to English, trained with one kind, the other changed 13 % of 1,000 sentences of news.
. "$(dirname "$0")/environment.sh" pymarian==1.12.42 ctranslate2==4.8.5 numpy==2.4.6 torch==2.13.0 transformers==5.24.0
cat >model.py <<'PYTHON'
"""A model whose layers pass on embedding and position: all matrices of the layers are zero."""
import numpy as np

D, WORDS = 8, ["</s>", "<unk>", "a", "b", "c", "d"]
V = len(WORDS)
EMBEDDING = np.random.default_rng(5).standard_normal((V, D)).astype("f")
BIAS = np.array([[0.5, -9, 0, 0, 0, 0]], "f")


def score(ids, n_steps):
    """The log-probability of target ids, with wavelengths of 10000^(i / n_steps)."""
    total, before = 0.0, np.zeros(D)
    for t, token in enumerate(ids):
        angle = t * 10000.0 ** -(np.arange(D // 2) / n_steps)
        x = before * D**0.5 + np.concatenate([np.sin(angle), np.cos(angle)])
        for _ in range(3):  # the norms of a layer
            x = (x - x.mean()) / np.sqrt(x.var() + 1e-6)
        logits = EMBEDDING @ x + BIAS[0]
        total += logits[token] - np.log(np.exp(logits).sum())
        before = EMBEDDING[token]
    return total
PYTHON
cat >marian.py <<'PYTHON'
import json
import numpy as np
from model import BIAS, D, EMBEDDING, V, WORDS
from pymarian import Translator

weights = {"Wemb": EMBEDDING, "decoder_ff_logit_out_b": BIAS}
for name in ("encoder_l1_self", "encoder_l1_ffn", "decoder_l1_self", "decoder_l1_context", "decoder_l1_ffn"):
    kinds, norm = ("12", "ffn_ln") if name.endswith("ffn") else ("qkvo", "Wo_ln")
    weights |= {f"{name}_W{kind}": np.zeros((D, D), "f") for kind in kinds}
    weights |= {f"{name}_b{kind}": np.zeros((1, D), "f") for kind in kinds}
    weights |= {f"{name}_{norm}_scale": np.ones((1, D), "f"), f"{name}_{norm}_bias": np.zeros((1, D), "f")}
settings = {
    "type": "transformer", "version": "v1.12.0", "dim-vocabs": [V, V], "dim-emb": D, "enc-depth": 1, "dec-depth": 1,
    "max-length": 64, "tied-embeddings": False, "tied-embeddings-all": True, "tied-embeddings-src": False,
    "transformer-heads": 2, "transformer-dim-ffn": D, "transformer-decoder-dim-ffn": D, "transformer-ffn-depth": 2,
    "transformer-decoder-ffn-depth": 2, "transformer-ffn-activation": "relu", "transformer-no-projection": False,
    "transformer-no-affine": False, "transformer-no-bias": False, "transformer-depth-scaling": False,
    "transformer-pool": False, "transformer-decoder-autoreg": "self-attention", "transformer-rnn-projection": False,
    "transformer-tied-layers": [], "transformer-preprocess": "", "transformer-postprocess-emb": "",
    "transformer-postprocess": "dan", "transformer-postprocess-top": "", "transformer-guided-alignment-layer": "last",
    "transformer-train-position-embeddings": False, "layer-normalization": False, "output-omit-bias": False,
    "right-left": False, "skip": False, "input-types": [], "ulr": False, "factors-combine": "sum", "unittype": None,
    "factors-dim-emb": 0, "lemma-dim-emb": 0, "lemma-dependency": "", "bert-train-type-embeddings": True,
    "bert-type-vocab-size": 2,
}  # JSON is YAML
weights["special:model.yml"] = np.frombuffer(json.dumps(settings).encode() + b"\0", np.int8)
np.savez("model.npz", **weights)
with open("vocab.yml", "w") as file:
    file.writelines(f'"{word}": {i}\n' for i, word in enumerate(WORDS))
translator = Translator(
    models="model.npz", vocabs=["vocab.yml"] * 2, beam_size=4, n_best=True, normalize=0, max_length_factor=3,
    cpu_threads=1, quiet=True,
)
found = [line.split(" ||| ") for line in translator.translate("a b c d").split("\n")]
with open("found.json", "w") as file:
    json.dump([(text.split(), float(score)) for _, text, _, score in found], file)
PYTHON
cat >converted.py <<'PYTHON'
import json
import ctranslate2
import torch
from ctranslate2.converters import MarianConverter
from finding import expect
from model import BIAS, D, EMBEDDING, V, WORDS, score
from transformers import MarianConfig, MarianMTModel

LIMIT = 15  # tokens, three times those of the source; a hypothesis of so many has no end
model = MarianMTModel(
    MarianConfig(
        vocab_size=V + 1, d_model=D, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=D, decoder_ffn_dim=D, activation_function="relu",
        scale_embedding=True, pad_token_id=V, decoder_start_token_id=V, eos_token_id=0, max_position_embeddings=64,
    )
).eval()
MarianConverter("model.npz", ["vocab.yml"] * 2).convert("ctranslate2")
translator = ctranslate2.Translator("ctranslate2")


def differ(a, b):
    return abs(a - b) > 0.01


with torch.no_grad():
    for name, weight in model.named_parameters():
        if "embed_positions" not in name:
            weight.fill_(float("norm" in name and name.endswith("weight")))
    model.model.shared.weight[:V] = torch.from_numpy(EMBEDDING)
    model.final_logits_bias[0] = torch.tensor([*BIAS[0], -1e9])
    for text, marian in json.load(open("found.json")):
        ids = [*map(WORDS.index, text), 0][:LIMIT]
        logits = model(input_ids=torch.tensor([[2, 3, 4, 5, 0]]), decoder_input_ids=torch.tensor([[V, *ids[:-1]]])).logits
        theirs = logits[0].log_softmax(dim=-1)[range(len(ids)), ids].sum().item()
        (scored,) = translator.score_batch([["a", "b", "c", "d"]], [text])
        engine = sum(scored.log_probs[: len(ids)])
        print(f"{' '.join(text):30} Marian {marian:.4f}, transformers {theirs:.4f}, CTranslate2 {engine:.4f}")
        expect("  Marian is tensor2tensor", differ(marian, score(ids, D // 2 - 1)), False)
        paper = score(ids, D // 2)
        expect("  the others are the paper", (differ(theirs, paper), differ(engine, paper)), (False, False))
        expect("  they differ", differ(theirs, marian), len(ids) > 1)
PYTHON
python marian.py 2>marian.log
python converted.py 2>converted.log || { tail -3 converted.log >&2; exit 1; }
