"""Draw the picture of the README and of the first page in both modes: ``python docs/images/draw.py [FOLDER]``."""

import runpy
import sys
from pathlib import Path

import matplotlib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "extensions"))

import figures  # noqa: E402  (an extension of the site)


def draw(folder: Path) -> tuple[Path, Path]:
    """Write the figure of the example of a tuned threshold, for light and for dark pages."""
    matplotlib.use("agg")
    figures.plain_style(None, None)
    example = runpy.run_path(str(HERE.parents[1] / "examples" / "plot_table_f1.py"))
    return figures.save_both(example["fig"], folder / "table_f1.png")


if __name__ == "__main__":
    for path in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(path)
