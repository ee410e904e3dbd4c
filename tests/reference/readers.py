"""Plain twins of the readers: a line at a time, by Python's own means."""

import math
import re

NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
DOCID = re.compile(rb"(?<![^\s#])docid\s*=\s*(\S+)")


def number(token):
    if not NUMBER.fullmatch(token):
        raise ValueError(token)
    return float(token)


def letor_line(line):
    """(label, qid, {feature: value}, docid) of a line, None if it has no row, ValueError if it is broken."""
    content, _, comment = line.partition(b"#")
    if not content.split():
        return None
    label, *rest = content.split()
    if not math.isfinite(number(label)):
        raise ValueError(label)
    qid = None
    if rest and re.fullmatch(rb"qid:.+", rest[0]):
        qid = rest.pop(0)[4:].decode()
    features = {}
    for token in rest:
        feature, _, value = token.partition(b":")
        if not feature.isdigit() or not 1 <= int(feature) < 2**31 or int(feature) in features:
            raise ValueError(token)
        features[int(feature)] = number(value)
    docid = DOCID.search(comment)
    return number(label), qid, features, docid and docid[1].decode()


def letor_file(data):
    """Rows of a file, and the numbers of its broken lines; a line that differs from the first in having a
    qid is broken."""
    rows, broken = [], []
    for i, line in enumerate(re.split(rb"\r\n|\r|\n", data), 1):
        try:
            row = letor_line(line)
        except ValueError:
            broken.append(i)
            continue
        if row is not None and rows and (row[1] is None) != (rows[0][1] is None):
            broken.append(i)
        elif row is not None:
            rows.append(row)
    return rows, broken


def ids(texts):
    """Numbers where each is written as Python writes it (and has at most 18 digits), else the texts."""
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text) for text in texts):
        return [int(text) for text in texts]
    return texts


def first_repeat(*keys):
    seen = {}
    for row, identity in enumerate(zip(*keys, strict=True)):
        if identity in seen:
            return seen[identity], row
        seen[identity] = row
    return None
