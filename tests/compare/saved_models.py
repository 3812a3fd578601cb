"""Models to save, fitted to a small raw table or to plain numbers."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setwise import SetClassifier
from setwise.compare.saved_model import SavedModel
from setwise.datasets import load_table
from setwise.estimators import TableEncoder, tree_categories


def raw_rows(n=200, seed=0):
    """Rows of a table by name of column: numbers, words, dates, truth values and gaps, and labels they tell of."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Rome", "Oslo", "Bern"], n)
    age = rng.normal(40, 10, n)
    sick = (city == "Rome") ^ (rng.random(n) < 0.1)
    return {
        "age": [f"{a:.1f}" if i % 9 else "" for i, a in enumerate(age)],
        "city": [str(c) if i % 11 else "NA" for i, c in enumerate(city)],
        "since": [f"{2000 + i % 20}-0{1 + i % 9}-01" for i in range(n)],
        "member": [["true", "false", ""][i % 3] for i in range(n)],
        "bag": [f"b{i // 5}" for i in range(n)],
        "sick": ["yes" if s else "no" for s in sick],
    }


def write_csv(path, columns, order=None):
    names = order or list(columns)
    lines = [",".join(names), *(",".join(row) for row in zip(*(columns[name] for name in names), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table_model(path, kind="linear", **more):
    """A model of the table in the file, and its data."""
    data = load_table(path, "sick", drop="bag")
    estimator, form = {
        "linear": (LogisticRegression(C=10.0), "linear"),
        "forest": (RandomForestClassifier(20, random_state=0), "trees"),
        "boosted": (HistGradientBoostingClassifier(max_iter=20, random_state=0), "trees"),
        "categories": (
            HistGradientBoostingClassifier(
                max_iter=20, categorical_features=tree_categories(data.columns), random_state=0
            ),
            "trees",
        ),
        "set": (SetClassifier("jaccard", C=100.0), "linear"),
    }[kind]
    pipeline = make_pipeline(TableEncoder(data.columns, form), estimator).fit(data.X, data.y)
    response = "decision_function" if kind == "set" else "predict_proba"
    usual = {"response": response, "threshold": 0.0 if kind == "set" else 0.3}
    return SavedModel(pipeline, data.classes, "f1", data.columns, **(usual | more)), data


def matrix_model(estimator, X, Y, **more):
    """A model of a label matrix without names of features."""
    names = tuple("abcdefg"[: Y.shape[1]])
    return SavedModel(estimator.fit(X, Y), names, "jaccard", n_features=X.shape[1], many=True, **more)
