"""Set losses for gradient boosting: ``objective`` trains XGBoost and LightGBM for a loss, ``metric`` watches it.

Neither booster is imported here: what they pass to a function of one's own are arrays, or data sets that say theirs.
"""

from setwise.boosting.objective import Metric, Objective, metric, objective

__all__ = ["Metric", "Objective", "metric", "objective"]
