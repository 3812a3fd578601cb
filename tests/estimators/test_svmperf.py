"""SVMperf: the objective of the program, the interface of QuaPy's class, and QuaPy's own quantifiers with it."""

import inspect
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from setwise import SetClassifier, SVMperf
from setwise.core.exceptions import Refusal
from setwise.estimators.svmperf import NAMED
from setwise.losses import Jaccard
from setwise.surrogates import MarginRescaling


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 3))
    return X, (X[:, 0] + 0.7 * rng.standard_normal(70) > 1.0).astype(int)


def of_the_program(name, a, b, c, d):
    """The loss of the patched program at true and false positives, false and true negatives a, b, c, d."""
    n, P, N = a + b + c + d, a + c, b + d
    q = 1 - abs(b - c) / max(P, N)
    p, found = (P + 0.5) / (n + 1), (a + b + 0.5) / (n + 1)
    divergence = p * np.log(p / found) + (1 - p) * np.log((1 - p) / (1 - found))
    f1 = 2 * a / (2 * a + b + c) if a else 0.0
    mixed = {"q": a / P, "qacc": (a + d) / n, "qf1": f1, "qgm": np.sqrt(a / P * d / N)}
    if name in mixed:
        both = mixed[name] + q
        return 100 * (1 - (2 * mixed[name] * q / both if both else 0.0))
    return {
        "01": float(b + c > 0),
        "f1": 100 * (1 - f1),
        "kld": divergence,
        "nkld": 100 - 200 / (1 + np.exp(divergence)),
        "mae": 100 * abs(b - c) / n,
        "mrae": 50 * (abs(c - b) / (P + 0.5) + abs(c - b) / (N + 0.5)),
    }[name]


def objective(name, w, b, C, X, y):
    """The program's objective by a scan of all counts, with labels -1 and 1 and scores of 50 / n."""
    s, n = X @ w + b, len(y)
    up, down = np.sort(s[y == 1]), np.sort(s[y == 0])[::-1]
    lost = np.concatenate(([0.0], np.cumsum(up)))
    won = np.concatenate(([0.0], np.cumsum(down)))
    P, N = len(up), len(down)
    worst = max(
        of_the_program(name, P - fn, fp, fn, N - fp) + 2 * 50 / n * (won[fp] - lost[fn])
        for fn in range(P + 1)
        for fp in range(N + 1)
    )
    return 0.5 * (w @ w + b * b) + C * worst


@pytest.mark.draw(2)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", NAMED)
def test_the_objective_is_that_of_the_program(name, C, rows):
    X, y = rows
    model = SVMperf(loss=name, C=C).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    assert model.objective_ == pytest.approx(objective(name, w, b, C, X, y), rel=1e-9)
    assert model.status_ == "converged"
    assert model.duality_gap_ <= 1e-4
    # Its minimum is convex, so points nearby are no lower than the certified bound.
    rng = np.random.default_rng(1)
    for step in (1e-2, 1e-1, 1.0):
        near = np.append(w, b) + step * rng.standard_normal(4)
        assert objective(name, near[:3], near[3], C, X, y) >= model.lower_bound_


def test_it_is_a_set_classifier(rows):
    X, y = rows
    for loss in ("q", Jaccard()):
        model = SVMperf(C=2.0, loss=loss).fit(X, y)
        bound = MarginRescaling(NAMED["q"] if loss == "q" else loss, scale="size")
        twin = SetClassifier(bound.loss, bound, C=200.0, tol=1e-4).fit(X, y)
        np.testing.assert_array_equal(model.coef_, twin.coef_)
        np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
        assert model.score(X, y) == np.mean(model.predict(X) == y)


def test_the_interface_is_that_of_quapy():
    names = [p.name for p in inspect.signature(SVMperf).parameters.values()]
    assert names[:5] == ["svmperf_base", "C", "verbose", "loss", "host_folder"]
    given = SVMperf("../svm_perf_quantification", loss="kld", C=1)
    assert given.get_params() == {
        "svmperf_base": "../svm_perf_quantification", "C": 1, "verbose": False, "loss": "kld", "host_folder": None,
        "tol": 1e-4, "max_iter": 1000,
    }  # fmt: skip
    assert clone(given).set_params(loss="q", C=0.1).get_params()["loss"] == "q"
    # What the wrapper takes, and in its order: the codes of the program rise.
    assert list(NAMED) == ["01", "f1", "kld", "nkld", "q", "qacc", "qf1", "qgm", "mae", "mrae"]


def test_rows_may_be_sparse_and_labels_of_any_two_kinds(rows, tmp_path):
    X, y = rows
    plain = SVMperf(loss="mae", C=1).fit(X, y)
    named = SVMperf(tmp_path, C=1, loss="mae", host_folder=tmp_path).fit(csr_matrix(X), np.array(["no", "yes"])[y])
    np.testing.assert_allclose(named.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert set(named.predict(X)) <= {"no", "yes"}
    assert list(named.classes_) == ["no", "yes"]
    assert not list(tmp_path.iterdir())
    stored = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(stored.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "hinge"}, "The 'loss' parameter of SVMperf"),
        ({"loss": None}, "The 'loss' parameter of SVMperf"),
        ({"C": 0}, "The 'C' parameter of SVMperf"),
        ({"C": np.inf}, "C"),
        ({"svmperf_base": 3}, "The 'svmperf_base' parameter of SVMperf"),
        ({"host_folder": 3}, "The 'host_folder' parameter of SVMperf"),
        ({"verbose": "yes"}, "The 'verbose' parameter of SVMperf"),
    ],
)
def test_odd_parameters_are_refused(parameters, words, rows):
    with pytest.raises((TypeError, ValueError), match=words):
        SVMperf(**parameters).fit(*rows)


def test_only_two_labels_are_taken(rows):
    X, y = rows
    with pytest.raises(Refusal, match=r"is multiclass: SVMperf takes y of two labels, and quapy.*newOneVsAll"):
        SVMperf().fit(X, np.arange(70) % 3)
    with pytest.raises(Refusal, match="is multilabel: SVMperf takes y of two labels"):
        SVMperf().fit(X, np.stack([y, 1 - y], axis=1))
    with pytest.raises(ValueError, match="y"):
        SVMperf().fit(X, np.ones(70))
    with pytest.raises(NotFittedError):
        SVMperf().predict(X)


def test_a_fit_that_fails_changes_nothing(rows):
    X, y = rows
    model = SVMperf(loss="q", C=1).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"NaN|finite"):
        model.fit(X * np.nan, y)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol") as seen:
        assert SVMperf(loss="q", C=1, max_iter=2).fit(X, y).status_ == "max_iter"
    assert seen[0].filename == __file__


@parametrize_with_checks(
    [SVMperf(C=1.0, loss="f1")],
    expected_failed_checks=lambda model: {},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)
