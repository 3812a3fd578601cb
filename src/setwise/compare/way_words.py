"""Words for ways: a base model with a lever."""

from setwise.compare.bases import BASES
from setwise.compare.plan import Key

LEVERS: dict[str, tuple[str, str]] = {
    "as_it_is": ("at 0.5", "at 0.5"),
    "threshold": ("tuned threshold", "with a tuned threshold"),
    "label_thresholds": ("threshold for each label", "with a tuned threshold for each label"),
    "class_weight": ("weighted positives", "fitted to weighted positives, with a tuned threshold"),
    "decision": ("least expected loss", "decided by the least expected loss"),
    "stack": ("trained on top", "with a linear model on top that is trained for the measure"),
    "gfm": ("F-maximizer", "decided by the general F-maximizer"),
    "ramp": ("ramp on top", "with a ramp on top that descends from its threshold"),
    "order": ("order of scores", "in the order of its scores"),
}
"""For each lever its name in a table, and the words for it behind the name of a base model."""

EXPLAINED = {
    "as_it_is": ": what has a probability of at least 0.5 is positive",
    "decision": ": each set gets the labels that lose the least on average, by its calibrated probabilities",
    "gfm": ": each row gets the labels of the greatest expected measure, by models of the number of its labels",
    "ramp": ": a linear function of the features and the log-odds decides, trained for {measure} from the threshold on",
    "stack": ": a linear function of the features and the log-odds decides, trained for {measure}",
}
"""What the levers without a threshold do, behind the words for a way."""


def lever_title(lever: str) -> str:
    """The name of a lever in a table."""
    return LEVERS[lever][0] if lever in LEVERS else lever.replace("_", " ")


def way(key: Key) -> str:
    """The words for a way, as ``boosted trees with a tuned threshold``."""
    base, lever = key
    phrase = LEVERS[lever][1] if lever in LEVERS else f"with {lever.replace('_', ' ')}"
    return f"{BASES[base].title} {phrase}"
