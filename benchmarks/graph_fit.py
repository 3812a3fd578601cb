"""Seconds of the processor that ``GraphClassifier`` takes: ``python benchmarks/graph_fit.py [IMAGES]``.

Generated images of 32 x 32 pixels with all features of ``from_image``, for Jaccard: logistic regression with its
threshold (``C=0``), margin rescaling and the ramp, both to a gap of .05. The first fit, which is not printed, compiles.
"""

import sys
import warnings
from time import process_time

from setwise import GraphClassifier
from setwise.datasets import textured_objects
from setwise.graphs import from_image
from timing import table

WAYS = {
    "C=0": {"C": 0.0},
    "margin, tol=0.05": {"surrogate": "margin", "tol": 0.05},
    "ramp, tol=0.05": {"surrogate": "ramp", "tol": 0.05},
}


def main(count: int) -> None:
    found = textured_objects(count, shape=(32, 32), random_state=0)
    graphs, labels = [from_image(image) for image in found.images], [mask.ravel() for mask in found.labels]
    rows = [("fit", "seconds", "over C=0")]
    first = 0.0
    for name, parameters in WAYS.items():
        model = GraphClassifier("jaccard", **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(graphs[:4], labels[:4])
            start = process_time()
            model.fit(graphs, labels)
        seconds = process_time() - start
        first = first or seconds
        rows.append((name, f"{seconds:.1f}", f"{seconds / first:.1f}"))
    table(rows)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 50)
