"""Labels of two classes and of more, names of labels and of features, and the types of pandas."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.metrics import f1_score, jaccard_score

from setwise import SetClassifier
from setwise.losses import (
    MeanOverClasses,
    OneClass,
    plain_losses,
)


def test_the_positive_label_can_be_chosen(bags):
    X, y, groups = bags
    sick, healthy = (SetClassifier(C=100, pos_label=label).fit(X, y, groups=groups) for label in ("sick", "healthy"))
    assert list(sick.classes_) == ["healthy", "sick"]
    assert list(healthy.classes_) == ["sick", "healthy"]
    assert ((healthy.decision_function(X) > 0) == (healthy.predict(X) == "healthy")).all()
    assert healthy.score(X, y, groups=groups) != sick.score(X, y, groups=groups)
    twin = SetClassifier(C=100).fit(X, np.where(y == "healthy", "z", "a"), groups=groups)
    np.testing.assert_allclose(twin.coef_, healthy.coef_)


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", ["jaccard", "f1", "error_rate", "hamming"])
def test_more_than_two_classes(loss):
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["cat", "dog", "emu"])[y]
    model = SetClassifier(loss, C=300, tol=1e-2).fit(X, names)
    assert model.coef_.shape == (3, 6)
    assert model.decision_function(X).shape == (150, 3)
    assert set(model.predict(X)) <= {"cat", "dog", "emu"}
    guess = model.predict(X)
    if loss in ("jaccard", "f1"):
        metric = {"jaccard": jaccard_score, "f1": f1_score}[loss]
        assert model.score(X, names) == pytest.approx(metric(names, guess, average="macro"))
        assert isinstance(model.loss_, MeanOverClasses)
    else:
        wrong = float(np.sum(guess != names))
        assert model.score(X, names) == pytest.approx(1 - (wrong / 150 if loss == "error_rate" else wrong))
    assert (guess == names).mean() > 0.6
    # Where the training loss of the start is smaller, the fit ends there.
    kept = "the start is kept" in model.stop_reason_
    assert model.history_["upper_bound"][0 if kept else -1] >= model.objective_ * (1 - 1e-12) >= model.lower_bound_


def test_one_class_against_the_rest():
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    model = SetClassifier("f1", surrogate="convex", C=300, pos_label=2).fit(X, y)
    assert model.loss_ == OneClass(plain_losses()["f1"](), 2)
    assert model.score(X, y) == pytest.approx(f1_score(y == 2, model.predict(X) == 2))
    assert model.duality_gap_ <= 1e-3


@pytest.mark.slow
def test_classes_in_groups_and_threads():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((120, 3)), rng.permutation(np.repeat(np.arange(6), 20))
    y = np.argmax(X @ rng.standard_normal((3, 3)), axis=1)
    one, two = (SetClassifier("jaccard", C=100, tol=1e-2, n_jobs=n).fit(X, y, groups=groups) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    losses = [one.loss_(y[groups == g], one.predict(X)[groups == g]) for g in range(6) if len(set(y[groups == g])) == 3]
    assert len(losses) == 6
    assert one.score(X, y, groups=groups) == pytest.approx(1 - np.mean(losses))


def test_names_of_features_and_of_labels():
    pandas = pytest.importorskip("pandas")
    X, Y = make_multilabel_classification(60, 3, n_classes=2, random_state=0)
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SetClassifier("hamming", C=10).fit(table, pandas.DataFrame(Y, columns=["rain", "snow"]))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.classes_) == ["rain", "snow"]
    assert model.score(table, Y) == model.score(table, pandas.DataFrame(Y, columns=["rain", "snow"]))
    with pytest.raises(ValueError, match=r"y must have the shape of predict\(X\), \(60, 2\); got shape \(60, 3\)"):
        model.score(table, np.column_stack([Y, Y[:, 0]]))


@pytest.mark.draw(4)
@pytest.mark.parametrize("dtype", ["Int64", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_targets_of_pandas_own_types(dtype):
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    X, Y = make_multilabel_classification(60, 3, n_classes=2, random_state=0)
    columns = pandas.DataFrame(
        {
            name: pandas.array(Y[:, i].astype(bool if "bool" in dtype else int), dtype=dtype)
            for i, name in enumerate("ab")
        }
    )
    many = SetClassifier("hamming", C=10).fit(X, columns)
    assert many.score(X, columns) == many.score(X, Y)
    one = SetClassifier("hamming", C=10).fit(X, columns["a"])
    assert one.classes_.tolist() == ([False, True] if "bool" in dtype else [0, 1])
    assert one.classes_.dtype.kind in "bi"
    assert one.score(X, columns["a"]) == SetClassifier("hamming", C=10).fit(X, Y[:, 0]).score(X, Y[:, 0])
    gap = columns["a"].copy()
    gap[3] = pandas.NA
    with pytest.raises(ValueError, match="y must not hold missing values|y contains NaN"):
        SetClassifier().fit(X, gap)
    with pytest.raises(ValueError, match="groups must not hold (missing values|NaN)"):
        SetClassifier().fit(X, Y[:, 0], groups=gap)


def test_pos_label_and_a_label_matrix_are_refused(bags):
    X, _, _ = bags
    with pytest.raises(ValueError, match="pos_label must be None where y is a label matrix; got 1"):
        SetClassifier(pos_label=1).fit(X, np.random.default_rng(0).integers(0, 2, (len(X), 3)))
