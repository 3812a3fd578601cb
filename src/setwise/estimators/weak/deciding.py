"""The threshold at which rows are positive so that the expected loss of a set of them is least."""

from scipy.special import expit

from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.decisions.expected_loss import best_cut, rule_of_cuts


def threshold_for(loss: Loss, scores: Values) -> float:
    """The log-odds above which rows are positive so that the expected loss of those with ``scores`` (n,) is least.

    The rows are one set of independent decisions with these log-odds, and no label is read. A threshold never separates
    equal rows. Up to 4096 rows no other one has a smaller expected loss; for more the search ends within 1e-3 of a
    bound of the least one, or after a fixed amount of work. Between the last positive and the first negative row it is
    halfway; where all rows are positive, or none is, it is -inf or inf. Raises what :func:`check_decidable` raises.
    """
    return best_cut(rule_of_cuts(loss, len(scores)), expit(scores), scores)[0]


def check_decidable(loss: Loss, n: int) -> None:
    """Raise Refusal for a loss without a best threshold of n rows that can be found, whatever their scores."""
    rule_of_cuts(loss, n)
