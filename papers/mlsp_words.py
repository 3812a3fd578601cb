"""The tables of windows of MLSP, and sentences on them: whose order is that of the paper, what was chosen, the gaps."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from papers.experiment import Table
from papers.lovasz_paper import mean_and_error
from papers.mlsp_windows import COLUMNS, METHODS, MORE_IS_BETTER
from setwise.core.checks import Values

CLEAR = 2.0
"""A difference of so many standard errors counts as clear."""


def table(title: str, samples: Values, published: Any = None) -> Table:
    """Means and standard errors of (methods and nothing, columns, repetitions), the best method of a column marked."""
    means, errors = mean_and_error(samples)
    beside = None
    if published is not None:
        beside = np.full(means.shape, np.nan)
        beside[: len(METHODS), : len(published[0])] = published
    signs = np.where(MORE_IS_BETTER, 1.0, -1.0)
    methods = signs * means[: len(METHODS)]
    best = np.zeros(means.shape, dtype=bool)
    best[: len(METHODS)] = methods == methods.max(axis=0)
    return Table(title, (*METHODS, "nothing"), COLUMNS, means, errors, beside, None, best, 3)


def orders(samples: Values, published: Any, unit: str) -> list[str]:
    """For each column whether MLSP is the best, and which pairs of methods are in another order than in the paper."""
    said, last = [], len(METHODS)
    for j, column in enumerate(COLUMNS):
        sign = 1.0 if MORE_IS_BETTER[j] else -1.0
        values = samples[:last, j]
        rivals = [i for i in range(last) if METHODS[i] != "MLSP"]
        rival = max(rivals, key=lambda i: sign * values[i].mean())
        ours = METHODS.index("MLSP")
        said.append(f"{column}: {_against(ours, rival, values, sign, unit)}")
        if column != "AP":
            said.append(f"{column}: {_against(ours, last, samples[:, j], sign, unit)}")
        if published is None or j >= len(published[0]):
            continue
        theirs = np.array(published)[:, j]
        for a, b in combinations(range(last), 2):
            if sign * (values[a] - values[b]).mean() * sign * (theirs[a] - theirs[b]) < 0:
                first, second = (a, b) if sign * (values[a] - values[b]).mean() > 0 else (b, a)
                said.append(
                    f"{column}: the order differs from the paper's, where {METHODS[second]} is before "
                    f"{METHODS[first]}; here {_against(first, second, values, sign, unit)}"
                )
    return said


def _against(first: int, second: int, values: Values, sign: float, unit: str) -> str:
    """How far one row is before another, paired over repetitions."""
    rows = (*METHODS, "nothing")
    apart = values[first] - values[second]
    mean, error = float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))
    if abs(mean) <= CLEAR * error:
        word = "is level with"
    else:
        word = "is better than" if sign * mean > 0 else "is worse than"
    return (
        f"{rows[first]} {word} {rows[second]} (difference {mean:+.3f}, paired standard error {error:.3f} over "
        f"{len(apart)} {unit})."
    )


def gaps_and_choices(each: Sequence[Any]) -> list[str]:
    """What each method chose in the repetitions, and the largest certified gap of its fits."""
    said = []
    for k, name in enumerate(METHODS):
        chosen = ", ".join(f"{one.choices[k]:g}" for one in each)
        gap = max(one.gaps[k] for one in each)
        trained = "" if np.isnan(gap) else f" No fit has a gap above {gap:.3f} C."
        said.append(f"{name} chose {'nu' if name == 'JKSE' else 'C'} = {chosen}.{trained}")
    return said
