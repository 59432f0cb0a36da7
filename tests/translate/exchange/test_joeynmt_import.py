"""An imported JoeyNMT checkpoint gives the same results as a plain implementation of its network."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import yaml
from torch import Tensor
from torch.nn import functional as F

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.plain import Layer, Pair, Random, Style, pieces_of, spm, stack
from translate.errors import UserError
from translate.exchange.joeynmt_import import import_joeynmt
from translate.exchange.verification import teacher_forced
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import Search

TEXTS = [*SENTENCES[:30:7], "Ja", "x 漢字", "  das   Kind ", "Über 7 Öfen"]
D, FF, HEADS, N_ENCODER, N_DECODER = 30, 22, 3, 2, 3
SPECIAL = ["<unk>", "<pad>", "<s>", "</s>"]
LANGUAGE = {
    "max_length": 50, "lowercase": False, "normalize": False, "level": "bpe", "tokenizer_type": "sentencepiece",
}  # fmt: skip
STACK = {
    "type": "transformer", "num_heads": HEADS, "embeddings": {"embedding_dim": D, "scale": True}, "hidden_size": D,
    "ff_size": FF, "dropout": 0.1, "layer_norm": "post",
}  # fmt: skip
CONFIG = {
    "name": "toy",
    "joeynmt_version": "2.3.0",
    "data": {
        "src": {"lang": "de", **LANGUAGE, "tokenizer_cfg": {"model_file": "far/away/sp.model"}},
        "trg": {"lang": "en", **LANGUAGE, "tokenizer_cfg": {"model_file": "far/away/sp.model"}},
    },
    "testing": {"beam_size": 3, "beam_alpha": 0.8},
    "model": {"encoder": {**STACK, "num_layers": N_ENCODER}, "decoder": {**STACK, "num_layers": N_DECODER}},
}


def changed(*changes: tuple[str, object]) -> dict[str, Any]:
    """The settings with some values replaced at dotted keys; None removes a key."""
    config = copy.deepcopy(CONFIG)
    for place, value in changes:
        *path, last = place.split(".")
        section: Any = config
        for name in path:
            section = section.setdefault(name, {})
        if value is None:
            del section[last]
        else:
            section[last] = value
    return config


def joey(
    folder: Path, config: dict[str, Any], *, one_vocabulary: bool = True, shared: bool = True, tied: bool = True
) -> None:
    """Write a folder with random weights."""
    folder.mkdir()
    tokenizer = spm(SENTENCES[:90], 60)
    (folder / "sp.model").write_bytes(tokenizer)
    source = SPECIAL + pieces_of(tokenizer)
    target = source if one_vocabulary else SPECIAL + pieces_of(spm(SENTENCES[90:], 70))
    for side, words in (("src", source), ("trg", target)):
        (folder / f"{side}_vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    state = weights(len(source), len(target), config["model"]["encoder"]["layer_norm"] == "pre")
    if shared and one_vocabulary:
        state["trg_embed.lut.weight"] = state["src_embed.lut.weight"]
    if tied:
        state["decoder.output_layer.weight"] = state["trg_embed.lut.weight"]
    torch.save({"steps": 7, "model_state": state, "optimizer_state": {"lr": 0.1}}, folder / "best.ckpt")


def weights(n_source: int, n_target: int, pre: bool) -> dict[str, Tensor]:
    random = Random(5)
    random.matrix("src_embed.lut.weight", n_source, D)
    random.matrix("trg_embed.lut.weight", n_target, D)
    random.matrix("decoder.output_layer.weight", n_target, D)
    for side, depth in (("encoder", N_ENCODER), ("decoder", N_DECODER)):
        random.matrix(f"{side}.pe.pe", 1, 5, D)
        if pre:
            random.norm(f"{side}.layer_norm", D)
        for i in range(depth):
            layer = f"{side}.layers.{i}"
            for attention in ("src_src_att",) if side == "encoder" else ("trg_trg_att", "src_trg_att"):
                for part in ("k_layer", "v_layer", "q_layer", "output_layer"):
                    random.affine(f"{layer}.{attention}.{part}", D, D)
            for norm in ("layer_norm",) if side == "encoder" else ("x_layer_norm", "dec_layer_norm"):
                random.norm(f"{layer}.{norm}", D)
            random.norm(f"{layer}.feed_forward.layer_norm", D)
            random.affine(f"{layer}.feed_forward.pwff_layer.0", FF, D)
            random.affine(f"{layer}.feed_forward.pwff_layer.3", D, FF)
    return random.state


def pair(state: dict[str, Tensor], name: str) -> Pair:
    return state[f"{name}.weight"], state[f"{name}.bias"]


def layers(state: dict[str, Tensor], side: str, depth: int) -> list[Layer]:
    names = ["src_src_att"] if side == "encoder" else ["trg_trg_att", "src_trg_att"]
    norms = ["layer_norm"] if side == "encoder" else ["x_layer_norm", "dec_layer_norm"]
    found = []
    for i in range(depth):
        own = f"{side}.layers.{i}."
        attentions = [
            {part: pair(state, f"{own}{name}.{part}_layer") for part in "qkv"}
            | {"o": pair(state, f"{own}{name}.output_layer")}
            for name in names
        ]
        network = (pair(state, f"{own}feed_forward.pwff_layer.0"), pair(state, f"{own}feed_forward.pwff_layer.3"))
        found.append(
            Layer(attentions, network, [pair(state, own + name) for name in [*norms, "feed_forward.layer_norm"]])
        )
    return found


def embedded(table: Tensor, ids: list[int]) -> Tensor:
    """Sines and cosines alternate; positions start at 0."""
    rows = [
        [(math.sin, math.cos)[k % 2](p * math.exp(-math.log(10000.0) * (k - k % 2) / D)) for k in range(D)]
        for p in range(len(ids))
    ]
    return table[ids] * math.sqrt(D) + torch.tensor(rows)


def plain_logits(state: dict[str, Tensor], config: dict[str, Any], src: list[int], tgt: list[int]) -> Tensor:
    own = config["model"]["encoder"]
    pre = own["layer_norm"] == "pre"
    style = Style(HEADS, pre, 1e-6, F.silu if own.get("activation") == "swish" else F.relu)
    last = [pair(state, f"{side}.layer_norm") if pre else None for side in ("encoder", "decoder")]
    source = embedded(state["src_embed.lut.weight"], [*src, SPECIAL.index("</s>")])
    target = embedded(state["trg_embed.lut.weight"], [SPECIAL.index("<s>"), *tgt])
    memory = stack(source, None, layers(state, "encoder", N_ENCODER), last[0], style)
    x = stack(target, memory, layers(state, "decoder", N_DECODER), last[1], style)
    return x @ state["decoder.output_layer.weight"].T


PRE = (("model.encoder.layer_norm", "pre"), ("model.decoder.layer_norm", "pre"))


@pytest.mark.parametrize(
    ("changes", "kinds", "tying"),
    [
        ((), {}, "all"),
        (PRE, {}, "all"),
        ((("model.encoder.activation", "swish"), ("model.decoder.activation", "swish")), {"shared": False}, "target"),
        ((), {"one_vocabulary": False}, "target"),
        (PRE, {"one_vocabulary": False, "tied": False}, "none"),
    ],
    ids=str,
)
def test_logits_are_those_of_the_network_written_out(
    changes: tuple[tuple[str, object], ...], kinds: dict[str, bool], tying: str, tmp_path: Path
) -> None:
    config = changed(*changes)
    joey(tmp_path / "theirs", config, **kinds)
    import_joeynmt(tmp_path / "theirs", tmp_path / "ours")
    parts = ModelFolder.open(tmp_path / "ours")
    source, target = (
        (tmp_path / "theirs" / f"{side}_vocab.txt").read_text(encoding="utf-8").splitlines() for side in ("src", "trg")
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "theirs" / "sp.model"))
    state = torch.load(tmp_path / "theirs" / "best.ckpt", weights_only=True)["model_state"]
    for n, text in enumerate(TEXTS):
        theirs = [source.index(piece) if piece in source else 0 for piece in processor.encode(text, out_type=str)]
        output = [4 + (5 * n + 3 * k) % (len(target) - 4) for k in range(n)]
        ids = parts.tokenizer.ids([target[i] for i in output])
        (ours,) = teacher_forced(parts.model, [parts.tokenizer.encode(text)], [ids])
        expected = plain_logits(state, config, theirs, output)
        columns = [3, 2, *parts.tokenizer.ids(target[4:])]
        torch.testing.assert_close(ours[:, columns], expected[:, [0, 3, *range(4, len(target))]], atol=1e-4, rtol=1e-4)
    assert (parts.model.config.tying, parts.model.config.norm_eps) == (tying, 1e-6)
    spec = parts.spec
    assert (spec.source, spec.target, spec.max_source_tokens) == ("de", "en", 50)
    assert (spec.decoding.beam_size, spec.decoding.alpha, spec.decoding.length_penalty) == (3, 0.8, "gnmt")
    assert len(Translator(parts, Search(max_extra=3))(TEXTS)) == len(TEXTS)


def test_text_is_divided_into_pieces_of_the_vocabulary_alone(tmp_path: Path) -> None:
    """JoeyNMT gives SentencePiece its vocabulary, so that rarer pieces are divided and not unknown."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    joey(theirs, CONFIG)
    (theirs / "src_vocab.txt").write_text(
        "".join(
            f"{piece}\n"
            for i, piece in enumerate((theirs / "src_vocab.txt").read_text(encoding="utf-8").splitlines())
            if i < 4 or len(piece) < 2 or i % 3
        ),
        encoding="utf-8",
    )
    vocabulary = (theirs / "src_vocab.txt").read_text(encoding="utf-8").splitlines()
    state = torch.load(theirs / "best.ckpt", weights_only=True)
    state["model_state"]["src_embed.lut.weight"] = torch.randn(len(vocabulary), D)
    torch.save(state, theirs / "best.ckpt")
    import_joeynmt(theirs, ours)
    tokenizer = ModelFolder.open(ours).tokenizer
    processor = sentencepiece.SentencePieceProcessor(model_file=str(theirs / "sp.model"))
    divided = 0
    for text in TEXTS:
        pieces, whole = tokenizer.tokens(tokenizer.encode(text)), processor.encode(text, out_type=str)
        assert {piece for piece in pieces if len(piece) > 1} <= {*vocabulary}
        if "<unk>" not in pieces:
            assert "".join(pieces) == "".join(whole)
            divided += len(pieces) > len(whole)
    assert divided


