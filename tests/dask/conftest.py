"""A cluster of two workers, in threads of this process, that all tests share."""

import pytest


@pytest.fixture(scope="package")
def client():
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'setwise[dask]'")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def pytest_collection_modifyitems(items):
    # Sockets of a cluster that starts or ends may be collected before they are closed.
    for item in items:
        for kind in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
