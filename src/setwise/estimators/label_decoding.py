"""How scores of labels become sets: label by label, or as the legal set of least expected loss.

Held-out rows say which of these is better.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, TypeVar, final

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LEGAL_SETS
from setwise.core.single_labels import Flips
from setwise.estimators.label_training import LABELS, losses_of_lists, named
from setwise.estimators.map_rule import is_known
from setwise.estimators.splits import block_folds, row_keys
from setwise.spaces import ClosedSets, Hierarchy, LargeSpace, LegalSets, ListedSets, Space
from setwise.spaces.large_space import Scored

FOLDS = 5
"""Held-out scores are those of so many folds."""


@final
@dataclass(frozen=True, eq=False)
class Decoding:
    """How scores f become sets: label by label, or by legal sets with the log-odds ``a f + c`` of labels.

    Attributes
    ----------
    name : ``"labels"``, ``"seen"``, ``"closed"``, ``"paths"``, or ``"given"`` for legal sets of the user
    legal : None for label by label
    a, c : of log-odds
    table : for each decoding a dict: its gain over label by label on held-out rows, the standard error, of how many
        rows the gain comes, and the mean loss
    """

    name: str
    legal: LegalSets | None
    a: float
    c: float
    loss: Loss
    table: tuple[dict[str, Any], ...] = ()

    def sets(self, scores: Values) -> Bools:
        """The sets of rows with these scores, (n, p)."""
        return scores > 0.0 if self.legal is None else self.legal.decide(self.a * scores + self.c, self.loss).sets


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


def check_decode(decode: Any, space: Space | LargeSpace) -> None:
    """Refuse a decoding that a space does not have, before the work."""
    if isinstance(decode, str) and decode in ("labels", "auto", "seen"):
        return
    if isinstance(space, LargeSpace):
        raise Refusal(
            f"decode={decode!r} refuses {type(space).__name__}, whose labels are too many to list. Use 'seen', which "
            "predicts as many labels as were right in training.",
            LEGAL_SETS,
        )
    legal_sets(decode, space, np.zeros((1, len(space)), dtype=bool))


def candidates(decode: Any, space: Space) -> list[Any]:
    """The legal sets that are compared with label by label."""
    if not (isinstance(decode, str) and decode == "auto"):
        return [decode]
    if not isinstance(space, Hierarchy):
        return ["seen"]
    tree = all(len(above) <= 1 for above in space.parents.values())
    return ["seen", *(["closed"] if tree else []), "paths"]


def fitted_log_odds(legal: LegalSets, scores: Values, truth: Bools, constant: bool) -> tuple[float, float] | None:
    """The a and c, or c = 0, that make the legal ones of the right sets most likely; None where none is legal."""
    rows = legal.holds(truth)
    if not rows.any():
        return None
    F, Y = scores[rows], truth[rows]
    size = float(np.abs(F).mean()) or 1.0

    def cost(z: Values) -> tuple[float, Values]:
        a = np.exp(z[0]) / size
        theta = a * F + z[1]
        slope = legal.marginals(theta) - Y
        value = -float(legal.log_likelihood(theta, Y).sum()) / len(Y)
        return value, np.array([a * np.vdot(slope, F), slope.sum()]) / len(Y)

    bounds = [(-8.0, 8.0), (-20.0, 20.0) if constant else (0.0, 0.0)]
    z = minimize(cost, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(np.exp(z[0]) / size), float(z[1])


def fitted_decoding(model: Any, X: Any, truth: Bools, loss: Loss) -> Decoding:
    """The decoding of a model with ``decode`` other than ``"labels"``, chosen on rows that it was not trained on.

    Rows with equal features stay in one fold.
    """
    # In this order, rounding does not depend on that of the rows either.
    order = np.lexsort([*truth.T, row_keys(X)])
    X, truth = X[order], truth[order]
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
    for name, constant in [("labels", False), *((name, constant) for name in names for constant in (False, True))]:
        fits = (everything, *(train for train, _ in held))
        parts = [_fitted(name, constant, model.space, scores, truth, rows, loss) for rows in fits]
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


def _fitted(
    name: Any, constant: bool, space: Space, scores: Values, truth: Bools, rows: Ints, loss: Loss
) -> Decoding | None:
    """A decoding that is fitted to some rows; None where none of their sets is legal."""
    legal = legal_sets(name, space, truth[rows])
    if legal is None:
        return by_labels(loss)
    odds = fitted_log_odds(legal, scores[rows], truth[rows], constant)
    return None if odds is None else Decoding(name if isinstance(name, str) else "given", legal, *odds, loss)


def by_labels(loss: Loss) -> Decoding:
    """The decoding label by label."""
    return Decoding("labels", None, 1.0, 0.0, loss)


@final
@dataclass(frozen=True, eq=False)
class SizeDecoding:
    """How scores become sets in a large space: all labels above 0, or as many of the best as were right in training.

    Attributes
    ----------
    name : ``"labels"`` or ``"seen"``
    sizes : the numbers of right labels of training inputs, in rising order
    table : as in :class:`Decoding`
    """

    name: str
    sizes: tuple[int, ...]
    table: tuple[dict[str, Any], ...] = ()

    def lists(self, model: Any, X: Any, limit: int) -> list[list[Scored]]:
        """The predicted labels of inputs, best first, and at most ``limit`` of them.

        As many of the best labels as have the largest sum of scores are the most probable set of a size that was seen;
        of equal sums the smaller set.
        """
        if self.name == "labels":
            found: list[list[Scored]] = model._best(X, limit, 0.0)
            return found
        out = []
        for row in model._best(X, max(1, *self.sizes), -np.inf):
            sums = np.append(0.0, np.cumsum([score for _, score in row]))
            many = max((size for size in self.sizes if size <= len(row)), key=lambda size: sums[size], default=len(row))
            out.append(row[: min(many, limit)])
        return out


def list_losses(loss: Loss, space: LargeSpace, X: Any, Y: Any, lists: list[list[Any]]) -> Values:
    """The loss of the labels that are predicted for each input of a large space, (n,)."""
    layout, found = space.bind(X, Y)[0], space.bind(X, lists)[0]
    if isinstance(layout, Flips) and isinstance(found, Flips):
        return losses_of_lists(loss, layout, found.truths)
    return loss.values(layout, found.truth)


def fitted_sizes(model: Any, X: list[Any], Y: list[list[Any]], loss: Loss) -> SizeDecoding:
    """The decoding of a model of a large space with ``decode`` other than ``"labels"``, by held-out inputs."""
    counts, names = np.array([len(row) for row in Y]), ("labels", "seen")
    if len(X) < 2:
        raise ValueError(f"X must hold two inputs or more for decode={model.decode!r}; got {len(X)}.")
    losses = [np.empty(len(X)) for _ in names]
    for train, test in block_folds(min(FOLDS, len(X)), counts, np.arange(len(X))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part = clone(model).set_params(decode="labels", verbose=0).fit([X[i] for i in train], [Y[i] for i in train])
        new, right = [X[i] for i in test], [Y[i] for i in test]
        for name, each in zip(names, losses, strict=True):
            lists = SizeDecoding(name, tuple(np.unique(counts[train]).tolist())).lists(part, new, LABELS)
            each[test] = list_losses(loss, model.space, new, right, named(lists))
    found = [SizeDecoding(name, tuple(np.unique(counts).tolist())) for name in names]
    return _chosen(found, losses, np.arange(len(X)), model.decode == "auto")


Found = TypeVar("Found", Decoding, SizeDecoding)


def _chosen(found: list[Found], losses: list[Values], blocks: Ints, choose: bool) -> Found:
    """The decoding with the largest gain of those that are known to gain, with the table of all; else the first."""
    table: list[dict[str, Any]] = []
    for one, each in zip(found, losses, strict=True):
        d = np.bincount(blocks, losses[0] - each)
        square = float(d @ d)
        carriers = float(np.abs(d).sum() ** 2 / square) if square else 0.0
        se = float(np.std(d, ddof=1) * np.sqrt(len(d)) / len(blocks))
        row = {"decode": one.name, "gain": float(d.sum()) / len(blocks), "se": se, "from": carriers}
        table.append(row | {"c": getattr(one, "c", 0.0), "loss": float(each.mean())})
    good = [i for i, row in enumerate(table) if not choose or is_known(row["gain"], row["se"], row["from"])]
    best = max(good[not choose :], key=lambda i: table[i]["gain"], default=0)
    return replace(found[best], table=tuple(table))
