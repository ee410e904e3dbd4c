"""What trec_eval calls measures: ``P_10``, ``ndcg_cut_10``, ``recip_rank``."""

from __future__ import annotations

import re

CUTS = {"p": "p", "recall": "recall", "map_cut": "map", "ndcg_cut": "ndcg", "success": "top"}
"""What trec_eval calls measures of the first k places, in lower case, and what they are here."""
NAMES = {"recip_rank": "mrr"}
OF_RUNS = ("bpref", "infap", "rprec")
"""Measures that look at which documents were judged, in lower case: `evaluate_run` has them."""
_CUT = re.compile(rf"({'|'.join(CUTS)})[_.](\d+)")


def our_name(name: str) -> str | None:
    """Return what a measure of trec_eval's is called here; None where the name is none of its own.

    Examples
    --------
    >>> our_name("P_10"), our_name("ndcg_cut.5"), our_name("recip_rank"), our_name("map")
    ('p@10', 'ndcg@5', 'mrr', None)
    """
    text = name.strip().lower()
    cut = _CUT.fullmatch(text)
    return f"{CUTS[cut[1]]}@{cut[2]}" if cut else NAMES.get(text)
