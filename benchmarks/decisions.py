"""Decisions of least expected loss: seconds, certified gaps, and the package rankseg beside them.

``python benchmarks/decisions.py [PYTHON]``, where PYTHON is an interpreter that has torch and rankseg. All runs on one
thread. Targets: 100,000 rows of 14 labels in 1 s; a set of 1,000 in 0.05 s; a set of 1,000,000 in 5 s, with a gap of
at most 1e-3.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from setwise.decisions import expected_loss, least_expected_loss, least_expected_loss_of_map
from setwise.losses import MCC, BalancedError, FBeta, GMean, Hamming, HMean, Jaccard, Loss, Tversky
from timing import race, table

LOSSES = (FBeta(), Jaccard(), MCC(), BalancedError(), GMean(), HMean(), Tversky(0.3, 0.8), Jaccard() + Hamming())
"""F, Jaccard and Tversky are quotients, the balanced error is a sum of costs; the others need branch and bound."""

PEERS = {"dice": FBeta(zero_division=0.0), "IoU": Jaccard()}
SOLVERS = {"dice": ("BA", "TRNA", "RMA"), "IoU": ("RMA",)}


def sets(p: int) -> dict[str, np.ndarray]:
    """Probabilities of one set."""
    rng = np.random.default_rng(p)
    return {
        "uniform": rng.random(p),
        "rare": rng.random(p) ** 8,
        "certain": rng.beta(0.1, 0.2, p),
        "2,000 of all": np.where(rng.random(p) < 2000 / p, rng.random(p), 1e-5),
        "equal": np.full(p, 0.5),
        "very rare": np.minimum(10.0 * rng.random(p) / p, 1.0),
        "nearly all": 1.0 - np.minimum(10.0 * rng.random(p) / p, 1.0),
    }


def smooth_map(side: int, k: int, sharp: float) -> np.ndarray:
    """A map (side, side, k) of probabilities that change slowly, some classes being rare."""
    rng = np.random.default_rng(side + k)
    y, x = np.mgrid[:side, :side] / side
    waves = [
        sum(np.sin(20 * rng.random() * x + 20 * rng.random() * y + 6 * rng.random()) for _ in range(4))
        for _ in range(k)
    ]
    e = np.exp(sharp * (np.stack(waves, axis=-1) - 0.15 * np.arange(k)))
    return e / e.sum(axis=-1, keepdims=True)


def targets() -> None:
    """The three sizes of the targets, for all losses."""
    rng = np.random.default_rng(0)
    rows = [("sets", "of", "probabilities", "loss", "seconds", "/ target", "largest gap")]
    cases = [(100_000, 14, 1.0), (1, 1000, 0.05), (1, 1_000_000, 5.0)]
    for n, p, target in cases:
        for kind, q in sets(p).items() if n == 1 else [("uniform", rng.random((n, p)))]:
            for loss in LOSSES:
                seconds = race({"": lambda q=q, loss=loss: least_expected_loss(q, loss)}, 3)[""]
                found = least_expected_loss(q, loss)
                gap = f"{float((found.values - found.bounds).max()):.1e}"
                rows.append((f"{n:,}", f"{p:,}", kind, repr(loss), f"{seconds:.4f}", f"{seconds / target:.2f}", gap))
    table(rows)


def beside(python: str) -> None:
    """The expected losses, their bounds and the seconds of rankseg and of this package on the same probabilities."""
    cases: dict[str, np.ndarray] = {}
    for p in (1000, 100_000, 1_000_000):
        for kind, q in sets(p).items():
            for metric, solvers in SOLVERS.items():
                for solver in solvers:
                    # The truncated approximation looks at every number predicted, which takes minutes in large sets.
                    if p == 1000 or solver != "TRNA":
                        cases[f"{kind} {p:,}|{metric}|{solver}|multilabel"] = q[None]
    for side, k, sharp in ((128, 5, 1.0), (512, 5, 1.0), (512, 5, 4.0), (512, 21, 2.0)):
        q = smooth_map(side, k, sharp)
        for metric in SOLVERS:
            cases[f"map {side} x {side} x {k}, {sharp:g}|{metric}|RMA|multiclass"] = q.reshape(-1, k).T.copy()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **cases)
        subprocess.run([python, Path(__file__).with_name("rankseg_peer.py"), source, target], check=True)
        with np.load(target) as peers:
            answers = {name: peers[name] for name in peers.files}
    rows = [("probabilities", "measure", "solver", "rankseg's loss", "ours", "our bound", "rankseg, s", "ours, s")]
    for name, q in cases.items():
        case, metric, solver, mode = name.split("|")
        value, ours, bound, seconds = compared(q, PEERS[metric], answers[name], mode)
        numbers = (
            f"{value:.7f}",
            f"{ours:.7f}",
            f"{bound:.7f}",
            f"{float(answers[name + '|s']):.4f}",
            f"{seconds:.4f}",
        )
        rows.append((case, metric, solver, *numbers))
    table(rows)


def compared(q: np.ndarray, loss: Loss, labels: np.ndarray, mode: str) -> tuple[float, float, float, float]:
    """The peer's expected loss, our own, our bound and our seconds."""
    if mode == "multilabel":
        found = least_expected_loss(q, loss)
        seconds = race({"": lambda: least_expected_loss(q, loss)}, 3)[""]
        return expected_loss(q, labels, loss)[0], found.values[0], found.bounds[0], seconds
    pixels = q.T.copy()
    found = least_expected_loss_of_map(pixels, loss)
    seconds = race({"": lambda: least_expected_loss_of_map(pixels, loss)}, 3)[""]
    masks = labels.ravel() == np.arange(len(q))[:, None]
    return expected_loss(q, masks, loss).mean(), found.values[0], found.bounds[0], seconds


if __name__ == "__main__":
    targets()
    if len(sys.argv) > 1:
        print()
        beside(sys.argv[1])
    else:
        print("\nrankseg is left out: name an interpreter that has torch and rankseg.")
