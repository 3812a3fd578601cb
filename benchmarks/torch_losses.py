"""Lovász losses of PyTorch beside those of other projects: ``python benchmarks/torch_losses.py [--berman FILE]``.

The protocol, for one thread and float32 logits of one image with int64 labels:

- Cases: the binary hinge with 30 % positives at 10k, 100k, 1M and 10M pixels, once with standard normal logits and once
  with 95 % of the pixels satisfying the margin; Lovász-softmax of 19 classes x 512 x 1024 pixels with standard normal
  logits and uniform labels, with logits like those of a trained network: blocks of labels, 8 % of the pixels
  confidently wrong, the others right with a margin of 8 times uniform(.3, 1.5), and with those of a network that is too
  sure: the same with a margin of 20 everywhere.
- Peers: Berman's file, if ``--berman`` says where it is, segmentation_models_pytorch and kornia, if they are installed
  or on the path; see ``torch_peers.py``. Kornia works image by image, so one image is the same problem for all.
- Time: from logits to ``logits.grad``, in seconds of the processor, so that other processes weigh little, and of a
  clock with ``--threads``; all take turns in one process on the same inputs, which are redrawn for each repetition; the
  first call of each is left out; medians. The last line is the fastest peer over ours.
- Errors: the l2 distance of each float32 gradient to the float64 gradient of setwise on the same float32 inputs,
  relative to the norm of the latter, and the distance of the value.
- Memory: the peak resident memory of a process of its own during two calls (``VmHWM`` of Linux), less what it held
  before them, after a call at a small size.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss
from timing import table
from torch_peers import Run, hinges, softmaxes

OURS = "setwise"
Draw = Callable[[torch.Generator], tuple[Tensor, Tensor]]


def hinge_case(size: int, satisfied: bool) -> Draw:
    """Draws logits (1, 1, 100, size / 100) and labels."""

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        target = (torch.rand(1, 100, size // 100, generator=generator) < 0.3).long()
        shape = (1, 1, 100, size // 100)
        if not satisfied:
            return torch.randn(shape, generator=generator), target
        margin = torch.rand(shape, generator=generator)
        margin += torch.rand(shape, generator=generator) < 0.95
        return margin * (2 * target[:, None] - 1), target

    return draw


def softmax_case(margin: tuple[float, float] | None, classes: int = 19, height: int = 512, width: int = 1024) -> Draw:
    """Draws logits (1, classes, height, width) and labels; the margin is the least and the largest of a class."""

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        logits = torch.randn(1, classes, height, width, generator=generator)
        if margin is None:
            return logits, torch.randint(0, classes, (1, height, width), generator=generator)
        blocks = torch.randint(0, classes, (1, height // 32, width // 32), generator=generator)
        target = blocks.repeat_interleave(32, 1).repeat_interleave(32, 2)
        others = torch.randint(0, classes, target.shape, generator=generator)
        seen = torch.where(torch.rand(target.shape, generator=generator) < 0.08, others, target)
        least, largest = margin
        confidence = least + (largest - least) * torch.rand(target.shape, generator=generator)
        return logits.scatter_add_(1, seen[:, None], confidence[:, None]), target

    return draw


def cases(sizes: list[int], classes: int) -> dict[str, tuple[Draw, str, int]]:
    """The draw, the kind of loss and the number of pixels of each case."""
    found: dict[str, tuple[Draw, str, int]] = {}
    for size in sizes:
        for name, satisfied in (("normal", False), ("95 % satisfied", True)):
            found[f"hinge, {size:,}, {name}"] = hinge_case(size, satisfied), "hinge", size
    if classes:
        for name, margin in (("normal", None), ("trained", (2.4, 12.0)), ("too sure", (20.0, 20.0))):
            pixels = classes * 512 * 1024
            found[f"softmax, {classes} x 512 x 1024, {name}"] = softmax_case(margin, classes), "softmax", pixels
    return found


def losses(kind: str, berman: Path | None) -> dict[str, Run]:
    """Ours and those of the peers."""
    ours = LovaszHingeLoss() if kind == "hinge" else LovaszSoftmaxLoss()
    return {OURS: ours} | (hinges(berman) if kind == "hinge" else softmaxes(berman))


def solve(run: Run, logits: Tensor, target: Tensor) -> tuple[float, Tensor, float]:
    """The value, the gradient and the seconds of one call."""
    leaf = logits.clone().requires_grad_()
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    begin = clock()
    value = run(leaf, target)
    value.backward()
    seconds = clock() - begin
    assert leaf.grad is not None
    return value.item(), leaf.grad, seconds


def measured(draw: Draw, runs: dict[str, Run], rounds: int) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Median seconds of each loss, and the errors of its value and gradient on the last inputs."""
    generator = torch.Generator().manual_seed(0)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    errors: dict[str, list[float]] = {}
    for k in range(rounds + 1):
        logits, target = draw(generator)
        right, exact = 0.0, torch.empty(0)
        if k == rounds:
            right, exact, _ = solve(runs[OURS], logits.double(), target)
        for name, run in runs.items():
            value, gradient, taken = solve(run, logits, target)
            if k:
                seconds[name].append(taken)
            if k == rounds:
                distance = (gradient.double() - exact).norm() / exact.norm()
                errors[name] = [abs(value - right) / max(right, 1e-300), distance.item()]
    return {name: statistics.median(each) for name, each in seconds.items()}, errors


