"""The bounds that pyproject.toml states: ``bounds.py python`` or ``bounds.py dependencies``."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]


def pythons() -> tuple[str, str]:
    """The lowest and the highest Python that are named."""
    named = [re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", line) for line in PROJECT["classifiers"]]
    lowest = PROJECT["requires-python"].removeprefix(">=")
    return lowest, f"3.{max(int(found[1]) for found in named if found)}"


def lowest_dependencies() -> list[str]:
    """Each dependency that users install, the extra for tables included, at its lowest version."""
    return [line.replace(">=", "==") for line in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["compare"]]


if __name__ == "__main__":
    print(*pythons()) if sys.argv[1:] == ["python"] else print(*lowest_dependencies(), sep="\n")