def test_an_older_name_of_alpha_is_read_first(tmp_path: Path) -> None:
    joey(tmp_path / "theirs", changed(("testing", {"beam_size": 5, "beam_alpha": -1, "alpha": 0.7})))
    import_joeynmt(tmp_path / "theirs", tmp_path / "ours")
    assert ModelFolder.open(tmp_path / "ours").spec.decoding.alpha == 0.7


def test_without_an_alpha_there_is_no_length_penalty(tmp_path: Path) -> None:
    joey(tmp_path / "theirs", changed(("testing", {"beam_size": 1, "beam_alpha": -1})))
    import_joeynmt(tmp_path / "theirs", tmp_path / "ours", source="fr", target="it")
    spec = ModelFolder.open(tmp_path / "ours").spec
    assert (spec.source, spec.target) == ("fr", "it")
    assert (spec.decoding.beam_size, spec.decoding.length_penalty) == (1, "none")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("model.encoder.type", "recurrent"), "model.encoder.type = 'recurrent'"),
        (("model.decoder.alpha", 1.2), "model.decoder.alpha = 1.2"),
        (("model.decoder.layer_norm", "pre"), "model.encoder.layer_norm = 'post' with model.decoder.layer_norm"),
        (("model.encoder.embeddings.scale", None), "model.encoder.embeddings.scale = None"),
        (("model.encoder.activation", "gelu"), "model.encoder.activation = 'gelu'"),
        (("model.encoder.layer_norm", None), "model.encoder.layer_norm = None"),
        (("model.encoder.num_layers", 5), "no tensor encoder.layers.2"),
        (("model.encoder.num_layers", 1), "a part encoder.layers.1"),
        (("model.encoder", None), "has no section 'encoder'"),
        (("data.src", "de"), "has no section 'src'"),
        (("data.src.lowercase", True), "data.src.lowercase = True"),
        (("data.trg.tokenizer_type", "subword-nmt"), "data.trg.tokenizer_type = 'subword-nmt'"),
        (("data.src.tokenizer_cfg.pretokenizer", "moses"), "pretokenizer = 'moses'"),
        (("data.src.tokenizer_cfg.model_file", None), "names no model_file"),
        (("data.special_symbols.lang_tags", ["<de>"]), "lang_tags"),
        (("testing.beam_size", "many"), "testing.beam_size"),
        (("testing.no_repeat_ngram_size", 3), "testing.no_repeat_ngram_size = 3"),
        (("testing.generate_unk", False), "testing.generate_unk = False"),
        (("data.src.lang", None), "does not name its languages"),
        (("data.src.tokenizer_cfg", "x"), "has no section 'tokenizer_cfg'"),
        (("data.special_symbols", [1]), "has no section 'special_symbols'"),
        (("testing", "x"), "has no section 'testing'"),
        (("data.src.lang", "../de"), "does not name its languages"),
        (("data.src.tokenizer_cfg.model_file", "a\0b"), "cannot be read: embedded null byte"),
        (("model.encoder.num_layers", 3), "no tensor encoder.layers.2"),
        (("model.encoder.num_layers", 10**30), "n_encoder_layers = 1000.* must be at most 1000"),
    ],
    ids=str,
)
def test_unsupported_features_are_named_and_no_files_are_left(
    change: tuple[str, object], named: str, tmp_path: Path
) -> None:
    joey(tmp_path / "theirs", CONFIG)
    (tmp_path / "theirs" / "config.yaml").write_text(yaml.safe_dump(changed(change)), encoding="utf-8")
    with pytest.raises(UserError, match=named):
        import_joeynmt(tmp_path / "theirs", tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize(
    ("name", "data", "named"),
    [
        ("best.ckpt", None, "has none of best.ckpt"),
        ("best.ckpt", b"short", "damaged"),
        ("sp.model", None, "cannot be read"),
        ("src_vocab.txt", b"a\nb\n", "do not belong together"),
        ("src_vocab.txt", b"\xff", "not UTF-8"),
        ("config.yaml", b"{", "damaged"),
        ("config.yaml", b"[" * 2000, "damaged"),
        ("config.yaml", b"3", "has no section 'data'"),
        ("config.yaml", b"name: 2024-99-99", "damaged"),
        ("config.yaml", b"!!python/object/apply:os.getcwd []", "damaged"),
    ],
)
def test_a_damaged_folder_gives_a_one_sentence_error(name: str, data: bytes | None, named: str, tmp_path: Path) -> None:
    joey(tmp_path / "theirs", CONFIG)
    (tmp_path / "theirs" / name).unlink()
    if data is not None:
        (tmp_path / "theirs" / name).write_bytes(data)
    with pytest.raises(UserError, match=named):
        import_joeynmt(tmp_path / "theirs", tmp_path / "ours")


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))


