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
        """The sentence that closes a message, with the heading and the page; it begins with a space."""
        return f' See "{self.title}" in {self.name}.'

    @property
    def name(self) -> str:
        """The page below ``docs`` in a clone, and on the site, without its ending."""
        return self.path.partition("#")[0]

    @property
    def address(self) -> str | None:
        """Where the page is on the site; None where the metadata do not tell the address of the site."""
        site = documentation()
        _, mark, anchor = self.path.partition("#")
        return None if site is None else f"{site}{self.name}.html{mark}{anchor}"


AFTER_A_FIT = Page("What is known after a fit", "guide/estimator#what-is-known-after-a-fit")
ARGUMENTS = Page("Arguments of modules", "guide/torch#arguments-of-modules")
BAGGED = Page("Bagged", "guide/thresholds#bagged")
BAGS = Page("Rows in bags", "guide/bags")
BAGS_AS_A_WHOLE = Page("Bags that are judged as a whole", "guide/bags#bags-that-are-judged-as-a-whole")
BAG_LIMITS = Page("What bags cannot say", "guide/bags#what-bags-cannot-say")
BOOSTING = Page("Boosting", "guide/boosting")
CERTIFIED_GAP = Page("The certified gap", "guide/learners#the-certified-gap")
CLASS_LOSSES = Page("Losses of several classes", "guide/losses#losses-of-several-classes")
CLASS_WEIGHTS = Page(
    "Class weights, and what is known about them", "guide/measure#class-weights-and-what-is-known-about-them"
)
CLUSTER = Page("From a laptop to a cluster", "guide/cluster")
DECISIONS = Page("Decisions from probabilities", "guide/decisions")
MAP_RULES = Page("A rule from held-out maps", "guide/decisions#a-rule-from-held-out-maps")
DECISIONS_REFUSE = Page("Unsupported losses", "guide/decisions#unsupported-losses")
DENOISER = Page("Images with flipped pixels", "guide/probabilities#images-with-flipped-pixels")
DISTRIBUTIONS = Page("Your own distribution", "guide/probabilities#your-own-distribution")
EMPTY_MODELS = Page("Empty models", "guide/learners#empty-models")
EXACT_OR_BOUNDED = Page("Exact or bounded", "guide/surrogates#exact-or-bounded")
EXACT_SEARCHES = Page("What is exact", "guide/label_spaces#what-is-exact")
EXACT_THRESHOLD = Page("The exact threshold", "guide/estimator#the-exact-threshold")
FIGURE_TO_WATCH = Page("The metric to watch", "guide/torch#the-metric-to-watch")
FILES = Page("Files on a disk", "guide/cluster#files-on-a-disk")
FLOORS = Page("Details of floors", "guide/thresholds#details-of-floors")
FORCED_LABELS = Page("Many sets, second best, forced labels", "guide/inference#many-sets-second-best-forced-labels")
FROM_LOGITS = Page("From the logits of a network", "guide/decisions#from-the-logits-of-a-network")
FROM_PYTHON = Page("From Python", "guide/compare#from-python")
FUNCTION_OF_LABELS = Page("A function of the labels", "guide/own_loss#a-function-of-the-labels")
FUNCTION_OF_MISTAKES = Page("A function of the mistakes", "guide/own_loss#a-function-of-the-mistakes")
GRAPH_CLASSIFIER = Page("GraphClassifier", "guide/networks#graphclassifier")
GRIDS = Page("Networks of pixels in PyTorch", "guide/torch_grids")
GROUPS = Page("Groups and metadata routing", "guide/estimator#groups-and-metadata-routing")
HINGE = Page("Where the hinge says nothing", "guide/multilabel#where-the-hinge-says-nothing")
HINGE_OF_LABELS = Page("The hinge of single labels", "guide/surrogates#the-hinge-of-single-labels")
HOW_IT_CHOOSES = Page(
    "How it chooses, and how the gain is measured", "guide/compare#how-it-chooses-and-how-the-gain-is-measured"
)
HOW_SURE = Page("How sure", "guide/thresholds#how-sure")
HOW_THE_CHOICE_IS_MADE = Page("How the choice is made", "guide/measure#how-the-choice-is-made")
INFERENCE = Page("The choice of a method", "guide/inference#the-choice-of-a-method")
KERNELS = Page("Kernels", "guide/multilabel#kernels")
LABELS_TOGETHER = Page("Labels that depend on each other", "guide/decisions#labels-that-depend-on-each-other")
LABEL_COSTS = Page("Losses with a cost for each label", "guide/losses#losses-with-a-cost-for-each-label")
LABEL_SETS = Page("Hierarchies and sets of labels", "guide/multilabel")
LABEL_SPACES = Page("Large spaces of labels", "guide/label_spaces")
LEGAL_SETS = Page("Legal sets", "guide/multilabel#legal-sets")
LABEL_THRESHOLDS = Page("Label matrices", "guide/thresholds#label-matrices")
LARGE_FILES = Page("Files larger than the memory", "guide/compare#files-larger-than-the-memory")
LEARNERS = Page("Learners", "guide/learners")
STRATEGIES = Page("What was tried", "guide/measure#what-was-tried")
LIKELIHOOD = Page("The likelihood as a surrogate", "guide/probabilities#the-likelihood-as-a-surrogate")
LOSSES = Page("Losses", "guide/losses")
MEANING_OF_C = Page("The meaning of C", "guide/estimator#the-meaning-of-c")
MEASURE_COST = Page("Weights, probabilities, cost", "guide/measure#weights-probabilities-cost")
MODES = Page("Modes and shapes", "guide/torch#modes-and-shapes")
MORE_CLASSES = Page("More than two classes", "guide/estimator#more-than-two-classes")
NAMES_AND_OBJECTS = Page("Names and objects", "guide/estimator#names-and-objects")
NETWORKS_REFUSE = Page("What networks do not support", "guide/networks#what-networks-do-not-support")
NEW_ROWS = Page("What is promised for new rows", "guide/multilabel#what-is-promised-for-new-rows")
NOT_CONVEX = Page("A risk that is not convex", "guide/learners#a-risk-that-is-not-convex")
NOT_INCREASING = Page("Losses that do not increase", "guide/surrogates#losses-that-do-not-increase")
ONE_SET = Page("Questions about one set", "guide/inference#questions-about-one-set")
OPTIONS = Page("Other options", "guide/compare#other-options")
OWN_MODEL = Page("A model of your own", "guide/saved_models#a-model-of-your-own")
PLACES_REFUSE = Page("Limits of rows in several places", "guide/cluster#limits-of-rows-in-several-places")
PROMISES = Page("Promises", "guide/own_loss#promises")
QUANTIFICATION = Page("Quantification", "guide/quantification")
RARE_LABELS = Page("Rare labels", "guide/rare_labels")
QUOTIENTS = Page(
    "Quotients and other functions of the counts", "guide/losses#quotients-and-other-functions-of-the-counts"
)
RAMP = Page("The ramp from a logistic start", "guide/estimator#the-ramp-from-a-logistic-start")
RANKINGS = Page("Losses of a ranking", "guide/losses#losses-of-a-ranking")
ROW_COSTS = Page("Costs of each row", "guide/costs#costs-of-each-row")
SETS = Page("What is a set", "guide/estimator#what-is-a-set")
STOP_AND_GO_ON = Page("Stop and go on", "guide/learners#stop-and-go-on")
SUMS = Page("Sums and multiples", "guide/losses#sums-and-multiples")
THRESHOLDS_REFUSE = Page("Unsupported losses", "guide/thresholds#unsupported-losses")
TRAITS = Page("Traits", "guide/losses#traits")
TUNE = Page("Another threshold for a saved model", "guide/saved_models#another-threshold-for-a-saved-model")
WEAK_LABELS = Page("Weak labels", "guide/weak_labels")
WEAK_LOSSES = Page("Losses of weak labels", "guide/losses#losses-of-weak-labels")
WEIGHTS = Page("Weights of sets and of classes", "guide/estimator#weights-of-sets-and-of-classes")
WHAT_IS_TRIED = Page("What is tried", "guide/compare#what-is-tried")
WHAT_IT_PRINTS = Page("What it prints", "guide/compare#what-it-prints")
WHICH_SURROGATE = Page("Which loss with which surrogate", "guide/surrogates#which-loss-with-which-surrogate")
WINDOW_COSTS = Page("What a wrong window costs", "guide/windows#what-a-wrong-window-costs")
