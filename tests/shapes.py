"""Check the names that state shapes: `x_BTD` has three axes, and B, T and D each have one size.

Names are checked when a function returns. Meanwhile each function of the package with such names has other code: its
own, which ends with the check. A profile function would be called for every function of torch too, and double the time.
"""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

from torch import Tensor

SUFFIX = re.compile(r"_([A-Z1]+)$")

# A search drops finished sentences, so B and N = B K change within one function.
SHRINKING = {("beam_search", "B"), ("greedy_search", "B")}

_CHECK = "_check_of_shapes"  # the name of `_check` in the modules of a package that is checked
_PACKAGES: list[tuple[str, list[str]]] = []  # that are checked, each with its lies; the last one counts


@contextmanager
def checked_shapes(package: str) -> Iterator[list[str]]:
    """Collect the false names in functions of `package`: a wrong rank, or one letter with two sizes.

    A 1 in a name is an axis of size 1. A function is checked when it returns.
    """
    lies: list[str] = []
    modules = [module for name, module in [*sys.modules.items()] if name.partition(".")[0] == package]
    changes = [change for module in modules for change in _changes(module)]
    before = [(function, function.__code__) for function, _ in changes]
    _PACKAGES.append((package, lies))
    for function, code in changes:
        function.__globals__[_CHECK] = _check
        function.__code__ = code
    try:
        yield lies
    finally:
        for function, code in before:
            function.__code__ = code
        _PACKAGES.pop()


def is_checked(function: FunctionType) -> bool:
    """Return whether the names of a function are checked when it returns."""
    return _CHECK in function.__code__.co_names


def _check(module: str, where: str, values: Mapping[str, object]) -> None:
    package, lies = _PACKAGES[-1]
    if module.partition(".")[0] == package:
        lies.extend(lie for lie in _lies(where, values) if lie not in lies)


def _lies(where: str, values: Mapping[str, object]) -> Iterator[str]:
    """Yield a message for each shape name of one function that is false."""
    sizes: dict[str, int] = {"1": 1}
    for name, value in values.items():
        match = SUFFIX.search(name)
        if match is None or not isinstance(value, Tensor):
            continue
        letters = match[1]
        if value.ndim != len(letters):
            yield f"{where}: {name} has {value.ndim} axes"
            continue
        for letter, n in zip(letters, value.shape, strict=True):
            if sizes.setdefault(letter, n) != n and (where, letter) not in SHRINKING:
                yield f"{where}: {letter} is {sizes[letter]} and {n} ({name})"


@functools.cache
def _changes(module: ModuleType) -> list[tuple[FunctionType, CodeType]]:
    """Return the functions of a module with names to check, or around such functions, and their code with the check."""
    spec = module.__spec__
    source: str = spec.loader.get_source(module.__name__)  # type: ignore[union-attr]
    tree = ast.fix_missing_locations(_Checked().visit(ast.parse(source)))
    whole = compile(tree, spec.origin or module.__name__, "exec", dont_inherit=True)  # type: ignore[union-attr]
    changed = (code for code in _inner(whole) if any(_CHECK in one.co_names for one in _inner(code)))
    codes = {_key(code): code for code in changed if code.co_flags & inspect.CO_OPTIMIZED}  # of functions, not classes
    functions = {_key(function.__code__): function for function in _functions(module, module)}
    missed = [key for key in codes.keys() - functions.keys() if "<" not in key[0]]  # no comprehension and no inner one
    assert not missed, f"{module.__name__}: nothing checks {missed}"
    return [(functions[key], code) for key, code in codes.items() if key in functions]


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function or module and of all functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def _functions(module: ModuleType, owner: Any) -> Iterator[FunctionType]:
    """Yield the functions that a module or class defines, and those that they wrap."""
    for value in vars(owner).values():
        if isinstance(value, type) and value.__module__ == module.__name__ and value is not owner:
            yield from _functions(module, value)
        for one in (value, *(getattr(value, name, None) for name in ("fget", "fset", "func", "__func__"))):
            while isinstance(one, FunctionType) and one.__module__ == module.__name__:
                yield one
                one = getattr(one, "__wrapped__", None)


class _Checked(ast.NodeTransformer):
    """Adds the check to the end of each function with names of shapes, and to each item of a comprehension."""

    def __init__(self) -> None:
        self._place: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._place.append(node.name)
        self.generic_visit(node)
        self._place.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._place += [node.name, "<locals>"]
        self.generic_visit(node)
        del self._place[-2:]
        if _has_shapes(node):
            check = ast.Expr(self._call(node.name))
            node.body = [ast.Try(body=node.body, handlers=[], orelse=[], finalbody=[check])]
        return node

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        if any(map(_has_shapes, node.generators)):
            both = ast.Tuple([self._call("<comprehension>"), node.elt], ast.Load())
            node.elt = ast.Subscript(both, ast.Constant(1), ast.Load())
        return node

    visit_GeneratorExp = visit_ListComp  # noqa: N815

    def _call(self, name: str) -> ast.expr:
        where = ".".join([*self._place, name])
        return ast.parse(f"{_CHECK}(__name__, {where!r}, locals())", mode="eval").body


def _has_shapes(node: ast.AST) -> bool:
    names = (inner.arg if isinstance(inner, ast.arg) else getattr(inner, "id", "") for inner in ast.walk(node))
    return any(map(SUFFIX.search, names))
