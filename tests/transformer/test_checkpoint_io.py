"""A saved model loads bit for bit; otherwise one sentence names the bad file and the reason."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.toys import TINY, VARIANTS, random_ids, toy_model
from transformer import checkpoint_io
from transformer.checkpoint_io import Storage, average, load_model, load_tensors, load_weights, quantise, save_model
from transformer.config import CheckpointError, load_config

CONFIG, WEIGHTS = "config.json", "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model."""
    save_model(toy_model(), tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", VARIANTS)
def test_a_model_loads_bit_for_bit(name: str, tmp_path: Path) -> None:
    model = toy_model(VARIANTS[name])
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config == model.config
    assert not loaded.training
    for parameter, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[parameter])
    src_BS, tgt_BT = random_ids(3, 5), random_ids(3, 7)
    assert torch.equal(loaded(src_BS, tgt_BT), model(src_BS, tgt_BT))


def test_loading_draws_no_initial_values(folder: Path) -> None:
    """To draw them takes longer than to read the file."""
    before = torch.get_rng_state()
    load_model(folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_folder_may_be_named_by_a_string(tmp_path: Path) -> None:
    save_model(toy_model(), str(tmp_path))
    assert load_model(str(tmp_path)).config == TINY


def test_a_tied_matrix_is_stored_once(folder: Path) -> None:
    shapes = [tensor.shape for tensor in load_file(folder / WEIGHTS).values()]
    assert shapes.count((TINY.vocab_size, TINY.d_model)) == 1


def test_saving_again_replaces_the_model(folder: Path) -> None:
    other = toy_model(VARIANTS["pre-norm"], seed=1)
    save_model(other, folder)
    assert load_model(folder).config == other.config


def test_a_save_that_fails_leaves_the_model_that_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new config beside old weights would load as a third model."""

    def full(*_: object) -> None:
        raise OSError("no space left")

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("transformer.checkpoint_io.save_file", full)
    with pytest.raises(OSError, match="no space left"):
        save_model(toy_model(VARIANTS["pre-norm"], seed=1), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_model_of_another_type_is_saved_as_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    model = toy_model().to(dtype)
    save_model(model, tmp_path, "int8")
    assert {tensor.dtype for tensor in load_file(tmp_path / WEIGHTS).values()} == {torch.int8, torch.float32}
    save_model(model, tmp_path)
    for name, tensor in load_tensors(tmp_path / WEIGHTS).items():
        assert torch.equal(tensor, model.state_dict()[name].float())


def test_a_model_in_training_is_saved_without_its_gradients(tmp_path: Path) -> None:
    model = toy_model().train()
    model(random_ids(3, 5), random_ids(3, 7)).sum().backward()
    save_model(model, tmp_path)
    assert model.training
    assert not any(parameter.grad is not None for parameter in load_model(tmp_path).parameters())


NUMBERS = st.floats(-(2.0**60), 2.0**60, width=32).map(lambda x: x if abs(x) > 2.0**-60 else 0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@given(rows=st.lists(st.lists(NUMBERS, min_size=5, max_size=5), min_size=1, max_size=3))
def test_int8_is_at_most_half_a_step_off_in_each_row(dtype: torch.dtype, rows: list[list[float]]) -> None:
    """The step size depends only on the largest number of the row."""
    matrix = torch.tensor(rows, dtype=dtype)
    numbers, scale = quantise(matrix)
    assert numbers.dtype == torch.int8
    step = matrix.double().abs().amax(dim=1) / 127
    error = (numbers.double() * scale.double()[:, None] - matrix.double()).abs().amax(dim=1)
    assert bool((error <= step * (0.5 + 1e-4)).all())


@pytest.mark.parametrize(("dtype", "bits"), [("fp32", 0), ("bf16", 2**-8), ("int8", 1 / 127)])
def test_compact_weights_load_as_float32_close_to_what_they_were(dtype: Storage, bits: float, tmp_path: Path) -> None:
    model = toy_model()
    save_model(model, tmp_path, dtype)
    loaded = load_model(tmp_path)
    for name, parameter in loaded.state_dict().items():
        own = model.state_dict()[name]
        assert parameter.dtype == torch.float32
        exact = dtype == "fp32" or own.ndim == 1
        assert (parameter - own).abs().max() <= (0 if exact else bits * own.abs().max())
        assert exact == torch.equal(parameter, own)


def test_an_unknown_type_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fp32, bf16, int8"):
        save_model(toy_model(), tmp_path, "fp16")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_compact_weights_take_fewer_bytes(tmp_path: Path) -> None:
    model = toy_model(dataclasses.replace(TINY, d_model=42, vocab_size=97))
    sizes = {}
    for dtype in ("fp32", "bf16", "int8"):
        save_model(model, tmp_path, dtype)  # type: ignore[arg-type]
        sizes[dtype] = (tmp_path / WEIGHTS).stat().st_size
    assert sizes["bf16"] < 0.7 * sizes["fp32"]
    assert sizes["int8"] < 0.6 * sizes["bf16"] + 10_000  # the header has two lines for each matrix


def test_an_average_of_compact_files_is_the_mean_of_what_they_hold(tmp_path: Path) -> None:
    paths = []
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        save_model(toy_model(seed=seed), tmp_path / str(seed), "int8")
        paths.append(tmp_path / str(seed) / WEIGHTS)
    one, other = map(load_tensors, paths)
    for name, tensor in average(paths).items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)


@pytest.mark.parametrize("change", ["no scale", "too few scales"])
def test_int8_without_its_scales_is_refused(change: str, tmp_path: Path) -> None:
    save_model(toy_model(), tmp_path, "int8")
    tensors = load_file(tmp_path / WEIGHTS)
    name = "src_embedding.weight_VD.scale"
    scale = tensors.pop(name)
    if change == "too few scales":
        tensors[name] = scale[:-1].clone()
    save_file(tensors, tmp_path / WEIGHTS)
    refused(lambda: load_model(tmp_path), tmp_path / WEIGHTS, "int8 without a scale for each row")


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex64])
def test_tensors_that_hold_no_weights_are_refused(dtype: torch.dtype, tmp_path: Path) -> None:
    save_model(toy_model(), tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    name = "src_embedding.weight_VD"
    save_file({**tensors, name: (100 * tensors[name]).to(dtype)}, tmp_path / WEIGHTS)
    reason = f"the tensor '{name}' has type {dtype}, not that of weights"
    refused(lambda: load_model(tmp_path), tmp_path / WEIGHTS, reason)
    refused(lambda: average([tmp_path / WEIGHTS]), tmp_path / WEIGHTS, reason)


@pytest.mark.parametrize("size", [10**9, 10**30])
@pytest.mark.parametrize(
    "names",
    [
        ("vocab_size",),
        ("d_model",),
        ("d_ff",),
        ("n_heads",),
        ("d_k",),
        ("d_v",),
        ("n_encoder_layers",),
        ("n_decoder_layers",),
        ("max_length",),
        ("n_heads", "d_model"),
        ("vocab_size", "d_model", "d_ff"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("load", [load_config, load_model])
def test_a_small_file_of_a_huge_model_is_refused_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, load: Callable[[Path], object], names: tuple[str, ...], size: int
) -> None:
    """Making the model would take all of the memory, or never end."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config["model"] |= dict.fromkeys(names, size)
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.setattr(checkpoint_io, "Transformer", lambda config: pytest.fail("it was made"))
    with pytest.raises(CheckpointError, match="do not belong together|must be at most") as caught:
        load(folder)
    assert str(caught.value).startswith(f"{folder / CONFIG}: ")


@pytest.mark.parametrize("shape", [[10**9, 10**9], [10**30], [-(10**9)], ["x"], None, 5])
def test_a_header_cannot_claim_more_than_its_file_holds(folder: Path, shape: object) -> None:
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config["model"]["vocab_size"] = 10**9
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    content = (folder / WEIGHTS).read_bytes()
    n = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + n])
    header["src_embedding.weight_VD"]["shape"] = shape
    changed = json.dumps(header).encode()
    (folder / WEIGHTS).write_bytes(len(changed).to_bytes(8, "little") + changed + content[8 + n :])
    with pytest.raises(CheckpointError):
        load_model(folder)


