"""RankNet and LambdaRank written as LM 2 has them, pair by pair; nothing of the library. LM is Burges 2010."""

import math

import numpy as np


def pair_cost(difference, target=1.0, sigma=1.0):
    """C = -P̄ log P - (1 - P̄) log(1 - P) for s_i - s_j = difference, in the form that overflows nowhere (LM 2)."""
    x = sigma * difference
    log_sum = math.log1p(math.exp(-abs(x))) + max(-x, 0.0)  # log(1 + e^-x)
    return (1.0 - target) * x + log_sum


def pairs_of(labels, queries, tie_weight=0.0):
    """(i, j, P̄, weight) of the pairs of each query, each once."""
    n = len(labels)
    for i in range(n):
        for j in range(i + 1, n):
            if queries[i] != queries[j]:
                continue
            if labels[i] != labels[j]:
                yield i, j, float(labels[i] > labels[j]), 1.0
            elif tie_weight:
                yield i, j, 0.5, tie_weight


def lambdas(pairs, scores, sigma):
    """λ_i = Σ_j λ_ij, λ_ij = σ ((1 - P̄) - 1/(1 + exp(σ (s_i - s_j)))) (LM Eq. 3 and 4)."""
    found = np.zeros(len(scores))
    for i, j, target, weight in pairs:
        pull = weight * sigma * ((1.0 - target) - 1.0 / (1.0 + math.exp(sigma * (scores[i] - scores[j]))))
        found[i] += pull
        found[j] -= pull
    return found


def adam(weights, gradient, mean, square, step, rate, decay):
    """One update of Adam (Kingma and Ba 2015, Algorithm 1), with decoupled decay; returns weights and both means."""
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    direction = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights - rate * decay * weights - rate * direction, mean, square


def net_scores(layers, rows):
    """Scores of a net of rectified linear layers; the last layer is linear."""
    for number, (weight, bias) in enumerate(layers):
        rows = rows @ weight + bias
        if number < len(layers) - 1:
            rows = np.maximum(0.0, rows)
    return rows[:, 0]


def torch_scores(layers, rows):
    """The same with torch tensors."""
    for weight, bias in layers[:-1]:
        rows = (rows @ weight + bias).relu()
    return (rows @ layers[-1][0])[:, 0]


def pair_by_pair_gradients(torch, layers, rows, pairs, sigma):
    """Sum of the gradients of each pair's own cost, each by its own way back through the net (LM Eq. 2)."""
    given = [[torch.tensor(part, requires_grad=True) for part in layer] for layer in layers]
    inputs = torch.tensor(rows)
    for i, j, target, weight in pairs:
        one, other = torch_scores(given, inputs[[i, j]])
        x = sigma * (one - other)
        cost = weight * ((1.0 - target) * x + torch.nn.functional.softplus(-x))
        cost.backward()
    return [part.grad.numpy() for layer in given for part in layer if part.grad is not None]
