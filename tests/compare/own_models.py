"""A table of pandas with words, gaps and truth values, and pipelines of scikit-learn that were fitted to it."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

READ = ["age", "ward", "note", "member"]


def patients(n=600, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "sick": "no",
        "age": rng.normal(50, 10, n).round(3),
        "ward": rng.choice(["north", "south", "?", "007"], n),
        "note": rng.choice(["has a fever", "is well", "no fever at all"], n),
        "member": rng.random(n) < 0.5,
        "id": np.arange(n) + 1000 * seed,
    })  # fmt: skip
    score = (table["age"] - 50) / 10 + 2 * (table["ward"] == "north") + table["note"].str.startswith("has")
    table.loc[score + rng.logistic(size=n) > 2.5, "sick"] = "yes"
    table.loc[::7, "ward"], table.loc[::11, "age"] = np.nan, np.nan
    return table


def pipeline(last=None):
    words = (OneHotEncoder(handle_unknown="ignore"), ["ward"])
    numbers = (SimpleImputer(), make_column_selector(dtype_include="number"))
    encoder = make_column_transformer(words, (TfidfVectorizer(), "note"), numbers, remainder="passthrough")
    forest = RandomForestClassifier(30, min_samples_leaf=10, random_state=0)
    return make_pipeline(encoder, forest if last is None else last)


def fitted(table, last=None, y="sick"):
    return pipeline(last).fit(table[READ], table[y] if isinstance(y, str) else y)


def plain(table, last=None):
    """A classifier of one number without gaps, fitted to an array."""
    X = table[["age"]].fillna(50.0).to_numpy()
    return (last or LogisticRegression()).fit(X, table["sick"]), X
