"""How often `setwise compare` says "stay" where logistic regression is true, and "change" where it is not.

    python benchmarks/verdicts.py [--seeds 20] [--rows 2000] [--bags 300]

On data from a logistic model nothing can beat logistic regression with a tuned threshold but by luck. On early
detection in bags no threshold can turn its line. The plan is that of `--quick`. Each seed draws new data and new outer
folds.
"""

import argparse

import numpy as np

from setwise.cli import options_parser
from setwise.compare import Answer, NamedLoss, Problem, compare
from setwise.compare.command import plan_of
from setwise.compare.problem import bags
from setwise.compare.sentences import way
from setwise.compare.text import between, signed
from setwise.losses import EarlyDetection, FBeta


def logistic(rows: int, seed: int) -> Problem:
    """Rows of eight features whose labels follow a logistic model, about 20 % of them positive."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(rows, 8)), rng.normal(size=8)
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(2.5 - 1.2 * X @ w))).astype(np.int64)
    return Problem("logistic model", "Rows of a logistic model.", X, y)


def answer(problem: Problem, measured: NamedLoss, seed: int) -> Answer:
    """The one answer for a problem."""
    options = options_parser().parse_args(["compare", "--quick", "--seed", str(seed)])
    (found,) = compare(problem, [measured], plan_of(options, problem))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--bags", type=int, default=300)
    options = parser.parse_args()
    cases = {
        "stay": lambda seed: answer(logistic(options.rows, seed), NamedLoss("f1", FBeta()), seed),
        "change": lambda seed: answer(bags(options.bags, seed), NamedLoss("early_detection", EarlyDetection()), seed),
    }
    for verdict, run in cases.items():
        right = 0
        for seed in range(options.seeds):
            found = run(seed)
            right += found.changes == (verdict == "change")
            said = "change" if found.changes else "stay"
            gain = f"{signed(found.gain.mean)} ({between(*found.gain.interval())})"
            print(f"{found.problem.name:16} seed {seed:2}: {said:6} {gain}  {way(found.chosen)}", flush=True)
        print(f"{verdict}: {right} of {options.seeds}\n", flush=True)


if __name__ == "__main__":
    main()
