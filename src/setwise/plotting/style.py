"""The style of all pictures, with colors that color-blind readers can tell apart (Okabe and Ito 2008)."""

from matplotlib.axes import Axes

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
PURPLE = "#5D3A9B"
CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
GRAY = "#5a5a5a"
DPI = 150


def tidy(axes: Axes, xlabel: str, ylabel: str, title: str = "") -> None:
    """Set the labels and a left-aligned title, draw a light grid below the data, and remove the box."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if title:
        axes.set_title(title, loc="left", fontsize=11)
    axes.grid(True, color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
