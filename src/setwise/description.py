"""A description in words of a loss for one ground truth: its traits, and the surrogates that fit it."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import Values, as_random_state
from setwise.core.enumerate import LIMIT, search_shapes, table, traits
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import TRAITS
from setwise.core.terms import SHAPES, Trait
from setwise.inference import Auto
from setwise.losses import CountFunctionLoss, SetFunctionLoss, as_loss
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling

KINDS = LovaszHinge, MarginRescaling, SlackRescaling, Ramp

BUDGET = 1 << 16
"""A random search evaluates sets with about this number of decisions together."""


def describe(loss: Loss | str, y_true: ArrayLike, *, random_state: int | np.random.Generator | None = 0) -> str:
    """A text that says which traits the loss has here, and which surrogates are convex, tight and tractable for it.

    For at most 16 decisions the traits are read off all ``2^p`` sets of mistakes, and the answer is certain. For more
    decisions a random search looks for violations. A "no" is then certain, and the text says how far all else is known.

    - The Lovász hinge is convex and tight exactly for submodular losses (LH Prop. 4 to 6), and costs O(p log p).
    - Margin rescaling is convex. It is tight for increasing losses at scales up to 1 / (largest gain) (LH Prop. 2).
    - Slack rescaling is convex. It is tight exactly for increasing losses (LH Prop. 1).
    - The ramp is not convex. It lies between the loss and margin rescaling, and equals this at all vertices.

    The surrogates themselves are asked whether they refuse the loss, and :class:`Auto` how the maximum is found.

    Parameters
    ----------
    loss : any loss of labels or scores, or the name of one
    y_true : (p,) in 0/1
    random_state : the seed of the random search, an int, a numpy Generator or None

    Returns
    -------
    text : one line for the loss, for each trait, and for each surrogate

    Raises
    ------
    Refusal : a ValueError for losses of more than two labels
    ValueError : for labels that are not 0 and 1, and names of no loss
    TypeError : for a loss or a seed of another kind

    Examples
    --------
    >>> from setwise import describe
    >>> text = describe("jaccard", [1, 0, 1])
    >>> print(text[text.index("Traits") : text.index("The loss")])
    Traits, by enumeration of all 2^3 sets of mistakes:
      increasing    yes
      submodular    yes
      supermodular  no
      modular       no
    """
    loss, truth = as_loss(loss), Sets.single(y_true)
    as_random_state(random_state)
    if loss.reads == "classes":
        raise Refusal(
            f"describe refuses {loss!r}: it is for losses of labels 0 and 1. Describe the inner loss.", TRAITS
        )
    size = f"{truth.total:,} decision{'s' * (truth.total != 1)}"
    lines = [f"{loss!r} for a ground truth of {size}, {int(truth.positives[0]):,} of them positive."]
    if loss.reads == "scores":
        lines.append("It reads the order of scores, not a set of mistakes, and has no traits.")
        return "\n".join([*lines, "Surrogates:", *map(str, order_verdicts(loss, truth))])
    # An order of scores is no set of mistakes, so the traits below are for losses of labels.
    found = examine(loss, truth, random_state)
    lines.append(found.how)
    lines += [f"  {shape.name.lower():<13} {found.words(shape)}" for shape in SHAPES]
    lines += [f"The loss promises: {trait.value}." for trait in Trait if trait in loss.traits and trait not in SHAPES]
    if found.broken:
        words = " and ".join(shape.name.lower() for shape in found.broken)
        lines.append(f"Broken promise: the loss says that it is {words}; here it is not.")
    # A user who writes a loss can add the promises that the examination suggests.
    unsaid = [s.name for s in SHAPES if found.holds(s) is not False and s not in loss.traits and s not in loss.denied]
    if unsaid and isinstance(loss, CountFunctionLoss | SetFunctionLoss):
        promises = ", ".join(f"Trait.{name}" for name in unsaid)
        lines.append(f"If that holds for every ground truth, say so: promises=[{promises}].")
    return "\n".join([*lines, "Surrogates:", *map(str, verdicts(loss, truth, found))])


@final
@dataclass(frozen=True)
class Examination:
    """The result of an examination of a loss for one ground truth.

    Attributes
    ----------
    unviolated : the traits of the shape without a violation
    promised : the traits that the loss promises
    certain : whether all sets of mistakes were examined
    steepest : the largest gain of one mistake that was found
    how : a line of text about the kind of the examination
    seen : the traits that whole tables of counts show, which are certain in any case
    """

    unviolated: frozenset[Trait]
    promised: frozenset[Trait]
    certain: bool
    steepest: float
    how: str
    seen: frozenset[Trait] = frozenset()

    def holds(self, trait: Trait) -> bool | None:
        """Whether the trait holds; None if this is unknown, with no violation found and nothing promised."""
        # One violation disproves a trait, whatever is promised.
        if trait not in self.unviolated:
            return False
        return True if self.certain or trait in self.promised | self.seen else None

    def words(self, trait: Trait) -> str:
        """The answer of :meth:`holds`, in words."""
        answer = self.holds(trait)
        if answer is None:
            return "no violation found, not promised"
        if answer:
            return "yes" if self.certain or trait in self.seen else "promised, no violation found"
        return "no"

    @property
    def broken(self) -> list[Trait]:
        """The promises that do not hold."""
        return [shape for shape in SHAPES if shape in self.promised and self.holds(shape) is False]

    @property
    def steepest_known(self) -> bool:
        """Whether ``steepest`` is the largest gain of all; that of a submodular loss is one of its first gains."""
        return self.certain or self.holds(Trait.SUBMODULAR) is True


@final
@dataclass(frozen=True)
class Verdict:
    """The properties of one surrogate of a loss at scale 1; None if unknown, and all False if the loss is refused."""

    surrogate: str
    tractable: bool
    tight: bool | None
    convex: bool
    words: str

    def __str__(self) -> str:
        return f"  {self.surrogate:<7} {self.words}"


def examine(loss: Loss, truth: Sets, random_state: int | np.random.Generator | None = 0) -> Examination:
    """The traits for one ground truth: by enumeration for p <= 16, O(2^p p^2), otherwise by a random search."""
    p, plain = truth.total, loss
    if isinstance(loss, CountFunctionLoss | SetFunctionLoss):
        # A broken promise of the user would be refused before the loss can be described.
        plain = replace(loss, promises=())
    if p <= LIMIT:
        how = f"Traits, by enumeration of all 2^{p} sets of mistakes:"
        return Examination(traits(plain, truth.truth), loss.traits, True, _steepest(table(plain, truth.truth), p), how)
    # Fewer pairs of sets are drawn where each of them holds many decisions.
    rows = int(np.clip(BUDGET // p, 8, 256))
    sample = search_shapes(
        plain.bind(Sets.rows(np.broadcast_to(truth.truth, (rows, p)))), np.random.default_rng(random_state)
    )
    how = f"Traits, by random search for violations among {rows} pairs of nested sets of mistakes (a no is certain):"
    # A function of counts shows more: its tables can be read whole if they are small, and at a corner if not.
    tables, whole = frozenset(SHAPES), False
    if isinstance(plain, CountFunctionLoss):
        tables, whole = plain.shapes(truth.count(1), truth.count(0))
        if whole:
            how = "Traits, by the table of all numbers of false negatives and false positives:"
    seen = tables if whole else frozenset()
    return Examination(sample.unviolated & tables, loss.traits, False, sample.steepest, how, seen)


def verdicts(loss: Loss, truth: Sets, found: Examination) -> tuple[Verdict, ...]:
    """The verdicts on the Lovász hinge, on margin rescaling, on slack rescaling and on the ramp."""
    # No surrogate of a loss is certain of anything once one of its promises is false.
    if found.broken:
        return tuple(Verdict(kind.name, False, False, False, "refused: a promise is broken.") for kind in KINDS)
    margin, between = _margin(loss, truth, found), "not convex; between the loss and margin rescaling"
    ramp = _maximized("ramp", loss, truth, margin.tight, between, False)
    return _lovasz(loss, truth), margin, _slack(loss, truth, found), ramp


def order_verdicts(loss: Loss, truth: Sets) -> tuple[Verdict, ...]:
    """The same verdicts for a loss that evaluates an order of scores, for which tightness is not defined."""
    answers = []
    for kind in KINDS:
        try:
            kind(loss).on(truth)
            how = "not convex" if kind is Ramp else "convex"
            answers.append(_maximized(kind.name, loss, truth, None, how, kind is SlackRescaling))
        except Refusal as refusal:
            answers.append(_refused(kind.name, refusal))
    return tuple(answers)


def _lovasz(loss: Loss, truth: Sets) -> Verdict:
    # What the hinge accepts is submodular, and for such a loss it is tight.
    try:
        LovaszHinge(loss).on(truth)
    except Refusal as refusal:
        return _refused("lovasz", refusal)
    return Verdict("lovasz", True, True, True, "convex; tight; tractable: a sort and one pass, O(p log p).")


def _margin(loss: Loss, truth: Sets, found: Examination) -> Verdict:
    increasing = found.holds(Trait.INCREASING)
    # No scale is too large for a loss that never grows.
    scale = np.inf if found.steepest <= 0 else 1.0 / found.steepest
    tight: bool | None = increasing
    if increasing is False:
        how = "not tight, because the loss is not increasing"
    elif scale < 1 - 1e-12:
        # A gain that was found bounds the scale even where a larger gain may exist.
        most = "" if found.steepest_known else "at most "
        tight, how = False, f"tight only in scales up to {most}{scale:.3g} (LH Prop. 2)"
    elif not found.steepest_known or increasing is None:
        tight, how = None, f"tight in scale 1 as far as we know (scales up to {scale:.3g} at most)"
    else:
        how = "tight in any scale" if np.isinf(scale) else f"tight in scales up to {scale:.3g}"
    return _maximized("margin", loss, truth, tight, f"convex; {how}", False)


def _slack(loss: Loss, truth: Sets, found: Examination) -> Verdict:
    tight = found.holds(Trait.INCREASING)
    how = {True: "tight", False: "not tight, because the loss is not increasing", None: "tight as far as we know"}[
        tight
    ]
    return _maximized("slack", loss, truth, tight, f"convex; {how}", True)


def _maximized(name: str, loss: Loss, truth: Sets, tight: bool | None, how: str, slack: bool) -> Verdict:
    """The verdict on a rescaling, from the method that :class:`Auto` chooses for the maximum of loss and score."""
    method = Auto().choice(loss.bind(truth), slack)
    convex = name != Ramp.name
    if method is None:
        return Verdict(name, False, False, False, "refused: no method of inference handles its labelings.")
    search = f"{type(method).__name__}, {method.about}"
    if method.approximate:
        return Verdict(name, False, tight, convex, f"{how}; not tractable: {search}, with a bound on what it may miss.")
    return Verdict(name, True, tight, convex, f"{how}; tractable: {search}.")


def _refused(name: str, refusal: Refusal) -> Verdict:
    # The reason stands between the two parties and the way out: "A refuses B: reason. Use C."
    reason = refusal.sentence.split(": ", 1)[-1].split(". ")[0].rstrip(".")
    return Verdict(name, False, False, False, f"refused: {reason}.")


def _steepest(values: Values, p: int) -> float:
    """The largest gain of one mistake, from the values (2^p,) of all sets of mistakes."""
    # Bit i of a row says whether decision i is wrong, so the two rows differ in that mistake alone.
    rows = np.arange(len(values))
    return max(float(np.max(values[rows | 1 << i] - values[rows & ~(1 << i)])) for i in range(p))
