"""HiClass with logistic regression on single paths, a rival that the table of MLSP has beside its own."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from papers.mlsp_methods import LabelRows
from setwise.core.checks import Bools, Values
from setwise.spaces import Hierarchy

RIVALS = {"HiClass, parents": "LocalClassifierPerParentNode", "HiClass, nodes": "LocalClassifierPerNode"}
"""The two ways of HiClass, by the names of the rows."""


def path_guess(name: str, space: Hierarchy, C: float, train: LabelRows, X: Values) -> Bools:
    """The sets of nodes on the predicted paths of rows, (n, p), with the constant ``C / n`` of logistic regression.

    HiClass knows one path a row: a row with several, each to a node below which none is true, is there once for each.
    """
    import hiclass

    up = space.ancestors
    lowest = train.Y & ~((train.Y.astype(np.float64) @ (up & ~np.eye(len(up), dtype=bool))) > 0.0)
    rows, leaves = np.nonzero(lowest)
    # A path is the nodes above its end, in the order of their depth; shorter ones end in empty texts.
    depth = up.sum(axis=1)
    paths = [[str(space.names[j]) for j in sorted(np.flatnonzero(up[leaf]), key=lambda j: depth[j])] for leaf in leaves]
    padded = np.array([path + [""] * (int(depth.max()) - len(path)) for path in paths])
    model = getattr(hiclass, RIVALS[name])(LogisticRegression(C=C / len(train.X), max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = model.fit(train.X[rows], padded).predict(X)
    return space.encode([[node for node in row if node] for row in guess.tolist()])
