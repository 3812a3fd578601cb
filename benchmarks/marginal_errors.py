"""Marginals and sums of the UAI segmentations by every method, beside the published ones: ``python`` this file.

*Instances.* Segmentation_11, 12 and 13 of the UAI 2014 evaluation: 228 to 235 superpixels with two labels, from the
folder ``uai2014`` of SETWISE_DATA.

*Printed.* For each method log10 Z less the published one, the mean and the largest error of the marginals beside the
published ones, which have six digits, and seconds of the processor in a second call. Samples have seed 0. Perfect
samples have no log10 Z, and are refused where their chains do not meet within 2^14 sweeps.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from setwise.core.exceptions import Refusal
from setwise.probabilistic import (
    LogPartition,
    LogSupermodularDistribution,
    Samples,
    exact,
    l_field,
    logistic,
    mean_field,
    sample,
    superdifferential,
    tree_reweighted,
)
from timing import table
from uai import NAMES, UaiNetwork, read

METHODS = {
    "superdifferential": superdifferential,
    "mean field": mean_field,
    "exact": exact,
    "logistic, 100 samples": lambda model: logistic(model, 100, random_state=0),
    "logistic, 1,000 samples": lambda model: logistic(model, 1000, random_state=0),
    "trees": tree_reweighted,
    "L-Field": l_field,
    "perfect samples, 100": lambda model: sample(model, 100, random_state=0),
    "perfect samples, 1,000": lambda model: sample(model, 1000, random_state=0),
}


def timed(method, model: LogSupermodularDistribution) -> tuple[LogPartition | Samples | None, float]:
    """What a method finds, None where it is refused, and the seconds of its second call."""
    for _ in range(2):
        begin = time.process_time()
        try:
            found = method(model)
        except Refusal:
            found = None
        seconds = time.process_time() - begin
    return found, seconds


def cells(network: UaiNetwork, found: LogPartition | Samples | None, seconds: float) -> tuple[str, ...]:
    """The difference of log10 Z, the mean and the largest error of marginals, and seconds."""
    if found is None:
        return "", "refused", "", f"{seconds:.3f}"
    errors = np.abs(found.marginals - network.marginals)
    apart = f"{network.log10(found.value) - network.sum:+.4f}" if isinstance(found, LogPartition) else ""
    return apart, f"{errors.mean():.4f}", f"{errors.max():.4f}", f"{seconds:.3f}"


def main() -> None:
    """Print a table for each network."""
    if "SETWISE_DATA" not in os.environ:
        sys.exit("SETWISE_DATA must be the folder of real data.")
    for name in NAMES:
        network = read(Path(os.environ["SETWISE_DATA"]), name)
        rows = [(name, "log10 Z - published", "mean error", "largest error", "seconds")]
        rows += [(method, *cells(network, *timed(run, network.model))) for method, run in METHODS.items()]
        table(rows)
        print(f"{network.model.total} labels, published log10 Z {network.sum:.4f}\n")


if __name__ == "__main__":
    main()
