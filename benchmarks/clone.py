"""Lets a benchmark import ``papers``, which lies in the root of the clone: it is imported before it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
