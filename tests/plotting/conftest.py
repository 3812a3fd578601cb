import pytest

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def plain_style():
    """The style of matplotlib itself: some packages that other tests import set their own for the whole process."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield
