"""Rows whose codes lie in mapped files: what trees give them, and the scores that follow the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from podium._validation import Array
from podium.data import Queries, RankingData
from podium.losses import Loss
from podium.out_of_core.mapped_bins import MappedBins, stream_codes, stream_uppers
from podium.out_of_core.parquet_rows import ParquetRows
from podium.out_of_core.streamed_data import ReadRows
from podium.rankers.score_start import Start
from podium.trees import RegressionTree, Sampler, TreeBoosting, TreeGrower, TreeRound


class CodedRows(NamedTuple):
    """Rows whose codes lie in a mapped file, in the order of the grouped rows."""

    rows: ParquetRows
    queries: Queries
    bins: MappedBins

    @classmethod
    def of(cls, read: ReadRows, evals: Sequence[ReadRows], max_bins: int, folder: str | None) -> list[CodedRows]:
        """Write the codes of rows that were read, first those that bins come from, then those of other sets."""
        rows = read.rows
        uppers = stream_uppers(rows.batches, rows.n_rows, read.sample(), read.runs, max_bins, folder)
        found: list[CodedRows] = []
        for one in (read, *evals):
            order, cuts = one.data.queries.rows, found[0].bins.cuts if found else None
            bins = stream_codes(one.rows.batches, order, uppers, folder, cuts)
            found.append(cls(one.rows, one.data.queries, bins))
        return found

    def values_of(self, tree: RegressionTree) -> Array:
        """Return the value of a tree for each grouped row: by codes, or, if it was cut elsewhere, from the files."""
        coded = self._coded(tree)
        if coded is None:
            return self.scores(tree.predict)
        values: Array = tree.value[coded.leaves_of_codes(self.bins.codes, np.arange(len(self.queries.rows)))]
        return values

    def _coded(self, tree: RegressionTree) -> RegressionTree | None:
        """Return a tree with the cuts of these bins, None where it is cut between them or by sets of categories."""
        cuts, splits = self.bins.cuts, list(zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True))
        places = [0 if threshold != threshold else cuts.cut(feature, threshold) for feature, threshold in splits]
        if any(
            cuts.threshold(feature, place) != threshold
            for (feature, threshold), place in zip(splits, places, strict=True)
        ):
            return None
        return replace(tree, cut=np.array(places, np.int32))

    def scores(self, score: Callable[[Array], Array]) -> Array:
        """Return what a function of features gives for each grouped row, in a pass over the files."""
        return self.rows.scores(score)[self.queries.rows]


def start_scores(start: Start, coded: CodedRows) -> Array:
    """Return the scores of grouped rows before the first tree."""
    if start.model is None:
        return np.full(coded.rows.n_rows, start.score)
    return coded.scores(start.scores)


class StreamedBoosting(TreeBoosting):
    """Rounds on rows whose features stay in files."""

    def __init__(
        self,
        coded: CodedRows,
        data: RankingData,
        loss: Loss,
        grower: TreeGrower,
        sampler: Sampler,
        scores: Array,
        learning_rate: float,
    ) -> None:
        super().__init__(data, loss, grower, sampler, scores, learning_rate)
        self.coded = coded

    def values_of(self, tree: RegressionTree) -> Array:
        """Return the value of a tree for each training row."""
        return self.coded.values_of(tree)


class StagedCodes:
    """Scores of the rows of an evaluation set, in the order of the files."""

    def __init__(self, coded: CodedRows, start: Start) -> None:
        self.coded, self.scores = coded, start_scores(start, coded)

    def add(self, round_: TreeRound) -> Array:
        """Add a round and return the scores."""
        self.scores += round_.alpha * self.coded.values_of(round_.ranking)
        return self.coded.queries.to_caller(self.scores)
