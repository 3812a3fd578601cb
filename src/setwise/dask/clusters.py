"""The client of a cluster, for the time of a call."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, default_client


@contextmanager
def cluster(client: Client | None) -> Iterator[Client]:
    """The client that is given, or that was made last, or one of a cluster that is started on this machine."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            warnings.warn(
                "there is no Dask client, so a cluster of this machine is started for this call.", stacklevel=4
            )
            with Client(dashboard_address=":0") as own:
                yield own
            return
    yield client
