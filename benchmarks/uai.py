"""Networks of the UAI 2014 evaluation as log-supermodular distributions, with their published sums and marginals."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from setwise.probabilistic import Cut, LogSupermodularDistribution

NAMES = ("Segmentation_11", "Segmentation_12", "Segmentation_13")
"""Those of the networks that are submodular, of two labels and of pairs."""


class UaiNetwork(NamedTuple):
    """A distribution; what its energy is where all labels are 0; and the published log10 Z and marginals, (p,)."""

    model: LogSupermodularDistribution
    constant: float
    sum: float
    marginals: np.ndarray

    def log10(self, value: float) -> float:
        """log10 Z of the network from log Z of the distribution."""
        return (value - self.constant) / np.log(10)


def read(folder: Path, name: str) -> UaiNetwork:
    """A network of the folder ``uai2014`` of the data."""
    stem = folder / "uai2014" / "models" / name
    words = iter(stem.with_suffix(".uai").read_text().split())
    assert next(words) == "MARKOV"
    p = int(next(words))
    assert [next(words) for _ in range(p)] == ["2"] * p
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    unary, constant, edges, weights = np.zeros(p), 0.0, [], []
    for scope in scopes:
        e = -np.log([float(next(words)) for _ in range(int(next(words)))])
        constant += e[0]
        if len(scope) == 1:
            unary[scope[0]] -= e[1] - e[0]
        else:
            w = 0.5 * (e[1] + e[2] - e[0] - e[3])
            unary[scope] -= e[2] - e[0] - w, e[1] - e[0] - w
            edges.append(scope)
            weights.append(w)
    published = float(stem.with_suffix(".uai.PR").read_text().split()[-1])
    marginals = np.array(stem.with_suffix(".uai.MAR").read_text().split()[2:], float).reshape(-1, 3)[:, 2]
    return UaiNetwork(LogSupermodularDistribution([Cut(p, edges, weights)], unary), constant, published, marginals)
