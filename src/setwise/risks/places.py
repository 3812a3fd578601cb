"""Places that hold parts of a data set: functions travel to the data, and small answers come back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from setwise.core.checks import as_count
from setwise.kernels.threads import allowed, map_units


class Kept:
    """What stays at the places: one object at each."""


@final
@dataclass(frozen=True, eq=False)
class Each:
    """What is sent to the places: one small object to each, in their order."""

    values: Sequence[Any]


class Places(ABC):
    """Where data lie, in a fixed order. A function is called once for each place.

    An argument that is :class:`Kept` or :class:`Each` stands for the object of the place, and any other one is sent to
    all places. Functions have no state of their own, so that a place that was lost can be made again elsewhere.

    Attributes
    ----------
    count : the number of places
    """

    count: int

    @abstractmethod
    def keep(self, function: Callable[..., Any], *arguments: Any) -> Kept:
        """Call the function at every place, and leave its results there."""

    @abstractmethod
    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call the function at every place, and return its results, which should be small, in the order of places."""


@final
@dataclass(frozen=True, eq=False)
class KeptHere(Kept):
    """Objects of this process."""

    values: list[Any]


@final
class Here(Places):
    """Places that are parts of the memory of this process.

    Parameters
    ----------
    count : their number
    n_jobs : the number of threads that share them. Results do not depend on it
    """

    def __init__(self, count: int, n_jobs: int = 1) -> None:
        self.count, self.n_jobs = as_count(count, "count"), as_count(n_jobs, "n_jobs")

    def keep(self, function: Callable[..., Any], *arguments: Any) -> KeptHere:
        return KeptHere(self.tell(function, *arguments))

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        calls = [tuple(_at(each, k) for each in arguments) for k in range(self.count)]
        with allowed(self.n_jobs):
            return map_units(lambda call: function(*call), calls)


def _at(argument: Any, k: int) -> Any:
    """What an argument is at place k."""
    return argument.values[k] if isinstance(argument, KeptHere | Each) else argument
