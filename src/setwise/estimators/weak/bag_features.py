"""A bag as one row: the mean, the least, the quartiles and the greatest of each feature, and the model of such rows."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_expit, logit
from sklearn.utils.validation import _num_samples

from setwise.core.checks import Ints, Values, shown
from setwise.estimators.weak.problem import BagProblem, Model

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The least, the quartiles and the greatest."""


def bag_features(X: Any, offsets: Ints) -> Values:
    """The mean and the quantiles 0, 1/4, 1/2, 3/4 and 1 of each feature of each bag, (bags, 6 d).

    The first d columns are the means, then come the quantiles in this order, linear between two rows as those of NumPy.
    They do not depend on the order of the rows of a bag.

    Parameters
    ----------
    X : (n, d) rows in the order of the bags, dense or sparse
    offsets : (bags + 1,) where each bag begins, and n

    Raises
    ------
    ValueError : for X that is not a matrix of finite numbers
    """
    rows = X.toarray() if issparse(X) else X
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise ValueError(f"X must be a matrix of numbers where bags are judged by bag_features; got {shown(X)}.")
    sizes, d = np.diff(offsets), rows.shape[1]
    found = np.empty((len(sizes), 1 + len(QUANTILES), d))
    with np.errstate(over="ignore", invalid="ignore"):
        for m in np.unique(sizes):
            bags = np.flatnonzero(sizes == m)
            # Sums of sorted rows are the same for each order of them.
            each = np.sort(rows[offsets[bags][:, None] + np.arange(m)].astype(np.float64), axis=1)
            found[bags, 0] = each.mean(axis=1)
            found[bags, 1:] = np.moveaxis(np.quantile(each, QUANTILES, axis=1), 0, 1)
    if not np.isfinite(found).all():
        raise ValueError("X must be finite where bags are judged by bag_features; it has NaN, inf, or a mean that is.")
    return found.reshape(len(sizes), -1)


def log_odds(p: Values, bags: int) -> Values:
    """The log-odds of ``(b p + 1/2) / (b + 1)``, for probabilities p that b bags teach: no bag is certain."""
    return np.asarray(logit((bags * p + 0.5) / (bags + 1)))


@final
@dataclass(frozen=True, eq=False)
class BagFeatureModel(Model):
    """``slope * log-odds + shift`` of a classifier of bags, by their features.

    Attributes
    ----------
    estimator : the classifier
    bags : the number of bags of its training
    slope, shift : what makes log-odds of its probabilities
    """

    estimator: Any
    bags: int
    slope: float = 1.0
    shift: float = 0.0

    def of_bags(self, X: Any, offsets: Ints) -> Values:
        """The log-odds of each bag, (bags,), for rows in the order of the bags."""
        found = np.asarray(self.estimator.predict_proba(bag_features(X, offsets)), dtype=np.float64)
        p = found @ (np.asarray(self.estimator.classes_) == 1)
        return self.slope * log_odds(p, self.bags) + self.shift

    def scores(self, X: Any) -> Values:
        """The log-odds of each row as a bag of one row, (n,)."""
        return self.of_bags(X, np.arange(_num_samples(X) + 1))

    def losses(self, problem: BagProblem) -> Values:
        """``-log Pr(one or more)`` of bags with a positive row, ``-log Pr(none)`` of the others, (bags,)."""
        scores = self.of_bags(problem.X, problem.knowledge.sets.offsets)
        return -np.asarray(log_expit(np.where(problem.knowledge.low > 0, scores, -scores)))


def refusal(problem: BagProblem) -> str:
    """Why the features of bags do not teach what is known of them, in a sentence; empty if they do."""
    known, X = problem.knowledge, problem.X
    some = known.low > 0
    kinds = np.where(some, (known.low == 1) & (known.high == known.sets.sizes), known.high == 0)
    if known.labeled or not kinds.all():
        return (
            "bag_features needs bags of which it is known whether they have a positive row, and nothing else; other "
            "numbers of positives or labels of rows are known."
        )
    if some.all() or not some.any():
        return "bag_features needs bags with and bags without positive rows; all of them are of one kind."
    if issparse(X):
        return "bag_features needs dense rows, since quantiles of sparse ones are not sparse; X is sparse."
    try:
        bag_features(X, known.sets.offsets)
    except ValueError as error:
        return str(error)
    return ""
