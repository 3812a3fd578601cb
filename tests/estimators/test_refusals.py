"""What the estimator refuses, in a sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from setwise import (
    SSVM,
    FileClassifier,
    IndependentSVMs,
    MultilabelStructuredPredictor,
    PowersetSSVM,
    SetClassifier,
    SetClassifierCV,
    VacuousBoundWarning,
)
from setwise.learners import OneSlack
from setwise.losses import (
    Hamming,
    Jaccard,
)
from setwise.spaces import FiniteSpace
from setwise.surrogates import MarginRescaling


def test_zeros_and_huge_features():
    y = np.array([0, 1, 0, 1])
    nothing = SetClassifier(C=10).fit(np.zeros((4, 2)), y)
    assert (nothing.coef_ == 0).all()
    with pytest.raises(OverflowError, match=r"scale X (or C )?down"):
        SetClassifier(C=10).fit(np.array([[1e300], [-1e300], [1e300], [2e300]]), y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.full((4, 2), np.nan)}, "NaN"),
        ({"X": np.full((4, 2), np.inf)}, "X must be finite"),
        ({"y": [0, 1, 0]}, "inconsistent numbers of samples"),
        ({"y": [1, 1, 1, 1]}, "only one class"),
        ({"y": [0, 1, 2, 1], "class_weight": "balanced"}, "class_weight refuses more than two classes"),
        ({"y": [0, 1, 2, 1], "loss": "auc"}, r"RocArea\(\) refuses 3 classes"),
        ({"y": [0, 1, 0, 1], "pos_label": 7}, r"pos_label must be one of the labels \[0, 1\]; got 7"),
        ({"y": None}, "requires y to be passed"),
        ({"y": csr_matrix(np.eye(4))}, "a sparse matrix: pass Y.toarray"),
        ({"y": [[0, 1], [1]]}, "got a ragged sequence"),
        ({"y": np.array([0, None, 1, 1], dtype=object)}, "y must not hold missing values"),
        ({"y": np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0])}, "y must hold no masked entries; got 1 of them"),
        ({"groups": np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 1])}, "groups must hold no masked entries; got 2 of them"),
        ({"sample_weight": [True, True, True, True]}, "sample_weight must hold real numbers; got dtype bool"),
        ({"y": [0.1, 0.2, 0.3, 0.4]}, "Unknown label type"),
        ({"y": [[0, 2], [1, 0], [1, 1], [0, 1]]}, "must be a matrix of labels 0 and 1|multiclass-multioutput"),
        ({"groups": [0, 1]}, r"groups must have shape \(4,\)"),
        ({"groups": [0.0, 1.0, np.nan, 1.0]}, "groups must not hold NaN"),
        ({"groups": np.array([0, None, 1, 1], dtype=object)}, "groups must not hold missing"),
        ({"groups": [1, "1", 2, 2]}, "groups must be ids of one type; got text and whole numbers"),
        ({"groups": [2**53, 0.5, 2**53 + 1, 0.5]}, "groups must be ids of one type; got numbers and whole numbers"),
        ({"groups": np.array(["a", 1, 1, "a"], dtype=object)}, "groups must be ids of one type"),
        ({"y": np.array(["a", 1, 1, "a"], dtype=object)}, "y must hold labels of one type; got text and whole numbers"),
        ({"groups": np.array(["2020-01-01", "NaT"] * 2, dtype="M8[D]")}, "groups must not hold NaT"),
        ({"sample_weight": ["a", 1, 1, 1]}, "sample_weight must hold real numbers"),
        ({"sample_weight": [1, -1, 1, 1]}, "sample_weight must be finite, not negative"),
        ({"sample_weight": [1, 2, 1, 1]}, "the same for all rows of a set"),
        ({"sample_weight": [1, 1]}, r"sample_weight must have shape \(4,\)"),
        (
            {"y": [[0, 1], [1, 0], [1, 1], [0, 1]], "groups": [0, 0, 1, 1]},
            "for a label matrix Y, average says what a set is",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, words):
    arguments = {"X": np.eye(4)[:, :2], "y": [0, 1, 0, 1]} | change
    parameters = {name: arguments.pop(name) for name in ("loss", "class_weight", "pos_label") if name in arguments}
    with pytest.raises((ValueError, TypeError), match=words):
        SetClassifier(**parameters).fit(**arguments)


@pytest.mark.parametrize(
    "parameters",
    [
        *({"loss": 3}, {"surrogate": "nope"}, {"learner": 3}, {"C": -1.0}, {"tol": -1.0}, {"max_iter": 0}),
        *({"surrogate": MarginRescaling}, {"learner": OneSlack}, {"tol": "a"}),
    ],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match="parameter of SetClassifier"):
        SetClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_what_names_no_loss_is_refused():
    with pytest.raises(ValueError, match="there is no loss 'nothing'; use f1, jaccard"):
        SetClassifier("nothing").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=r"as Jaccard\(\) or 'jaccard'; got <class"):
        SetClassifier(Jaccard).fit([[0.0], [1.0]], [0, 1])


def test_loss_that_does_not_fit_the_sets(bags):
    X, y, groups = bags
    with pytest.raises(ValueError, match="has 3 weights, one for each place; got a set of 10"):
        SetClassifier(Hamming([1, 2, 3])).fit(X, y, groups=groups)


def test_unfitted_and_unknown_labels(bags):
    X, y, _groups = bags
    with pytest.raises(NotFittedError):
        SetClassifier().predict(X)
    model = SetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y must hold the labels"):
        model.score(X, np.full(len(y), "cured"))
    with pytest.raises(ValueError, match="y must have the shape of predict"):
        model.score(X, np.zeros((len(y), 2)))


@pytest.mark.parametrize("size", [1e156, 1e200, 1e308, 1.7e308])
@pytest.mark.parametrize("loss", ["jaccard", "f1", "auc", "hamming"])
def test_features_beyond_float64_are_never_called_learned(loss, size):
    X, y = size * np.array([[1.0, -0.5], [-1.0, 0.2], [0.3, 1.0], [-0.7, -1.0]]), np.array([0, 1, 0, 1])
    targets = {"vector": y, "matrix": np.column_stack([y, 1 - y])}
    if loss != "auc":
        targets["classes"] = np.array([0, 1, 2, 1])
    for target in targets.values():
        with pytest.raises(OverflowError, match=r"scale X (or C )?down"):
            SetClassifier(loss).fit(X, target)


def test_constants_and_scores_beyond_float64():
    X, y = np.array([[1.0, -0.5], [-1.0, 0.2], [0.3, 1.0], [-0.7, -1.0]]), np.array([0, 1, 0, 1])
    for parameters in ({"C": 1e308}, {"C": 1e300}, {"intercept_scaling": 1e308}):
        with pytest.raises(OverflowError, match=r"scale X (or C )?down"):
            SetClassifier(**parameters).fit(X, y)
    model = SetClassifier("hamming", C=100).fit(X, y)
    model.coef_ = 10 * model.coef_
    for ask in (model.predict, model.decision_function, lambda far: model.score(far, y)):
        with pytest.raises(OverflowError, match="the scores of X are too large for float64; scale X down"):
            ask(1.7e308 * np.sign(X))


def test_features_of_other_scales_are_told(bags):
    X, y, groups = bags
    model = SetClassifier("jaccard", "lovasz", max_iter=5)
    with pytest.warns(ConvergenceWarning, match=r"; scale X, whose rows have norms of up to \de\+09\."):
        model.fit(1e9 * X, y, groups=groups)
    with pytest.warns(ConvergenceWarning, match=r"; raise max_iter or tol\."):
        model.fit(X, y, groups=groups)
    for tiny in (1e-150, 1e-200, 5e-324):
        for model in (SetClassifier("jaccard"), SetClassifier(), SetClassifier("auc")):
            with pytest.raises(OverflowError, match=r"X is too small: the weights .* scale X up"):
                model.fit(tiny * X, y)


def small_classifier(size, bags, folder):
    X, y, groups = bags
    return SetClassifier("f1", "margin", max_iter=60).fit(size * X, y, groups=groups)


def chosen_classifier(size, bags, folder):
    X, y, groups = bags
    model = SetClassifierCV(SetClassifier("f1", "margin", max_iter=30), Cs=[1.0, 10.0], cv=2)
    return model.fit(size * X, y, groups=groups)


def file_classifier(size, bags, folder):
    X, y, groups = bags
    table = pd.DataFrame(size * X, columns=["a", "b", "c"]).assign(y=y, g=groups)
    table.to_parquet(folder / "t.parquet")
    model = FileClassifier("f1", "margin", max_iter=60)
    return model.fit(folder / "t.parquet", "y", groups="g")


def label_predictor(kind, **more):
    def fit(size, bags, folder):
        X, y, _ = bags
        Y = np.column_stack([y == "sick", X[:, 0] > X[:, 1]])
        return kind(FiniteSpace(["a", "b"]), C=30.0, max_iter=15, **more).fit(size * X, Y)

    return fit


LINEAR = {
    "SetClassifier": small_classifier,
    "SetClassifierCV": chosen_classifier,
    "FileClassifier": file_classifier,
    "MultilabelStructuredPredictor": label_predictor(MultilabelStructuredPredictor, surrogate="hinge"),
    "PowersetSSVM": label_predictor(PowersetSSVM),
    "SSVM": label_predictor(SSVM),
    "IndependentSVMs": label_predictor(IndependentSVMs),
}


@pytest.mark.draw(3)
@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
@pytest.mark.parametrize("size", [1e9, 1e18])
@pytest.mark.parametrize("fit", LINEAR.values(), ids=LINEAR)
def test_every_linear_estimator_says_that_features_are_too_large(fit, size, bags, tmp_path):
    with pytest.warns(
        ConvergenceWarning, match=rf"; scale X, whose rows have norms of up to \de\+{f'{size:.0e}'[-2:]}\."
    ):
        fit(size, bags, tmp_path)


@pytest.mark.parametrize("fit", LINEAR.values(), ids=LINEAR)
def test_a_constant_model_of_small_features_says_so(fit, bags, tmp_path):
    for size in (1e-9, 1e-150):
        with pytest.warns(VacuousBoundWarning, match=r": scale X up, whose numbers are at most \de-"):
            fit(size, bags, tmp_path)


@pytest.mark.parametrize("tiny", [1e-150, 1e-200])
def test_rows_of_a_file_that_are_too_small_are_refused(tiny, bags, tmp_path):
    X, y, _ = bags
    pd.DataFrame(tiny * X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y).to_parquet(tmp_path / "t.parquet")
    model = FileClassifier("f1")
    with pytest.raises(OverflowError, match=r"X is too small: the weights .* scale X up"):
        model.fit(tmp_path / "t.parquet", "y")
    assert not hasattr(model, "coef_")
