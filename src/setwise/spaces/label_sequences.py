"""Labelings of sequences."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.checks import Ints
from setwise.core.label_sequences import Sequences
from setwise.core.risk import Features
from setwise.models.joint_labels import WithConstant
from setwise.models.sequence_model import SequenceModel
from setwise.spaces.finite import as_distinct
from setwise.spaces.large_space import LargeSpace, as_arrays, as_right, as_written, named, offsets_of
from setwise.spaces.space import code_of, members


@final
@dataclass(frozen=True, eq=False)
class LabelSequences(LargeSpace):
    """The ``k^T`` sequences of T labels: ``f(x, y) = sum_t <W_(y_t), x_t> + sum_t A_(y_t, y_t+1) + c``.

    X is a list of arrays (T_i, d), and Y a list of collections of sequences of T_i labels each. The weights are
    W (k, d), A (k, k) and that of the constant, c.

    Source: MLSP 3, over the labelings of a chain.

    Parameters
    ----------
    labels : distinct hashable objects, the k labels of a place

    Raises
    ------
    TypeError : if labels is no collection, as a text
    ValueError : if labels are not hashable, not distinct, or none

    Examples
    --------
    >>> from setwise.spaces import LabelSequences
    >>> space = LabelSequences(["a", "b"])
    >>> # One sequence of two places with one feature.
    >>> batch, model = space.bind([[[1.0], [-1.0]]])
    >>> w = [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # W for a and b, then A, then c
    >>> space.best(batch, model.scores(np.array(w)), limit=1)[0]
    [(['b', 'a'], 2.0)]
    """

    labels: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", as_distinct(self.labels, "labels"))

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """The number of each label."""
        return {label: j for j, label in enumerate(self.labels)}

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Sequences, Features]:
        arrays, k = as_arrays(X, 2, "(T, d)"), len(self.labels)
        lengths = [len(x) for x in arrays]
        truths = [
            as_written([self._codes(y, T, f"Y[{i}]") for y in rows], T, f"Y[{i}]")
            for i, (rows, T) in enumerate(zip(as_right(Y, len(arrays)), lengths, strict=True))
        ]
        model = SequenceModel(np.concatenate(arrays), offsets_of(lengths), k)
        return Sequences(lengths, k, truths), WithConstant(model, model.score_offsets, constant)

    def decode(self, labels: NDArray[Any]) -> list[Any] | None:
        codes = named(labels)
        return None if codes is None else [self.labels[code] for code in codes]

    def _codes(self, sequence: Any, length: int, name: str) -> Ints:
        """The numbers of a sequence of labels, (length,)."""
        found = [code_of(label, self.places, name) for label in members(sequence, name, "sequences of labels")]
        if len(found) != length:
            raise ValueError(f"{name} must hold sequences of {length} labels, one for each row of X; got {len(found)}.")
        return np.array(found, dtype=np.int64)
