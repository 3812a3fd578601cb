"""QuaPy's quantifiers of explicit loss minimization with our SVMperf in place of its wrapper of the program."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_digits

from setwise import SVMperf
from setwise.estimators.svmperf import NAMED

quapy = pytest.importorskip("quapy", reason="needs quapy: pip install quapy")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]


@pytest.fixture
def without_the_program(monkeypatch):
    import quapy.method.aggregative as aggregative

    monkeypatch.setattr(aggregative, "SVMperf", SVMperf)
    monkeypatch.setitem(quapy.environ, "SVMPERF_HOME", "a folder that is not there")
    monkeypatch.setitem(quapy.environ, "SAMPLE_SIZE", 50)
    return aggregative


def test_the_wrapper_takes_the_same_losses_and_parameters():
    from quapy.classification.svmperf import SVMperf as Wrapper

    assert list(Wrapper.valid_losses) == list(NAMED)
    ours, theirs = (list(inspect.signature(kind).parameters.values()) for kind in (SVMperf, Wrapper))
    assert [p.name for p in ours][: len(theirs)] == [p.name for p in theirs]
    assert [p.default for p in ours][1 : len(theirs)] == [p.default for p in theirs][1:]


def test_our_losses_are_its_errors():
    from quapy import error

    rng = np.random.default_rng(0)
    for n in (1, 2, 30):
        for _ in range(20):
            y, z = (rng.random(n) < rng.choice([0.0, 0.2, 0.8, 1.0]) for _ in range(2))
            true, found = ([1 - np.mean(v), np.mean(v)] for v in (y, z))
            for name in ("kld", "nkld", "mae", "mrae"):
                expected = getattr(error, name.removeprefix("m"))
                pair = np.array([true]), np.array([found])
                value = expected(*pair) if name == "mae" else expected(*pair, eps=0.5 / n)
                loss = NAMED[name] * (100.0 if name == "kld" else 1.0)
                assert loss(y, z) == pytest.approx(np.ravel(value)[0], abs=1e-12)


def test_its_quantifiers_count_without_the_program(without_the_program):
    X, y = load_digits(return_X_y=True)
    X, y = X / 16.0, (y == 3).astype(int)
    quantifiers = [getattr(without_the_program, f"newSVM{name}")(C=1) for name in ("Q", "KLD", "NKLD", "AE", "RAE")]
    for quantifier in quantifiers:
        assert isinstance(quantifier.classifier, SVMperf)
        found = quantifier.fit(X[:1000], y[:1000]).predict(X[1000:])
        np.testing.assert_allclose(found.sum(), 1.0)
        assert found[1] == np.mean(quantifier.classifier.predict(X[1000:]))


def test_its_example_runs_without_the_program(without_the_program):
    """The steps of QuaPy's example of explicit loss minimization: one against the rest, C and the loss by UPP."""
    from quapy.method.base import newOneVsAll
    from quapy.model_selection import GridSearchQ
    from quapy.protocol import UPP

    X, y = load_digits(return_X_y=True)
    data = quapy.data.LabelledCollection(X / 16.0, y % 3)
    train, test = data.split_stratified(0.5, random_state=0)
    tuned, held_out = train.split_stratified(0.6, random_state=0)
    grid = {
        "binary_quantifier__classifier__loss": ["q", "kld", "mae"],
        "binary_quantifier__classifier__C": [0.01, 1, 100],
    }
    quantifier = newOneVsAll(without_the_program.newELM(), n_jobs=1)
    protocol = UPP(held_out, repeats=5, random_state=0)
    search = GridSearchQ(quantifier, grid, protocol=protocol, refit=False, n_jobs=1, raise_errors=True)
    best = search.fit(*tuned.Xy).best_model()
    best.fit(*train.Xy)
    error = quapy.evaluation.evaluate(best, protocol=UPP(test, repeats=10, random_state=0), error_metric="mae")
    # Three classes that are drawn at all prevalences: the mean of them alone is wrong by .2.
    assert error < 0.1
