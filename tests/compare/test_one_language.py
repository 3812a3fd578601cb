"""Loss texts, scorers, functions and gains on labels 1 and 2: taken everywhere alike, or refused everywhere alike."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    get_scorer,
    hamming_loss,
    jaccard_score,
    make_scorer,
    matthews_corrcoef,
    zero_one_loss,
)

from setwise import MeasureClassifier, SetClassifier
from setwise.cli import main
from setwise.compare import Plan, Problem, compare, save_model, tune
from setwise.compare.plan import measures_of, named_loss
from setwise.compare.problem import Origin, labels_of, read
from setwise.decisions import best_threshold
from setwise.losses import FBeta, Jaccard, MeanOverClasses, MetricLoss, Tversky, as_loss, parse_losses

HERE = __name__
X, y = make_classification(80, 3, n_informative=2, n_redundant=0, weights=[0.7], flip_y=0.2, random_state=1)
y = y + 1
GROUPS = np.empty(80, int)
# Four rows of each of 20 groups, as evenly as can be of both labels.
GROUPS[np.argsort(y, kind="stable")] = np.arange(80) % 20
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
FITTED = LogisticRegression().fit(TABLE[["a", "b", "c"]], y)
GUESS = FITTED.predict(TABLE[["a", "b", "c"]])


def profit(y_true, y_pred, hit=9.0):
    """A gain of labels 1 and 2."""
    return hit * ((y_true == 2) & (y_pred == 2)).sum() - 2.0 * (y_pred == 2).sum()


def debt(y_true, y_pred):
    """A cost that may be negative."""
    return -profit(y_true, y_pred)


def missed(y_true, y_pred):
    return 5.0 * ((y_true == 2) & (y_pred == 1)).mean() + ((y_true == 1) & (y_pred == 2)).mean()


def of_two(y_true, y_pred):
    """A function that is written for labels 0 and 1, or for words."""
    return float(((y_true == "ill") != (y_pred == "ill")).mean())


own_profit = make_scorer(profit)
of_micro = make_scorer(f1_score, average="micro")
of_kappa = make_scorer(cohen_kappa_score, weights="quadratic")
of_beta = make_scorer(fbeta_score, beta=3)


def tversky(a, b):
    hits, missing, false = (((a == i) & (b == j)).sum() for i, j in ((2, 2), (2, 1), (1, 2)))
    return hits / (hits + 0.3 * false + 0.7 * missing)


def of_label(score, label=2, **given):
    return lambda a, b: score(a, b, pos_label=label, **given)


def average(score, name):
    return lambda a, b: score(a, b, average=name)


UP, DOWN = "higher is better", "lower is better"
F2 = ("F2", UP, of_label(fbeta_score, beta=2))
MACRO = ("macro F1", UP, average(f1_score, "macro"))
ACCURACY = ("accuracy", UP, accuracy_score)
BALANCED = ("balanced accuracy", UP, balanced_accuracy_score)
TVERSKY = ("tversky:0.3:0.7", UP, tversky)

TAKEN = {
    "f1": ("f1", "F1", UP, of_label(f1_score)),
    "DICE": ("DICE", "F1", UP, of_label(f1_score)),
    "scorer f1": (get_scorer("f1"), "F1", UP, of_label(f1_score)),
    "f1_score": (f1_score, "F1", UP, of_label(f1_score)),
    "F1 of 2": (make_scorer(f1_score, pos_label=2), "F1", UP, of_label(f1_score)),
    "F1 of 1": (make_scorer(f1_score, pos_label=1), "F1 of the negative label", UP, of_label(f1_score, 1)),
    "F2 of 1": (
        make_scorer(fbeta_score, beta=2, pos_label=1), "F2 of the negative label", UP, of_label(fbeta_score, 1, beta=2),
    ),
    "Jaccard of 1": (
        make_scorer(jaccard_score, pos_label=1), "Jaccard index of the negative label", UP, of_label(jaccard_score, 1),
    ),
    "fbeta:2": ("fbeta:2", *F2),
    "f2": ("f2", *F2),
    "FBeta(2)": (FBeta(2.0), *F2),
    "scorer F2": (make_scorer(fbeta_score, beta=2), *F2),
    "f1_macro": ("f1_macro", *MACRO),
    "mean_over_classes:f1": ("mean_over_classes:f1", *MACRO),
    "MeanOverClasses(FBeta())": (MeanOverClasses(FBeta()), *MACRO),
    "scorer f1_macro": (get_scorer("f1_macro"), *MACRO),
    "macro with pos_label": (make_scorer(f1_score, average="macro", pos_label=1), *MACRO),
    "f1_weighted": ("f1_weighted", "weighted F1", UP, average(f1_score, "weighted")),
    "jaccard_macro": ("jaccard_macro", "macro Jaccard index", UP, average(jaccard_score, "macro")),
    "jaccard_weighted": ("jaccard_weighted", "weighted Jaccard index", UP, average(jaccard_score, "weighted")),
    "accuracy": ("accuracy", *ACCURACY),
    "hamming_loss": ("hamming_loss", *ACCURACY),
    "function hamming_loss": (hamming_loss, *ACCURACY),
    "scorer zero_one_loss": (make_scorer(zero_one_loss, greater_is_better=False), *ACCURACY),
    "balanced_accuracy": ("balanced_accuracy", *BALANCED),
    "recall_macro": ("recall_macro", *BALANCED),
    "scorer recall_macro": (get_scorer("recall_macro"), *BALANCED),
    "matthews_corrcoef": (matthews_corrcoef, "Matthews correlation", UP, matthews_corrcoef),
    "kappa": ("cohen_kappa", "Cohen's kappa", UP, cohen_kappa_score),
    "tversky text": ("tversky:0.3:0.7", *TVERSKY),
    "tversky": (Tversky(0.3, 0.7), *TVERSKY),
    "sum of text": (
        "error_rate+0.5*jaccard", "error_rate+0.5*jaccard loss", DOWN,
        lambda a, b: hamming_loss(a, b) + 0.5 - 0.5 * jaccard_score(a, b, pos_label=2),
    ),
    "sum": (
        as_loss("accuracy") + 0.5 * Jaccard(), "error_rate+0.5*jaccard loss", DOWN,
        lambda a, b: hamming_loss(a, b) + 0.5 - 0.5 * jaccard_score(a, b, pos_label=2),
    ),
    "gain": (own_profit, "profit", UP, profit),
    "gain with an argument": (
        make_scorer(profit, hit=4.0), "profit", UP, lambda a, b: profit(a, b, hit=4.0),
    ),
    "negative cost": (make_scorer(debt, greater_is_better=False), "debt", DOWN, debt),
    "cost": (missed, "missed", DOWN, missed),
}  # fmt: skip

REFUSED = {
    "f3": "there is no loss 'f3'; use fbeta:3.",
    "f1_samples": "there is no loss 'f1_samples'; use f1 with average='samples'.",
    "jaccard_micro": "there is no loss 'jaccard_micro'; use accuracy, which orders models alike.",
    "precision_macro": "there is no loss 'precision_macro'; use balanced_accuracy or f1_macro.",
    "neg_f1": "there is no loss 'neg_f1'; use f1.",
    "-f1": "loss '-f1' must have no minus; setwise knows which is better, so write f1.",
    "-1*f1": "loss '-1*f1' has a factor that does not fit: factor must be a finite number in (0,",
    "youden": "there is no loss 'youden'; use balanced_accuracy, the mean of 1 and Youden's index.",
    "profit": "there is no loss 'profit'; use your function f(y_true, y_pred) in make_scorer, or on the command line",
    "specificity": "specificity alone is best where no rows are predicted positive; use f1, fbeta:2 or a floor.",
    "positive_likelihood_ratio": "there is no loss 'positive_likelihood_ratio'; use balanced_accuracy, f1 or mcc.",
    "r2": "r2 judges predicted numbers; a loss judges labels, as f1, or an order of rows, as roc_auc.",
    "neg_mean_squared_error": "neg_mean_squared_error judges predicted numbers; a loss judges labels",
    "d2_log_loss_score": "d2_log_loss_score judges probabilities; a loss judges labels",
    "adjusted_rand_score": "adjusted_rand_score judges clusters; a loss judges labels",
    "neg_brier_score": "neg_brier_score judges probabilities; a loss judges labels",
    "nope": "there is no loss 'nope'; use f1, jaccard, balanced_accuracy, mcc or another name that 'setwise list'",
    "scorer precision_macro": "there is no loss 'precision_macro'; use balanced_accuracy or f1_macro.",
    "scorer f1_samples": "there is no loss 'f1_samples'; use f1 with average='samples'.",
    "scorer jaccard_micro": "there is no loss 'jaccard_micro'; use accuracy, which orders models alike.",
    "scorer specific": "recall_score alone is best where all rows are predicted positive",
    "scorer of 3": "pos_label of f1_score must be one of the labels, 1 or 2; got 3.",
    "of_two": "f must tell the labels 1 and 2 apart; of_two is the same where all are right or wrong.",
    "average precision of 1": "pos_label of average_precision_score must be given to the classifier, as pos_label=1",
}

OBJECTS = {
    "scorer precision_macro": get_scorer("precision_macro"),
    "scorer f1_samples": get_scorer("f1_samples"),
    "scorer jaccard_micro": get_scorer("jaccard_micro"),
    "scorer specific": make_scorer(get_scorer("recall")._score_func, pos_label=1),
    "scorer of 3": make_scorer(f1_score, pos_label=3),
    "of_two": of_two,
    "average precision of 1": make_scorer(
        get_scorer("average_precision")._score_func, pos_label=1, response_method="predict_proba"
    ),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save_model(FITTED, tmp_path_factory.mktemp("models") / "model.skops", TABLE)


def from_file():
    return Problem("t.csv", "Rows.", X, y - 1, classes=("1", "2"), origin=Origin("t.csv"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TAKEN)
def test_a_loss_has_the_same_title_and_number_everywhere(name, path):
    given, title, better, number = TAKEN[name]
    sign = 1.0 if better == UP or not as_loss(given).is_called else -1.0
    expected = number(y, GUESS)
    # A comparison, by the object and by its text on the command line.
    texts = parse_losses(given).items() if isinstance(given, str) else ()
    for measured in (named_loss(given, "samples"), *(named_loss(text, "samples") for text, _ in texts)):
        held = measured.of(from_file())
        assert (held.title, held.better) == (title, better)
        assert held.shown(held.on(X)(y - 1, GUESS - 1)) == pytest.approx(expected)
    # A saved model.
    tuned = tune(path, TABLE, "label", given, new_rows=True)
    assert (tuned.measure, tuned.before) == (title, pytest.approx(expected))
    assert tuned.lines[3].endswith(f"; {better}.")
    low, high = held.range
    for interval in (tuned.before_interval, tuned.after_interval):
        assert low <= interval[0] <= interval[1] <= high
    # The classifiers.
    model = MeasureClassifier(FITTED, given, ["threshold"], cv="prefit", refit=False).fit(TABLE[["a", "b", "c"]], y)
    found = number(y, model.predict(TABLE[["a", "b", "c"]]))
    one_minus = better == DOWN and not as_loss(given).is_called
    assert model.score(TABLE[["a", "b", "c"]], y) == pytest.approx(1.0 - found if one_minus else sign * found)
    # Weights by support are for one set.
    sets = None if title.startswith("weighted") else GROUPS
    trained = SetClassifier(given, max_iter=5).fit(X, y, groups=sets)
    assert repr(trained.loss_) == repr(model.loss_)
    assert np.isfinite(trained.score(X, y, groups=sets))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_everywhere_in_the_same_sentence(name, path, tmp_path, capsys):
    given = OBJECTS.get(name, name)
    asks = [
        lambda: MeasureClassifier(FITTED, given, ["threshold"], cv="prefit", refit=False).fit(X, y),
        lambda: SetClassifier(given).fit(X, y, groups=GROUPS),
        lambda: named_loss(given, "samples").of(from_file()),
        lambda: tune(path, TABLE, "label", given, new_rows=True),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match=re.escape(REFUSED[name])) as refused:
            ask()
        assert str(refused.value).endswith(".")
    if given is name:
        TABLE.to_csv(tmp_path / "t.csv", index=False)
        for command in (("compare",), ("tune", str(path))):
            out = ("--out", str(tmp_path / "new.skops")) if command[0] == "tune" else ()
            options = ("--target", "label", f"--loss={name}", *out)
            assert main([*command, str(tmp_path / "t.csv"), *options]) == 2
            assert f"setwise: {REFUSED[name]}" in " ".join(capsys.readouterr().err.split())


def test_a_function_sees_the_labels_of_the_classes_and_without_classes_0_and_1():
    seen = set()

    def cost(y_true, y_pred):
        seen.update((*y_true.tolist(), *y_pred.tolist()))
        return float((y_true != y_pred).mean())

    words = np.where(y == 2, "ill", "healthy")
    for positive in ("ill", "healthy"):
        model = MeasureClassifier(FITTED.__class__(), cost, ["threshold"], 3, pos_label=positive).fit(X, words)
        assert model.score(X, words) == pytest.approx(-(model.predict(X) != words).mean())
    assert seen == {"ill", "healthy"}
    seen.clear()
    best_threshold(y - 1, X[:, 0], cost)
    assert seen == {0, 1}
    for label in (0, 1):
        scorer = make_scorer(f1_score, pos_label=label)
        for positive in (0, 1):
            model = MeasureClassifier(LogisticRegression(), scorer, ["threshold"], 3, pos_label=positive).fit(X, y - 1)
            assert model.score(X, y - 1) == pytest.approx(scorer(model, X, y - 1))
    with pytest.raises(ValueError, match="pos_label of f1_score must be one of the labels, 0 or 1; got 'ill'"):
        best_threshold(y - 1, X[:, 0], make_scorer(f1_score, pos_label="ill"))


def test_a_scorer_of_a_module_is_called_as_its_metric():
    texts = ",".join(f"{HERE}:{name}" for name in ("of_micro", "of_kappa", "of_beta", "own_profit"))
    titles = [one.title for one in measures_of(texts, "samples")]
    assert titles == ["accuracy", "kappa:quadratic", "F3", "own profit"]


@pytest.mark.parametrize("beta", [None, 2])
@pytest.mark.parametrize("value", [0, 1.0])
def test_zero_division_is_a_parameter_of_the_loss(beta, value):
    given = {"zero_division": value} | ({} if beta is None else {"beta": beta})
    scorer = make_scorer(f1_score if beta is None else fbeta_score, **given)
    assert isinstance(as_loss(make_scorer(f1_score, average="macro", zero_division=value)), MetricLoss)
    loss = as_loss(scorer)
    assert loss == FBeta(beta or 1.0, value)
    for truth, guess in (([0, 0], [0, 0]), ([0, 0], [1, 0]), ([1, 0], [0, 0]), ([1, 0], [1, 1])):
        assert 1.0 - loss(truth, guess) == pytest.approx(scorer._score_func(truth, guess, **given))


def test_text_of_a_function_is_for_the_command_line():
    with pytest.raises(
        ValueError, match=f"loss '{HERE.lower()}:profit' must be the function itself in Python, as loss="
    ):
        as_loss(f"{HERE}:profit")


def test_the_commands_take_a_function_of_the_labels_of_the_file(path, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(
        "def missed(a, b):\n    return 5.0 * ((a == 2) & (b == 1)).mean() + ((a == 1) & (b == 2)).mean()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    TABLE.to_csv("t.csv", index=False)
    options = ["t.csv", "--target", "label", "--loss", "own:missed", "--out"]
    assert main(["tune", str(path), *options, "new.skops", "--new-rows"]) == 0
    assert f"Missed before: {missed(y, GUESS):.3f}".replace("0.", ".") in capsys.readouterr().out
    assert main(["tune", str(path), "t.csv", "--loss", "f1,f2", "--out", "new.skops", "--new-rows"]) == 2
    assert "--loss must be one measure; got f1,f2." in capsys.readouterr().err
    # The lines of Python of a report repeat its threshold.
    plan = Plan(folds=2, inner=3, grid=(1.0,), bases=("linear",), strategies=("threshold",))
    answer = compare(read("t.csv", {"target": "label"}), list(measures_of("own:missed", "samples")), plan)[0]
    names: dict = {}
    exec(answer.winner.code, names)
    assert names["model"].best_threshold_ == pytest.approx(answer.winner.threshold)
    assert set(names["labels"]) <= {1, 2}


def test_a_value_that_begins_with_a_minus_is_said_how_to_write(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "t.csv", "--loss", "-f1"])
    assert "setwise: --loss needs a value, as --loss=VALUE where it begins with -." in capsys.readouterr().err


@pytest.mark.parametrize(
    "texts", [("1", "2"), ("-1", "0.5"), ("False", "True"), ("no", "yes"), ("007", "8"), ("not 2", "2")]
)
def test_labels_of_a_file_are_those_that_pandas_reads(texts, tmp_path):
    Path(tmp_path / "t.csv").write_text("label\n" + "\n".join(texts))
    read_so = pd.read_csv(tmp_path / "t.csv")["label"].tolist()
    assert list(labels_of(texts)) == (list(texts) if texts[0] == "007" else read_so)


def test_labels_of_a_function_are_two():
    loss = MetricLoss(missed, labels=(1, 2))
    assert loss([1, 0, 0], [0, 0, 1]) == missed(np.array([2, 1, 1]), np.array([1, 1, 2]))
    assert loss.for_labels(("a", "b")) is loss
    for odd in ((1, 1), (1,), [1, 2]):
        with pytest.raises(TypeError, match="labels must be two different labels"):
            MetricLoss(missed, labels=odd)
