"""Processor seconds that Numba takes to compile each kernel which a command calls, from an empty cache.

``python benchmarks/compile_times.py [--top N] FILE ARGS...``, or ``-m MODULE ARGS...`` in place of ``FILE``, as
``python benchmarks/compile_times.py -m pytest tests/kernels -q -n 0``. Processes that the command starts are not seen.

A row is a function, also one of Numba's own, with its seconds without those of the functions compiled inside it, and
the number of times it was compiled. Below stand the kernels that were compiled for several lists of types, with the
arguments whose types differ. ``Literal[int](0)`` is a plain 0 that another kernel hands over: ``np.int64(0)`` has the
type of other numbers.
"""

import argparse
import os
import runpy
import sys
import tempfile

# Before Numba is imported: what an earlier run has compiled would be read from its cache.
CACHE = tempfile.TemporaryDirectory()
os.environ["NUMBA_CACHE_DIR"] = CACHE.name

from numba.core import event  # noqa: E402

from compilations import Compilations  # noqa: E402
from timing import table  # noqa: E402


def report(found: Compilations, top: int) -> None:
    longest = sorted(found.seconds, key=lambda name: -found.seconds[name])
    rows = [("seconds", "times", "function")]
    rows += [(f"{found.seconds[name]:.2f}", str(len(found.types[name])), name) for name in longest[:top]]
    table(rows)
    several = [name for name in longest if len(set(found.types[name])) > 1]
    print(
        f"{sum(found.seconds.values()):.1f} seconds for {sum(map(len, found.types.values()))} compilations of "
        f"{len(longest)} functions, {len(several)} of them for several lists of types"
    )
    for name in several:
        if not name.startswith("numba."):
            print(f"\n{name}")
            for k, kinds in enumerate(zip(*found.types[name], strict=False)):
                if len(set(kinds)) > 1:
                    print(f"    argument {k}: {' or '.join(sorted(set(kinds)))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=40, help="rows printed")
    parser.add_argument("-m", action="store_true", help="the command is a module")
    parser.add_argument("command")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    sys.argv = [asked.command, *asked.args]
    # As Python itself would import.
    sys.path[0] = os.getcwd() if asked.m else os.path.dirname(os.path.abspath(asked.command))
    found = Compilations()
    event.register("numba:compile", found)
    try:
        if asked.m:
            runpy.run_module(asked.command, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(asked.command, run_name="__main__")
    finally:
        report(found, asked.top)


if __name__ == "__main__":
    main()
