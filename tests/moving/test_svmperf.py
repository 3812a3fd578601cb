"""docs/moving/svmperf.md: the options of SVM^perf, and what they are here.

The objective and the losses of the names of QuaPy are compared in tests/estimators/test_svmperf.py, the scale of the
losses without the patch in tests/surrogates/test_svmperf_scale.py.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import LinearSVC

from setwise import SetClassifier, SVMperf
from setwise.estimators.svmperf import NAMED
from setwise.losses import CountFunctionLoss, ErrorRate, GMean
from setwise.surrogates import MarginRescaling

CODES = {"01": 0, "f1": 1, "kld": 12, "nkld": 13, "q": 22, "qacc": 23, "qf1": 24, "qgm": 25, "mae": 26, "mrae": 27}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    return X, (X[:, 0] + 0.7 * rng.standard_normal(80) > 0.8).astype(int)


@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
def test_the_error_rate_is_a_support_vector_machine(bias, rows):
    """The note of the program: c of it is c n / 100 of a machine that sums over the rows."""
    X, y = rows
    c, options = 0.5, {"fit_intercept": bool(bias), "intercept_scaling": bias or 1.0}
    surrogate = MarginRescaling(ErrorRate(), scale="size")
    ours = SetClassifier("error_rate", surrogate, C=100 * c, tol=1e-8, max_iter=5000, **options).fit(X, y)
    theirs = LinearSVC(loss="hinge", C=100 * c / len(y), tol=1e-9, max_iter=1_000_000, random_state=0, **options)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_the_measures_of_the_patch_that_have_no_name():
    """At true and false positives, false and true negatives a, b, c, d: gm, nae and milli of the patch, less 100."""
    rng = np.random.default_rng(1)
    nae = CountFunctionLoss(lambda fn, fp, P, N: abs(fn - fp) / np.maximum(P, N))
    milli = CountFunctionLoss(lambda fn, fp: (fn + fp) * abs(fn - fp))
    for _ in range(50):
        a, b, c, d = (int(v) for v in rng.integers(1, 6, 4))
        y, z = np.repeat([1, 0, 1, 0], [a, b, c, d]), np.repeat([1, 1, 0, 0], [a, b, c, d])
        assert GMean()(y, z) == pytest.approx(1 - np.sqrt(a / (a + c) * d / (b + d)))
        assert nae(y, z) == pytest.approx(abs(c - b) / max(a + c, b + d))
        assert milli(y, z) == (b + c) * abs(b - c)


def test_the_numbers_of_the_losses_are_those_of_the_wrapper():
    wrapper = pytest.importorskip("quapy.classification.svmperf", reason="needs quapy: pip install quapy")
    assert wrapper.SVMperf.valid_losses == CODES


@pytest.fixture(scope="module")
def program():
    folder = Path(os.environ.get("SETWISE_SVMPERF", "no folder"))
    if not (folder / "svm_perf_learn").is_file():
        pytest.skip("needs SVM^perf with QuaPy's patch: name its folder by SETWISE_SVMPERF")
    return folder


def weights_of_the_program(program, code, C, X, y, folder):
    """The weights and the intercept, read off the scores of unit rows and of their doubles."""
    train, model, units, found = (folder / name for name in ("train", "model", "units", "found"))
    dump_svmlight_file(X, 2 * y - 1, str(train), zero_based=False)
    one = np.eye(X.shape[1])
    dump_svmlight_file(np.vstack([one, 2 * one]), np.ones(2 * len(one)), str(units), zero_based=False)
    options = ["-c", str(C), "-w", "3", "-e", "0.0001", "-l", str(code)]
    subprocess.run([program / "svm_perf_learn", *options, train, model], check=True, capture_output=True)
    subprocess.run([program / "svm_perf_classify", units, model, found], check=True, capture_output=True)
    once, twice = np.loadtxt(found).reshape(2, -1)
    return twice - once, float(np.mean(2 * once - twice))


@pytest.mark.parametrize("name", CODES)
def test_the_program_reaches_no_lower_objective(name, program, rows, tmp_path):
    X, y = rows
    C, loss = 1.0, NAMED[name]
    ours = SVMperf(loss=name, C=C, tol=1e-6).fit(X, y)
    w, b = weights_of_the_program(program, CODES[name], C, X, y, tmp_path)
    bound = 100 * MarginRescaling(loss, scale="size")(y, X @ w + b).value
    reached = 0.5 * (w @ w + b * b) + C * bound
    # The program writes its numbers with about six digits, and leaves out labelings without a loss.
    assert reached >= ours.lower_bound_ - 1e-4 * abs(reached)
