"""A tiny Marian model of random weights as the files of its repository, made without the package `transformers`."""

import json
from collections.abc import Sequence

import torch
from safetensors.torch import save

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.plain import pieces_of, spm

D, FF, HEADS, N_ENCODER, N_DECODER = 30, 22, 3, 2, 3
CARD = """---
license: cc-by-4.0
language: [de, en]
---

# A tiny model

It knows nothing.
"""


def weights(n: int, seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes: dict[str, tuple[int, ...]] = {"model.shared.weight": (n, D), "final_logits_bias": (1, n)}
    for stack, depth, attentions in (
        ("encoder", N_ENCODER, ("self_attn",)),
        ("decoder", N_DECODER, ("self_attn", "encoder_attn")),
    ):
        for i in range(depth):
            layer = f"model.{stack}.layers.{i}"
            for attention in attentions:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes |= {f"{layer}.{attention}.{part}.weight": (D, D), f"{layer}.{attention}.{part}.bias": (D,)}
            for norm in (*(f"{attention}_layer_norm" for attention in attentions), "final_layer_norm"):
                shapes |= {f"{layer}.{norm}.weight": (D,), f"{layer}.{norm}.bias": (D,)}
            shapes |= {f"{layer}.fc1.weight": (FF, D), f"{layer}.fc1.bias": (FF,)}
            shapes |= {f"{layer}.fc2.weight": (D, FF), f"{layer}.fc2.bias": (D,)}
    state = {name: 0.4 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    for name in state:
        if name.endswith("norm.weight"):
            state[name] += 1.0
    state["final_logits_bias"] *= 0.0
    state["final_logits_bias"][0, 1] = -99.0  # <unk>
    return state


def marian_files(
    seed: int = 7, codes: Sequence[str] = (), languages: tuple[str, str] = ("de", "en")
) -> dict[str, bytes]:
    """The files; `codes` are target languages, of which the source names one."""
    source, target = spm(SENTENCES[:90], 60), spm(SENTENCES[90:], 70)
    words = dict.fromkeys([*pieces_of(source), *pieces_of(target), *(f">>{code}<<" for code in codes)])
    names = ["</s>", "<unk>", *words, "<pad>"]
    pad = len(names) - 1
    config = {
        "model_type": "marian", "vocab_size": len(names), "d_model": D, "encoder_layers": N_ENCODER,
        "decoder_layers": N_DECODER, "encoder_ffn_dim": FF, "decoder_ffn_dim": FF, "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS, "max_position_embeddings": 97, "activation_function": "swish",
        "scale_embedding": True, "pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0,
        "bad_words_ids": [[pad]], "num_beams": 3,
    }  # fmt: skip
    tokenizer = {"source_lang": languages[0], "target_lang": languages[1], "separate_vocabs": False}
    return {
        "README.md": CARD.encode(),
        "config.json": json.dumps(config).encode(),
        "tokenizer_config.json": json.dumps(tokenizer).encode(),
        "vocab.json": json.dumps({name: i for i, name in enumerate(names)}).encode(),
        "source.spm": source,
        "target.spm": target,
        "model.safetensors": save(weights(len(names), seed)),
        "pytorch_model.bin": b"a pickle that nobody reads",
        "tf_model.h5": b"for another library",
        ".gitattributes": b"*.bin filter=lfs\n",
    }
