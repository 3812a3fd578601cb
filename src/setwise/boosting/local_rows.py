"""A refusal where a function is called with a part of the rows: sets would be cut, and nobody would see it."""

import sys

from setwise.core.exceptions import Refusal
from setwise.core.pages import BOOSTING

DISTRIBUTED = ("lightgbm.dask", "xgboost.dask", "xgboost.spark")
"""The modules that share rows among workers, each of which calls functions of one's own with its own rows."""


def refuse_local_rows(name: str) -> None:
    """Raise Refusal, naming ``name``, if a distributed interface called, or if XGBoost trains in several processes.

    LightGBM does not say whether it trains over sockets without Dask, so that is not seen.
    """
    caller = _distributed_caller()
    # Processes that trained together without these modules have met in the collective of XGBoost.
    collective = sys.modules.get("xgboost.collective")
    if caller is None and collective is not None and collective.get_world_size() > 1:
        caller = "XGBoost in several processes"
    if caller is not None:
        raise Refusal(
            f"{name} refuses {caller}: each worker sees its own rows only, and the loss of a set needs all of its rows "
            "together. Train on one machine, as with LGBMClassifier or xgboost.train.",
            BOOSTING,
        )


def _distributed_caller() -> str | None:
    """The distributed interface that is among the callers, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        module = f"{frame.f_globals.get('__name__', '')}."
        for each in DISTRIBUTED:
            if module.startswith(f"{each}."):
                return each
        frame = frame.f_back  # type: ignore[assignment]
    return None
