"""Whether a tag is that of the version and of a dated section of the changelog: ``tagged.py TAG``."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def complaint(tag: str, root: Path = ROOT) -> str | None:
    """What is wrong with the tag, or None."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    source = (root / project["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', source, flags=re.MULTILINE)
    if tag != f"v{version}":
        return f"the tag is {tag}, and __version__ says {version}: it must be v{version}"
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## \[?{re.escape(version)}\]?[ ,(-].*\d{{4}}-\d\d-\d\d$", changes, flags=re.MULTILINE):
        return f"CHANGELOG.md has no section of {version} with a date"
    return None


if __name__ == "__main__":
    sys.exit(complaint(*sys.argv[1:]))
