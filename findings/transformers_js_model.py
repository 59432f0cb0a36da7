"""A translation model for Transformers.js whose next word depends on the first word of the source and the last word."""

import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT


def save(folder: str, words: list[str], table: dict[tuple[str, str], dict[str, float]]) -> None:
    """Save the model; `table[source, last]` has the probabilities of the next word.

    The first of `words` is the padding, with which each translation begins, the second the end.
    """
    os.makedirs(f"{folder}/onnx")
    n, padding, end = len(words), *words[:2]
    logits = np.full((n * n, n), -30.0, "f")
    for (source, last), following in table.items():
        for word, probability in following.items():
            logits[words.index(source) * n + words.index(last), words.index(word)] = np.log(probability)

    def graph(name, nodes, inputs, output, **constants):
        graph = helper.make_graph(
            [helper.make_node(op, names, [out], **attributes) for op, names, out, attributes in nodes],
            name,
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(*output)],
            [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, f"{folder}/onnx/{name}.onnx")

    states = "encoder_hidden_states"
    graph(
        "encoder_model",
        [
            ("Cast", ["input_ids"], "read", {"to": FLOAT}),
            ("Unsqueeze", ["read", "axis"], "last_hidden_state", {}),
        ],
        [("input_ids", INT, ["batch", "length"]), ("attention_mask", INT, ["batch", "length"])],
        ("last_hidden_state", FLOAT, ["batch", "length", 1]),
        axis=[2],
    )
    graph(
        "decoder_model_merged",
        [
            ("Gather", [states, "first"], "state", {"axis": 1}),
            ("Cast", ["state"], "source", {"to": INT}),
            ("Mul", ["source", "size"], "rows", {}),
            ("Add", ["rows", "input_ids"], "row", {}),
            ("Gather", ["table", "row"], "logits", {}),
        ],
        [("input_ids", INT, ["batch", "steps"]), (states, FLOAT, ["batch", "length", 1])],
        ("logits", FLOAT, ["batch", "steps", n]),
        first=0,
        size=n,
        table=logits,
    )
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, padding))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, 1)])
    tokenizer.add_special_tokens([padding, end])
    tokenizer.save(f"{folder}/tokenizer.json")
    sizes = {f"{side}_{what}": 1 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    settings = {
        "config": {"model_type": "marian", "is_encoder_decoder": True, "vocab_size": n, "d_model": 1, **sizes},
        "generation_config": {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1},
        "tokenizer_config": {"tokenizer_class": "PreTrainedTokenizer", "pad_token": padding, "eos_token": end},
    }
    for name, content in settings.items():
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(content, file)
