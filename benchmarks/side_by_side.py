"""Two checkouts in one interleaved run: cuts, hinges, max-marginals and whole fits, new over old.

``python benchmarks/side_by_side.py OTHER_CHECKOUT [PATTERN ...]``. Each checkout runs in a process of its own, with one
BLAS thread, and both are asked for a timing in turns; ratios are of the least times. ``PATTERN`` are regular
expressions that choose the cases. What is timed is a long run with compiled kernels, and not the plain paths of a first
call.
"""

import gc
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 9
SETTLED = 0.02
"""Seconds for which short cases are repeated in one timing."""

Cases = dict[str, Callable[[], object]]


def cut_cases() -> Cases:
    """Values, gradients and max-marginals of one set of each size, both precisions."""
    import numpy as np

    from setwise import losses
    from setwise.core import Sets
    from setwise.losses import MCC, FBeta, Hamming, Jaccard, RocArea
    from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

    try:
        from setwise import loss_augmented_inference, max_marginals
    except ImportError:
        # Older checkouts have them in another package.
        from setwise.inference import loss_augmented_inference, max_marginals
    function_loss = getattr(losses, "CountFunctionLoss", None) or losses.CountLoss

    cases: Cases = {}
    rng = np.random.default_rng(0)
    for p in (50, 400, 10_000, 100_000, 1_000_000):
        y = rng.random(p) < 0.3
        sets = Sets.single(y)
        for kind in ("float32", "float64"):
            s = rng.standard_normal(p).astype(kind)
            hinge = LovaszHinge(Jaccard())
            cases[f"hinge jaccard {p} {kind}"] = lambda h=hinge, sets=sets, s=s: h.batch(sets, s)
        surrogates = {
            "margin f1": MarginRescaling(FBeta(), scale="size"),
            "slack jaccard": SlackRescaling(Jaccard()),
            "margin auc": MarginRescaling(RocArea(), scale="size"),
        }
        if p == 400:
            half = function_loss(lambda fn, fp, P, N: 0.5 * (fn + fp) / 400)
            surrogates["margin mcc + (function + hamming)"] = MarginRescaling(MCC() + (half + Hamming()))
        for name, surrogate in surrogates.items():
            cases[f"{name} {p}"] = lambda surrogate=surrogate, sets=sets, s=s: surrogate.batch(sets, s)
        for name, loss in (("jaccard", Jaccard()), ("f1", FBeta())):
            cases[f"max-marginals {name} {p}"] = lambda loss=loss, y=y, s=s: max_marginals(loss, y, s)
            cases[f"argmax {name} {p}"] = lambda loss=loss, y=y, s=s: loss_augmented_inference(loss, y, s)
    return cases


def fit_cases() -> Cases:
    """Whole fits: label matrices, one large set, and the table of Joachims (2005)."""
    from problems import imbalanced_linear, yeast_like
    from setwise import SetClassifier
    from setwise.losses import BreakEven, ErrorRate, FBeta, RocArea
    from setwise.surrogates import MarginRescaling

    cases: Cases = {}
    made: dict[int, tuple] = {}

    def add(name: str, model: SetClassifier, n: int) -> None:
        def fit() -> object:
            if n not in made:
                made[n] = imbalanced_linear(n) if n else yeast_like()
            return model.fit(*made[n])

        cases["fit " + name] = fit

    for learner in ("one_slack", "n_slack", "block_frank_wolfe"):
        for loss, surrogate in (("hamming", "margin"), ("f1", "margin"), ("jaccard", "lovasz")):
            add(f"label matrix {loss} {learner}", SetClassifier(loss, surrogate, learner, C=150.0, random_state=0), 0)
    for n in (1000, 50_000):
        for C in (100.0, 1e4):
            add(f"one set jaccard {n} C={C:g}", SetClassifier("jaccard", "lovasz", C=C), n)
    for name, loss in (("error rate", ErrorRate()), ("auc", RocArea()), ("break-even", BreakEven()), ("f1", FBeta())):
        for C in (10.0, 1000.0):
            model = SetClassifier(loss, MarginRescaling(loss, scale="size"), C=C, tol=5e-4)
            add(f"joachims {name} C={C:g}", model, 50_000)
    return cases


def serve(root: str) -> None:
    """Answer names of cases, one a line, with the seconds of a call."""
    sys.path.insert(0, str(Path(root) / "src"))
    import warnings

    import setwise

    assert Path(setwise.__file__).is_relative_to(Path(root).resolve()), setwise.__file__
    warnings.simplefilter("ignore")
    cases = {**cut_cases(), **fit_cases()}
    print("\t".join(cases), flush=True)
    warm: set[str] = set()
    for line in sys.stdin:
        call = cases[line.strip()]
        if line not in warm:
            call()
            warm.add(line)
        for one in gc.get_objects():
            if type(one).__name__ in ("FunctionWithTwin", "Twinned"):  # older checkouts know the second name
                one.left = 0.0
        begin = time.perf_counter()
        call()
        calls = min(200, int(SETTLED / max(time.perf_counter() - begin, 1e-7)))
        # A long call is its own timing.
        begin = time.perf_counter() if calls > 1 else begin
        for _ in range(calls if calls > 1 else 0):
            call()
        calls = max(1, calls)
        print((time.perf_counter() - begin) / calls, flush=True)


def main(other: str, patterns: list[str]) -> None:
    roots = {"old": str(Path(other).resolve()), "new": str(Path(__file__).resolve().parents[1])}
    one = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    servers = {
        name: subprocess.Popen(
            [sys.executable, __file__, "--serve", root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=one,
        )
        for name, root in roots.items()
    }

    def ask(name: str, case: str) -> float:
        stdin, stdout = servers[name].stdin, servers[name].stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(case + "\n")
        stdin.flush()
        return float(stdout.readline())

    known = [set(server.stdout.readline().rstrip("\n").split("\t")) for server in servers.values() if server.stdout]
    print(f"{'case':48s} {'old, ms':>10s} {'new, ms':>10s} {'new/old':>8s}")
    for case in sorted(known[0] & known[1]):
        if patterns and not any(re.search(pattern, case) for pattern in patterns):
            continue
        least = dict.fromkeys(servers, float("inf"))
        for turn in range(ROUNDS):
            for name in sorted(servers, reverse=bool(turn % 2)):
                took = ask(name, case)
                # The first turn warms caches and compiles.
                least[name] = min(least[name], took) if turn else least[name]
        old, new = 1e3 * least["old"], 1e3 * least["new"]
        print(f"{case:48s} {old:10.3f} {new:10.3f} {new / old:8.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        main(sys.argv[1], sys.argv[2:])
