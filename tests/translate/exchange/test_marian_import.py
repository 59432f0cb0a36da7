"""An imported Marian model, created by `transformers` with random weights, gives the same results."""

import dataclasses
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from tests.translate.conftest import SENTENCES
from tests.translate.exchange.engines import BASE, TEXTS, tiny_parts
from tests.translate.exchange.marian_files import marian_files
from transformer.config import LengthRule, ModelConfig, SearchConfig
from transformer.search.model_step import translate_ids
from translate.corpus.tokenizer import UNK, Tokenizer
from translate.errors import UserError
from translate.exchange import marian as marian_module
from translate.exchange.marian import MarianFolder, import_marian
from translate.inference.scoring import score
from translate.inference.translator import Translator
from translate.models.folder import ModelFolder
from translate.text.translation import EngineName, Opening, Search

transformers = pytest.importorskip("transformers")

TEXTS_DE = [*SENTENCES[:30:7], "Ja", "x", "  das   Kind ", "Über 7 Öfen"]


def spm(sentences: list[str], vocab_size: int, **options: Any) -> bytes:
    """A tokenizer like those of OPUS-MT: SentencePiece's defaults, including normalisation."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, vocab_size=vocab_size, minloglevel=2,
        hard_vocab_limit=False, **options,
    )  # fmt: skip
    return model.getvalue()


def pieces_of(serialized: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=serialized)
    return [processor.id_to_piece(i) for i in range(3, processor.vocab_size())]


def marian(
    folder: Path, *, missing: int = 0, safe: bool = True, seed: int = 7, end_bias: float = 0.0, **changes: Any
) -> Path:
    """A Marian folder with random weights, written by `transformers`; some source pieces may be missing."""
    folder.mkdir()
    source, target = spm(SENTENCES[:90], 60), spm(SENTENCES[90:], 70)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    words = list(dict.fromkeys([*pieces_of(source)[missing:], *pieces_of(target)]))
    names = ["</s>", "<unk>", *words, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}), encoding="utf-8")
    settings = {"source_lang": "de", "target_lang": "en", "separate_vocabs": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    pad = len(names) - 1
    torch.manual_seed(seed)
    config = transformers.MarianConfig(**{
        "vocab_size": len(names), "d_model": 30, "encoder_layers": 2, "decoder_layers": 3, "encoder_ffn_dim": 22,
        "decoder_ffn_dim": 22, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
        "max_position_embeddings": 97, "activation_function": "swish", "scale_embedding": True, "pad_token_id": pad,
        "eos_token_id": 0, "decoder_start_token_id": pad, "bad_words_ids": [[pad]], "num_beams": 3,
        "init_std": 0.2, "forced_eos_token_id": 0, **changes,
    })  # fmt: skip
    model = transformers.MarianMTModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "bias" in name:
                parameter += 0.3 * torch.randn(parameter.shape)
        model.final_logits_bias = torch.randn(1, len(names))
        model.final_logits_bias[0, 0] += end_bias
        model.final_logits_bias[0, 1] = -9.0  # `transformers` writes nothing for <unk>
    model.generation_config.bad_words_ids = [[pad]]
    model.generation_config.num_beams = 3
    with marian_module.quiet_transformers():
        model.save_pretrained(folder)
    if not safe:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    return folder


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A folder of the files that `transformers` reads."""
    folder.mkdir()
    for name in files.keys() - {"pytorch_model.bin", "tf_model.h5"}:
        (folder / name).write_bytes(files[name])
    return folder


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation_function": "relu"},
        {"share_encoder_decoder_embeddings": False},
        {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
        {"missing": 9},
        {"safe": False},
    ],
    ids=str,
)
def test_logits_and_greedy_output_are_those_of_the_original(changes: dict[str, Any], tmp_path: Path) -> None:
    proof = import_marian(marian(tmp_path / "theirs", **changes), tmp_path / "ours", TEXTS_DE)
    assert proof.n_same == proof.n_sentences == len(TEXTS_DE)
    assert proof.largest <= 1e-5


