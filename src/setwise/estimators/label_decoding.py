"""How scores of labels become sets: label by label, or as the legal set of least expected loss.

Held-out rows say which of these is better.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LEGAL_SETS
from setwise.estimators.map_rule import is_known
from setwise.estimators.splits import block_folds, row_keys
from setwise.spaces import ClosedSets, Hierarchy, LegalSets, ListedSets, Space

DECODINGS = {
    "labels": "all labels with a score above 0",
    "seen": "a set that was seen in training",
    "closed": "a set with all ancestors of its nodes",
    "paths": "a path from the top to a node",
}
"""What may be predicted, in words."""

FOLDS = 5
"""Held-out scores are those of so many folds."""


SHRUNK = 30.0
"""The precision of the normal law around 0 by which the constants of log-odds are shrunk."""


@final
@dataclass(frozen=True, eq=False)
class Decoding:
    """How scores f become sets: label by label, or by legal sets with the log-odds ``a f + b`` of labels.

    Attributes
    ----------
    name : one of :data:`DECODINGS`, or ``"given"``
    legal : None for label by label
    a, b : of log-odds, one number and (p,)
    table : for each decoding a dict: its gain over label by label on held-out rows, the standard error, of how many
        rows the gain comes, and the mean loss
    """

    name: str
    legal: LegalSets | None
    a: float
    b: Values
    loss: Loss
    table: tuple[dict[str, Any], ...] = ()

    def sets(self, scores: Values) -> Bools:
        """The sets of rows with these scores, (n, p)."""
        return scores > 0.0 if self.legal is None else self.legal.decide(self.a * scores + self.b, self.loss).sets


def legal_sets(name: Any, space: Space, truth: Bools) -> LegalSets | None:
    """The legal sets of a decoding, where rows with the sets ``truth`` are trained on."""
    if isinstance(name, LegalSets):
        if name.n_labels != len(space):
            raise ValueError(f"decode must be sets of {len(space)} labels; got sets of {name.n_labels}.")
        return name
    if name == "seen":
        sets, counts = np.unique(truth, axis=0, return_counts=True)
        return ListedSets(sets[np.argsort(-counts, kind="stable")])
    if name == "labels":
        return None
    if not isinstance(space, Hierarchy):
        raise Refusal(f"decode={name!r} refuses {type(space).__name__}: it needs a Hierarchy. Use 'seen'.", LEGAL_SETS)
    return ClosedSets(space) if name == "closed" else ListedSets(space.ancestors)


def candidates(decode: Any, space: Space) -> list[Any]:
    """The decodings that are compared, label by label first."""
    if not (isinstance(decode, str) and decode == "auto"):
        return ["labels", decode]
    if not isinstance(space, Hierarchy):
        return ["labels", "seen"]
    tree = all(len(above) <= 1 for above in space.parents.values())
    return ["labels", "seen", *(["closed"] if tree else []), "paths"]


def fitted_log_odds(legal: LegalSets, scores: Values, truth: Bools) -> tuple[float, Values] | None:
    """The a and b that make the legal ones of the right sets most likely; None where none is legal.

    Minimizes ``-sum_i log P(Y_i) + 0.5 SHRUNK |b|^2``.
    """
    rows = legal.holds(truth)
    if not rows.any():
        return None
    F, Y = scores[rows], truth[rows]
    size = float(np.abs(F).mean()) or 1.0

    def cost(z: Values) -> tuple[float, Values]:
        a, b = np.exp(z[0]) / size, z[1:]
        theta = a * F + b
        slope = legal.marginals(theta) - Y
        value = SHRUNK / 2.0 * float(b @ b) - float(legal.log_likelihood(theta, Y).sum())
        return value, np.append(a * np.vdot(slope, F), slope.sum(axis=0) + SHRUNK * b)

    bounds = [(-8.0, 8.0), *[(None, None)] * F.shape[1]]
    options = {"maxiter": 100, "ftol": 1e-7}
    z = minimize(cost, np.zeros(1 + F.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return float(np.exp(z[0]) / size), z[1:]


def fitted_decoding(model: Any, X: Any, truth: Bools, loss: Loss) -> Decoding:
    """The decoding of a model with ``decode`` other than ``"labels"``, chosen on rows that it was not trained on.

    Rows with equal features stay in one fold.
    """
    blocks = np.unique(row_keys(X), return_inverse=True)[1]
    folds = min(FOLDS, int(blocks.max()) + 1)
    if folds < 2:
        raise ValueError(f"X must hold two different rows or more for decode={model.decode!r}; got one.")
    names, held = candidates(model.decode, model.space), block_folds(folds, truth, blocks)
    scores = np.empty(truth.shape)
    for train, test in held:
        with warnings.catch_warnings():
            # The fit of all rows warns for all.
            warnings.simplefilter("ignore")
            part = clone(model).set_params(decode="labels", verbose=0).fit(X[train], truth[train])
        scores[test] = part.decision_function(X[test])
    everything = np.arange(len(truth))
    found: list[Decoding] = []
    losses: list[Values] = []
    for name in names:
        parts = [_fitted(name, model.space, scores, truth, rows, loss) for rows in (everything, *(r for r, _ in held))]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            if model.decode != "auto":
                raise ValueError(f"Y must hold legal sets in each fold for decode={model.decode!r}; got none in one.")
            continue
        each = np.empty(len(truth))
        for (_, test), part in zip(held, known[1:], strict=True):
            each[test] = loss.values(Sets.rows(truth[test]), part.sets(scores[test]).ravel())
        found.append(known[0])
        losses.append(each)
    return _chosen(found, losses, blocks, model.decode == "auto")


def _fitted(name: Any, space: Space, scores: Values, truth: Bools, rows: Ints, loss: Loss) -> Decoding | None:
    """A decoding that is fitted to some rows; None where none of their sets is legal."""
    legal = legal_sets(name, space, truth[rows])
    if legal is None:
        return by_labels(loss, len(space))
    odds = fitted_log_odds(legal, scores[rows], truth[rows])
    return None if odds is None else Decoding(name if isinstance(name, str) else "given", legal, *odds, loss)


def by_labels(loss: Loss, p: int) -> Decoding:
    """The decoding label by label."""
    return Decoding("labels", None, 1.0, np.zeros(p), loss)


def _chosen(found: list[Decoding], losses: list[Values], blocks: Ints, choose: bool) -> Decoding:
    """The decoding with the largest gain of those that are known to gain, with the table of all; else the first."""
    table = []
    for one, each in zip(found, losses, strict=True):
        d = np.bincount(blocks, losses[0] - each)
        square = float(d @ d)
        carriers = float(np.abs(d).sum() ** 2 / square) if square else 0.0
        se = float(np.std(d, ddof=1) * np.sqrt(len(d)) / len(blocks))
        table.append(
            {
                "decode": one.name,
                "gain": float(d.sum()) / len(blocks),
                "se": se,
                "from": carriers,
                "loss": float(each.mean()),
            }
        )
    good = [i for i, row in enumerate(table) if is_known(row["gain"], row["se"], row["from"])]
    best = max(good, key=lambda i: table[i]["gain"], default=0) if choose else len(found) - 1
    return replace(found[best], table=tuple(table))
