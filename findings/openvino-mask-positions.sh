#!/usr/bin/env bash
# In a model converted to OpenVINO, the running sum of a Boolean mask is Boolean, so it counts no further than one.
#
# Guess: `(ids != padding).cumsum(-1)` gives 1, 2, 3 ... as in PyTorch, whose sum of a Boolean tensor is an integer, and
#        as `sum` does in the converted model.
# Miss:  the conversion keeps the type, so the sum is True from the first word on, without an error or a warning. A
#        model that counts positions from its mask, as models for padding on the left do, then looks up position 1 for
#        every word and knows nothing of their order. With `.long()` or `dtype=torch.long` it counts; `.to(torch.long)`
#        after the sum is lost in a model of `torch.export`, where it changes nothing, but not in a traced one.
. "$(dirname "$0")/environment.sh" openvino==2026.4.1 torch==2.13.0 numpy==2.4.6 packaging==26.4
python - 2>openvino.log <<'PYTHON' || { cat openvino.log >&2; exit 1; }
import openvino
import torch
from finding import expect

IDS = torch.tensor([[1, 1, 7, 8, 9], [4, 5, 6, 7, 8]])  # 1 is padding
COUNTED = [[0, 0, 1, 2, 3], [1, 2, 3, 4, 5]]
STUCK = [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]


class Positions(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, ids):
        return self.count(ids != 1)


for what, count, exported, traced in [
    ("cumsum(-1)", lambda mask: mask.cumsum(-1), STUCK, STUCK),
    ("cumsum(-1).to(torch.long)", lambda mask: mask.cumsum(-1).to(torch.long), STUCK, COUNTED),
    ("long().cumsum(-1)", lambda mask: mask.long().cumsum(-1), COUNTED, COUNTED),
    ("cumsum(-1, dtype=torch.long)", lambda mask: mask.cumsum(-1, dtype=torch.long), COUNTED, COUNTED),
    ("sum(-1)", lambda mask: mask.sum(-1), [3, 5], [3, 5]),
]:
    model = Positions(count)
    expect(f"{what}, PyTorch", model(IDS).tolist(), [3, 5] if what == "sum(-1)" else COUNTED)
    for how, converted, stated in [
        ("exported", openvino.convert_model(torch.export.export(model, (IDS,))), exported),
        ("traced", openvino.convert_model(model, example_input=IDS), traced),
    ]:
        seen = openvino.compile_model(converted, "CPU")(IDS.numpy())[0]
        expect(f"{what}, OpenVINO, {how}", seen.astype(int).tolist(), stated)
PYTHON