def test_text_translations_equal_those_of_transformers_alone(tmp_path: Path) -> None:
    """The expected text comes from `transformers` alone."""
    folder = marian(tmp_path / "theirs")
    import_marian(folder, tmp_path / "ours", TEXTS_DE)
    parts = ModelFolder.open(tmp_path / "ours")
    assert (parts.spec.source, parts.spec.target, parts.spec.decoding.beam_size) == ("de", "en", 3)
    theirs = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder)
    batch = theirs(TEXTS_DE, return_tensors="pt", padding=True)
    generated = model.generate(**batch, num_beams=1, max_length=13, forced_eos_token_id=0)
    expected = theirs.batch_decode(generated, skip_special_tokens=True)
    ours = translate_ids(
        parts.model, parts.tokenizer.encode_batch(TEXTS_DE), SearchConfig(beam_size=1), max_lengths=[12] * len(TEXTS_DE)
    )
    said = [parts.tokenizer.decode([i for i in best[0].tokens if i != UNK]).strip() for best in ours]
    assert [" ".join(text.split()) for text in said] == [" ".join(text.split()) for text in expected]
    assert len(Translator(parts)(TEXTS_DE)) == len(TEXTS_DE)


@pytest.mark.parametrize(
    ("power", "expected"), [(None, ("average", 0.6)), (1, ("average", 0.6)), (0.0, ("none", 0.6)), (0.8, ("gnmt", 0.8))]
)
def test_the_nearest_length_penalty_is_chosen(power: float | None, expected: tuple[str, float], tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs")
    generation = json.loads((folder / "generation_config.json").read_text(encoding="utf-8")) | {"length_penalty": power}
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    decoding = ModelFolder.open(tmp_path / "ours").spec.decoding
    assert (decoding.length_penalty, decoding.alpha) == expected


@pytest.mark.parametrize("named", [True, False], ids=["named in generation_config.json", "not named there"])
@pytest.mark.parametrize("has_generation", [True, False], ids=["with generation_config.json", "without"])
def test_the_search_is_that_of_transformers(has_generation: bool, named: bool, tmp_path: Path) -> None:
    """Which ignores the settings in config.json once there is a generation_config.json."""
    folder = marian(tmp_path / "theirs")
    search = {"num_beams": 5, "length_penalty": 0.7} if named or not has_generation else {}
    for name, values in (("config.json", {"num_beams": 7, "length_penalty": 0.0}), ("generation_config.json", search)):
        path = folder / name
        others = json.loads(path.read_text(encoding="utf-8"))
        others.pop("num_beams", None)
        path.write_text(json.dumps({**others, **values}), encoding="utf-8")
    if not has_generation:
        (folder / "generation_config.json").unlink()
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    theirs = transformers.MarianMTModel.from_pretrained(folder).generation_config
    decoding = ModelFolder.open(tmp_path / "ours").spec.decoding
    assert decoding.beam_size == (theirs.num_beams or 1)
    power = {"none": 0.0, "average": 1.0, "gnmt": decoding.alpha}[decoding.length_penalty]
    assert power == (1.0 if theirs.length_penalty is None else theirs.length_penalty)


class EndOfSearch(transformers.LogitsProcessor):  # type: ignore[misc]
    """At the maximum length, only eos, at its probability; padding has none."""

    def __init__(self, pad: int, end: int, max_length: int) -> None:
        self.pad, self.end, self.max_length = pad, end, max_length

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.index_fill(1, torch.tensor([self.pad]), float("-inf")).log_softmax(dim=-1)
        if input_ids.size(1) < self.max_length - 1:
            return scores
        return torch.full_like(scores, float("-inf")).index_copy_(1, torch.tensor([self.end]), scores[:, [self.end]])


@pytest.mark.parametrize(("rule", "power"), [("none", 0.0), ("average", 1.0)])
@pytest.mark.parametrize("seed", [0, 1])
def test_beam_outputs_are_those_of_transformers_that_stops_as_here(
    rule: LengthRule, power: float, seed: int, tmp_path: Path
) -> None:
    """With `early_stopping`, an end that is not free at the maximum length, and no probability of padding."""
    untied: dict[str, Any] = {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "init_std": 0.35}
    folder = marian(tmp_path / "theirs", seed=seed, end_bias=2.5, **untied)
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    parts, theirs = ModelFolder.open(tmp_path / "ours"), MarianFolder(folder)
    texts, longest, n_beams = [f"{SENTENCES[7 * i]} {SENTENCES[i]}" for i in range(30)], 13, 3
    config = SearchConfig(beam_size=n_beams, length_penalty=rule)
    ours = translate_ids(parts.model, parts.tokenizer.encode_batch(texts), config, max_lengths=[longest] * len(texts))
    settings = theirs.model.config
    only = EndOfSearch(settings.pad_token_id, settings.eos_token_id, longest + 1)
    search = {"num_beams": n_beams, "length_penalty": power, "max_length": longest + 1, "forced_eos_token_id": None}
    batch = theirs.tokenizer(texts, return_tensors="pt", padding=True)
    generated = theirs.model.generate(**batch, **search, early_stopping=True, logits_processor=[only])
    said = [
        theirs.tokenizer.convert_ids_to_tokens(ids[1 : ids.index(settings.eos_token_id, 1)])
        for ids in generated.tolist()
    ]
    n_other = sum(parts.tokenizer.tokens(best[0].tokens) != pieces for best, pieces in zip(ours, said, strict=True))
    assert n_other <= 1, "more than one pair of hypotheses that rounding may swap"
    assert len({*map(tuple, said)}) >= 3


@pytest.mark.parametrize("change", [{"length_penalty": -0.5}, {"length_penalty": [1]}, {"num_beams": -2}], ids=str)
def test_a_decoding_setting_without_a_counterpart_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs")
    generation = json.loads((folder / "generation_config.json").read_text(encoding="utf-8")) | change
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    with pytest.raises(UserError, match="length_penalty = .* is not supported here"):
        import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    assert list(tmp_path.iterdir()) == [folder]


def test_decoding_settings_that_forbid_tokens_are_named(tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs")
    generation = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    for key, value in (("no_repeat_ngram_size", 2), ("repetition_penalty", 1.5)):
        (folder / "generation_config.json").write_text(json.dumps(generation | {key: value}), encoding="utf-8")
        with pytest.raises(UserError, match=f"{key} = {value}, which is not supported here"):
            import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])