def peak(case: str, name: str, options: argparse.Namespace) -> float:
    """The growth of the peak memory of one loss, in bytes, in a process of its own."""
    command = [sys.executable, __file__, "--memory-of", case, name]
    if options.berman:
        command += ["--berman", str(options.berman)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def print_peak(case: str, name: str, berman: Path | None) -> None:
    """Print how far two calls push the peak resident memory of this process."""
    size = int(case.split(", ")[1].replace(",", "")) if case.startswith("hinge") else 0
    draw, kind, _ = cases([size], 0)[case] if size else cases([], int(case.split()[1]))[case]
    run = losses(kind, berman)[name]
    small = hinge_case(10_000, False) if kind == "hinge" else softmax_case(None, 3, 32, 32)
    generator = torch.Generator().manual_seed(0)
    solve(run, *small(generator))
    logits, target = draw(generator)
    # This sets the peak back to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    for _ in range(2):
        solve(run, logits, target)
    print(resident("VmHWM") - before)


def resident(field: str) -> int:
    """A size of this process in bytes, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def main() -> None:
    """Run the cases and print two tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--berman", type=Path, help="the file lovasz_losses.py of Berman's repository")
    parser.add_argument("--sizes", type=float, nargs="*", default=[1e4, 1e5, 1e6, 1e7], help="pixels of the hinge")
    parser.add_argument("--classes", type=int, default=19, help="classes of Lovász-softmax; 0 leaves it out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--memory-of", nargs=2, metavar=("CASE", "LOSS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory_of:
        print_peak(*options.memory_of, options.berman)
        return
    print(f"PyTorch {torch.__version__}, {options.threads} thread(s)")
    for case, (draw, kind, pixels) in cases([int(size) for size in options.sizes], options.classes).items():
        runs = losses(kind, options.berman)
        seconds, errors = measured(draw, runs, min(max(20_000_000 // pixels, 5), 200))
        rows = [(case, "ms", "/ setwise", "value off by", "gradient off by", "peak, MB")]
        for name in runs:
            memory = float("nan") if options.no_memory or pixels < 1_000_000 else peak(case, name, options)
            off = [f"{each:.1e}" for each in errors[name]]
            ratio = f"{seconds[name] / seconds[OURS]:.2f}"
            rows.append((name, f"{1e3 * seconds[name]:.2f}", ratio, *off, f"{memory / 1e6:.0f}"))
        table(rows)
        if len(runs) > 1:
            fastest = min(seconds[name] for name in runs if name != OURS)
            print(f"the fastest peer over ours: {fastest / seconds[OURS]:.2f}")
        print(flush=True)


if __name__ == "__main__":
    main()
