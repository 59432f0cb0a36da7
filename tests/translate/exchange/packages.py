"""Packages of Argos Translate with tiny models of random weights, written by CTranslate2 alone."""

import json
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from tests.translate.exchange.plain import pieces_of, spm

METADATA = {
    "package_version": "1.7",
    "argos_version": "1.5",
    "from_code": "de",
    "from_name": "German",
    "to_code": "en",
    "to_name": "English",
}
D, FF, HEADS, N_POSITIONS = 30, 22, 3, 120


def merges(sentences: Sequence[str], n: int) -> list[tuple[str, str]]:
    """Learn byte-pair encoding; all letters occur at the end of a word too."""
    words = Counter(word for sentence in sentences for word in sentence.replace(".", " .").split())
    parts = {word: [*word[:-1], word[-1] + "</w>"] for word in words}
    found: list[tuple[str, str]] = []
    for _ in range(n):
        pairs = Counter[tuple[str, str]]()
        for word, own in parts.items():
            for pair in pairwise(own):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        found.append(best)
        for own in parts.values():
            while (i := next((i for i, pair in enumerate(pairwise(own)) if pair == best), None)) is not None:
                own[i : i + 2] = ["".join(best)]
    return found


def bpe(sentences: Sequence[str], n: int = 60) -> tuple[bytes, list[str]]:
    """A bpe.model, and the words of its vocabulary."""
    found = merges(sentences, n)
    letters = {letter for sentence in sentences for letter in sentence if letter != " "}
    units = {*letters, *(f"{letter}</w>" for letter in letters), *("".join(merge) for merge in found)}
    words = sorted(unit.removesuffix("</w>") if unit.endswith("</w>") else f"{unit}@@" for unit in units)
    lines = ["#version: 0.2", *(" ".join(merge) for merge in found)]
    return ("\n".join(lines) + "\n").encode(), words


def model(folder: Path, source: Sequence[str], target: Sequence[str], *, seed: int = 5, unknown: float = -9.0) -> None:
    """Write a pre-norm model as OpenNMT-py trains it: no eos after the source, positions from a table."""
    from ctranslate2.specs import TransformerSpec

    random = np.random.default_rng(seed)
    spec = TransformerSpec.from_config((2, 2), HEADS, pre_norm=True)

    def fill(linear: object, n_out: int, n_in: int) -> None:
        linear.weight = 0.4 * random.standard_normal((n_out, n_in)).astype("float32")  # type: ignore[attr-defined]
        linear.bias = 0.4 * random.standard_normal(n_out).astype("float32")  # type: ignore[attr-defined]

    def norm(one: object) -> None:
        one.gamma = np.ones(D, "float32")  # type: ignore[attr-defined]
        one.beta = 0.1 * random.standard_normal(D).astype("float32")  # type: ignore[attr-defined]

    for stack in (spec.encoder, spec.decoder):
        stack.position_encodings.encodings = 0.3 * random.standard_normal((N_POSITIONS, D)).astype("float32")
        norm(stack.layer_norm)
        for layer in stack.layer:
            for attention in filter(None, (layer.self_attention, getattr(layer, "attention", None))):
                norm(attention.layer_norm)
                for linear, width in zip(
                    attention.linear, (3 * D, D) if len(attention.linear) == 2 else (D, 2 * D, D), strict=True
                ):
                    fill(linear, width, D)
            norm(layer.ffn.layer_norm)
            fill(layer.ffn.linear_0, FF, D)
            fill(layer.ffn.linear_1, D, FF)
    spec.encoder.embeddings[0].weight = random.standard_normal((len(source), D)).astype("float32")
    spec.decoder.embeddings.weight = random.standard_normal((len(target), D)).astype("float32")
    fill(spec.decoder.projection, len(target), D)
    bias = spec.decoder.projection.bias
    bias[target.index("<unk>")] = unknown
    bias[[target.index("<blank>"), target.index("<s>")]] = -99.0
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))


SPECIAL = ["<unk>", "<blank>", "<s>", "</s>"]  # in the order of OpenNMT-py


def write(to: Path, files: Mapping[str, bytes], root: str = "translate-de_en-1_7/") -> Path:
    with zipfile.ZipFile(to, "w") as package:
        for name, content in files.items():
            package.writestr(root + name, content)
    return to


def files(place: Path, sentences: Sequence[str], kind: str = "sentencepiece", **options: float) -> dict[str, bytes]:
    """The files of a package, whose model is written into the new folder `place`."""
    half = len(sentences) // 2
    if kind == "bpe":
        tokenizer, words = bpe(sentences)
        name, source, target = "bpe.model", [*SPECIAL, *words], [*SPECIAL, *words[::-1]]
    else:
        tokenizer = spm(sentences, 90)
        name, known = "sentencepiece.model", pieces_of(tokenizer)
        source, target = [*SPECIAL, *known[:half]], [*SPECIAL, *known[::-1]]
    model(place, source, target, **options)  # type: ignore[arg-type]
    found = {"metadata.json": json.dumps(METADATA).encode(), "README.md": b"# Tiny\n", name: tokenizer}
    found["stanza/de/tokenize/model.pt"] = b"a pickle that nobody reads"
    return found | {f"model/{path.name}": path.read_bytes() for path in sorted(place.iterdir())}
