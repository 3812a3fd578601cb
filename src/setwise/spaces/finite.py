"""A list of labels."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, final

from setwise.core.attributes import cached_property
from setwise.core.checks import Values, as_reals, shown
from setwise.spaces.space import Space, equals_itself, is_hashable


@final
@dataclass(frozen=True, eq=False)
class Finite(Space):
    """The labels of a list, each of which is right or wrong for an input: ``f(x, y) = x^T W kappa(y)``.

    Source: MLSP 2 and 5.1.

    Parameters
    ----------
    labels : distinct hashable objects, one or more
    features : kappa (p, q), the features of each label, so that labels with the same features share weights; None
        gives each label weights of its own

    Raises
    ------
    TypeError : if labels is no collection, as a text
    ValueError : if labels are not hashable, not distinct, or none, or features have another shape

    Examples
    --------
    >>> from setwise.spaces import Finite
    >>> space = Finite(["cat", "dog", "car"])
    >>> # Two rows, of which the second has no label.
    >>> space.encode([["dog", "cat"], []]).astype(int).tolist()
    [[1, 1, 0], [0, 0, 0]]
    >>> space.decode([[0, 0, 1]])
    [['car']]
    """

    labels: Any
    features: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", as_distinct(self.labels, "labels"))
        if self.features is None:
            return
        kappa = as_reals(self.features, "features")
        if kappa.ndim != 2 or len(kappa) != len(self.labels) or not kappa.size:
            raise ValueError(
                f"features must have shape (p, q) for p = {len(self.labels)} labels; got shape {kappa.shape}."
            )
        object.__setattr__(self, "features", kappa)

    @property
    def names(self) -> tuple[Hashable, ...]:
        return tuple(self.labels)

    @property
    def kappa(self) -> Values | None:
        return None if self.features is None else self.features

    @cached_property
    def places(self) -> dict[Hashable, int]:
        return {label: j for j, label in enumerate(self.labels)}


def as_distinct(labels: Any, name: str) -> tuple[Hashable, ...]:
    """``labels`` as a tuple of distinct hashable objects, one or more."""
    try:
        found = None if isinstance(labels, str | bytes | dict) else tuple(labels)
    except TypeError:
        found = None
    if found is None:
        raise TypeError(f"{name} must be a list of labels; got {shown(labels)}.")
    for label in found:
        # NaN is not equal to itself, so it would never be found again.
        if not is_hashable(label) or not equals_itself(label):
            raise ValueError(f"{name} must be hashable objects that equal themselves; got {shown(label)}.")
    if not found or len(set(found)) != len(found):
        raise ValueError(f"{name} must be distinct, and one or more; got {shown(labels)}.")
    return found
