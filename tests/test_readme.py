"""The transcript of the README is what its first example prints; PODIUM_WRITE_TRANSCRIPT=1 writes it anew."""

import os
import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
TRANSCRIPT = re.compile(r"(It prints:\n\n```text\n)(.*?)(\n```\n)", re.S)


def test_the_first_example_prints_its_transcript(capsys):
    text = README.read_text("utf-8")
    exec(compile(re.search(r"```python\n(.*?)```", text, re.S)[1], "README.md", "exec"), {})
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.rstrip().split("\n"))
    if os.environ.get("PODIUM_WRITE_TRANSCRIPT"):
        README.write_text(TRANSCRIPT.sub(lambda found: found[1] + printed + found[3], text), "utf-8")
    assert printed == TRANSCRIPT.search(README.read_text("utf-8"))[2]
    for word in ("trees are used", "ndcg@10", "Why row 0 stands above row 1"):
        assert word in printed
