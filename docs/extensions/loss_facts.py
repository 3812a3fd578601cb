"""Facts for the page of a loss, asked of the loss itself: Monge, surrogates of classes, costs, absent classes."""

import inspect
import re
from typing import Any

import numpy as np

from setwise.core.batch import Batch, Classes, Sets
from setwise.core.bound_loss import BoundLoss, OneLabel
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait
from setwise.description import KINDS
from setwise.inference import Auto, ByClass, CountSearch
from setwise.inference.counts import SCANNED_TABLE
from setwise.losses import Loss
from setwise.surrogates import SlackRescaling

CLASSES = np.array([0, 1, 2, 0, 1, 2])
"""The labels of the set of three classes for which surrogates are bound."""

SIDE = 8
"""Tables of counts are read for up to so many positives and negatives."""


def monge(loss: Loss, positives: int, negatives: int) -> tuple[str, str]:
    """Whether the loss is Monge for one target, and whether for every target: its word, or what its tables show."""
    if not loss.traits & {Trait.COUNTS, Trait.CARDINALITY}:
        return "not a loss of counts", "not a loss of counts"
    here = "yes" if is_monge(loss, positives, negatives) else "no"
    if Trait.MODULAR in loss.traits:
        return here, "yes, for it is modular"
    promise = loss.monge if isinstance(loss, CountLoss) else None
    if promise is not None:
        return here, "yes" if promise else "no"
    sizes = [(positives, negatives)]
    # A loss whose parameters fit one size alone has no formula for all sets.
    if isinstance(loss, CountLoss) and fits_all(loss):
        sizes += [(p, n) for p in range(1, SIDE + 1) for n in range(1, SIDE + 1)]
    broken = [size for size in sizes if not is_monge(loss, *size)]
    if broken:
        p, n = min(broken, key=sum)
        return here, f"no: not for {p} positive{'s' * (p > 1)} and {n} negative{'s' * (n > 1)}"
    return here, f"not promised; true up to {SIDE} positives and {SIDE} negatives" if len(sizes) > 1 else "not promised"


def fits_all(loss: CountLoss) -> bool:
    """Whether the loss of counts takes sets of every size."""
    try:
        return loss.formula is not None and all(np.isfinite(_table(loss, n, n)).all() for n in (1, SIDE))
    except (ValueError, IndexError):
        return False


def is_monge(loss: Loss, positives: int, negatives: int) -> bool:
    """Whether no mixed difference of the table of counts is above 0, up to rounding."""
    values = _table(loss, positives, negatives)
    mixed = np.diff(np.diff(values, axis=0), axis=1)
    return bool((mixed <= 8 * np.finfo(float).eps * np.abs(values).max()).all())


def _table(loss: Loss, positives: int, negatives: int) -> np.ndarray:
    fn, fp = np.meshgrid(np.arange(positives + 1.0), np.arange(negatives + 1.0), indexing="ij")
    if isinstance(loss, CountLoss):
        return loss.of_counts(fn, fp, np.full_like(fn, positives), np.full_like(fn, negatives))
    place = np.arange(positives + negatives)
    truth = place < positives
    wrong = np.where(truth, place < fn[..., None], place - positives < fp[..., None])
    batch = Sets.rows(np.broadcast_to(truth, (fn.size, len(place))))
    return loss.values(batch, (truth ^ wrong).ravel()).reshape(fn.shape)


def three_classes(loss: Loss) -> Batch:
    """A set of six decisions with three classes, each of them twice."""
    return Classes.single(CLASSES, 3)


def class_rows(loss: Loss) -> list[tuple[str, str]]:
    """What holds for each surrogate of a loss of classes, by binding it to three classes: (name, words)."""
    batch, rows = three_classes(loss), []
    for kind in KINDS:
        try:
            kind(loss).on(batch)
        except Refusal as refusal:
            rows.append((kind.__name__, f"refused: {first_clause(refusal)}."))
            continue
        method = Auto().choice(loss.bind(batch), kind is SlackRescaling)
        assert method is not None
        shape = "not convex" if kind.name == "ramp" else "convex"
        exact = "exact" if is_exact(method, loss.bind(batch)) else "with a bound on what it may miss"
        rows.append((kind.__name__, f"{shape}; {type(method).__name__}, {method.about}, {exact}."))
    return rows


