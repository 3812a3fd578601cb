"""Steps of likelihood learning: AdaGrad against the plain rule of LSM 4.2, ``length / sqrt(h)``: ``python`` this file.

    python benchmarks/likelihood_steps.py [joint] [conditional] [--held-out]

The protocol was written before the first result.

*Tasks.* The joint likelihood of 100 Weizmann horses of 50 x 50 pixels, and the conditional one of the same horses
where 10 % of the pixels are flipped and the share is known; 100 generated disks of that size where SETWISE_DATA has no
horses. A bias of each pixel and the cuts of both directions, regularizers of 1e-3.

*Rules.* Each has a grid of five lengths for the biases times five for the couplings, 25 rows for 300, 1,000 and 3,000
steps: .01 to 1 in factors of root ten for AdaGrad, which knows no scale of gradients; .1 to 10 and 1e-4 to 1e-2 for
the plain rule, as the gradients of couplings are hundreds of times as large. Both hand back the same average of their
iterates, of which later ones weigh more. All begin at 0 and have the same order of images and the same noise.

*Judged* by the objective, the regularized mean over the training images in nats per image, with ``A_logistic`` by
noise that training did not see, the same for all rows (400 samples for the joint likelihood, 10 for each image else).
The best row of each rule is chosen so, and its objective is measured again, and printed, by other noise, with the
difference of the rules and two standard errors of paired differences. A rule's *usual* lengths are the one row whose
largest excess over the best row of any rule is smallest in all tasks and numbers of steps run: the rule that an
estimator should have is that of the smaller excess. Rows *lost* are those more than 25 nats, .01 per pixel, above the
best.

``--held-out`` was added after the race. In its place it prints the log-likelihood of the 100 test images in nats per
image, by the usual lengths that the race found on horses, and by those of ``Rates``.
"""

import argparse
import os
import sys
from itertools import product
from pathlib import Path

import numpy as np

from setwise.core.checks import Values
from setwise.kernels.sampling import LOGISTIC
from setwise.kernels.threads import map_units, thread_limit
from setwise.probabilistic import Cut, LogSupermodularDistribution
from setwise.probabilistic.perturbations import perturbed
from setwise.probabilistic.training import CutLabelings, Rates, Weights, learn
from timing import table

SIDE, FLIPPED, RIDGE, STEPS, LOST = 50, 0.1, 1e-3, (300, 1000, 3000), 25.0
ROOTS = np.sqrt(10.0) ** np.arange(5)
RULES = {
    "AdaGrad": (True, list(product(0.01 * ROOTS, 0.01 * ROOTS))),
    "plain": (False, list(product(0.1 * ROOTS, 1e-4 * ROOTS))),
}
CUTS = [Cut.grid(SIDE, SIDE, way) for way in ((0, 1), (1, 0))]


def images(part):
    file = Path(os.environ.get("SETWISE_DATA", "")) / "weizmann_horses" / "masks.npz"
    if file.is_file():
        with np.load(file) as data:
            return data["masks50"][data[f"denoise_{part}"]].reshape(-1, SIDE * SIDE) > 0
    rng, (row, column) = np.random.default_rng(int(part == "test")), np.indices((SIDE, SIDE))
    return np.array([
        (np.hypot(row - rng.uniform(15, 35), column - rng.uniform(15, 35)) < rng.uniform(6, 14)).ravel()
        for _ in range(100)
    ])  # fmt: skip


