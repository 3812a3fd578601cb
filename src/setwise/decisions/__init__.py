"""Decisions: what to predict once probabilities are known.

:func:`least_expected_loss` returns the labeling of least expected loss of each set, and :func:`expected_loss` the
expected loss of a given labeling.
"""

from setwise.decisions.decision import Decision
from setwise.decisions.least import expected_loss, least_expected_loss

__all__ = ["Decision", "expected_loss", "least_expected_loss"]
