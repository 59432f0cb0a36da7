"""An imported fairseq checkpoint gives the same results as a plain implementation of its network."""

import math
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.plain import Layer, Pair, Random, Style, pieces_of, spm, stack
from translate.errors import UserError
from translate.exchange.fairseq_import import import_fairseq
from translate.exchange.verification import teacher_forced
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Search

TEXTS = [*SENTENCES[:30:7], "Ja", "x 漢字", "  das   Kind ", "Über 7 Öfen"]
D, FF, HEADS, N_ENCODER, N_DECODER = 30, 22, 3, 2, 3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def fairseq(
    folder: Path,
    *,
    one_dictionary: bool = True,
    tied: bool = True,
    missing: int = 0,
    together: bool = False,
    new: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """Write a folder with random weights, and return its settings."""
    folder.mkdir()
    tokenizer = spm(SENTENCES[:90], 60)
    (folder / "spm.model").write_bytes(tokenizer)
    source = pieces_of(tokenizer)[missing:]
    target = source if one_dictionary else [*pieces_of(spm(SENTENCES[90:], 70)), "madeupword0000"]
    for language, words in (("de", source), ("en", target)):
        lines = [f"{word} {9 * n}\n" for n, word in enumerate(reversed(words))]
        (folder / f"dict.{language}.txt").write_text("".join(lines), encoding="utf-8")
    settings = {
        "encoder_embed_dim": D, "decoder_embed_dim": D, "encoder_ffn_embed_dim": FF, "decoder_ffn_embed_dim": FF,
        "encoder_layers": N_ENCODER, "decoder_layers": N_DECODER, "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS, "encoder_normalize_before": False, "decoder_normalize_before": False,
        "encoder_learned_pos": False, "decoder_learned_pos": False, "max_source_positions": 64,
        "max_target_positions": 64, "source_lang": "de", "target_lang": "en", "dropout": 0.3, **changes,
    }  # fmt: skip
    state = weights(settings, len(source) + 4, len(target) + 4, tied and one_dictionary, tied, together)
    model = {key: value for key, value in settings.items() if key != "task"} | {"_name": "transformer"}
    task = {"_name": settings.get("task", "translation")}
    holder = {"args": None, "cfg": {"model": Namespace(**model), "task": task}}
    checkpoint = {"model": state, "extra_state": {"epoch": 3}} | (holder if new else {"args": Namespace(**settings)})
    torch.save(checkpoint, folder / "checkpoint_best.pt")
    return settings


def weights(
    settings: dict[str, Any], n_source: int, n_target: int, shared: bool, tied: bool, together: bool
) -> dict[str, Tensor]:
    random = Random(7)
    random.matrix("encoder.embed_tokens.weight", n_source, D)
    random.matrix("decoder.embed_tokens.weight", n_target, D)
    if shared:
        random.state["decoder.embed_tokens.weight"] = random.state["encoder.embed_tokens.weight"]
    if not tied:
        random.matrix("decoder.output_projection.weight", n_target, D)
    for side, depth in (("encoder", N_ENCODER), ("decoder", N_DECODER)):
        random.state[f"{side}.version"] = torch.tensor([3.0])
        if settings["encoder_learned_pos"]:
            random.matrix(f"{side}.embed_positions.weight", 64 + 2, D)
        else:
            random.state[f"{side}.embed_positions._float_tensor"] = torch.zeros(1)
        if settings["encoder_normalize_before"]:
            random.norm(f"{side}.layer_norm", D)
        for i in range(depth):
            layer = f"{side}.layers.{i}"
            for attention in ("self_attn",) if side == "encoder" else ("self_attn", "encoder_attn"):
                random.norm(f"{layer}.{attention}_layer_norm", D)
                random.affine(f"{layer}.{attention}.out_proj", D, D)
                if together:
                    random.matrix(f"{layer}.{attention}.in_proj_weight", 3 * D, D)
                    random.matrix(f"{layer}.{attention}.in_proj_bias", 3 * D)
                else:
                    for part in "kvq":
                        random.affine(f"{layer}.{attention}.{part}_proj", D, D)
            random.affine(f"{layer}.fc1", FF, D)
            random.affine(f"{layer}.fc2", D, FF)
            random.norm(f"{layer}.final_layer_norm", D)
    return random.state


def pair(state: dict[str, Tensor], name: str) -> Pair:
    return state[f"{name}.weight"], state[f"{name}.bias"]


def attention(state: dict[str, Tensor], name: str) -> dict[str, Pair]:
    parts = {"o": pair(state, f"{name}.out_proj")}
    for n, part in enumerate("qkv"):
        if f"{name}.in_proj_weight" in state:
            rows = slice(n * D, (n + 1) * D)
            parts[part] = (state[f"{name}.in_proj_weight"][rows], state[f"{name}.in_proj_bias"][rows])
        else:
            parts[part] = pair(state, f"{name}.{part}_proj")
    return parts


def layers(state: dict[str, Tensor], side: str, depth: int) -> list[Layer]:
    names = ["self_attn"] if side == "encoder" else ["self_attn", "encoder_attn"]
    found = []
    for i in range(depth):
        own = f"{side}.layers.{i}."
        norms = [pair(state, f"{own}{name}_layer_norm") for name in [*names, "final"]]
        network = (pair(state, f"{own}fc1"), pair(state, f"{own}fc2"))
        found.append(Layer([attention(state, own + name) for name in names], network, norms))
    return found


def embedded(state: dict[str, Tensor], side: str, ids: list[int]) -> Tensor:
    """Positions start at padding's id plus one; the sines come before the cosines."""
    if f"{side}.embed_positions.weight" in state:
        positions = state[f"{side}.embed_positions.weight"][2 : 2 + len(ids)]
    else:
        waves = [math.exp(-math.log(10000.0) * k / (D // 2 - 1)) for k in range(D // 2)]
        rows = [[f(p * wave) for f in (math.sin, math.cos) for wave in waves] for p in range(2, 2 + len(ids))]
        positions = torch.tensor(rows)
    return state[f"{side}.embed_tokens.weight"][ids] * math.sqrt(D) + positions


def plain_logits(state: dict[str, Tensor], settings: dict[str, Any], src: list[int], tgt: list[int]) -> Tensor:
    pre = settings["encoder_normalize_before"]
    style = Style(HEADS, pre, 1e-5, F.silu if settings.get("activation_fn") == "swish" else F.relu)
    last = [pair(state, f"{side}.layer_norm") if pre else None for side in ("encoder", "decoder")]
    memory = stack(embedded(state, "encoder", [*src, 2]), None, layers(state, "encoder", N_ENCODER), last[0], style)
    x = stack(embedded(state, "decoder", [2, *tgt]), memory, layers(state, "decoder", N_DECODER), last[1], style)
    return x @ state.get("decoder.output_projection.weight", state["decoder.embed_tokens.weight"]).T


def dictionary(path: Path) -> list[str]:
    return SPECIAL + [line.rsplit(" ", 1)[0] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoder_normalize_before": True, "decoder_normalize_before": True},
        {"encoder_learned_pos": True, "decoder_learned_pos": True},
        {"one_dictionary": False},
        {"one_dictionary": False, "tied": False, "missing": 7},
        {"tied": False},
        {"missing": 9, "activation_fn": "swish"},
        {"together": True},
        {"new": True},
    ],
    ids=str,
)
def test_logits_are_those_of_the_network_written_out(changes: dict[str, Any], tmp_path: Path) -> None:
    settings = fairseq(tmp_path / "theirs", **changes)
    import_fairseq(tmp_path / "theirs", tmp_path / "ours")
    parts = ModelFolder.open(tmp_path / "ours")
    source, target = (dictionary(tmp_path / "theirs" / f"dict.{language}.txt") for language in ("de", "en"))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "theirs" / "spm.model"))
    state = torch.load(tmp_path / "theirs" / "checkpoint_best.pt", weights_only=False)["model"]
    for n, text in enumerate(TEXTS):
        theirs = [source.index(piece) if piece in source else 3 for piece in processor.encode(text, out_type=str)]
        output = [4 + (5 * n + 3 * k) % (len(target) - 4) for k in range(n)]
        ids = parts.tokenizer.ids([target[i] for i in output])
        (ours,) = teacher_forced(parts.model, [parts.tokenizer.encode(text)], [ids])
        expected = plain_logits(state, settings, theirs, output)
        columns = [2, 3, *parts.tokenizer.ids(target[4:])]
        torch.testing.assert_close(ours[:, columns], expected[:, 2:], atol=1e-4, rtol=1e-4)
        others = sorted(set(range(4, parts.tokenizer.vocab_size)) - set(columns))
        assert (ours[:, others] < -1000).all()
    assert (parts.spec.source, parts.spec.target, parts.spec.decoding.length_penalty) == ("de", "en", "average")
    assert len(Translator(parts, Search(max_extra=3))(TEXTS)) == len(TEXTS)


NO_WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "not finite": lambda tensor: tensor.index_fill(0, torch.tensor([0]), math.nan),
    "infinite": lambda tensor: tensor.index_fill(0, torch.tensor([1]), -math.inf),
    "too large": lambda tensor: tensor.double() * 1e300,
    "complex64": lambda tensor: tensor.to(torch.complex64),
    "bool": lambda tensor: tensor > 0,
    "int8": lambda tensor: (tensor * 9).to(torch.int8),
}


