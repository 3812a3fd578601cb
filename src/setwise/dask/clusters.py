"""The client of a cluster, for the time of a call."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from distributed import Client, default_client
from sklearn.base import clone

from setwise.core.pages import CLUSTER
from setwise.estimators.base import Versioned


class OnCluster(Versioned):
    """A base of estimators with a parameter ``client``, which is neither stored nor copied."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        given: dict[str, Any] = self.get_params(deep=False)
        client = given.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in given.items()}, client=client)


@contextmanager
def cluster(client: Client | None) -> Iterator[Client]:
    """The client that is given, or that was made last, or one of a cluster that is started on this machine."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            warnings.warn(
                f"there is no Dask client, so a cluster of this machine is started for this call.{CLUSTER.see}",
                stacklevel=4,
            )
            with Client(dashboard_address=":0") as own:
                yield own
            return
    yield client
