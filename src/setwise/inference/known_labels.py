"""Inference with unknown labels: their decisions follow the scores, and the others are solved without them."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Floats, Values, as_kind
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes, Term
from setwise.inference.binary import unfit
from setwise.kernels.segments import segment_sums


@final
@dataclass(frozen=True)
class KnownLabels(Inference):
    """``inner`` for the decisions with known labels; each of the others is positive where its score is above 0.

    It is as exact as ``inner``, for losses of counts do not depend on the other decisions at all. Slack rescaling is
    refused, because there the score of all decisions multiplies the loss.

    Source: this library.

    Parameters
    ----------
    inner : a method for sets whose labels are all known

    Raises
    ------
    TypeError : for an ``inner`` that is no inference
    Refusal : from :meth:`prepare`, for losses other than counts and costs of mistakes, slack rescaling, and where
        ``inner`` refuses the known part

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto, KnownLabels
    >>> from setwise.losses import Jaccard
    >>> batch = Sets(np.array([1, -1, 0], dtype=np.int8), offsets=np.array([0, 3]))
    >>> found = KnownLabels(Auto()).prepare(Jaccard().structure(batch)).maximize([2.0, 3.0, 0.5])
    >>> print(found.labels, found.values)  # the third is wrong, 1/2 + 0.5, and the second wins 3
    [ True  True  True] [4.]
    """

    inner: Inference

    name: ClassVar[str] = "known_labels"
    about: ClassVar[str] = "the decisions with known labels alone"

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack, unknown=True)
        if why is not None:
            return why
        if slack:
            return "KnownLabels refuses slack rescaling: the scores of unknown labels multiply the loss there."
        if not all(isinstance(term, Counts | Mistakes) for term in structure.terms):
            return f"KnownLabels refuses {structure!r}: it depends on the places of all decisions. Use Enumeration."
        given = [term for term in structure.terms if isinstance(term, Counts) and term.predicted is not None]
        if given and structure.batch.known is not None:
            return (
                f"KnownLabels refuses {structure!r}: the number of predicted positives includes those with unknown "
                "labels. Use Enumeration."
            )
        if structure.batch.known is None or not structure.batch.known.any():
            return None
        return self.inner.refuses(_known_part(structure)[0])

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _KnownLabels(self, structure, slack)


@final
class _KnownLabels(Maximizer):
    def __init__(self, method: KnownLabels, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        known = structure.batch.known
        self._known = np.ones(structure.batch.total, dtype=bool) if known is None else known
        self._inner = None
        if self._known.any():
            part, self._sets = _known_part(structure)
            self._inner = method.inner.prepare(part)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.structure.batch
        labels = scores > 0
        # An unknown label costs nothing, so its decision wins its score where that is positive.
        free = segment_sums(np.where(self._known, 0.0, np.maximum(scores, 0.0)), batch.offsets)
        values, bounds, exact = free, free.copy(), np.ones(len(batch), dtype=bool)
        if self._inner is not None:
            found = self._inner.solve(scores[self._known], tol[self._sets])
            labels[self._known] = found.labels
            values[self._sets] += found.values
            bounds[self._sets] += found.bounds
            exact[self._sets] = found.exact
        # A set without a known label has no mistakes, so its loss is constant.
        if self._inner is None or len(self._sets) < len(batch):
            without = np.setdiff1d(np.arange(len(batch)), self._sets if self._inner is not None else [])
            constant = self.structure.take(without).values(np.zeros(int(batch.sizes[without].sum()), dtype=bool))
            values[without] += constant
            bounds[without] += constant
        return Solutions(labels, values, bounds, exact)


def _known_part(structure: Structure) -> tuple[Structure, np.ndarray]:
    """Returns the structure on the known decisions alone, and the sets that have any."""
    batch = structure.batch
    assert isinstance(batch, Sets)
    known = np.ones(batch.total, dtype=bool) if batch.known is None else batch.known
    sizes = np.add.reduceat(known.astype(np.int64), batch.offsets[:-1])
    sets = np.flatnonzero(sizes)
    compared = None if batch.compared is None else batch.compared[known]
    part = Sets(batch.truth[known], np.concatenate(([0], np.cumsum(sizes[sets]))), compared)
    terms: list[Term] = []
    for term in structure.terms:
        if isinstance(term, Mistakes):
            terms.append(Mistakes(term.costs[known]))
        else:
            assert isinstance(term, Counts)
            # P and N belong to whole sets and are taken by set; areas belong to decisions.
            areas = None if term.areas is None else term.areas[known]
            whole = replace(term, areas=None).take(batch, sets)
            terms.append(replace(whole, areas=areas))
    return Structure(part, tuple(terms), structure.source), sets
