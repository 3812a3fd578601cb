"""What holds for a loss and one ground truth, in words: its traits, and which surrogates suit it."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.enumerate import LIMIT, table, traits
from setwise.core.loss import Loss, Values
from setwise.core.ranking import RankLoss
from setwise.core.sets import Bools, Sets
from setwise.core.traits import Trait

SHAPES = (Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR)
ENUMERABLE = 20
TIED = "over labelings with the given number of predicted positives only, so it is not tight on all others"
BUDGET = 1 << 16


def describe(loss: Loss | RankLoss, y_true: ArrayLike, *, random_state: int | np.random.Generator | None = 0) -> str:
    """Which traits hold for this ground truth, and which surrogates are convex, tight and tractable for it, in words.

    Up to 16 decisions the traits come from all ``2^p`` sets of mistakes, and the answer is certain. Above, a random
    search looks for violations: a "no" is certain, and the text says of everything else how far it is known.

    - Lovász hinge: convex and tight exactly for submodular losses (LH Prop. 4 to 6), O(p log p).
    - Margin rescaling: convex; tight for increasing losses in scales up to 1 / (largest gain) (LH Prop. 2).
    - Slack rescaling: convex; tight exactly for increasing losses (LH Prop. 1).

    A loss of a ranking is no set function of mistakes: it has no traits, and margin rescaling is its only surrogate.

    Parameters
    ----------
    loss : any loss
    y_true : (p,) in 0/1
    random_state : seed of the random search, int, numpy Generator or None
    """
    truth = Sets.single(y_true)
    loss.check(truth)
    size = f"{truth.total:,} decision{'s' * (truth.total != 1)}"
    lines = [f"{loss!r} for a ground truth of {size}, {int(truth.positives[0]):,} of them positive."]
    if isinstance(loss, RankLoss):
        return "\n".join(lines + RANKED)
    found = examine(loss, truth, random_state)
    lines.append(found.how)
    lines += [f"  {shape.name.lower():<13} {found.words(shape)}" for shape in SHAPES]
    lines += [f"The loss promises: {trait.value}." for trait in Trait if trait in loss.traits and trait not in SHAPES]
    broken = [shape.name.lower() for shape in SHAPES if shape in loss.traits and found.holds(shape) is False]
    if broken:
        lines.append(f"Broken promise: the loss says that it is {' and '.join(broken)}; here it is not.")
    lines.append("Surrogates:")
    lines += [f"  {verdict.surrogate:<7} {verdict.words}" for verdict in verdicts(loss, truth, found)]
    return "\n".join(lines)


RANKED = [
    "It judges a ranking, not a set of mistakes, and has no traits.",
    "Surrogates:",
    "  lovasz  refused: there is no set of mistakes.",
    "  margin  convex; tractable: a sort and a search over rankings.",
    "  slack   refused: there is no set of mistakes.",
]


@final
@dataclass(frozen=True)
class Found:
    """What an examination found: traits without a violation, whether that is ``certain``, and the largest gain seen."""

    unviolated: frozenset[Trait]
    promised: frozenset[Trait]
    certain: bool
    steepest: float
    how: str

    def holds(self, trait: Trait) -> bool | None:
        """True or False; None where no violation was found and nothing is promised."""
        if trait not in self.unviolated:
            return False
        return True if self.certain or trait in self.promised else None

    def words(self, trait: Trait) -> str:
        """The same in words."""
        answer = self.holds(trait)
        if answer is None:
            return "no violation found, not promised"
        if answer:
            return "yes" if self.certain else "promised, no violation found"
        return "no"

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


def examine(loss: Loss, truth: Sets, random_state: int | np.random.Generator | None = 0) -> Found:
    """Traits of one set by enumeration, O(2^p p^2), for p <= 16; above by random search, about 65,000 decisions."""
    p = truth.total
    if p <= LIMIT:
        how = f"Traits, by enumeration of all 2^{p} sets of mistakes:"
        return Found(traits(loss, truth.labels), loss.traits, True, _steepest(table(loss, truth.labels), p), how)
    return _search(loss, truth, np.random.default_rng(random_state))


def verdicts(loss: Loss, truth: Sets, found: Found) -> tuple[Verdict, Verdict, Verdict]:
    """The Lovász hinge, margin rescaling, slack rescaling."""
    return _lovasz(loss, found), _margin(loss, truth.total, found), _slack(loss, truth.total, found)


def _lovasz(loss: Loss, found: Found) -> Verdict:
    holds = found.holds(Trait.SUBMODULAR)
    if Trait.SUBMODULAR not in loss.traits:
        why = "is not submodular" if holds is False else "does not promise to be submodular"
        return Verdict("lovasz", False, False, False, f"refused: the loss {why}.")
    if holds is False or (Trait.INCREASING in loss.traits and found.holds(Trait.INCREASING) is False):
        return Verdict("lovasz", True, True, False, "accepted on a promise that is broken: not convex.")
    return Verdict("lovasz", True, True, True, "convex; tight; tractable: a sort and one pass, O(p log p).")


def _margin(loss: Loss, p: int, found: Found) -> Verdict:
    increasing = found.holds(Trait.INCREASING)
    scale = np.inf if found.steepest <= 0 else 1.0 / found.steepest
    tight: bool | None = increasing
    if loss.tied:
        tight, how = None, TIED
    elif increasing is False:
        how = "not tight, for the loss is not increasing"
    elif scale < 1 - 1e-12:
        most = "" if found.steepest_known else "at most "
        tight, how = False, f"tight only in scales up to {most}{scale:.3g} (LH Prop. 2)"
    elif not found.steepest_known or increasing is None:
        tight, how = None, f"tight in scale 1 as far as is known (scales up to {scale:.3g} at most)"
    else:
        how = "tight in any scale" if np.isinf(scale) else f"tight in scales up to {scale:.3g}"
    tractable, way = _maximizable(loss, p, slack=False)
    return Verdict("margin", tractable, tight, True, f"convex; {how}; {way}.")


def _slack(loss: Loss, p: int, found: Found) -> Verdict:
    tight = found.holds(Trait.INCREASING)
    how = {True: "tight", False: "not tight, for the loss is not increasing", None: "tight as far as is known"}[tight]
    if loss.tied:
        tight, how = None, TIED
    tractable, way = _maximizable(loss, p, slack=True)
    return Verdict("slack", tractable, tight, True, f"convex; {how}; {way}.")


def _maximizable(loss: Loss, p: int, slack: bool) -> tuple[bool, str]:
    """Whether loss and score together can be maximized exactly, and by which structure."""
    rest = loss if slack else loss.curved
    if rest is None:
        return True, "tractable: every decision on its own, O(p)"
    if Trait.CARDINALITY in rest.traits:
        return True, "tractable: a sort and one pass over the number of mistakes, O(p log p)"
    if Trait.COUNTS in rest.traits:
        return True, "tractable: a search over the counts of misses and false alarms"
    if p <= ENUMERABLE:
        return True, f"tractable for so few decisions: all 2^{p} labelings are tried"
    if Trait.SUPERMODULAR in rest.traits and not slack:
        return True, "tractable: submodular minimization, for some hundred decisions"
    return False, "not tractable: approximate inference, with a bound of what it may miss"


def _steepest(values: Values, p: int) -> float:
    """The largest gain of one mistake in the table of all sets of mistakes."""
    rows = np.arange(len(values))
    return max(float(np.max(values[rows | 1 << i] - values[rows & ~(1 << i)])) for i in range(p))


def _search(loss: Loss, truth: Sets, rng: np.random.Generator) -> Found:
    """Marginals at random A and at A + j: each pair of rows tells of all decisions i at once."""
    p = truth.total
    rows = int(np.clip(BUDGET // p, 8, 256))
    sets = Sets.rows(np.broadcast_to(truth.labels, (rows, p)))
    less, more = _nested(truth.labels, rows, rng)
    first, second = loss.marginals(sets, less.ravel()), loss.marginals(sets, more.ravel())
    out = ~more.ravel()
    gains, bends = np.concatenate((first[~less.ravel()], second[out])), (second - first)[out]
    tolerance = 1e-9 * max(1.0, float(np.abs(gains).max()))
    unviolated = set(SHAPES)
    if (gains < -tolerance).any():
        unviolated.discard(Trait.INCREASING)
    if (bends > tolerance).any():
        unviolated -= {Trait.SUBMODULAR, Trait.MODULAR}
    if (bends < -tolerance).any():
        unviolated -= {Trait.SUPERMODULAR, Trait.MODULAR}
    how = f"Traits, by random search for violations among {rows} pairs of nested sets of mistakes (a no is certain):"
    return Found(frozenset(unviolated), loss.traits, False, float(gains.max()), how)


def _nested(labels: Bools, rows: int, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """``rows`` random sets A, positives and negatives drawn at rates of their own, and each with one decision more.

    The first A is empty, so that the gains of first mistakes are among those seen; the second lacks two decisions only.
    """
    rates = rng.random((rows, 2))
    rates[0], rates[1] = 0.0, 1.0
    less = rng.random((rows, len(labels))) < np.where(labels, rates[:, :1], rates[:, 1:])
    free = rng.permuted(np.tile(np.arange(len(labels)), (rows, 1)), axis=1)[:, :2]
    less[np.arange(rows)[:, None], free] = False
    more = less.copy()
    more[np.arange(rows), free[:, 0]] = True
    return less, more
