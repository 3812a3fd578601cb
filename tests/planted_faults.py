"""Plant known faults in a copy of the package, one at a time, and ask whether the tests see each of them.

``python tests/planted_faults.py [NAME ...] [--markers EXPR] [--root CHECKOUT]`` prints for each fault the first test
that fails. The exit status is 1 if a fault is not caught, or breaks more than tests. The checkout is not changed. What
the tests say without a fault is not asked: run them first.

``planted_faults.txt`` lists them. A fault begins with its name, its file in ``src/setwise`` and the tests that should
catch it. ``-`` stands before the text that is there, once in the file, and ``+`` before the text that takes its place,
if any does. Where one cannot be planted any more, none is.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

LIMIT = 1800
"""A fault whose tests take so many seconds has made something endless."""

FAULTS = Path(__file__).with_suffix(".txt")
"""The list of faults."""


class Fault(NamedTuple):
    """A fault, its file in ``src/setwise``, and the tests that should catch it."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]


def read(text: str) -> list[Fault]:
    """The faults that are written in a text."""
    found = []
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        name, file, *tests = head.split()
        old, new = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")
        found.append(Fault(name, file, old, new, tests))
    return found


def stale(fault: Fault, root: Path) -> str:
    """Why a fault cannot be planted in a checkout, as a sentence; "" if it can."""
    path = root / "src" / "setwise" / fault.file
    times = path.read_text("utf-8").count(fault.old) if path.exists() else 0
    if times != 1:
        return f"{fault.name}: the text must stand once in {fault.file}; it is there {times} times."
    absent = [test for test in fault.tests if not (root / test).exists()]
    return f"{fault.name}: there is no {absent[0]}." if absent else ""


def copy_checkout(root: Path, copy: Path) -> None:
    """Copy the files that git knows, with their times, by which Numba and Python know what they have compiled."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)


def surroundings(copy: Path, cache: Path) -> dict[str, str]:
    """The environment of the tests of a copy."""
    path = os.pathsep.join(filter(None, (str(copy / "src"), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)}


def require_copy(copy: Path, env: dict[str, str]) -> None:
    """Raise RuntimeError where another package than the copy would be tested."""
    command = [sys.executable, "-c", "import setwise; print(setwise.__file__)"]
    found = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=True).stdout.strip()
    if Path(found).resolve() != (copy / "src" / "setwise" / "__init__.py").resolve():
        raise RuntimeError(f"the tests would import {found} in place of the copy.")


def verdict(fault: Fault, copy: Path, env: dict[str, str], markers: str) -> str:
    """The first test that fails with the fault in the copy, or what happened else in capitals."""
    path = copy / "src" / "setwise" / fault.file
    text, stamp = path.read_text("utf-8"), path.stat()
    options = ["-x", "-q", "-m", markers, "-p", "no:cacheprovider", "-n", "0"]
    path.write_text(text.replace(fault.old, fault.new), "utf-8")
    try:
        command = [sys.executable, "-m", "pytest", *options, *fault.tests]
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"BROKEN: no end after {LIMIT} s"
    finally:
        path.write_text(text, "utf-8")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    failed = re.search(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed:
        return failed[1]
    # Tests that cannot be collected, and fixtures that raise, say little of what the tests look at.
    last = (done.stdout + done.stderr).strip().split("\n")[-1]
    return "NOT CAUGHT" if done.returncode == 0 else f"BROKEN: pytest ended with {done.returncode}, {last}"


def main() -> int:
    """The script; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="the faults to plant; all where none is named")
    parser.add_argument("--markers", default="not slow", metavar="EXPR", help="which tests run, as for pytest -m")
    own = Path(__file__).parents[1]
    parser.add_argument("--root", type=Path, default=own, metavar="CHECKOUT", help="the checkout that is copied")
    given = parser.parse_args()
    faults, root = read(FAULTS.read_text("utf-8")), given.root.resolve()
    unknown = set(given.names) - {fault.name for fault in faults}
    if unknown:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    faults = [fault for fault in faults if not given.names or fault.name in given.names]
    wrong = [sentence for fault in faults if (sentence := stale(fault, root))]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 2
    missed = 0
    # Without links, so that all processes name the files of the copy alike.
    with tempfile.TemporaryDirectory(prefix="faults_") as folder:
        room = Path(folder).resolve()
        copy = room / "copy"
        copy_checkout(root, copy)
        require_copy(copy, surroundings(copy, room / "cache"))
        for number, fault in enumerate(faults):
            # Numba does not see that a kernel in another file, which it has compiled into this one, has changed.
            kernel = fault.file.startswith("kernels/")
            cache, start = room / (f"cache_{number}" if kernel else "cache"), time.perf_counter()
            found = verdict(fault, copy, surroundings(copy, cache), given.markers)
            missed += found.startswith(("NOT CAUGHT", "BROKEN"))
            seconds = time.perf_counter() - start
            print(f"{fault.name:36}{fault.file:38}{seconds:6.0f} s  {found}", flush=True)
            if kernel:
                shutil.rmtree(cache, ignore_errors=True)
    print(f"{len(faults) - missed} of {len(faults)} faults are caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