class DenoisingTask:
    """What is learned, and its objective."""

    def __init__(self, name, part="train", ridge=RIDGE):
        self.clean, self.joint, self.ridge = images(part), name == "joint", ridge
        flips = np.random.default_rng(1 + (part == "test")).random(self.clean.shape) < FLIPPED
        self.observed = 2.0 * (self.clean ^ flips) - 1.0
        self.c = float(np.log((1 - FLIPPED) / FLIPPED))

    def learned(self, rule, lengths, steps) -> Weights:
        """The weights after so many steps."""
        if self.joint:
            labelings = CutLabelings.joint(CUTS, self.clean)
        else:
            labelings = CutLabelings(CUTS, self.clean.astype(float), self.observed)
        rates = Rates(steps, (lengths[0], 0.0, lengths[1]), (RIDGE, RIDGE), 0, RULES[rule][0])
        start = Weights(np.zeros(SIDE * SIDE), 0.0 if self.joint else self.c, np.zeros(len(CUTS)))
        return learn([labelings], rates, start=start).weights

    def terms(self, weights, seed) -> Values:
        """The objective of each sample (joint), or of each image."""
        fixed = 0.5 * self.ridge * (weights.unary @ weights.unary + weights.couplings @ weights.couplings)
        none = np.zeros(SIDE * SIDE)
        if self.joint:
            model = LogSupermodularDistribution(CUTS, weights.unary, weights.couplings)
            maxima = perturbed(model, 400, LOGISTIC, np.uint64(seed), none).values.reshape(-1, 2).mean(axis=1)
            return maxima + model.values(self.clean).mean() + fixed
        out = []
        for i, (y, q) in enumerate(zip(self.clean, self.observed, strict=True)):
            model = LogSupermodularDistribution(CUTS, weights.unary + weights.observation * q, weights.couplings)
            out.append(perturbed(model, 10, LOGISTIC, np.uint64(seed), none, i).values.mean() + model.values(y)[0])
        return np.array(out) + fixed


def main(names) -> None:
    excess = {rule: [] for rule in RULES}
    shown = [("likelihood", "steps", "rule", "lengths", "objective", "AdaGrad - plain", "rows lost", "on the edge")]
    for name, steps in product(names, STEPS):
        task, values, found = DenoisingTask(name), {}, {}
        for rule, (_, grid) in RULES.items():
            with thread_limit(2):
                made = map_units(lambda at, r=rule, t=task, s=steps: t.learned(r, at, s), grid)
                values[rule] = np.array(map_units(lambda one, t=task: t.terms(one, 10**6).mean(), made))
            found[rule] = task.terms(made[int(values[rule].argmin())], 2 * 10**6)
        best = min(v.min() for v in values.values())
        apart = found["AdaGrad"] - found["plain"]
        for rule, (_, grid) in RULES.items():
            excess[rule].append(values[rule] - best)
            at = int(values[rule].argmin())
            edge = {0, 4} & {at // 5, at % 5}
            said = f"{apart.mean():+.2f} ± {2 * apart.std(ddof=1) / np.sqrt(len(apart)):.2f}" if rule == "plain" else ""
            lost = f"{(values[rule] > best + LOST).sum()} of {len(grid)}"
            lengths = f"{grid[at][0]:.2g}, {grid[at][1]:.2g}"
            mean = f"{found[rule].mean():.2f}"
            shown.append((name, str(steps), rule, lengths, mean, said, lost, "yes" if edge else ""))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table(shown)
    print()
    shown = [("rule", "usual lengths", "largest excess", *(f"{name} {steps}" for name, steps in product(names, STEPS)))]
    for rule, (_, grid) in RULES.items():
        all_of = np.array(excess[rule])
        at = int(all_of.max(axis=0).argmin())
        cells = (f"{v:.2f}" for v in all_of[:, at])
        shown.append((rule, f"{grid[at][0]:.2g}, {grid[at][1]:.2g}", f"{all_of[:, at].max():.2f}", *cells))
    default = np.array(excess["AdaGrad"])[:, 12]
    shown.append(("AdaGrad", "0.1, 0.1 of Rates", f"{default.max():.2f}", *(f"{v:.2f}" for v in default)))
    table(shown)


def held_out(names) -> None:
    """The log-likelihood of test images."""
    rows = (("AdaGrad", (0.1, 0.1)), ("AdaGrad", (1.0, 1.0)), ("plain", (1.0, 10**-2.5)))
    shown = [("likelihood", "steps", *(f"{rule} {a:g}, {b:.2g}" for rule, (a, b) in rows))]
    for name, steps in product(names, STEPS):
        task, test = DenoisingTask(name), DenoisingTask(name, "test", 0.0)
        found = [test.terms(task.learned(rule, lengths, steps), 10**6).mean() for rule, lengths in rows]
        shown.append((name, str(steps), *(f"{-value:.2f}" for value in found)))
    table(shown)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="likelihood", default=["joint", "conditional"])
    parser.add_argument("--held-out", action="store_true")
    chosen = parser.parse_args()
    if not set(chosen.names) <= {"joint", "conditional"}:
        parser.error(f"likelihoods are joint and conditional; got {', '.join(chosen.names)}.")
    (held_out if chosen.held_out else main)(chosen.names)
