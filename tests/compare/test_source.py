"""The code of objects, which makes them anew."""

from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setwise.compare import FlooredThreshold
from setwise.compare.source import source
from setwise.estimators import TableEncoder


def test_defaults_are_left_out_and_imports_are_public():
    model = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), LogisticRegression(C=0.5))
    text, lines = source(model)
    assert text == 'make_pipeline(SimpleImputer(strategy="median", add_indicator=True), LogisticRegression(C=0.5))'
    made = {}
    exec("\n".join([*lines, f"found = {text}"]), made)
    assert repr(made["found"]) == repr(model)
    assert source(FlooredThreshold(recall=0.9)) == (
        "FlooredThreshold(recall=0.9)", ["from setwise.compare import FlooredThreshold"],
    )  # fmt: skip


def test_code_is_given_for_some_parameters():
    assert source(LogisticRegression(), {"C": "1"})[0] == "LogisticRegression(C=1)"
    assert source(TableEncoder((), "trees"), {"columns": "data.columns"}) == (
        'TableEncoder(data.columns, "trees")', ["from setwise.estimators import TableEncoder"],
    )  # fmt: skip
    assert source(TableEncoder(sparse_threshold=0.3), {"columns": "c"})[0] == "TableEncoder(c, sparse_threshold=0.3)"
