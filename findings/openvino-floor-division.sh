#!/usr/bin/env bash
# In a model converted to OpenVINO, floor division of integers rounds towards zero on the CPU.
#
# Guess: `distance // 4` and `torch.div(distance, 4, rounding_mode="floor")` round down as in PyTorch, so that -1 gives
#        -1.
# Miss:  -1 gives 0, as with `rounding_mode="trunc"`; of floating-point numbers the quotient is rounded down. Models
#        that put relative positions into buckets divide negative distances: the three words to the left then share the
#        bucket of the words to the right and of the word itself, and the other buckets of the left move by one. `%`
#        has the sign of the divisor as in PyTorch, so quotient and remainder no longer give back the number.
. "$(dirname "$0")/environment.sh" openvino==2026.4.1 torch==2.13.0 numpy==2.4.6
python - 2>openvino.log <<'PYTHON' || { cat openvino.log >&2; exit 1; }
import openvino
import torch
from finding import expect

DISTANCES = torch.tensor([-5, -4, -3, -1, 0, 3, 4])
DOWN, TO_ZERO, REMAINDER = [-2, -1, -1, -1, 0, 0, 1], [-1, -1, 0, 0, 0, 0, 1], [3, 0, 1, 3, 0, 3, 0]


class Buckets(torch.nn.Module):
    def __init__(self, divide):
        super().__init__()
        self.divide = divide

    def forward(self, distances):
        return self.divide(distances)


for what, divide, in_torch, in_openvino in [
    ("distance // 4", lambda distance: distance // 4, DOWN, TO_ZERO),
    ("div with floor", lambda distance: torch.div(distance, 4, rounding_mode="floor"), DOWN, TO_ZERO),
    ("div with trunc", lambda distance: torch.div(distance, 4, rounding_mode="trunc"), TO_ZERO, TO_ZERO),
    ("distance.float() // 4", lambda distance: distance.float() // 4, DOWN, DOWN),
    ("distance % 4", lambda distance: distance % 4, REMAINDER, REMAINDER),
]:
    model = Buckets(divide)
    converted = openvino.compile_model(openvino.convert_model(model, example_input=DISTANCES), "CPU")
    expect(f"{what}, PyTorch", model(DISTANCES).int().tolist(), in_torch)
    expect(f"{what}, OpenVINO", converted(DISTANCES.numpy())[0].astype(int).tolist(), in_openvino)
PYTHON
