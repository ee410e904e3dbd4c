"""Every Python block of the documents runs as it stands, each document from the top; links lead somewhere."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*DOCUMENTS, *(ROOT / name for name in ("benchmarks/README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]

FENCE = re.compile(r"^( *)(```+|~~~+)[ \t]*(\S*)[^\n]*\n(.*?)^\1\2[ \t]*$", re.M | re.S)
each_document, each_linked_document = (
    pytest.mark.parametrize("document", documents, ids=lambda path: str(path.relative_to(ROOT)))
    for documents in (DOCUMENTS, LINKED)
)


def python_blocks(text):
    """The fenced blocks that say they are Python, by whatever spelling."""
    return [body for _, _, kind, body in FENCE.findall(text) if kind.lower().startswith(("py", "{py"))]


@each_document
def test_python_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    names: dict[str, object] = {}
    for block in python_blocks(document.read_text(encoding="utf-8")):
        exec(compile(block, document.name, "exec"), names)


def test_blocks_are_found_by_any_spelling_and_in_the_main_documents():
    text = "```python\na = 1\n```\n~~~py\nb\n~~~\n```sh\nls\n```\n  ```Python title=x\n  c\n  ```\n"
    assert python_blocks(text) == ["a = 1\n", "b\n", "  c\n"]
    counts = {document.name: len(python_blocks(document.read_text("utf-8"))) for document in DOCUMENTS}
    assert counts["README.md"] > 0
    assert sum(counts.values()) >= 20


@each_linked_document
def test_fences_are_closed(document):
    rest = FENCE.sub("", document.read_text(encoding="utf-8"))
    assert not re.search(r"^ *(```|~~~)", rest, re.M)


@each_linked_document
def test_links_within_the_project_lead_somewhere(document):
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            place = document.parent / unquote(path) if path else document
            assert place.exists(), target
            assert not anchor or anchor in anchors(place), target


def test_files_that_the_architecture_names_exist():
    text = FENCE.sub("", (ROOT / "docs" / "architecture.md").read_text("utf-8"))
    named = set(re.findall(r"`((?:[\w.]+/)+(?:[\w.]+)?|\w+\.(?:pyi?|md|toml))`", text))
    assert len(named) > 30
    places = (ROOT, ROOT / "src" / "podium", ROOT / "tests")  # rooms and tests are named for short
    assert [path for path in sorted(named) if not any((place / path).exists() for place in places)] == []


def anchors(document):
    """The anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ +(.+?) *#*$", FENCE.sub("", document.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
