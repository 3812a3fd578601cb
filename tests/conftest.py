import gc
import os

# Collecting garbage would take a third of the time in which modules are imported and tests are found.
gc.disable()

# Before NumPy is imported: problems of tests are small, and threads of BLAS would wait for each other and other tests.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from draws import left_out  # noqa: E402

# A first call compiles, so a single example may take seconds.
settings.register_profile("setwise", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("search", deadline=None, max_examples=400)
settings.load_profile("setwise")


@pytest.fixture
def fits(monkeypatch):
    """Counts fits of base models; Ctrl-C comes in the fit whose number stands in ``stop``."""
    from setwise.estimators.selection import out_of_fold

    fit, seen = out_of_fold._fit, {"count": 0, "stop": 0}

    def counted(*arguments):
        seen["count"] += 1
        if seen["count"] == seen["stop"]:
            raise KeyboardInterrupt
        return fit(*arguments)

    monkeypatch.setattr(out_of_fold, "_fit", counted)
    return seen


def pytest_configure(config):
    """Time the tests where that is asked for."""
    if os.environ.get("SETWISE_CLOCK") == "1":
        from clock import Clock

        config.pluginmanager.register(Clock())


def pytest_collection_finish():
    """Collect garbage from here on, but do not look at the tests and modules again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as long what the draw of a test leaves out, and as slow too, so that one marker leaves out both."""
    for item in left_out([item for item in items if item.get_closest_marker("draw")]):
        item.add_marker("long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker("slow")
