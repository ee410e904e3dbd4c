"""A fault in memory: functions that are already imported get the code of the changed source."""

from __future__ import annotations

import gc
import inspect
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType

from numba.core.dispatcher import Dispatcher

Pair = tuple[CodeType, CodeType]
Place = tuple[str, str, int]
"""File, qualified name and first line of a function."""


class LiveFunctions:
    """The functions of a folder's modules that are in memory, wherever they are bound.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        gc.unfreeze()  # frozen objects are not listed
        found = gc.get_objects()
        self.functions: dict[Place, list[FunctionType]] = defaultdict(list)
        for one in found:
            if type(one) is FunctionType and one.__code__.co_filename.startswith(str(folder)):
                self.functions[_place(one.__code__)].append(one)
        self.kernels = {id(one.py_func) for one in found if issubclass(type(one), Dispatcher)}  # of no proxies
        gc.freeze()  # pages that hold no garbage to look for stay shared with forks

    def change(self, path: Path, source: str) -> bool:
        """Give functions the code of another source of their module; return False where more than functions differ.

        Machine code that was made from a function does not follow it: such a change is none of functions either.
        """
        pairs = changed_functions(path.read_text("utf-8"), source, str(path))
        if not pairs:
            return False
        owners = [self.functions.get(_place(before), []) for before, _ in pairs]
        if not any(owners) or any(id(one) in self.kernels for own in owners for one in own):
            return False
        try:
            for own, (_, after) in zip(owners, pairs, strict=True):
                for one in own:
                    one.__code__ = after
        except ValueError:  # another number of names from outside
            return False
        return True


def changed_functions(before: str, after: str, file: str) -> list[Pair] | None:
    """Return old and new code of the functions that differ; None where something differs outside of functions."""
    pairs: list[Pair] = []
    same = _compare(compile(before, file, "exec"), compile(after, file, "exec"), pairs)
    return pairs if same else None


def _compare(before: CodeType, after: CodeType, pairs: list[Pair]) -> bool:
    """Add the functions that differ, inner ones too; return whether all that is no function is the same."""
    inner = [[one for one in code.co_consts if isinstance(one, CodeType)] for code in (before, after)]
    names = [[one.co_qualname for one in own] for own in inner]
    same = _content(before) == _content(after) and names[0] == names[1]
    n_pairs = len(pairs)
    if same:
        same = all(_compare(*both, pairs) for both in zip(*inner, strict=True))
    if before.co_flags & inspect.CO_OPTIMIZED:  # a function; bodies of classes and modules are not
        if not same or len(pairs) > n_pairs:
            pairs.append((before, after))
        return True
    return same


def _content(code: CodeType) -> tuple[object, ...]:
    """Return what a code does, without the lines that it stands in and without inner functions."""
    constants = [(type(one), repr(one)) for one in code.co_consts if not isinstance(one, CodeType)]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
    return code.co_code, code.co_exceptiontable, constants, names, counts


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno
