"""The faults: read from the tables, or made by cosmic-ray's operators."""

from __future__ import annotations

import ast
import random
import tomllib
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

TABLE = Path(__file__).parent / "table"
EQUIVALENT = Path(__file__).parent / "equivalent.toml"
"""Made faults that no test can tell from the library, and why."""
SOURCE = Path(__file__).parents[2] / "src" / "podium"
OPERATORS = (
    *(f"ReplaceBinaryOperator_{a}" for a in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Pow_Mul")),
    *(
        f"ReplaceComparisonOperator_{a}"
        for a in ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_Gt", "LtE_Lt", "Gt_GtE", "Gt_Lt")
    ),
    *(f"ReplaceComparisonOperator_{a}" for a in ("GtE_Gt", "Is_IsNot", "IsNot_Is")),
    *("ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Not", "AddNot", "ReplaceTrueWithFalse"),
    *("ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd", "NumberReplacer", "ZeroIterationForLoop"),
)
"""Operators that break an algorithm; those that break annotations, decorators or exceptions are left out."""


@dataclass(frozen=True)
class Fault:
    """A change of one place in one module.

    Attributes
    ----------
    module : str
        Path below src/podium.
    before, after : str
        A text that stands once in the module, and what stands there instead.
    breaks : str
        What the library does wrong with it.
    equivalent : str
        Why no test can tell the difference, if none can.
    """

    module: str
    before: str
    after: str
    breaks: str
    equivalent: str = ""

    @property
    def key(self) -> str:
        """A name that stays the same as long as the fault does."""
        return sha256("\0".join((self.module, self.before, self.after)).encode()).hexdigest()[:16]

    def apply(self, source: str) -> str:
        """Return the source with the fault."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.module} has this text {source.count(self.before)} times, not once: {self.before}")
        return source.replace(self.before, self.after)

    def function(self, source: str) -> str:
        """Return the name of the function that the fault is in."""
        unchanged = len(self.before) - len(self.before.lstrip())
        while unchanged < min(len(self.before), len(self.after)) and self.before[unchanged] == self.after[unchanged]:
            unchanged += 1
        line = source[: source.index(self.before) + min(unchanged, len(self.before) - 1)].count("\n") + 1
        return function_names(source).get(line, "")


def function_names(source: str, bodies: bool = False) -> dict[int, str]:
    """Return the name of the function that each line of a module is in, such as ``Monitor.observe``.

    With `bodies`, lines that run when the function is called: ``def`` runs with what stands around it.
    """
    names: dict[int, str] = {}

    def visit(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}" if outer else child.name
                if isinstance(child, ast.FunctionDef):
                    first = child.body[0].lineno if bodies else child.lineno
                    names.update(dict.fromkeys(range(first, (child.end_lineno or first) + 1), name))
                visit(child, name)
            else:
                visit(child, outer)

    visit(ast.parse(source), "")
    return names


def read_faults(*paths: Path) -> list[Fault]:
    """Return the faults of some tables, by default of all that are written by hand."""
    tables = (tomllib.loads(path.read_text("utf-8")) for path in paths or sorted(TABLE.glob("*.toml")))
    return [Fault(**row) for table in tables for row in table.get("fault", [])]


def make_faults(modules: list[str], sample: int, seed: int = 0) -> list[Fault]:
    """Return some of the faults that cosmic-ray's operators make in each module, drawn with a seed."""
    return [fault for module in modules for fault in _sample_of(module, sample, seed)]


def _sample_of(module: str, size: int, seed: int) -> list[Fault]:
    """Return some faults of one module, in functions only: the text between is constants and declarations."""
    source = (SOURCE / module).read_text("utf-8")
    lines, faults = function_names(source), {}
    for name in OPERATORS:
        for changed in _changed_by(name, source):
            first, before, after = _difference(source, changed)
            if first in lines and not _in_docstring(source, first):
                faults[before, after] = Fault(module, before, after, name)
    reasons = {fault.key: fault.equivalent for fault in read_faults(EQUIVALENT)}
    found = [replace(faults[key], equivalent=reasons.get(faults[key].key, "")) for key in sorted(faults)]
    drawn = random.Random(f"{seed} {module}").sample(found, min(size, len(found)))
    return [fault for fault in drawn if _is_python(fault.apply(source))]


def _is_python(source: str) -> bool:
    """Say whether a source can be compiled: an operator may leave none."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _changed_by(name: str, source: str) -> list[str]:
    """Return the source changed at each place where an operator applies."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    operator, changed = get_operator(f"core/{name}")(), []
    while (text := mutate_code(source.encode(), operator, len(changed))) is not None:
        changed.append(text.decode() if isinstance(text, bytes) else text)
    return changed


def _difference(source: str, changed: str) -> tuple[int, str, str]:
    """Return the first line that differs, and a text around it that stands once in the source, before and after."""
    old, new = source.splitlines(keepends=True), changed.splitlines(keepends=True)
    first = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    back = next(i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b)
    start, stop = first, len(old) - back
    while source.count("".join(old[start:stop])) > 1:
        start -= 1
    return first + 1, "".join(old[start:stop]), "".join(new[start : len(new) - back])


def _in_docstring(source: str, line: int) -> bool:
    """Say whether a line belongs to a string that stands alone."""
    strings = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, str) and one.lineno <= line <= (one.end_lineno or 0)
        for one in strings
    )
