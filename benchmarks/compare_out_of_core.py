"""``setwise compare FILE.parquet --memory``: its time, and its largest memory beyond Python and its libraries.

``python benchmarks/compare_out_of_core.py [rows [memory [folder [words of the command]]]]``

The file is that of ``out_of_core.py``: 20 float32 features and a label, in row groups of 100,000 rows. A small file is
compared first, so that everything is imported and compiled. "peak" is the growth of the resident memory of the process
from there, as Linux tells it. Beside it stands what the table takes as float64 twice, which is the least that
reading all of it takes. What the command prints is printed.
"""

import sys
import tempfile
import time
from pathlib import Path

from out_of_core import D, PeakMemory, write
from setwise.cli import main as setwise
from timing import table


def compare(path: Path, memory: str, words: list[str], out: Path) -> None:
    """Run the command on a file."""
    code = setwise(["compare", str(path), "--target", "y", "--memory", memory, "--out", str(out), *words])
    assert code == 0


def main(n: int, memory: str, folder: str | None, words: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path, small = Path(made, "rows.parquet"), Path(made, "small.parquet")
        write(path, n, 1)
        write(small, 2000, 2)
        compare(small, "50MB", [*words, "--folds", "3"], Path(made, "warm"))
        begin = time.perf_counter()
        with PeakMemory() as peak:
            compare(path, memory, words, Path(made, "report"))
        seconds = time.perf_counter() - begin
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        whole = f"{16 * n * D / 1e6:.0f} MB"
        table([("rows", "file", "--memory", "seconds", "peak", "float64, twice"),
               (f"{n:,}", size, memory, f"{seconds:.0f}", peak.text, whole)])  # fmt: skip


if __name__ == "__main__":
    given = sys.argv[1:]
    rows, memory = int(float(given[0])) if given else 3_000_000, given[1] if len(given) > 1 else "250MB"
    main(rows, memory, given[2] if len(given) > 2 and given[2] != "-" else None, given[3:])
