"""The command line of a clone, from its root: ``python -m papers [NAME] [--data FOLDER]``."""

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import papers
from papers.experiment import Settings, data_folder, write_outcome
from setwise.cli import Parser, run_command, wrapped
from setwise.compare.progress import ProgressLine


def main(argv: Sequence[str] | None = None) -> int:
    """Print the names, or run one experiment; the exit code is 0, or 2 after a sentence, or 130 after Ctrl-C."""
    about = "A table or figure of a paper, published figures beside measured ones; without NAME, all names."
    parser = Parser(prog="python -m papers", description=about)
    parser.call = parser.prog
    parser.add_argument("name", nargs="?", metavar="NAME", help="which table or figure")
    parser.add_argument("--quick", action="store_true", help="a small version on data that are always at hand")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="folder of real data (default: the variable SETWISE_DATA)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    parser.add_argument(
        "--out", type=Path, default=Path("papers-out"), metavar="FOLDER",
        help="folder for NAME.json and figures (default: papers-out)",
    )  # fmt: skip
    parser.set_defaults(run=_run)
    return run_command(parser, argv)


def _run(options: argparse.Namespace) -> int:
    """Print the list of names, or run the one that was asked for and write its files."""
    if options.name is None:
        known = papers.experiments()
        width = max(len(one.name) for one in known)
        print("\n".join(f"{one.name.ljust(width)}  {one.about}" for one in known))
        return 0
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed must be in 0..{2**32 - 1}; got {options.seed}.")
    begin = time.perf_counter()
    experiment = papers.find(options.name)
    settings = Settings(options.quick, data_folder(options.data), options.seed, options.out)
    # A folder that cannot be written shows before the work, not after it.
    options.out.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(ProgressLine(experiment.steps(settings), experiment.name)) as line:
        outcome = experiment.run(settings, line.advance)
    files = write_outcome(options.out, experiment, settings, outcome)
    print(outcome.text(experiment))
    names = ", ".join(file.name for file in files)
    print("\n" + wrapped(f"Written to {options.out} in {time.perf_counter() - begin:.0f} s: {names}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