@pytest.mark.parametrize("kind", NO_WEIGHTS)
@pytest.mark.parametrize(
    "name", ["encoder.embed_tokens.weight", "decoder.layers.1.fc2.bias", "encoder.layers.0.self_attn.q_proj.weight"]
)
def test_values_that_are_no_weights_are_named(kind: str, name: str, tmp_path: Path) -> None:
    fairseq(tmp_path / "theirs")
    path = next(path for path in (tmp_path / "theirs").iterdir() if path.suffix == ".pt")
    with torch.serialization.safe_globals([Namespace]):
        checkpoint = torch.load(path, weights_only=True)
    checkpoint["model"][name] = NO_WEIGHTS[kind](checkpoint["model"][name])
    torch.save(checkpoint, path)
    words = "values that are not finite" if kind in ("not finite", "infinite", "too large") else f"type {kind}"
    with pytest.raises(UserError, match=f"its tensor {name} .*{words}"):
        import_fairseq(tmp_path / "theirs", tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_equal_matrices_are_tied(tmp_path: Path) -> None:
    for name, changes, tying in (
        ("a", {}, "all"),
        ("b", {"one_dictionary": False}, "target"),
        ("c", {"tied": False}, "none"),
        ("d", {"encoder_learned_pos": True, "decoder_learned_pos": True}, "all"),
    ):
        fairseq(tmp_path / name, **changes)
        import_fairseq(tmp_path / name, tmp_path / f"{name}-ours", source="de", target="en")
        assert ModelFolder.open(tmp_path / f"{name}-ours").model.config.tying == tying


@pytest.mark.parametrize("changes", [{}, {"source_lang": None}], ids=str)
def test_a_language_may_get_another_code(changes: dict[str, Any], tmp_path: Path) -> None:
    fairseq(tmp_path / "theirs", one_dictionary=False, **changes)
    import_fairseq(tmp_path / "theirs", tmp_path / "ours", source="de", target="eng")
    spec = ModelFolder.open(tmp_path / "ours").spec
    assert (spec.source, spec.target) == ("de", "eng")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"no_scale_embedding": True}, "no_scale_embedding = True"),
        ({"layernorm_embedding": True}, "layernorm_embedding = True"),
        ({"activation_fn": "gelu"}, "activation_fn = 'gelu'"),
        ({"task": "translation_multi_simple_epoch"}, "task = 'translation_multi_simple_epoch'"),
        ({"task": "multilingual_translation", "new": True}, "task = 'multilingual_translation'"),
        ({"decoder_ffn_embed_dim": 24}, "encoder_ffn_embed_dim = 22 with decoder_ffn_embed_dim = 24"),
        ({"encoder_layers": 5}, "no tensor encoder.layers.2"),
        ({"encoder_layers": 1}, "a part encoder.layers.1"),
        ({"encoder_attention_heads": 7, "decoder_attention_heads": 7}, "cannot be imported"),
        ({"encoder_ffn_embed_dim": 24, "decoder_ffn_embed_dim": 24}, "do not belong together"),
        ({"max_source_positions": 1}, "max_source_positions = 1"),
        ({"max_target_positions": -7}, "max_target_positions = -7"),
        ({"max_target_positions": 9.5}, "max_target_positions = 9.5"),
        ({"source_lang": None}, "does not name its languages"),
        ({"source_lang": "fr"}, "dict.fr.txt: cannot be read"),
        ({"source_lang": "d/e"}, "does not name its languages"),
        ({"encoder_embed_dim": "14", "decoder_embed_dim": "14"}, "encoder_embed_dim = '14'"),
        ({"encoder_embed_dim": 2**31, "decoder_embed_dim": 2**31}, "encoder_embed_dim = 2147483648 with embeddings of"),
        ({"max_source_positions": 10**10, "max_target_positions": 10**10}, "max_source_positions = 10000000000"),
    ],
    ids=str,
)
def test_unsupported_features_are_named_and_no_files_are_left(
    changes: dict[str, Any], named: str, tmp_path: Path
) -> None:
    fairseq(tmp_path / "theirs", **changes)
    with pytest.raises(UserError, match=named):
        import_fairseq(tmp_path / "theirs", tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize(
    ("name", "data", "named"),
    [
        ("checkpoint_best.pt", None, "has none of model.pt"),
        ("checkpoint_best.pt", b"short", "damaged"),
        ("spm.model", None, "has 0 files"),
        ("spm.model", b"no model", "not a SentencePiece model"),
        ("dict.en.txt", b"a 1\nb\n", "line 2"),
        ("dict.en.txt", b"a 1\na 1\n", "line 2"),
        ("dict.en.txt", b"a 1\n", "do not belong together"),
        ("dict.en.txt", b"\xff\xff", "not UTF-8"),
    ],
)
def test_a_damaged_folder_gives_a_one_sentence_error(name: str, data: bytes | None, named: str, tmp_path: Path) -> None:
    fairseq(tmp_path / "theirs")
    (tmp_path / "theirs" / name).unlink()
    if data is not None:
        (tmp_path / "theirs" / name).write_bytes(data)
    with pytest.raises(UserError, match=named):
        import_fairseq(tmp_path / "theirs", tmp_path / "ours")


SIZES = ["embed_dim", "attention_heads", "ffn_embed_dim", "layers"]
OTHERS = ["max_source_positions", "max_target_positions"]
WRONG = [-1, 1.5, "14", [14], {"a": 14}, 10**7, 10**30, 1 << 20_000, math.inf, torch.ones(3)]


@pytest.mark.parametrize("value", WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("name", SIZES + OTHERS)
def test_impossible_sizes_give_a_short_sentence(name: str, value: object, tmp_path: Path) -> None:
    """And take no memory: they are compared with the weights before anything is made of them."""
    changes = {f"{side}_{name}": value for side in ("encoder", "decoder")} if name in SIZES else {name: value}
    fairseq(tmp_path / "theirs", **changes)
    with pytest.raises(UserError) as caught:
        import_fairseq(tmp_path / "theirs", tmp_path / "ours")
    assert len(str(caught.value)) < 400
    assert not (tmp_path / "ours").exists()


def test_only_tensors_and_settings_are_unpickled(tmp_path: Path) -> None:
    fairseq(tmp_path / "theirs")
    torch.save({"model": {}, "args": Path("code")}, tmp_path / "theirs" / "checkpoint_best.pt")
    with pytest.raises(UserError, match="could be a program"):
        import_fairseq(tmp_path / "theirs", tmp_path / "ours")
    torch.save({"model": {}, "args": None}, tmp_path / "theirs" / "checkpoint_best.pt")
    with pytest.raises(UserError, match="does not contain the sizes"):
        import_fairseq(tmp_path / "theirs", tmp_path / "ours")