@pytest.mark.parametrize(
    "place", ["model.encoder.hidden_size", "data.special_symbols.unk_token", "testing.beam_size", "x"]
)
def test_aliases_that_stand_for_many_values_give_a_short_sentence(place: str, tmp_path: Path) -> None:
    """Eleven lines that stand for 10^10 values; comparing or showing them would take the memory or never end."""
    joey(tmp_path / "theirs", CONFIG)
    text = yaml.safe_dump(changed((place, "ALIAS"), ("model.decoder.hidden_size", "ALIAS")))
    (tmp_path / "theirs" / "config.yaml").write_text(LAUGHS + text.replace("ALIAS", "*a11"), encoding="utf-8")
    with pytest.raises(UserError, match="its aliases stand for more than 10,000 values") as caught:
        import_joeynmt(tmp_path / "theirs", tmp_path / "ours")
    assert len(str(caught.value)) < 300


def test_aliases_that_share_a_section_are_followed(tmp_path: Path) -> None:
    joey(tmp_path / "theirs", CONFIG)
    path = tmp_path / "theirs" / "config.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["data"]["trg"]["tokenizer_cfg"] = settings["data"]["src"]["tokenizer_cfg"]
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert "&id" in path.read_text(encoding="utf-8")
    import_joeynmt(tmp_path / "theirs", tmp_path / "ours")


