"""RankLib's trees in XML: nested <split> elements, taken up as they pass by, so that no depth is too deep.

Left or right is a matter of the order in which the two <split> elements stand, as it is to RankLib.
"""

from __future__ import annotations

from os import PathLike
from xml.parsers import expat

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import FormatError
from podium.importing.foreign_trees import Splits, at_most_as_float32, make_tree
from podium.model_file import MOST_FEATURES
from podium.trees import RegressionTree

PARENTS = {
    "ensemble": ("models",),
    "tree": ("ensemble",),
    "split": ("tree", "split"),
    "feature": ("split",),
    "threshold": ("split",),
    "output": ("split",),
}
"""Elements within which each element may stand."""
MAX_NUMBER_LENGTH = 400
"""Characters after which no more of a number is taken up."""


def read_bags(lines: list[str], path: str | PathLike[str]) -> list[list[RegressionTree]]:
    """Return the trees of each <ensemble>; lines that begin with # are comments."""
    reader = _Reader(path)
    text = "\n".join("" if line.startswith("#") else line for line in lines)
    try:
        reader.parser.Parse(f"<models>{text}</models>", True)
    except expat.ExpatError as error:
        raise FormatError(path, f"this is no XML: {expat.ErrorString(error.code)}", error.lineno) from None
    return reader.bags


class _Tree:
    """A tree as far as it has been read: splits in the order of their features' elements, and open nodes."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.children: list[list[int]] = []
        self.value: list[float] = []
        self.open: list[int | None] = []
        self.n_roots = 0

    def finished(self, path: str | PathLike[str], place: str) -> RegressionTree:
        """Return the tree, its values times its weight."""
        with np.errstate(over="ignore"):
            threshold, value, weight = (
                np.array(one, np.float32).astype(SCORE) for one in (self.threshold, self.value, [self.weight])
            )
        if not np.isfinite(np.concatenate([threshold, weight])).all():
            raise FormatError(path, f"{place}: numbers must be finite")
        splits = Splits(
            np.array(self.feature, ROW), at_most_as_float32(threshold), threshold >= 0,
            [pair[0] for pair in self.children], [pair[1] for pair in self.children],
        )  # fmt: skip
        return make_tree(splits, value * weight, None, path, place)


class _Reader:
    """Handlers of the XML's elements."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path
        self.bags: list[list[RegressionTree]] = []
        self.tags: list[str] = []
        self.text = ""
        self.at_end = {
            "feature": self.end_feature, "threshold": self.end_threshold, "output": self.end_output,
            "split": self.end_split, "tree": self.end_tree,
        }  # fmt: skip
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype

    def broken(self, problem: str) -> FormatError:
        """Return the error that names this line."""
        return FormatError(self.path, problem, self.parser.CurrentLineNumber)

    def refuse_doctype(self, *_: object) -> None:
        """Refuse declarations: entities could make a small file large."""
        raise self.broken("a model has no document type")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        if self.tags and self.tags[-1] not in PARENTS.get(tag, ()):
            raise self.broken(f"<{tag[:40]}> must not stand within <{self.tags[-1]}>")
        self.tags.append(tag)
        self.text = ""
        if tag == "ensemble":
            self.bags.append([])
        elif tag == "tree":
            self.tree = _Tree(self.number(attributes.get("weight")))
        elif tag == "split":
            self.tree.open.append(None)

    def characters(self, text: str) -> None:
        """Take the text of a number."""
        if self.tags[-1] in ("feature", "threshold", "output") and len(self.text) < MAX_NUMBER_LENGTH:
            self.text += text
        elif text.strip():
            raise self.broken(f"<{self.tags[-1]}> must not hold the text {text.strip()[:40]!r}")

    def end(self, tag: str) -> None:
        """Close an element."""
        self.tags.pop()
        if tag in self.at_end:
            self.at_end[tag]()

    def end_feature(self) -> None:
        """Make the open node a split."""
        tree = self.tree
        if tree.open[-1] is not None:
            raise self.broken("a <split> has one <feature>, or one <output>")
        tree.open[-1] = len(tree.feature)
        tree.feature.append(self.feature() - 1)
        tree.children.append([])

    def end_threshold(self) -> None:
        """Give the open split its threshold."""
        if self.tree.open[-1] != len(self.tree.threshold):
            raise self.broken("a <split> has one <threshold>, after its <feature>")
        self.tree.threshold.append(self.number(self.text))

    def end_output(self) -> None:
        """Make the open node a leaf."""
        if self.tree.open[-1] is not None:
            raise self.broken("a <split> has one <feature>, or one <output>")
        self.tree.open[-1] = ~len(self.tree.value)
        self.tree.value.append(self.number(self.text))

    def end_split(self) -> None:
        """Hang a finished node below the one around it."""
        tree = self.tree
        node = tree.open.pop()
        if node is None or (node >= 0 and (len(tree.threshold) <= node or len(tree.children[node]) != 2)):
            raise self.broken("a <split> has an <output>, or a <feature>, a <threshold> and two <split>")
        parent = tree.open[-1] if tree.open else None
        if not tree.open:
            tree.n_roots += 1
        elif parent is None or parent < 0 or len(tree.threshold) <= parent:
            raise self.broken("a <split> within another must stand after its <feature> and <threshold>")
        else:
            tree.children[parent].append(node)

    def end_tree(self) -> None:
        """Keep a finished tree."""
        if self.tree.n_roots != 1:
            raise self.broken("a <tree> has one <split>")
        self.bags[-1].append(self.tree.finished(self.path, f"the tree up to line {self.parser.CurrentLineNumber}"))

    def feature(self) -> int:
        """Return the number of a feature, counted from 1."""
        try:
            number = int(self.text)
        except ValueError:
            number = 0
        if not 1 <= number <= MOST_FEATURES:
            raise self.broken(f"<feature> must be an integer from 1 to {MOST_FEATURES}; got {self.text[:40]!r}")
        return number

    def number(self, text: str | None) -> float:
        """Return a number."""
        try:
            return float(text or "")
        except ValueError:
            raise self.broken(f"a number is expected; got {(text or '')[:40]!r}") from None