def test_a_lack_of_memory_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(checkpoint_io, "Transformer", none)
    refused(lambda: load_model(folder), folder / CONFIG, "does not fit into memory")


def refused(action: Callable[[], object], path: Path, reason: str) -> None:
    """The error is one sentence that begins with the file and gives the reason."""
    with pytest.raises(CheckpointError) as caught:
        action()
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert reason in message
    assert "\n" not in message


@settings(max_examples=40)
@given(share=st.floats(0, 1, exclude_max=True))
def test_truncated_weights_are_refused(tmp_path_factory: pytest.TempPathFactory, share: float) -> None:
    folder = tmp_path_factory.mktemp("model")
    save_model(toy_model(), folder)
    path = folder / WEIGHTS
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    refused(lambda: load_model(folder), path, "damaged or truncated")


@pytest.mark.parametrize("data", [b"", b"\x80\x04pickle", b"PK\x03\x04" + bytes(99), b"\xff" * 99, b"{}"])
def test_foreign_weights_are_refused(folder: Path, data: bytes) -> None:
    (folder / WEIGHTS).write_bytes(data)
    refused(lambda: load_model(folder), folder / WEIGHTS, "damaged or truncated")


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refused(lambda: load_model(folder), folder / name, "No such file" if name == CONFIG else "missing")


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_a_folder_in_the_place_of_a_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(lambda: load_model(folder), folder / name, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        '"model"',
        "{}",
        '{"format": 1}',
        '{"model": {}}',
        '{"format": 1, "model": []}',
        '{"format": 1, "model": "t5-small"}',
        '{"format": 1, "model": null}',
        '{"model_type": "marian", "d_model": 512}',
        pytest.param("[" * 200_000, id="nested"),
    ],
)
def test_a_foreign_config_is_refused(folder: Path, text: str) -> None:
    (folder / CONFIG).write_text(text, encoding="utf-8")
    refused(lambda: load_model(folder), folder / CONFIG, "not a config of this toolkit")


