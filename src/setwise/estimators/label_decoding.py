"""How scores of labels become sets: label by label, or as the legal set of least expected loss.

Held-out rows say which of these is better.
"""

import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import minimize_scalar
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


@final
@dataclass(frozen=True, eq=False)
class Decoding:
    """How scores become sets: label by label, or by legal sets with the log-odds ``scale * scores`` of labels.

    Attributes
    ----------
    name : one of :data:`DECODINGS`, or ``"given"``
    legal : None for label by label
    table : for each decoding a dict: its gain over label by label on held-out rows, the standard error, of how many
        rows the gain comes, and the mean loss
    """

    name: str
    legal: LegalSets | None
    scale: float
    loss: Loss
    table: tuple[dict[str, Any], ...] = ()

    def sets(self, scores: Values) -> Bools:
        """The sets of rows with these scores, (n, p)."""
        return scores > 0.0 if self.legal is None else self.legal.decide(self.scale * scores, self.loss).sets


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


def fitted_scale(legal: LegalSets, scores: Values, truth: Bools) -> float:
    """The factor of scores under which the right sets, those that are legal, are most likely; NaN without any."""
    rows = legal.holds(truth)
    size = float(np.abs(scores[rows]).mean()) if rows.any() else np.nan
    if not size > 0.0:
        return 1.0 if size == 0.0 else np.nan

    def cost(log_scale: float) -> float:
        return -float(legal.log_likelihood(np.exp(log_scale) / size * scores[rows], truth[rows]).mean())

    return float(np.exp(minimize_scalar(cost, bounds=(-8.0, 8.0), method="bounded", options={"xatol": 0.01}).x) / size)


def fitted_decoding(model: Any, X: Any, truth: Bools, loss: Loss) -> Decoding:
    """The decoding of a model with ``decode`` other than ``"labels"``, chosen on rows that it was not trained on.

    Rows with equal features stay in one fold.
    """
    blocks = np.unique(row_keys(X), return_inverse=True)[1]
    folds = min(FOLDS, int(blocks.max()) + 1)
    if folds < 2:
        raise ValueError(f"X must hold two different rows or more for decode={model.decode!r}; got one.")
    names = candidates(model.decode, model.space)
    held = block_folds(folds, truth, blocks)
    scores, known = (
        np.empty(truth.shape),
        [[legal_sets(name, model.space, truth[rows]) for name in names] for rows, _ in held],
    )
    for train, test in held:
        with warnings.catch_warnings():
            # The fit of all rows warns for all.
            warnings.simplefilter("ignore")
            part = clone(model).set_params(decode="labels", verbose=0).fit(X[train], truth[train])
        scores[test] = part.decision_function(X[test])
    found: list[Decoding] = []
    losses: list[Values] = []
    for j, name in enumerate(names):
        legal = legal_sets(name, model.space, truth)
        scale = 1.0 if legal is None else fitted_scale(legal, scores, truth)
        if np.isnan(scale):
            if model.decode != "auto":
                raise ValueError(f"Y must hold a legal set or more for decode={model.decode!r}; got none.")
            continue
        found.append(Decoding(name if isinstance(name, str) else "given", legal, scale, loss))
        each = np.empty(len(truth))
        for (_, test), fold in zip(held, known, strict=True):
            sets = Decoding("", fold[j], scale, loss).sets(scores[test])
            each[test] = loss.values(Sets.rows(truth[test]), sets.ravel())
        losses.append(each)
    return _chosen(found, losses, blocks, model.decode == "auto")


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
    return Decoding(found[best].name, found[best].legal, found[best].scale, found[best].loss, tuple(table))
