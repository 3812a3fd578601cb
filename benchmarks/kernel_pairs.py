"""The memory of training with a kernel: 2,000 inputs, 60 labels that share features, and how many pairs take part.

The kernel of the inputs is factored alone, so memory is about n r + n p numbers for a basis of r inputs, however many
pairs of an input and a label hold the solution. A Gram matrix of the pairs is printed beside it.

    python benchmarks/kernel_pairs.py
"""

import resource
import time
from functools import partial

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values
from setwise.core.surrogate import Evaluation, Evaluator
from setwise.learners import OneSlack
from setwise.losses import MaxLoss
from setwise.models import JointLabels, Kernel
from setwise.risks import MeanRisk
from setwise.surrogates import MultilabelHinge

ROWS, LABELS, FEATURES, SHARED, C, TOL = 2000, 60, 8, 20, 1e4, 5e-3


class PairMarkingEvaluator(Evaluator):
    """An evaluator that marks which pairs of an input and a label have had a part in a plane."""

    def __init__(self, inner: Evaluator, pairs: Values) -> None:
        self.inner, self.batch, self.floor, self.pairs = inner, inner.batch, inner.floor, pairs

    def evaluate(self, scores: Values, tol: Values) -> Evaluation:
        """The value of the inner evaluator, whose gradient is remembered."""
        found = self.inner.evaluate(scores, tol)
        self.pairs[found.gradient != 0.0] = True
        return found

    def take(self, parts: Ints) -> "PairMarkingEvaluator":
        """Not asked for: all sets are one chunk here."""
        raise NotImplementedError


def main() -> None:
    """Train on generated rows and print the size of the working set, the memory and the time."""
    rng = np.random.default_rng(0)
    X, kappa = rng.standard_normal((ROWS, FEATURES)), rng.random((LABELS, SHARED))
    kernel = partial(rbf_kernel, gamma=0.1)
    scores = kernel(X, rng.standard_normal((50, FEATURES))) @ rng.standard_normal((50, SHARED)) @ kappa.T
    Y = scores > np.quantile(scores, 0.9)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    basis, phi = Kernel(kernel).basis(X)
    factored = time.perf_counter() - begin
    batch = Sets.rows(Y)
    pairs = np.zeros(batch.n_scores, dtype=bool)
    MeanRisk.CHUNK = batch.n_scores
    risk = MeanRisk(
        JointLabels(phi, kappa, np.arange(ROWS + 1)), PairMarkingEvaluator(MultilabelHinge(MaxLoss()).on(batch), pairs)
    )
    fit = OneSlack(C=C, tol=TOL).minimize(risk)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{ROWS} inputs, {LABELS} labels, a basis of {phi.shape[1]} (residual {basis.residual:.1e})")
    share = f"{int(pairs.sum())} of {ROWS * LABELS}"
    print(f"pairs in the planes: {share}; gap {fit.gap:.1e}, objective / C {fit.objective / C:.3f}")
    print(f"{len(fit.history)} iterations, {seconds:.1f} s, of which {factored:.1f} s for the basis")
    gram = 8e-9 * float(pairs.sum()) ** 2
    print(f"peak memory {peak / 1e6:.2f} GB, {before / 1e6:.2f} GB before; a Gram matrix of these pairs {gram:.2f} GB")


if __name__ == "__main__":
    main()
