"""Decisions of BinaryDenoiser for a loss, from independent pixels, perturbed images and exact samples: ``python`` this.

    python benchmarks/denoiser_decisions.py [SHARES ...] [--exact]

Generated disks of 24 x 24 pixels, and the Weizmann horses of 50 x 50 where SETWISE_DATA has them: 100 images to train
and 100 to test, with a share of the pixels flipped; one fit of ``BinaryDenoiser(random_state=0)`` for each. Printed are
the wrong pixels, and the means over test images of the intersection over union and of F1, in percent, for
``decode="mean"`` and for the labels of least expected Jaccard loss and F1, each from what ``draws`` says, with the
seconds; and the mean difference to independent pixels in the measure that is decided for, ± two standard errors of
paired differences. Exact samples are drawn with ``--exact``, for the first 20 test images.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from setwise import BinaryDenoiser
from setwise.core.exceptions import Refusal
from timing import table

SIDE, COUNT, EXACT = 24, 100, 20
MEASURES = {"jaccard": 1, "f1": 2}


def disks(seed):
    rng, (row, column) = np.random.default_rng(seed), np.indices((SIDE, SIDE))
    return np.array([
        np.hypot(row - rng.uniform(7, 17), column - rng.uniform(7, 17)) < rng.uniform(3, 7) for _ in range(COUNT)
    ]).astype(np.int8)  # fmt: skip


def images():
    yield "disks", disks(0), disks(1)
    file = Path(os.environ.get("SETWISE_DATA", "")) / "weizmann_horses" / "masks.npz"
    if file.is_file():
        with np.load(file) as data:
            masks = data["masks50"].astype(np.int8)
            yield "horses", masks[data["denoise_train"]], masks[data["denoise_test"]]


def measured(found, truth):
    """Wrong pixels, IoU and F1 of each image, in percent, (3, n)."""
    both, sizes = (found & truth).sum((1, 2)), found.sum((1, 2)) + truth.sum((1, 2))
    iou, f1 = both / np.maximum(sizes - both, 1), 2 * both / np.maximum(sizes, 1)
    return 100 * np.array([(found != truth).mean((1, 2)), iou, f1])


def main(shares, exact) -> None:
    shown = [("images", "flipped", "decode", "draws", "wrong, %", "IoU, %", "F1, %", "seconds", "against independent")]
    for name, train, test in images():
        test = test[:EXACT] if exact else test
        for pi in shares:
            rng = np.random.default_rng(1)
            noisy, seen = ((part ^ (rng.random(part.shape) < pi)).astype(np.int8) for part in (train, test))
            model = BinaryDenoiser(random_state=0, n_jobs=2).fit(noisy, train)
            for decode in ("mean", *MEASURES):
                ways = ["independent", *(["perturbed"] if decode != "mean" else []), *(["exact"] if exact else [])]
                for draws in ways:
                    begin = time.perf_counter()
                    try:
                        found = measured(model.set_params(decode=decode, draws=draws).transform(seen), test)
                    except Refusal:
                        shown.append((name, f"{pi:g}", decode, draws, "refused", "", "", "", ""))
                        continue
                    seconds = f"{time.perf_counter() - begin:.1f}"
                    if draws == "independent":
                        base = found
                    gain = found[MEASURES.get(decode, 0)] - base[MEASURES.get(decode, 0)]
                    apart = f"{gain.mean():+.2f} ± {2 * gain.std(ddof=1) / np.sqrt(len(gain)):.2f}"
                    shown.append((name, f"{pi:g}", decode, draws, *(f"{v:.2f}" for v in found.mean(axis=1)), seconds,
                                  "" if draws == "independent" else apart))  # fmt: skip
    table(shown)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shares", nargs="*", type=float, default=[0.1, 0.2, 0.3])
    parser.add_argument("--exact", action="store_true")
    chosen = parser.parse_args()
    main(chosen.shares, chosen.exact)
