"""The checks of scikit-learn, saving, and progress."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from setwise import MeasureClassifier, SetClassifier
from setwise.datasets.columns import Category, Number
from setwise.estimators import TableEncoder

PER_ROW = "sample_weight weighs whole sets; with y (n,) the sample is one set, and a set loss has no weights for rows"


EXPECTED_FAILURES = {
    "check_sample_weights_not_overwritten": PER_ROW,
    "check_sample_weight_equivalence_on_dense_data": PER_ROW,
    "check_sample_weight_equivalence_on_sparse_data": PER_ROW,
    "check_classifiers_one_label_sample_weights": PER_ROW,
}


OF_TWO = "class_weight weighs the counts of two classes; it is refused, in a sentence, for more"


@parametrize_with_checks(
    [SetClassifier("hamming", "lovasz", "block_frank_wolfe", random_state=0)],
    expected_failed_checks=lambda model: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)


# Its ramp takes ten times as long as the fits above.
@pytest.mark.slow
@parametrize_with_checks(
    [SetClassifier()],
    expected_failed_checks=lambda model: EXPECTED_FAILURES | {"check_class_weight_classifiers": OF_TWO},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_compatibility_of_the_default(estimator, check):
    check(estimator)


def test_safe_saving_holds_only_data(bags, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y, groups = bags
    model = SetClassifier(C=30).fit(X, y, groups=groups)
    skops.dump(model, tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("setwise.") for name in unknown)
    loaded = skops.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_model_of_another_version_says_so(bags, monkeypatch):
    X, y, _ = bags
    stored = pickle.dumps(SetClassifier(C=10).fit(X, y))
    monkeypatch.setattr("setwise.__version__", "99.0")
    with pytest.warns(InconsistentVersionWarning, match=r"setwise .* when using version setwise 99.0"):
        pickle.loads(stored)


@pytest.mark.draw(2)
@pytest.mark.parametrize("learner", ["block_frank_wolfe", "subgradient"])
def test_random_state_repeats_a_fit(learner, bags):
    X, y, groups = bags
    model = SetClassifier("hamming", learner=learner, C=10, tol=1e-2)
    fits = [
        clone(model).set_params(random_state=state).fit(X, y, groups=groups).coef_
        for state in (3, 3, np.random.RandomState(3), np.random.RandomState(3))
    ]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[2], fits[3])


def test_verbose_draws_a_bar(bags, capsys):
    X, y, _ = bags
    SetClassifier(verbose=1, C=100).fit(X, y)
    assert "SetClassifier [" in capsys.readouterr().err


@pytest.mark.draw(6)
@pytest.mark.parametrize("rows", [np.asarray, csr_array])
@pytest.mark.parametrize("model", [SetClassifier(max_iter=3), MeasureClassifier(loss="jaccard", cv=2)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_output_of_transformers_as_tables_changes_no_fit(model, rows, bags):
    X, y, _ = bags
    plain = clone(model).fit(rows(X), y).decision_function(rows(X))
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(clone(model).fit(rows(X), y).decision_function(rows(X)), plain)


def test_a_table_of_words_is_encoded_where_transformers_answer_with_tables():
    encoder = TableEncoder([Number("age"), Category("city", ("Bonn", "Rome"))], sparse_threshold=1.0)
    X = np.column_stack([np.arange(20.0), np.arange(20) % 2])
    with config_context(transform_output="pandas"):
        found = encoder.set_output(transform="default").fit(X).transform(X)
    assert found.format == "csr"