def test_a_config_in_another_encoding_is_refused(folder: Path) -> None:
    (folder / CONFIG).write_bytes("{}".encode("utf-16"))
    refused(lambda: load_config(folder), folder / CONFIG, "not a config of this toolkit")


def test_a_truncated_config_is_refused(folder: Path) -> None:
    text = (folder / CONFIG).read_text(encoding="utf-8").rstrip()
    for n in range(0, len(text), 7):
        (folder / CONFIG).write_text(text[:n], encoding="utf-8")
        refused(lambda: load_config(folder), folder / CONFIG, "not a config of this toolkit")


def rewrite(folder: Path, changes: dict[str, object]) -> None:
    """Change keys in the model's config."""
    description = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    description["model"].update(changes)
    (folder / CONFIG).write_text(json.dumps(description), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"d_modle": 14}, "model.d_modle is not a known key"),
        ({"d_model": "14"}, "model.d_model = '14' has the wrong type"),
        ({"dropout": 1.0}, "model.dropout = 1.0 must be in [0, 1)"),
    ],
)
def test_a_mistake_in_the_config_is_named(folder: Path, changes: dict[str, object], reason: str) -> None:
    rewrite(folder, changes)
    refused(lambda: load_model(folder), folder / CONFIG, reason)


def test_a_newer_format_is_refused(folder: Path) -> None:
    description = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps({**description, "format": 2}), encoding="utf-8")
    refused(lambda: load_model(folder), folder / CONFIG, "format 2 is unknown; this version reads 1")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"d_ff": 12}, "has shape (11,), the config asks for (12,)"),
        ({"vocab_size": 24}, "has shape (23, 14), the config asks for (24, 14)"),
        ({"n_encoder_layers": 3}, "'encoder.2.feed_forward.w_1.bias' is missing"),
        ({"n_decoder_layers": 2}, "'decoder.2.cross_attn.w_o.weight' is not part of this model"),
        ({"tying": "target"}, "'untied_tgt_embedding.weight_VD' is missing"),
    ],
)
def test_weights_of_another_architecture_are_refused(folder: Path, changes: dict[str, object], reason: str) -> None:
    rewrite(folder, changes)
    refused(lambda: load_model(folder), folder / WEIGHTS, reason)


