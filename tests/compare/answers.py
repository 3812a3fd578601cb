"""Answers with made-up figures, for tests of words and reports."""

import numpy as np

from setwise.compare.answer import Answer, CandidateResult, Recommendation, ThresholdRange
from setwise.compare.plan import NamedLoss, Plan
from setwise.compare.problem import Problem
from setwise.losses import FBeta

PROBLEM = Problem("made up", "Nothing is real here.", np.eye(4, 3), np.array([0, 1, 0, 1]))
F1 = NamedLoss("f1", FBeta())
REFERENCE, PLAIN, OTHER = ("linear", "threshold"), ("linear", "as_it_is"), ("boosted", "threshold")
FLAT = ThresholdRange(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.4, 0.4, 0.45]), 0.2, 0.3, 0.01)


def made_up(
    reference=(0.5, 0.52, 0.48),
    plain=(0.6, 0.62, 0.58),
    other=(0.4, 0.41, 0.39),
    chosen=OTHER,
    choices=None,
    winner=None,
    problem=PROBLEM,
    measured=F1,
    **more,
):
    """An answer of three ways over as many folds as there are figures."""
    losses = {REFERENCE: np.array(reference), PLAIN: np.array(plain), OTHER: np.array(other)}
    choices = choices or (chosen,) * len(reference)
    rows = tuple(
        CandidateResult(*key, loss=float(one.mean()), gain=0.0, gain_error=0.01, outer=one)
        for key, one in losses.items()
    )
    folds = Plan(folds=max(len(reference), 2))
    winner = winner or Recommendation(chosen, None, 0.27, flat=FLAT, code="model.fit(X, y)")
    return Answer(problem, measured, folds, rows, chosen, choices, winner, **more)
