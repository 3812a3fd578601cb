"""HiClass with logistic regression on single paths, a rival that the table of MLSP has beside its own."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from papers.mlsp_methods import LabelRows
from setwise.core.checks import Bools, Values
from setwise.spaces import Space

RIVALS = {"HiClass, parents": "LocalClassifierPerParentNode", "HiClass, nodes": "LocalClassifierPerNode"}
"""The two ways of HiClass, by the names of the rows."""


def path_guess(name: str, space: Space, C: float, train: LabelRows, X: Values) -> Bools:
    """The sets of nodes on the predicted paths of rows, (n, p), with the constant ``C / n`` of logistic regression."""
    import hiclass

    # A path is the nodes of a row in the order of their depth, which their names show.
    paths = np.array([sorted(row, key=lambda node: node.count("/")) for row in space.decode(train.Y)])
    model = getattr(hiclass, RIVALS[name])(LogisticRegression(C=C / len(train.X), max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = model.fit(train.X, paths).predict(X)
    return space.encode([[node for node in row if node] for row in guess.tolist()])