@pytest.mark.parametrize("change", ["missing", "foreign"])
def test_a_missing_or_unknown_tensor_is_named(folder: Path, change: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    if change == "missing":
        del tensors["src_embedding.weight_VD"]
        reason = "'src_embedding.weight_VD' is missing"
    else:
        tensors["lm_head.weight"] = torch.zeros(3)
        reason = "'lm_head.weight' is not part of this model"
    save_file(tensors, folder / WEIGHTS)
    refused(lambda: load_model(folder), folder / WEIGHTS, reason)


def test_a_refused_file_leaves_nothing_half_loaded(folder: Path) -> None:
    """Shapes are compared before the first tensor is copied."""
    model = toy_model(dataclasses.replace(TINY, vocab_size=24), seed=1)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    refused(lambda: load_weights(model, load_tensors(folder / WEIGHTS), folder / WEIGHTS), folder / WEIGHTS, "shape")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def saved(folder: Path, sets: list[dict[str, Tensor]]) -> list[Path]:
    paths = [folder / f"{i}.safetensors" for i in range(len(sets))]
    for tensors, path in zip(sets, paths, strict=True):
        save_file(tensors, path)
    return paths


@pytest.mark.parametrize("n", [1, 2, 5])
def test_an_average_is_the_mean(tmp_path: Path, n: int) -> None:
    sets = [dict(toy_model(seed=seed).state_dict()) for seed in range(n)]
    mean = average(saved(tmp_path, sets))
    assert mean.keys() == sets[0].keys()
    for name, tensor in mean.items():
        expected = torch.stack([tensors[name].double() for tensors in sets]).mean(dim=0).float()
        torch.testing.assert_close(tensor, expected, rtol=1e-7, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_an_average_of_equal_files_equals_each_file(tmp_path: Path, dtype: torch.dtype) -> None:
    tensors = {"w": torch.randn(3, 5).to(dtype)}
    mean = average(saved(tmp_path, [tensors] * 3))
    assert mean["w"].dtype == torch.promote_types(dtype, torch.float32)
    assert torch.equal(mean["w"], tensors["w"].to(mean["w"].dtype))


def test_averaging_keeps_small_weights_next_to_large_ones(tmp_path: Path) -> None:
    """Sums in float32 would lose the 1 next to 2^25."""
    values = [2.0**25, 1.0, 1.0, -(2.0**25)]
    mean = average(saved(tmp_path, [{"w": torch.tensor([value])} for value in values]))
    assert mean["w"].item() == 0.5


def test_an_average_is_a_model(tmp_path: Path) -> None:
    models = [toy_model(seed=seed) for seed in (1, 2)]
    mean = average(saved(tmp_path, [dict(model.state_dict()) for model in models]))
    models[0].load_state_dict(mean)


def test_checkpoints_of_two_models_are_not_averaged(tmp_path: Path) -> None:
    one = dict(toy_model().state_dict())
    other = dict(toy_model(dataclasses.replace(TINY, d_ff=12)).state_dict())
    paths = saved(tmp_path, [one, other])
    refused(lambda: average(paths), paths[1], f"differ from those of {paths[0]}")


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    paths = [*saved(tmp_path, [{"w": torch.ones(3)}]), tmp_path / "none.safetensors"]
    refused(lambda: average(paths), paths[1], "missing")


def test_averaging_no_checkpoints_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="no checkpoints to average"):
        average([])
