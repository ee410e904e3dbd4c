"""Figures of the sources that would creep up unnoticed: imports of a module, names of modules, the word Any."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import podium
from podium.rankers import RANKERS

MAX_IMPORTS = 12
"""Other modules of ours that one may import, late imports included: a reader of it has to know them all."""
MAX_ANY = 362
"""Places where a type is Any: a protocol, a type parameter or object says more, and mypy checks it."""
ROOT = Path(podium.__file__).parent
SOURCES = {path: path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}


def module_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(text):
    return set(re.findall(r"^\s*from (podium[\w.]*) import", text, re.MULTILINE))


def test_no_module_leans_on_many_others():
    found = {module_of(path): len(imports_of(text)) for path, text in SOURCES.items()}
    assert max(found.values()) > 1, "imports are not recognised any more"
    assert {name: count for name, count in found.items() if count > MAX_IMPORTS} == {}


def test_base_names_of_modules_are_unique():
    named = defaultdict(list)
    for path in SOURCES:
        named[module_of(path).rsplit(".", 1)[-1]].append(module_of(path))
    assert {name: found for name, found in named.items() if len(found) > 1} == {}


def test_few_types_are_any():
    counts = Counter({module_of(path): len(re.findall(r"\bAny\b", text)) for path, text in SOURCES.items()})
    assert 0 < counts.total() <= MAX_ANY, counts.most_common(10)


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_docstrings_name_every_parameter_and_have_no_blank_left(name):
    described = RANKERS[name].__doc__
    assert "{shared}" not in described
    assert "{monitoring}" not in described
    named = re.findall(r"^    (\w+(?:, \w+)*)(?: : .*)?$", described, re.MULTILINE)
    missing = set(RANKERS[name]().get_params(deep=False)) - {one for line in named for one in line.split(", ")}
    assert missing == set()
