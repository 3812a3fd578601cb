"""What a first call costs: processor seconds in a fresh process, without and with kernels on the disk.

``python benchmarks/first_call.py [OTHER_CHECKOUT]``. ``import`` is what importing setwise adds to scikit-learn's linear
models, or to PyTorch, with the bytecode that an installation writes; ``first`` is the call where no kernel was compiled
before, and ``later`` in a process after that. The table is ``make_classification(4500, 8)``, of which the least
expected loss takes 100 rows, and the medians of three processes are printed. scikit-learn's tuned threshold stands
beside. With another checkout its figures follow; the two take turns.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import table

ROUNDS = 3
LINEAR = "import sklearn.linear_model, sklearn.model_selection"
CASES = {
    "best_threshold": (LINEAR, "from setwise.decisions import best_threshold", "best_threshold(y, X[:, 0], 'f1')"),
    "least expected loss": (
        LINEAR,
        "from setwise.decisions import least_expected_loss",
        "least_expected_loss(abs(X[:100, 0]) % 1.0, 'f1')",
    ),
    "tuned threshold": (
        LINEAR,
        "from setwise import MeasureClassifier",
        "MeasureClassifier(None, 'f1', ['threshold']).fit(X, y)",
    ),
    "all strategies": (LINEAR, "from setwise import MeasureClassifier", "MeasureClassifier(loss='f1').fit(X, y)"),
    "SetClassifier": (LINEAR, "from setwise import SetClassifier", "SetClassifier('f1').fit(X, y)"),
    "Lovász hinge": (
        "import torch",
        "from setwise.torch import LovaszHingeLoss",
        "LovaszHingeLoss()(torch.from_numpy(X[:, 0]).requires_grad_()[None], torch.from_numpy(y)[None]).backward()",
    ),
    "scikit-learn's tuned threshold": (
        LINEAR,
        "",
        "sklearn.model_selection.TunedThresholdClassifierCV(sklearn.linear_model.LogisticRegression(), scoring='f1')"
        ".fit(X, y)",
    ),
}
PROGRAM = """
import time, warnings
warnings.simplefilter("ignore")
{base}
begin = time.process_time()
{add}
added = time.process_time() - begin
from sklearn.datasets import make_classification
X, y = make_classification(4500, 8, random_state=0)
begin = time.process_time()
{call}
print(added, time.process_time() - begin)
"""


def seconds(root: Path, case: tuple[str, str, str], cache: str) -> list[float]:
    """Processor seconds of the import and of the call."""
    base, add, call = case
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | {
        "PYTHONPATH": str(root / "src"),
        "NUMBA_CACHE_DIR": cache,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    program = PROGRAM.format(base=base, add=add, call=call)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    return [float(x) for x in done.stdout.split()]


def main(roots: list[Path]) -> None:
    rows: list[tuple[str, ...]] = [("case", *("import", "first", "later") * len(roots))]
    for name, case in CASES.items():
        found: list[list[list[float]]] = [[] for _ in roots]
        for _ in range(ROUNDS):
            for root, times in zip(roots, found, strict=True):
                with tempfile.TemporaryDirectory() as cache:
                    first, later = seconds(root, case, cache), seconds(root, case, cache)
                times.append([later[0], first[1], later[1]])
        medians = [statistics.median(column) for times in found for column in zip(*times, strict=True)]
        rows.append((name, *(f"{x:.2f}" for x in medians)))
    table(rows)


if __name__ == "__main__":
    main([Path(__file__).resolve().parents[1], *(Path(other).resolve() for other in sys.argv[1:2])])
