"""Codes of words are no numbers: other names of the words change no result, and no strategy reads one as a number."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from setwise import MeasureClassifier
from setwise.compare import NamedLoss, Plan, Problem, compare, load_model, save_model
from setwise.compare.command import saved_model
from setwise.compare.plan import BASES
from setwise.compare.problem import read
from setwise.datasets import load_rows
from setwise.datasets.columns import Category, Number
from setwise.estimators import TableEncoder
from setwise.estimators.selection.out_of_fold import as_numbers, codes_of
from setwise.losses import FBeta

WORDS = ("ash", "beech", "cedar", "oak", "yew")
OTHER = dict(zip(WORDS, ("yew", "ash", "oak", "beech", "cedar"), strict=True))
F1 = NamedLoss("f1", FBeta())


def table(path, renamed, n=300):
    """Rows whose label hangs on a word and a number, with outliers that draw logistic regression away."""
    rng = np.random.default_rng(0)
    word, spot = rng.integers(0, 5, n), rng.choice(4, n, p=[0.55, 0.2, 0.15, 0.1])
    a, b = (np.array([[0, 0], [2, 0], [0, 9], [10, 0]])[spot] + 0.5 * rng.normal(size=(n, 2))).T
    y = (spot == 1) ^ (np.isin(word, [0, 3]) & (rng.random(n) < 0.1))
    names = [OTHER[WORDS[w]] if renamed else WORDS[w] for w in word]
    lines = [f"{names[i]},{a[i]:.3f},{b[i]:.3f},g{i // 6},{int(y[i])}" for i in range(n)]
    path.write_text("\n".join(["tree,a,b,bag,y", *lines]) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "group"), [("ramp", None), ("stack", "bag")])
def test_renamed_words_change_nothing(tmp_path, strategy, group):
    plan = Plan(2, 3, (1.0,), ("linear",), (strategy,))
    found, models = [], []
    for renamed in (False, True):
        path = table(tmp_path / f"{strategy}{renamed}.csv", renamed)
        problem = read(str(path), {"target": "y", "group": group, "drop": None if group else "bag"})
        (answer,) = compare(problem, [F1], plan)
        found.append(answer)
        base = make_pipeline(TableEncoder(problem.columns), LogisticRegression(max_iter=1000))
        models.append(MeasureClassifier(base, strategies=[strategy]).fit(problem.X, problem.y, groups=problem.groups))
        rule = models[-1].rule_
        if models[-1].best_strategy_ == strategy:
            # the log-odds and the two numbers, and no code of a word
            assert rule.coef.shape == (1, 3)
    for one, other in zip(found[0].rows, found[1].rows, strict=True):
        assert one.key == other.key
        np.testing.assert_allclose(one.outer, other.outer, atol=1e-9)
        assert one.loss == pytest.approx(other.loss, abs=1e-9)
    assert models[0].best_strategy_ == models[1].best_strategy_


@pytest.mark.slow
def test_a_saved_winner_reads_no_codes_either(tmp_path):
    pytest.importorskip("skops.io")
    labels = []
    for renamed in (False, True):
        problem = read(str(table(tmp_path / f"{renamed}.csv", renamed)), {"target": "y", "drop": "bag"})
        (answer,) = compare(problem, [F1], Plan(2, 3, (1.0,), ("linear",), ("ramp",)))
        winner = replace(answer.winner, key=("linear", "ramp"), threshold=None, constant=1.0)
        model = saved_model(replace(answer, winner=winner), None)
        assert model.estimator.best_strategy_ == "ramp"
        loaded = load_model(save_model(model, tmp_path / "m.skops"))
        new = tmp_path / "new.csv"
        words = [OTHER[word] if renamed else word for word in WORDS]
        rows = [f"{word},{a},{b}" for word in (*words, "elm", "zelkova") for a in (-2, 0, 2) for b in (-1, 1)]
        new.write_text("\n".join(["tree,a,b", *rows]) + "\n")
        found, _ = loaded.decide(load_rows(new, loaded.columns).X)
        labels.append(found)
        # two words that the training did not see are alike
        np.testing.assert_array_equal(found[-6:], found[-12:-6])
    np.testing.assert_array_equal(labels[0], labels[1])


def test_the_codes_in_front_of_an_estimator_are_found():
    columns = (Number("a"), Category("w", ("x", "y")), Number("b"))
    front = make_pipeline(TableEncoder(columns), LogisticRegression())
    assert codes_of(front) == [1]
    assert codes_of(make_pipeline("passthrough", front)) == [1]
    assert codes_of(GridSearchCV(front, {})) == [1]
    assert codes_of(MeasureClassifier(front)) == [1]
    assert codes_of(make_pipeline(StandardScaler(), LogisticRegression())) == []
    assert codes_of(make_pipeline(StandardScaler(), front)) == []
    assert codes_of(None) == []
    np.testing.assert_array_equal(as_numbers(np.array([[1.0, 9.0, 2.0]]), [1]), [[1.0, 2.0]])
    assert as_numbers(np.array([[1.0]]), [0]) is None


def test_many_frequent_words_are_told_apart():
    rng = np.random.default_rng(0)
    effect, words = rng.normal(size=300), rng.integers(0, 300, 6000)
    columns = (Category("place", tuple(f"{i:03}" for i in range(300))),)
    X, y = words[:, None].astype(float), (2.0 * effect[words] + rng.logistic(size=6000) > 1.0).astype(int)
    problem = Problem("places", "Made up.", X, y, columns=columns)
    train, test = np.arange(6000) < 4000, np.arange(6000) >= 4000
    model = BASES["linear"].build(problem, 1.0, 0).fit(X[train], y[train])
    plain = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(X[train], y[train])
    assert issparse(model[0].transform(X))
    scores = [f1_score(y[test], one.predict(X[test])) for one in (model, plain)]
    assert scores[0] > scores[1] - 0.005
