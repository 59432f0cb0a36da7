"""The check of shape names finds false names; without these tests it might check nothing."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.shapes import checked_shapes, is_checked
from tests.toys import random_ids, toy_model
from transformer.attention import attend


class Written(importlib.abc.InspectLoader):
    """Loads a module from its source, without a file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source


def lies(source: str, *arguments: Tensor, module: str = "liar") -> list[str]:
    """Messages of the check for `function` in a module with this source."""
    spec = importlib.util.spec_from_loader(module, Written(source))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    function: Callable[..., object] = made.function
    with mock.patch.dict(sys.modules, {module: made}), checked_shapes("liar") as found:
        function(*arguments)
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def function(x_BT): pass", []),
        ("def function(x_BTD): pass", ["function: x_BTD has 2 axes"]),
        ("def function(x_B): pass", ["function: x_B has 2 axes"]),
        ("def function(x_BB): pass", ["function: B is 3 and 5 (x_BB)"]),
        ("def function(x_B1): pass", ["function: 1 is 1 and 5 (x_B1)"]),
        ("def function(x_BT): y_BT = x_BT[:, :2]", ["function: T is 5 and 2 (y_BT)"]),
        ("def function(x_BT): x_BT = x_BT[:, :2]", []),
        ("def function(x_BT): y_BT = [x_BT, x_BT[:, :2]]", []),
        ("def function(x_BT): y_1BT = x_BT[None]", []),
        ("def function(x_BT):\n def inner(y_BT): pass\n inner(x_BT.T)", []),
        ("def function(x_BT):\n def inner(y_TC): return x_BT\n inner(x_BT)", ["function.<locals>.inner: T is 3 and 5"]),
        ("def function(x_BT): return [y_BT for y_BT in x_BT]", ["function.<locals>.<comprehension>: y_BT has 1 axes"]),
        ("def function(x_BT): return max(y_B.sum() for y_B in x_BT)", []),
        ("class C:\n def m(self, x_BT): y_B = x_BT\ndef function(x): C().m(x)", ["C.m: y_B has 2 axes"]),
        ("def function(x_BTD):\n try: raise ValueError\n except ValueError: pass", ["function: x_BTD has 2 axes"]),
    ],
)
def test_a_false_name_is_reported_and_a_true_name_is_not(source: str, expected: list[str]) -> None:
    found = lies(source, torch.zeros(3, 5))
    assert len(found) == len(expected)
    assert all(lie.startswith(start) for lie, start in zip(found, expected, strict=True))


def test_only_the_package_is_watched() -> None:
    source = "def function(x_B): pass"
    assert lies(source, torch.zeros(3, 5), module="liar.part") == ["function: x_B has 2 axes"]
    assert lies(source, torch.zeros(3, 5), module="liars") == []


def test_a_false_name_is_reported_once() -> None:
    assert lies("def function(x):\n for _ in range(9): f(x)\ndef f(x_B): pass", torch.zeros(3, 5)) == [
        "f: x_B has 2 axes"
    ]


def test_wrongly_named_tensors_are_found_in_the_library() -> None:
    q_BHTK, k_BHSK = torch.zeros(2, 3, 5, 7), torch.zeros(2, 3, 1, 7)
    with checked_shapes("transformer") as found:
        attend(q_BHTK, k_BHSK.expand(2, 3, 9, 7), torch.zeros(1, 1, 9, 11), None)
    assert found == ["attend: B is 2 and 1 (v_BHSV)", "attend: H is 3 and 1 (v_BHSV)"]


def test_the_check_watches_every_test_of_the_library() -> None:
    """In this test too, before and after a check of its own, which sees the whole model."""
    assert is_checked(attend)
    with checked_shapes("transformer") as found:
        toy_model()(random_ids(3, 5), random_ids(3, 7))
    assert found == []
    assert is_checked(attend)


@settings(max_examples=3)
@given(st.integers())
def test_the_check_watches_every_example_of_a_generated_test(n: int) -> None:
    assert is_checked(attend)


def test_wrapped_functions_methods_and_properties_are_checked() -> None:
    source = """
import contextlib, functools, torch

class C:
    @property
    def p(self): x_BT = torch.zeros(3)
    @staticmethod
    def s(): x_BT = torch.zeros(3)
    @classmethod
    @torch.no_grad()
    def c(cls): x_BT = torch.zeros(3)
    @functools.cached_property
    def l(self):
        x_BT = torch.zeros(3)
        return x_BT

@contextlib.contextmanager
def g():
    x_BT = torch.zeros(3)
    yield

def function():
    one = C()
    one.p, one.s(), one.c(), one.l
    with g():
        pass
"""
    assert [lie.partition(":")[0] for lie in lies(source)] == ["C.p", "C.s", "C.c", "C.l", "g"]