def binary_problems(method: Inference, bound_loss: BoundLoss) -> list[BoundLoss]:
    """The losses of single classes into which ByClass splits a loss; none for other methods."""
    terms = bound_loss.terms if isinstance(method, ByClass) else ()
    return [term.bound_loss for term in terms if isinstance(term, OneLabel)]


def is_exact(method: Inference, bound_loss: BoundLoss) -> bool:
    """Whether the method finds the maximum; one class against the rest is solved as exactly as its binary problem."""
    inner = binary_problems(method, bound_loss)
    solver = Auto().choice(inner[0]) if len(inner) == 1 else method
    return solver is not None and not solver.approximate


def first_clause(refusal: Refusal) -> str:
    """The reason of a refusal, without the two parties and without the way out."""
    return refusal.sentence.split(". ")[0].split(": ", 1)[-1].rstrip(".")


def costs(bound_loss: BoundLoss, slack: bool) -> str:
    """The method that maximizes the loss under one rescaling, whether it is exact, and what it says that it costs."""
    try:
        method = Auto().choice(bound_loss, slack)
    except Refusal:
        method = None
    if method is None:
        return "refused"
    name, exact = type(method).__name__, "exact" if is_exact(method, bound_loss) else "each answer has a bound"
    words, inner = f":doc:`{name} </api/setwise.inference.{name}>` ({exact}): ", binary_problems(method, bound_loss)
    if len(inner) == 1:
        return f"{words}one binary problem, by {costs(inner[0], slack)}"
    words += cost(method, bound_loss, slack)
    if inner:
        assert isinstance(method, ByClass)
        words += f"; up to {method.max_iter} steps of {len(inner)} binary problems, each by {costs(inner[0], slack)}"
    return words


def cost(method: Inference, bound_loss: BoundLoss, slack: bool) -> str:
    """The sentences on growth in the docstring of a method; for CountSearch the case that this loss falls into."""
    text = (inspect.getdoc(type(method)) or "").split("Parameters\n---")[0].split("Raises\n---")[0]
    if isinstance(method, CountSearch):
        cases = [" ".join(case.split()).rstrip(";.") for case in re.split(r"\n- ", text.split("Parameters")[0])[1:]]
        return f"{method.about}; {count_case(cases, bound_loss, slack)}"
    if "O(" in method.about:
        return method.about
    said = [sentence for sentence in re.split(r"(?<=[.]) (?=[A-Z*])", " ".join(text.split())) if "O(" in sentence]
    if not said and type(method).__name__ == "Enumeration":
        return f"{method.about}, 2^p for p decisions"
    return f"{method.about}. {' '.join(said).rstrip('.')}" if said else method.about


def count_case(cases: list[str], bound_loss: BoundLoss, slack: bool) -> str:
    """The case of the docstring of CountSearch that the bound loss falls into, in the order of its search."""
    counts = (bound_loss if slack else bound_loss.split()[1]).counts
    assert counts is not None
    if counts.predicted is not None:
        key = "given number"
    elif counts.quotient is not None and not slack:
        key = "quotients"
    elif counts.monge and not slack:
        key = "Monge"
    else:
        key = "bound and prune" if counts.bounded else "whole table"
    (case,) = [case for case in cases if key in case]
    limits = f"; up to {SCANNED_TABLE} cells are scanned, O(P N), more up to ``budget``, and beyond there is a bound"
    return case + limits if key == "bound and prune" else case


def absent_scores(value: Any, size: int) -> list[tuple[str, ...]]:
    """Rows of the value of a loss of scores for a target without positives and for one without negatives."""
    orders = np.arange(size, 0.0, -1.0), np.zeros(size)
    targets = ("no positives", np.zeros(size, int)), ("no negatives", np.ones(size, int))
    return [(words, *(value(target, order) for order in orders)) for words, target in targets]


def absent_classes(loss: Loss) -> list[tuple[str, ...]]:
    """Rows of the loss of three classes where one of them is absent: all right, one decision of it, all of it."""
    rows = []
    for absent in range(3):
        truth = np.array([label for label in range(3) if label != absent] * 3)
        batch = Classes.single(truth, 3)
        one = truth.copy()
        one[0] = absent
        guesses = truth, one, np.full(6, absent)
        rows.append((f"class {absent}", *(f"{loss.values(batch, guess)[0]:.3g}" for guess in guesses)))
    return rows
