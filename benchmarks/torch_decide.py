"""Masks and maps decided from logits, beside the package rankseg: expected loss, bound, seconds and memory.

``python benchmarks/torch_decide.py`` needs torch, and rankseg for the columns beside. Both decide the same logits, in
one process on one thread, one after the other in each repetition; the median of 5 is shown, and the first call is not
counted. Both begin at logits in float32. Expected losses are those of :func:`setwise.decisions.expected_loss` at the
probabilities in float64. Dice is ``FBeta(zero_division=0.0)``, and classes are not pruned, so that both solve the same
problem. Memory is the peak of a process of its own, above that before the call.

Claims: on 200 maps of 16 to 36,864 pixels no expected loss is above rankseg's; gaps of masks of 512 x 512 pixels are at
most 1e-3. The gap of one class for each pixel also holds what the classes take from each other, and is as large as it
is.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from setwise.decisions import expected_loss
from setwise.losses import FBeta, Jaccard
from setwise.torch import TensorDecision, decide
from timing import table

try:
    from rankseg import RankSEG
except ImportError:
    RankSEG = None

LOSSES = {"dice": FBeta(zero_division=0.0), "IoU": Jaccard()}
MODES = {"binary": "multilabel", "multilabel": "multilabel", "multiclass": "multiclass"}
"""What rankseg calls our modes."""

LARGE = (
    ("binary", 1, 3.0),
    ("binary", 1, 0.5),
    ("multilabel", 21, 3.0),
    ("multiclass", 21, 1.0),
    ("multiclass", 21, 3.0),
)
REPETITIONS, MAPS = 5, 200
SIDES = (4, 8, 16, 32, 64, 96, 136, 160, 192)
"""Those of the 200 maps: from 16,385 pixels on the search for one class a pixel is another one."""


def waves(k: int, side: int, sharp: float, seed: int, grain: float = 0.0, rare: float = 0.3) -> torch.Tensor:
    """Logits (1, k, side, side) in float32 that change slowly, of which later classes are rarer."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    z = np.zeros((k, side, side))
    for spread in (0.5, 0.5, 2.0, 2.0):
        a, b, c = rng.normal(0.0, spread, (3, k, 1, 1))
        z += np.sin(2.0 * np.pi * (a * x + b * y + c))
    z = sharp * (z - rare * np.arange(k)[:, None, None] - (rare if k == 1 else 0.0))
    return torch.tensor(z + grain * rng.standard_normal(z.shape), dtype=torch.float32)[None]


def probabilities(logits: torch.Tensor, mode: str) -> torch.Tensor:
    return logits.softmax(dim=1) if mode == "multiclass" else logits.sigmoid()


def ours(logits: torch.Tensor, metric: str, mode: str) -> TensorDecision:
    return decide(logits, LOSSES[metric], mode)


def theirs(logits: torch.Tensor, metric: str, mode: str) -> torch.Tensor:
    peer = RankSEG(metric=metric, solver="RMA", output_mode=MODES[mode], pruning_prob=0.0)
    return peer.predict(probabilities(logits, mode))


def usual(logits: torch.Tensor, metric: str, mode: str) -> torch.Tensor:
    return logits.argmax(dim=1) if mode == "multiclass" else logits > 0


def value(logits: torch.Tensor, labels: torch.Tensor, metric: str, mode: str) -> float:
    """The mean expected loss of the classes."""
    q = probabilities(logits.double(), mode)[0].flatten(1).numpy()
    flat = labels[0].reshape(-1 if mode == "multiclass" else len(q), q.shape[1]).numpy()
    masks = flat == np.arange(len(q))[:, None] if mode == "multiclass" else flat.astype(bool)
    return float(expected_loss(q, masks, LOSSES[metric]).mean())


def two_hundred() -> None:
    """How often each is better on 200 maps of all kinds, and by how much."""
    rng, found = np.random.default_rng(0), {}
    for seed in range(MAPS):
        k, side = int(rng.choice([1, 2, 3, 5, 21])), int(rng.choice(SIDES))
        logits = waves(
            k, side, rng.choice([0.5, 1.0, 2.0, 4.0]), seed, rng.choice([0.0, 0.5]), rng.choice([0.0, 0.3, 1.0])
        )
        for metric in LOSSES:
            for mode in ("binary",) if k == 1 else ("multilabel", "multiclass"):
                decision = ours(logits, metric, mode)
                three = (decision.labels, theirs(logits, metric, mode), usual(logits, metric, mode))
                values = [value(logits, labels, metric, mode) for labels in three]
                found.setdefault((metric, mode), []).append([*values, float(decision.bounds.mean())])
    rows = [
        (
            "measure",
            "mode",
            "maps",
            "we lose",
            "most lost",
            "they lose",
            "our mean",
            "rankseg's",
            "0.5 or argmax",
            "our bound",
        )
    ]
    for (metric, mode), each in found.items():
        values = np.array(each)
        less = values[:, 1] - values[:, 0]
        counts = (f"{(less < -1e-9).sum()}", f"{max(0.0, -less.min()):.1e}", f"{(less > 1e-9).sum()}")
        rows.append((metric, mode, f"{len(values)}", *counts, *(f"{x:.5f}" for x in values.mean(axis=0))))
    table(rows)


def large() -> None:
    """Seconds, memory and gaps at 512 x 512."""
    rows = [
        (
            "mode",
            "classes",
            "sharp",
            "measure",
            "ours",
            "our bound",
            "gap",
            "rankseg's",
            "s",
            "rankseg, s",
            "MiB",
            "rankseg, MiB",
        )
    ]
    for mode, k, sharp in LARGE:
        for metric in LOSSES:
            ways = (ours, theirs) if RankSEG else (ours,)
            seconds = {way: [] for way in (ours, theirs)}
            for repetition in range(REPETITIONS + 1):
                logits, found = waves(k, 512, sharp, repetition), {}
                for way in ways:
                    begin = perf_counter()
                    found[way] = way(logits, metric, mode)
                    seconds[way].append(perf_counter() - begin)
            decision, peer = found[ours], found.get(theirs)
            bound, mine = float(decision.bounds.mean()), float(decision.values.mean())
            other = "-" if peer is None else f"{value(logits, peer, metric, mode):.6f}"
            times = [f"{np.median(each[1:]):.3f}" if each else "-" for each in seconds.values()]
            memory = [peak(way.__name__, metric, mode, logits) if way in ways else "-" for way in seconds]
            rows.append(
                (
                    mode,
                    f"{k}",
                    f"{sharp:g}",
                    metric,
                    f"{mine:.6f}",
                    f"{bound:.6f}",
                    f"{mine - bound:.1e}",
                    other,
                    *times,
                    *memory,
                )
            )
    table(rows)


def peak(way: str, metric: str, mode: str, logits: torch.Tensor) -> str:
    """The largest memory of a process that makes one decision, above that before it, in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "logits.npy")
        np.save(path, logits.numpy())
        command = [sys.executable, __file__, way, metric, mode, path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def one_peak(way: str, metric: str, mode: str, path: str) -> None:
    """Print the memory of one decision; a small one before it loads what is needed."""
    run, logits = {"ours": ours, "theirs": theirs}[way], torch.from_numpy(np.load(path))
    run(logits[..., :80, :80].contiguous(), metric, mode)
    before = high_water()
    run(logits, metric, mode)
    print(f"{(high_water() - before) / 1024:.0f}")


def high_water() -> int:
    """The largest resident memory of this process so far, in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        one_peak(*sys.argv[1:])
    else:
        if RankSEG is None:
            print("rankseg is left out: it is not installed.\n")
        else:
            two_hundred()
            print()
        large()
