"""What rankers that are nets share: everything but the cost of pairs (Burges 2010, "LM", sections 2 and 3)."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import ClassVar

import numpy as np

from podium._compiled import SCORE, thread_count, threads_for
from podium._validation import Array, Features, FormatError, MatrixLike, PodiumError, Seed, check_seed
from podium.boosting import measured_sets
from podium.data import Categories, Feedback, RankingData, feedback_of
from podium.export import NetScore
from podium.measures import parse_measure
from podium.model_file import Content
from podium.neural import (
    UPDATE_RULES,
    Epoch,
    NetInputs,
    NetShape,
    NetTraining,
    PairCost,
    PairCostPart,
    QueryBatches,
    StagedNet,
    Training,
    epochs_from_columns,
    epochs_to_columns,
    inputs_from_columns,
    inputs_to_columns,
)
from podium.rankers.boosted import Boosted
from podium.rankers.categorical_ranker import CategoricalRanker
from podium.rankers.estimator import Estimator
from podium.rankers.net_parameters import CONSTRAINTS, SHARED, check_hidden


class NetRanker(CategoricalRanker, Boosted[Epoch]):
    """What `RankNet` and `LambdaRank` share: inputs, net, epochs, files."""

    _shared_parameters: ClassVar[str] = SHARED
    _parameter_constraints: ClassVar[dict[str, list[object]]] = CONSTRAINTS

    hidden: Sequence[int]
    sigma: float
    pair_weight: str
    contradictions: str
    optimizer: str
    learning_rate: float
    learning_rate_decay: float
    weight_decay: float
    dropout: float
    batch_size: int
    scale: str
    embedding_size: int
    random_state: Seed
    n_jobs: int | None
    _inputs: NetInputs

    @abstractmethod
    def _cost_parts(self, feedback: Feedback, offsets: Array, threads: int) -> list[PairCostPart]:
        """Return the costs of the pairs."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_hidden(self.hidden)

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        self._check_boosting(evals, init_model)
        seed, before = check_seed(self.random_state), self._rounds_before(init_model)
        inputs = init_model._inputs if isinstance(init_model, NetRanker) else self._make_inputs(data)
        training = self._make_training(data, inputs, seed)
        measures = [parse_measure(name) for name in self._monitor_measures()]
        sets = measured_sets(evals, measures, thread_count(self.n_jobs), lambda one: self._staged(inputs, one.features))
        self._boost(training, sets, measures, before, data, str, lambda: inputs_to_columns(inputs))
        self._inputs, self.seed_ = inputs, seed
        if training.diverged and self.rounds_:
            self._keep_best(bool(evals))

    def _make_inputs(self, data: RankingData) -> NetInputs:
        """Learn how numbers are brought to one scale."""
        known = _n_categories(data.categories, data.features.shape[1])
        weights = data.weights if data.weights.any() else np.ones(len(data.queries.rows))
        return NetInputs.of(data.features, data.queries.rows, weights, self.scale, known, type(self).__name__)

    def _make_training(self, data: RankingData, inputs: NetInputs, seed: int) -> NetTraining:
        """Return the training of a net on the training rows."""
        feedback, offsets = feedback_of(data, self.pair_weight, self.contradictions), data.queries.offsets
        pairs_of_a_batch = int(self.batch_size * np.mean(data.queries.sizes.astype(SCORE) ** 2))
        parts = self._cost_parts(feedback, offsets, threads_for(self.n_jobs, pairs_of_a_batch))
        cost = PairCost(parts, int(offsets[-1]), data.query_weight)
        rows = data.queries.rows
        how = Training(
            self.optimizer, self.learning_rate, self.learning_rate_decay, self.weight_decay, self.dropout, seed
        )
        batches = QueryBatches(feedback, offsets, int(self.batch_size), seed)
        numbers, codes = inputs.numbers(data.features)[rows], inputs.codes(data.features)[rows]
        return NetTraining(numbers, codes, cost, batches, self._shape(inputs), how)

    def _shape(self, inputs: NetInputs) -> NetShape:
        """Return the sizes of the net."""
        tables = [(int(n) + 1, int(self.embedding_size)) for n in inputs.n_categories[inputs.categorical]]
        return NetShape(inputs.n_numbers, tuple(tables), tuple(int(units) for units in self.hidden))

    def _staged(self, inputs: NetInputs, features: Features) -> StagedNet:
        """Return scores of rows that follow the epochs."""
        return StagedNet(inputs.numbers(features), inputs.codes(features), self.n_jobs)

    def _keep_best(self, measured: bool) -> None:
        """After a fit that diverged: predict with the epoch that measured best, or the last one; and say so."""
        if measured:
            history = next(reversed(self.evals_result_.values()))
            name = self._monitor_measures()[0]
            best = np.argmax if parse_measure(name).higher_is_better else np.argmin
            self._keep(self.rounds_, 1 + int(best(next(iter(history.values())))))
        warnings.warn(
            f"The fit ended early: {self.stop_reason_}. Predictions use epoch {self.best_iteration_}.", stacklevel=4
        )

    def _check_init_model(self, init_model: object) -> None:
        super()._check_init_model(init_model)
        if not isinstance(init_model, NetRanker):
            return
        for name, here, there in (
            ("hidden", tuple(self.hidden), tuple(init_model.hidden)),
            ("optimizer", self.optimizer, init_model.optimizer),
        ):
            if here != there:
                raise PodiumError(f"init_model must have {name}={here!r}, as this one has; got {there!r}.")

    def _keep(self, rounds: list[Epoch], best_round: int) -> None:
        self.rounds_, self.best_iteration_ = rounds, best_round

    def _score(self, features: Features) -> Array:
        if not self.rounds_:
            return np.zeros(features.shape[0], SCORE)
        return self._staged(self._inputs, features).add(self.rounds_[self.best_iteration_ - 1])

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the scores of each row after each epoch."""
        staged = self._staged(self._inputs, self._check_rows(X))
        for done in self.rounds_:
            yield staged.add(done)

    @property
    def weights_(self) -> Array:
        """The weights of the net that `predict` uses, as one vector: tables of categories, then W and b by layers."""
        return self._exported().net.weights.astype(SCORE)

    def weight_function(self, X: MatrixLike) -> Callable[[Array], Array]:
        """Return the scores of rows as a function of the weights of the net, for `local_optimality`."""
        staged, net = self._staged(self._inputs, self._check_rows(X)), self._exported().net
        return lambda weights: staged.scores_of(replace(net, weights=np.asarray(weights, SCORE)))

    def _exported(self) -> NetScore:
        if not self.rounds_:
            raise PodiumError(f"This {type(self).__name__} has learned nothing, so there is nothing to export.")
        net = self.rounds_[self.best_iteration_ - 1].net
        return NetScore(self._inputs, net, self._names(), type(self).__name__)

    def _rounds_to_content(self, rounds: Sequence[Epoch]) -> Content:
        return {"epochs": epochs_to_columns(rounds)}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[Epoch]:
        return epochs_from_columns(content.get("epochs"), path, UPDATE_RULES[self.optimizer].n_moments)

    def _learned(self) -> Content:
        return {**super()._learned(), "inputs": inputs_to_columns(self._inputs)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        known = _n_categories(self._categories, self.n_features_in_)
        self._inputs = inputs_from_columns(content.get("inputs"), path, known)
        for done in self.rounds_[:1]:
            shape, rows = done.net.shape, self._inputs.n_categories[self._inputs.categorical] + 1
            if shape.n_numbers != self._inputs.n_numbers or [table[0] for table in shape.tables] != rows.tolist():
                raise FormatError(path, "the net does not read as many inputs as there are")


def _n_categories(categories: Categories | None, n_features: int) -> Array:
    """Return the number of categories of each column, -1 where it is numeric."""
    return np.full(n_features, -1) if categories is None else categories.n_categories(n_features)
