"""What holds for a loss and one ground truth, in words: its traits, and which surrogates suit it."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Values
from setwise.core.checks import as_random_state
from setwise.core.enumerate import LIMIT, table, traits
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.shapes import search_shapes
from setwise.core.traits import SHAPES, Trait
from setwise.inference import Auto
from setwise.losses import CountFunctionLoss, SetFunctionLoss, as_loss
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

BUDGET = 1 << 16
"""A random search looks at about so many decisions."""


def describe(loss: Loss | str, y_true: ArrayLike, *, random_state: int | np.random.Generator | None = 0) -> str:
    """Which traits hold for this ground truth, and which surrogates are convex, tight and tractable for it, in words.

    Up to 16 decisions the traits come from all ``2^p`` sets of mistakes, and the answer is certain. Above, a random
    search looks for violations: a "no" is certain, and the text says of everything else how far it is known.

    - The Lovász hinge is convex and tight exactly for submodular losses (LH Prop. 4 to 6), and takes O(p log p).
    - Margin rescaling is convex, and tight for increasing losses in scales up to 1 / (largest gain) (LH Prop. 2).
    - Slack rescaling is convex, and tight exactly for increasing losses (LH Prop. 1).

    Which surrogate refuses the loss, and how its maximum is found, is what the surrogates and :class:`Auto` answer.

    Parameters
    ----------
    loss : any loss of labels or scores, or the name of one
    y_true : (p,) in 0/1
    random_state : seed of the random search, int, numpy Generator or None
    """
    loss, truth = as_loss(loss), Sets.single(y_true)
    as_random_state(random_state)
    if loss.reads == "classes":
        raise Refusal(f"describe refuses {loss!r}: it tells of losses of labels 0 and 1. Describe the loss inside.")
    size = f"{truth.total:,} decision{'s' * (truth.total != 1)}"
    lines = [f"{loss!r} for a ground truth of {size}, {int(truth.positives[0]):,} of them positive."]
    if loss.reads == "scores":
        lines.append("It evaluates an order of scores, not a set of mistakes, and has no traits.")
        return "\n".join([*lines, "Surrogates:", *map(str, order_verdicts(loss, truth))])
    found = examine(loss, truth, random_state)
    lines.append(found.how)
    lines += [f"  {shape.name.lower():<13} {found.words(shape)}" for shape in SHAPES]
    lines += [f"The loss promises: {trait.value}." for trait in Trait if trait in loss.traits and trait not in SHAPES]
    if found.broken:
        words = " and ".join(shape.name.lower() for shape in found.broken)
        lines.append(f"Broken promise: the loss says that it is {words}; here it is not.")
    unsaid = [s.name for s in SHAPES if found.holds(s) is not False and s not in loss.traits and s not in loss.denied]
    if unsaid and isinstance(loss, CountFunctionLoss | SetFunctionLoss):
        promises = ", ".join(f"Trait.{name}" for name in unsaid)
        lines.append(f"If that holds for every ground truth, say so: promises=[{promises}].")
    return "\n".join([*lines, "Surrogates:", *map(str, verdicts(loss, truth, found))])


@final
@dataclass(frozen=True)
class Found:
    """What an examination found: traits without a violation, whether that is ``certain``, and the largest gain seen.

    ``seen`` are traits read off whole tables, certain in any case.
    """

    unviolated: frozenset[Trait]
    promised: frozenset[Trait]
    certain: bool
    steepest: float
    how: str
    seen: frozenset[Trait] = frozenset()

    def holds(self, trait: Trait) -> bool | None:
        """True or False; None where no violation was found and nothing is promised."""
        if trait not in self.unviolated:
            return False
        return True if self.certain or trait in self.promised | self.seen else None

    def words(self, trait: Trait) -> str:
        """The same in words."""
        answer = self.holds(trait)
        if answer is None:
            return "no violation found, not promised"
        if answer:
            return "yes" if self.certain or trait in self.seen else "promised, no violation found"
        return "no"

    @property
    def broken(self) -> list[Trait]:
        """Promises that do not hold."""
        return [shape for shape in SHAPES if shape in self.promised and self.holds(shape) is False]

    @property
    def steepest_known(self) -> bool:
        """Whether no gain is larger than ``steepest``: a submodular loss is steepest at its first mistake."""
        return self.certain or self.holds(Trait.SUBMODULAR) is True


@final
@dataclass(frozen=True)
class Verdict:
    """One surrogate of a loss, in scale 1: what is not known is None, and all is False where the loss is refused."""

    surrogate: str
    tractable: bool
    tight: bool | None
    convex: bool
    words: str

    def __str__(self) -> str:
        return f"  {self.surrogate:<7} {self.words}"


def examine(loss: Loss, truth: Sets, random_state: int | np.random.Generator | None = 0) -> Found:
    """Traits of one set by enumeration, O(2^p p^2), for p <= 16; above by random search, about 65,000 decisions."""
    p, bare = truth.total, _without_promises(loss)
    if p <= LIMIT:
        how = f"Traits, by enumeration of all 2^{p} sets of mistakes:"
        return Found(traits(bare, truth.truth), loss.traits, True, _steepest(table(bare, truth.truth), p), how)
    rows = int(np.clip(BUDGET // p, 8, 256))
    sample = search_shapes(
        bare.structure(Sets.rows(np.broadcast_to(truth.truth, (rows, p)))), np.random.default_rng(random_state)
    )
    how = f"Traits, by random search for violations among {rows} pairs of nested sets of mistakes (a no is certain):"
    tables, whole = frozenset(SHAPES), False
    if isinstance(bare, CountFunctionLoss):
        tables, whole = bare.shapes(truth.count(1), truth.count(0))
    seen = tables if whole else frozenset()
    return Found(sample.unviolated & tables, loss.traits, False, sample.steepest, how, seen)


def _without_promises(loss: Loss) -> Loss:
    """The loss as a plain function: a promise that is broken would be refused before it can be named."""
    return replace(loss, promises=()) if isinstance(loss, CountFunctionLoss | SetFunctionLoss) else loss


def verdicts(loss: Loss, truth: Sets, found: Found) -> tuple[Verdict, Verdict, Verdict]:
    """The Lovász hinge, margin rescaling, slack rescaling."""
    if found.broken:
        no = [
            Verdict(name, False, False, False, "refused: a promise is broken.")
            for name in ("lovasz", "margin", "slack")
        ]
        return no[0], no[1], no[2]
    return _lovasz(loss, truth), _margin(loss, truth, found), _slack(loss, truth, found)


def order_verdicts(loss: Loss, truth: Sets) -> tuple[Verdict, ...]:
    """The same for a loss that evaluates an order of scores: tightness means nothing there."""
    answers = []
    for kind in (LovaszHinge, MarginRescaling, SlackRescaling):
        try:
            kind(loss).on(truth)
            answers.append(_maximized(kind.name, loss, truth, None, "convex", kind is SlackRescaling))
        except Refusal as refusal:
            answers.append(_refused(kind.name, refusal))
    return tuple(answers)


def _lovasz(loss: Loss, truth: Sets) -> Verdict:
    try:
        LovaszHinge(loss).on(truth)
    except Refusal as refusal:
        return _refused("lovasz", refusal)
    return Verdict("lovasz", True, True, True, "convex; tight; tractable: a sort and one pass, O(p log p).")


def _margin(loss: Loss, truth: Sets, found: Found) -> Verdict:
    increasing = found.holds(Trait.INCREASING)
    scale = np.inf if found.steepest <= 0 else 1.0 / found.steepest
    tight: bool | None = increasing
    if increasing is False:
        how = "not tight, for the loss is not increasing"
    elif scale < 1 - 1e-12:
        most = "" if found.steepest_known else "at most "
        tight, how = False, f"tight only in scales up to {most}{scale:.3g} (LH Prop. 2)"
    elif not found.steepest_known or increasing is None:
        tight, how = None, f"tight in scale 1 as far as is known (scales up to {scale:.3g} at most)"
    else:
        how = "tight in any scale" if np.isinf(scale) else f"tight in scales up to {scale:.3g}"
    return _maximized("margin", loss, truth, tight, f"convex; {how}", False)


def _slack(loss: Loss, truth: Sets, found: Found) -> Verdict:
    tight = found.holds(Trait.INCREASING)
    how = {True: "tight", False: "not tight, for the loss is not increasing", None: "tight as far as is known"}[tight]
    return _maximized("slack", loss, truth, tight, f"convex; {how}", True)


def _maximized(name: str, loss: Loss, truth: Sets, tight: bool | None, how: str, slack: bool) -> Verdict:
    """How loss and score together are maximized, as :class:`Auto` answers."""
    method = Auto().choice(loss.structure(truth), slack)
    if method is None:
        return Verdict(name, False, False, False, "refused: no method of inference knows its labelings.")
    way = f"{type(method).__name__}, {method.about}"
    if method.approximate:
        return Verdict(name, False, tight, True, f"{how}; not tractable: {way}, with a bound of what it may miss.")
    return Verdict(name, True, tight, True, f"{how}; tractable: {way}.")


def _refused(name: str, refusal: Refusal) -> Verdict:
    reason = str(refusal).split(": ", 1)[-1].split(". ")[0].rstrip(".")
    return Verdict(name, False, False, False, f"refused: {reason}.")


def _steepest(values: Values, p: int) -> float:
    """The largest gain of one mistake in the table of all sets of mistakes."""
    rows = np.arange(len(values))
    return max(float(np.max(values[rows | 1 << i] - values[rows & ~(1 << i)])) for i in range(p))
