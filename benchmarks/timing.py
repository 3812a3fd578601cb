"""Fair timing: the candidates take turns, medians are compared, and only ratios are quoted."""

import statistics
import time
from collections.abc import Callable


def race(candidates: dict[str, Callable[[], object]], rounds: int = 9) -> dict[str, float]:
    """Median seconds of each candidate; all run once unmeasured first, then in turn."""
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in seconds.items()}


def table(rows: list[tuple[str, ...]]) -> None:
    """Print rows with aligned columns, the first one as head."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