@pytest.mark.parametrize("value", [[7] * 900, list(range(900)), {str(i): i for i in range(400)}], ids=len)
@pytest.mark.parametrize("place", ["model.encoder.type", "testing.beam_size", "data.special_symbols.bos_token"])
def test_large_settings_are_shortened_in_messages(place: str, value: object, tmp_path: Path) -> None:
    joey(tmp_path / "theirs", CONFIG)
    (tmp_path / "theirs" / "config.yaml").write_text(yaml.safe_dump(changed((place, value))), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        import_joeynmt(tmp_path / "theirs", tmp_path / "ours")
    assert len(str(caught.value)) < 500


def test_a_separate_target_tokenizer_is_kept(tmp_path: Path) -> None:
    joey(tmp_path / "theirs", changed(("data.trg.tokenizer_cfg.model_file", "trg.model")), one_vocabulary=False)
    (tmp_path / "theirs" / "trg.model").write_bytes(spm(SENTENCES[90:], 70))
    import_joeynmt(tmp_path / "theirs", tmp_path / "ours")
    tokenizer = ModelFolder.open(tmp_path / "ours").tokenizer
    for name, side in (("sp.model", tokenizer), ("trg.model", tokenizer.target)):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "theirs" / name))
        for text in TEXTS:
            theirs = processor.encode(text)
            pieces = ["<unk>" if i == processor.unk_id() else processor.id_to_piece(i) for i in theirs]
            assert side.tokens(side.encode(text)) == pieces
    (tmp_path / "theirs" / "trg.model").write_bytes(b"another")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        import_joeynmt(tmp_path / "theirs", tmp_path / "again")