@pytest.mark.parametrize("safe", [True, False])
def test_a_model_that_transformers_opens_in_16_bits_is_compared_in_32(safe: bool, tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs", safe=safe)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float16"}), encoding="utf-8")
    if not safe:
        state = torch.load(folder / "pytorch_model.bin")
        halves = {name: tensor.half() for name, tensor in state.items() if "embed_positions" not in name}
        torch.save(halves, folder / "pytorch_model.bin")  # without positions, as `save_pretrained` writes it
    assert import_marian(folder, tmp_path / "ours", TEXTS_DE).n_same == len(TEXTS_DE)


@pytest.mark.parametrize(
    "config",
    [
        BASE,
        dataclasses.replace(BASE, tying="target", activation="swish"),
        dataclasses.replace(BASE, tying="none", attention_bias=True, output_bias=True),
    ],
    ids=lambda config: config.tying,
)
def test_an_exported_model_is_unchanged_after_import(config: ModelConfig, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Exported models start the output with bos instead of padding."""
    before = tiny_parts(config, tokenizer, tmp_path / "ours")
    marian_module.export(before, tmp_path / "theirs", TEXTS)
    import_marian(tmp_path / "theirs", tmp_path / "again", TEXTS)
    after = ModelFolder.open(tmp_path / "again")
    everything = range(tokenizer.vocab_size)
    assert after.tokenizer.tokens(everything) == tokenizer.tokens(everything)
    assert after.tokenizer.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
    assert (after.spec.source, after.spec.target) == ("de", "en")
    assert (after.spec.decoding.beam_size, after.spec.decoding.alpha) == (2, 0.6)
    state = after.model.state_dict()
    for name, tensor in before.model.state_dict().items():
        torch.testing.assert_close(state.pop(name), tensor, atol=0, rtol=0)
    assert not any(tensor.any() for tensor in state.values())  # biases that the original does not have


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("model_type", "bart", "not a Hugging Face Marian"),
        ("activation_function", "gelu", "activation_function = 'gelu'"),
        ("scale_embedding", False, "scale_embedding = False"),
        ("normalize_before", True, "normalize_before = True"),
        ("decoder_ffn_dim", 23, "encoder_ffn_dim = 22 with decoder_ffn_dim = 23"),
        ("decoder_vocab_size", 7, "decoder_vocab_size = 7"),
        ("decoder_start_token_id", 9999, "decoder_start_token_id = 9999"),
        ("eos_token_id", [0], r"eos_token_id = \[0\]"),
        ("pad_token_id", 0, "pad_token_id = 0"),
        ("d_model", 32, "do not belong together|cannot be imported"),
        ("d_model", "thirty", "d_model = 'thirty'"),
        ("encoder_layers", 5, "no tensor model.encoder.layers.2"),
    ],
)
def test_unsupported_features_are_named_and_no_files_are_left(
    key: str, value: object, named: str, tmp_path: Path
) -> None:
    folder = marian(tmp_path / "theirs")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {key: value}), encoding="utf-8")
    with pytest.raises(UserError, match=named):
        import_marian(folder, tmp_path / "ours", TEXTS_DE)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    ("name", "data", "named"),
    [
        ("config.json", None, "cannot be read"),
        ("config.json", b"{", "damaged"),
        ("source.spm", None, "cannot be read"),
        ("source.spm", b"no model", "not a SentencePiece model"),
        ("target.spm", None, "cannot load it"),
        ("target.spm", b"no model", "not a SentencePiece model"),
        ("vocab.json", b"{}", "does not name"),
        ("vocab.json", b'{"a": "0", "b": 1}', "does not name"),
        ("model.safetensors", b"short", "damaged"),
        ("model.safetensors", None, "has none of model.safetensors"),
        ("tokenizer_config.json", None, "does not name its languages"),
        ("tokenizer_config.json", b'{"source_lang": 5, "target_lang": "en"}', "does not name its languages"),
        ("tokenizer_config.json", b'{"separate_vocabs": true}', "separate_vocabs"),
    ],
)
def test_a_damaged_folder_gives_a_one_sentence_error(name: str, data: bytes | None, named: str, tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs")
    (folder / name).unlink()
    if data is not None:
        (folder / name).write_bytes(data)
    with pytest.raises(UserError, match=named):
        import_marian(folder, tmp_path / "ours", TEXTS_DE)
    assert not (tmp_path / "ours").exists()


def test_weights_with_objects_other_than_tensors_are_not_loaded(tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs", safe=False)
    torch.save({"x": Path("code")}, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="more than tensors"):
        import_marian(folder, tmp_path / "ours", TEXTS_DE)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: {"model": state, "step": 3},
        lambda state: state | {"model.encoder.layers.0.self_attn.q_proj.weight": torch.zeros(7)},
        lambda state: state | {"model.encoder.layers.0.fc2.bias": torch.tensor(1.0)},
        lambda state: state | {"final_logits_bias": torch.zeros(1, 3)},
    ],
    ids=["container", "one dimension", "no dimension", "short bias"],
)
def test_a_checkpoint_of_another_shape_gives_a_one_sentence_error(change: Any, tmp_path: Path) -> None:
    folder = marian(tmp_path / "theirs", safe=False)
    state = torch.load(folder / "pytorch_model.bin")
    torch.save(change(state), folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="no weights where they belong|do not belong together"):
        import_marian(folder, tmp_path / "ours", TEXTS_DE)
    assert not (tmp_path / "ours").exists()


def test_a_model_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = marian(tmp_path / "theirs")
    monkeypatch.setattr(marian_module, "block_order", torch.arange)
    with pytest.raises(UserError, match="is not the original"):
        import_marian(folder, tmp_path / "ours", TEXTS_DE)
    assert list(tmp_path.iterdir()) == [folder]


def test_given_translations_are_tokenized_and_scored_as_by_the_original(tmp_path: Path) -> None:
    """Marian cuts texts of the target language with a tokenizer of its own."""
    folder = marian(tmp_path / "theirs")
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    parts = ModelFolder.open(tmp_path / "ours")
    assert parts.spec.alignment_layer is not None
    pairs = list(zip(TEXTS_DE[:5], SENTENCES[91:96], strict=True))
    theirs = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder)
    for (source, target), ours in zip(pairs, score(parts, pairs), strict=True):
        batch = theirs([source], text_target=[target], return_tensors="pt")
        with torch.no_grad():
            loss = model(**batch).loss
        assert ours.tokens == theirs.convert_ids_to_tokens(batch["labels"][0])[:-1]
        # The pad token, which Marian never writes, is left out of our distribution.
        assert -ours.normalised == pytest.approx(loss.item(), abs=0.2)
    assert any(parts.tokenizer.encode(target) != parts.tokenizer.target.encode(target) for _, target in pairs)
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    import_marian(folder, tmp_path / "again", TEXTS_DE[:1])
    assert not (tmp_path / "again" / "target.model").exists()


def test_a_letter_that_only_the_other_language_has_is_read_as_by_the_original(tmp_path: Path) -> None:
    """SentencePiece writes an unknown letter as itself, and the vocabulary of both languages may have it."""
    folder = marian(tmp_path / "theirs")
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    ours, theirs = ModelFolder.open(tmp_path / "ours").tokenizer, transformers.MarianTokenizer.from_pretrained(folder)
    assert not sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm")).piece_to_id("V")
    for text in ["ein Vogel", *SENTENCES[::17]]:
        known = [piece if piece in theirs.get_vocab() else "<unk>" for piece in theirs.tokenize(text)]
        assert ours.tokens(ours.encode(text)) == known
        assert "V" not in text or "V" in known


def test_the_settings_that_a_folder_lacks_are_those_of_transformers() -> None:
    theirs = vars(transformers.MarianConfig())
    expected = {name: theirs[name] for name in marian_module.DEFAULTS} | {"decoder_vocab_size": None}
    assert expected == marian_module.DEFAULTS


def test_without_transformers_the_same_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = marian(tmp_path / "theirs")
    assert import_marian(folder, tmp_path / "compared", TEXTS_DE)
    monkeypatch.setattr(marian_module, "find_spec", lambda name: None)
    monkeypatch.setattr(marian_module, "quiet_transformers", pytest.fail)
    assert import_marian(folder, tmp_path / "alone", TEXTS_DE) is None
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("compared", "alone")]
    assert files[0] == files[1]


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_a_model_of_several_languages_translates_into_the_one_that_is_chosen(
    engine: EngineName, tmp_path: Path
) -> None:
    """The original is told by a code before the text."""
    files = marian_files(codes=("dan", "nob", "zho_Hant"), languages=("deu", "gmq"))
    folder = written(tmp_path / "theirs", files)
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    theirs = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder)
    said = {}
    for language, code in (("da", "dan"), ("nb", "nob"), ("zh-Hant", "zho_Hant")):
        search, opening = Search(beam_size=1, max_extra=7), Opening(engine=engine, target=language)
        translator = Translator.load(tmp_path / "ours", search, opening=opening)
        said[language] = [one.text for one in translator.translate_lines(TEXTS_DE)]
        for text, ours in zip(TEXTS_DE, said[language], strict=True):
            batch = theirs([f">>{code}<< {text}"], return_tensors="pt")
            most = batch["input_ids"].size(1) - 2 + 7
            ids = model.generate(**batch, num_beams=1, max_length=most + 1, forced_eos_token_id=None)
            expected = theirs.batch_decode(ids[:, :most], skip_special_tokens=True)
            assert [" ".join(ours.split())] == [" ".join(one.split()) for one in expected]
    assert len({*map(tuple, said.values())}) == 3
    for opening, problem in (
        (Opening(), "name one with --to: da, nb, zh-Hant"),
        (Opening(target="fi"), "not fi"),
    ):
        with pytest.raises(UserError, match=problem):
            Translator.load(tmp_path / "ours", opening=opening)
    with pytest.raises(UserError, match="translates into da, nb, zh-Hant, not fi"):
        import_marian(folder, tmp_path / "fi", TEXTS_DE[:1], target="fi")
    import_marian(folder, tmp_path / "nb", TEXTS_DE[:1], target="nb")
    assert [one.text for one in Translator.load(tmp_path / "nb", search).translate_lines(TEXTS_DE)] == said["nb"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_greedy_output_of_1000_sentences_is_that_of_transformers(engine: EngineName, tmp_path: Path) -> None:
    """Sentences of one length are a batch, so that the original reads no padding."""
    untied = {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}  # tied ones repeat one token
    folder = marian(tmp_path / "theirs", **untied)
    sentences = [f"{SENTENCES[i % 210]} {SENTENCES[i // 5]}" for i in range(1000)]
    import_marian(folder, tmp_path / "ours", TEXTS_DE[:1])
    extra = 9
    translator = Translator.load(
        tmp_path / "ours", Search(beam_size=1, max_extra=extra), opening=Opening(engine=engine)
    )
    ours = [one.text for one in translator.translate_lines(sentences)]
    theirs = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder)
    by_length: dict[int, list[int]] = {}
    for i, ids in enumerate(theirs(sentences)["input_ids"]):
        by_length.setdefault(len(ids), []).append(i)
    for length, own in by_length.items():
        batch, most = theirs([sentences[i] for i in own], return_tensors="pt"), length - 1 + extra
        ids = model.generate(**batch, num_beams=1, max_length=most + 1, forced_eos_token_id=None)
        said = theirs.batch_decode(ids[:, :most], skip_special_tokens=True)
        assert [" ".join(ours[i].split()) for i in own] == [" ".join(one.split()) for one in said]
    assert len({*ours}) > 500
