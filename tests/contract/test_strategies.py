"""What every way to decide must do: say its words, decide for rows as the rows come, and be saved with its model."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression

from setwise import MeasureClassifier
from setwise.compare.source import source
from setwise.core.exceptions import Refusal
from setwise.estimators.selection import STRATEGIES

X, Y = make_classification(160, 5, weights=[0.75], flip_y=0.1, random_state=0)
GROUPS = np.repeat(np.arange(32), 5)
MATRIX = make_multilabel_classification(160, 5, n_classes=3, random_state=0)
KINDS = {"rows": (X, Y, None), "sets": (X, Y, GROUPS), "labels": (*MATRIX, None)}


@pytest.mark.parametrize("name", STRATEGIES)
def test_it_has_words_for_tables_and_code_that_makes_it(name):
    strategy = STRATEGIES[name]()
    assert all(isinstance(text, str) and text for text in (strategy.title, strategy.phrase, strategy.explanation))
    code, lines = source(strategy)
    namespace = {}
    exec("\n".join(lines), namespace)
    assert eval(code, namespace) == strategy


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("kind", KINDS)
def test_its_rule_is_data_that_decides_for_each_order_of_the_rows(kind, name):
    rows, truth, groups = KINDS[kind]
    strategy, train, new = STRATEGIES[name](), slice(0, 120), slice(120, 160)
    known = {} if groups is None else {"groups": groups[train]}
    asked = {} if groups is None else {"groups": groups[new]}
    model = MeasureClassifier(LogisticRegression(), "f1", strategies=[name], random_state=0)
    try:
        model.fit(rows[train], truth[train], **known)
    except Refusal as refusal:
        # What is for data of another kind says so.
        assert str(refusal)
        return
    found = model.predict(rows[new], **asked)
    assert found.shape == truth[new].shape
    assert set(np.unique(found)) <= set(np.unique(truth))
    order = np.random.default_rng(0).permutation(40)
    moved = {name: ids[order] for name, ids in asked.items()}
    np.testing.assert_array_equal(model.predict(rows[new][order], **moved), found[order])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows[new], **asked), found)
    assert strategy.name == name
