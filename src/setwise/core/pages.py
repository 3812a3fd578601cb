"""The pages of the documentation that messages and reports refer to."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import final

PACKAGE, LABEL = "setwise", "Documentation"
"""The package, and the label of its project URL that is the address of the documentation."""


@cache
def documentation() -> str | None:
    """The address of the documentation in the metadata of the package; None where there is none."""
    try:
        urls = metadata(PACKAGE).get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    found = dict(url.split(", ", 1) for url in urls).get(LABEL)
    return None if found is None else found.rstrip("/") + "/"


@final
@dataclass(frozen=True)
class Page:
    """A page of the documentation, or a section of one.

    Parameters
    ----------
    title : its heading
    path : the file below ``docs`` without its ending, and behind ``#`` the anchor of a section
    """

    title: str
    path: str

    @property
    def see(self) -> str:
        """The sentence that closes a message; it begins with a space."""
        return f' See "{self.title}" in the guide.'

    @property
    def address(self) -> str | None:
        """Where the page is on the site; None where the metadata do not tell the address of the site."""
        site = documentation()
        name, mark, anchor = self.path.partition("#")
        return None if site is None else f"{site}{name}.html{mark}{anchor}"


# Of warnings.
BAG_LIMITS = Page("What bags cannot say", "guide/bags#what-bags-cannot-say")
BAGS = Page("Rows in bags", "guide/bags")
CERTIFIED_GAP = Page("The certified gap", "guide/learners#the-certified-gap")
CLUSTER = Page("From a laptop to a cluster", "guide/cluster")
EMPTY_MODELS = Page("Empty models", "guide/learners#empty-models")
EXACT_OR_BOUNDED = Page("Exact or bounded", "guide/surrogates#exact-or-bounded")
GRIDS = Page("Networks of pixels in PyTorch", "guide/torch_grids")
GROUPS = Page("Groups and metadata routing", "guide/estimator#groups-and-metadata-routing")
HINGE = Page("Where the hinge says nothing", "guide/multilabel#where-the-hinge-says-nothing")
INTERRUPTED = Page("What is known after a fit", "guide/estimator#what-is-known-after-a-fit")
LABEL_SPACES = Page("Large spaces of labels", "guide/label_spaces")
MEASURE_COST = Page("Weights, probabilities, cost", "guide/measure#weights-probabilities-cost")
STOP_AND_GO_ON = Page("Stop and go on", "guide/learners#stop-and-go-on")

# Of the report of ``setwise compare``.
BAGGED = Page("Bagged", "guide/thresholds#bagged")
CLASS_WEIGHTS = Page(
    "Class weights, and what is known about them", "guide/measure#class-weights-and-what-is-known-about-them"
)
DECISIONS = Page("Decisions from probabilities", "guide/decisions")
FLOORS = Page("Under a floor", "guide/thresholds#under-a-floor")
FROM_PYTHON = Page("From Python", "guide/compare#from-python")
HOW_IT_CHOOSES = Page(
    "How it chooses, and how the gain is measured", "guide/compare#how-it-chooses-and-how-the-gain-is-measured"
)
LABELS_TOGETHER = Page("Labels that depend on each other", "guide/decisions#labels-that-depend-on-each-other")
LABEL_THRESHOLDS = Page("Label matrices", "guide/thresholds#label-matrices")
LEVERS = Page("What was tried", "guide/measure#what-was-tried")
RAMP = Page("The ramp from a logistic start", "guide/estimator#the-ramp-from-a-logistic-start")
RANKINGS = Page("Losses of a ranking", "guide/losses#losses-of-a-ranking")
SETS = Page("What is a set", "guide/estimator#what-is-a-set")
WHAT_IS_TRIED = Page("What is tried", "guide/compare#what-is-tried")
WHAT_IT_PRINTS = Page("What it prints", "guide/compare#what-it-prints")
