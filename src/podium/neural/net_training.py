"""The epochs of RankNet and LambdaRank, one gradient per document (Burges 2010, "LM", sections 2.1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from podium._validation import Array
from podium.boosting import Stop
from podium.neural.network import WEIGHT, Epoch, Net, NetShape
from podium.neural.pair_cost import PairCost
from podium.neural.query_batches import QueryBatches
from podium.neural.torch_thread import ONE_THREAD, load_torch
from podium.neural.update_rules import UPDATE_RULES

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True)
class Training:
    """How a net is trained.

    Attributes
    ----------
    optimizer : {"adam", "sgd"}
    learning_rate : float
        η of the first epoch.
    learning_rate_decay : float
        Factor on η after each epoch.
    weight_decay : float
    dropout : float
        Probability that a hidden unit is left out of an update; the others count for it.
    seed : int
    """

    optimizer: str
    learning_rate: float
    learning_rate_decay: float
    weight_decay: float
    dropout: float
    seed: int


class NetTraining:
    """A `Boosting` whose rounds are epochs.

    Parameters
    ----------
    numbers, codes : ndarray
        Inputs of the training rows, in canonical order.
    cost : PairCost
    batches : QueryBatches
    shape : NetShape
    training : Training

    Attributes
    ----------
    diverged : bool
        Whether an epoch ended with weights that are no numbers; it is left out.
    """

    def __init__(
        self,
        numbers: Array,
        codes: Array,
        cost: PairCost,
        batches: QueryBatches,
        shape: NetShape,
        training: Training,
    ) -> None:
        self.torch = load_torch()
        self.numbers, self.codes = self.torch.from_numpy(numbers.astype(WEIGHT)), self.torch.from_numpy(codes)
        self.cost, self.batches, self.shape, self.training = cost, batches, shape, training
        self.rule, self.diverged = UPDATE_RULES[training.optimizer], False
        moments = np.zeros((self.rule.n_moments, shape.n_weights), WEIGHT)
        self.replay(Epoch(Net(shape, shape.start(training.seed)), moments, 0, 0.0))

    def replay(self, round_: Epoch) -> None:
        """Take the weights of an earlier epoch, and what its update rule remembers."""
        self.weights = self.torch.from_numpy(round_.net.weights.copy())
        self.moments = self.torch.from_numpy(round_.moments.copy())
        self.n_steps = round_.n_steps

    def step(self, number: int) -> Epoch | Stop:
        """Go once through all batches.

        1. Draw the epoch's batches.
        2. Score the rows of a batch.
        3. Sum λ_ij over the pairs to λ_i, one for each document (LM Eq. 4).
        4. Send λ back through the net: dC/dw = Σ_i λ_i ds_i/dw (LM 2.1).
        5. Move the weights.
        """
        flat = self._flat_reason() if self.n_steps == 0 else None
        if flat is not None:
            return Stop(flat)
        pull, n_rows = 0.0, 0
        net = _TorchNet(self.torch, self.shape, self.weights, self._dropout(number))
        with ONE_THREAD.held(self.torch):
            for batch in self.batches.of_epoch(number):  # 1
                rows = self.torch.from_numpy(batch.rows)
                scores = net.scores(self.numbers[rows], self.codes[rows])  # 2
                found = scores.detach().numpy().astype(np.float64)
                if not np.isfinite(found).all():
                    return self._stop(number)
                pulls = self.cost.gradient(batch, found)  # 3
                net.gradient.zero_()
                scores.backward(self.torch.from_numpy(pulls.astype(WEIGHT)))  # 4
                self._move(net.gradient, number)  # 5
                pull, n_rows = pull + float(np.abs(pulls).sum()), n_rows + len(pulls)
        weights = self.weights.numpy().copy()
        if not np.isfinite(weights).all():
            return self._stop(number)
        return Epoch(Net(self.shape, weights), self.moments.numpy().copy(), self.n_steps, pull / max(1, n_rows))

    def _flat_reason(self) -> str | None:
        """Say why there is nothing to learn."""
        told_apart = [bool((one != one[:1]).any()) for one in (self.numbers, self.codes)]
        if not any(told_apart):
            return f"all {self.numbers.shape[1] + self.codes.shape[1]} inputs are constant"
        flat = self.cost.flat_reason()
        return None if flat is None else f"these labels teach nothing, since {flat}"

    def _move(self, gradient: Tensor, number: int) -> None:
        """Update the weights."""
        how = self.training
        self.n_steps += 1
        rate = how.learning_rate * how.learning_rate_decay ** (number - 1)
        self.rule.update(self.weights, gradient, self.moments, self.n_steps, rate, how.weight_decay)

    def _dropout(self, number: int) -> tuple[float, Generator]:
        """Return the probability of leaving units out, and the generator of the epoch that draws them."""
        generator = self.torch.Generator()
        generator.manual_seed(int(np.random.default_rng([self.training.seed, number, 1]).integers(2**63)))
        return self.training.dropout, generator

    def _stop(self, number: int) -> Stop:
        """End the fit without this epoch."""
        self.diverged = True
        return Stop(
            f"scores or weights left the range of numbers in epoch {number}, which is left out; lower learning_rate "
            f"(now {self.training.learning_rate:g}), or bring X to a smaller scale"
        )


class _TorchNet:
    """The net as torch sees it: leaves that are views of one vector, and so are their gradients."""

    def __init__(self, torch: ModuleType, shape: NetShape, weights: Tensor, dropout: tuple[float, Generator]) -> None:
        self.torch, self.n_tables = torch, len(shape.tables)
        self.rate, self.generator = dropout
        self.gradient = torch.zeros_like(weights)
        self.parts = [part.detach().requires_grad_() for part in shape.split(weights)]
        for part, own in zip(self.parts, shape.split(self.gradient), strict=True):
            part.grad = own

    def scores(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return the score of each row, dropout included."""
        tables, layers = self.parts[: self.n_tables], self.parts[self.n_tables :]
        rows = numbers
        if tables:
            rows = self.torch.cat([numbers, *(table[codes[:, k]] for k, table in enumerate(tables))], dim=1)
        for weight, bias in zip(layers[:-1:2], layers[1:-1:2], strict=True):
            rows = self._thinned(self.torch.addmm(bias, rows, weight).relu())
        return (rows @ layers[-1])[:, 0]

    def _thinned(self, rows: Tensor) -> Tensor:
        """Leave out units at random, and let the others count for them."""
        if not self.rate:
            return rows
        kept = self.torch.empty_like(rows).bernoulli_(1.0 - self.rate, generator=self.generator)
        return rows * kept / (1.0 - self.rate)


class StagedNet:
    """Scores of some rows that follow the epochs.

    Parameters
    ----------
    numbers, codes : ndarray
        Their inputs.
    n_jobs : int or None
    """

    def __init__(self, numbers: Array, codes: Array, n_jobs: int | None) -> None:
        self.numbers, self.codes, self.n_jobs = numbers, codes, n_jobs

    def add(self, round_: Epoch) -> Array:
        """Return the scores after an epoch."""
        return self.scores_of(round_.net)

    def scores_of(self, net: Net) -> Array:
        """Return the scores by a net."""
        return net.score(self.numbers, self.codes, self.n_jobs)
