"""Losses from text: every loss, its parameters, sums, and what is refused."""

import re
from dataclasses import MISSING, fields

import numpy as np
import pytest

from setwise.losses import (
    LOSSES,
    MCC,
    NDCG,
    ClassWeightedLoss,
    ErrorRate,
    FBeta,
    Hamming,
    Jaccard,
    OneClass,
    PrecisionAtK,
    RecallAtK,
    Tversky,
    as_loss,
    loss_forms,
    parse_losses,
    plain_losses,
)


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("f1", FBeta()),
        ("fbeta:2", FBeta(2.0)),
        ("FBeta:beta=2", FBeta(2.0)),
        ("fbeta:0.5:zero_division=0", FBeta(0.5, 0.0)),
        (" precision_at_k : 100 ", PrecisionAtK(100)),
        ("recall_at_k:zero_division=0:k=3", RecallAtK(3, 0.0)),
        ("tversky:0.3:0.7", Tversky(0.3, 0.7)),
        ("tversky:1e+3:1E-3", Tversky(1e3, 1e-3)),
        ("jaccard:fraction", Jaccard("fraction")),
        ("ndcg:5", NDCG(5)),
        ("ndcg", NDCG()),
        ("class_weighted:jaccard:1:5", ClassWeightedLoss(Jaccard(), 1.0, 5.0)),
        ("class_weighted:(fbeta:2):1:5", ClassWeightedLoss(FBeta(2.0), 1.0, 5.0)),
        ("one_class:label=1:loss=(jaccard+hamming)", OneClass(Jaccard() + Hamming(), 1)),
        ("jaccard+0.5*fbeta:2", Jaccard() + 0.5 * FBeta(2.0)),
        ("1e+1*(jaccard + 2 * f1)", 10.0 * (Jaccard() + 2.0 * FBeta())),
    ],
)
def test_text_makes_the_loss_that_python_makes(text, loss):
    assert repr(*parse_losses(text).values()) == repr(loss)


def test_several_losses_keep_their_order_and_occur_once():
    found = parse_losses("F1, tversky:0.3:0.7 ,f1,(jaccard+f1)")
    assert list(found) == ["f1", "tversky:0.3:0.7", "(jaccard+f1)"]
    assert found["tversky:0.3:0.7"] == Tversky(0.3, 0.7)


def test_every_loss_is_written_by_its_form_or_says_why_not():
    forms = loss_forms()
    assert set(plain_losses()) <= set(forms)
    for name, kind in LOSSES.items():
        needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
        words = {"k": "1", "label": "1", "loss": "jaccard", "negative": "1", "positive": "2", "width": "3"}
        if name in forms:
            assert all(f":{parameter}" in forms[name] for parameter in needed)
            made = parse_losses(":".join([name, *(words[parameter] for parameter in needed)]))
            assert type(*made.values()) is kind
        else:
            with pytest.raises(ValueError, match=rf"^loss '{name}' needs .+, which text cannot give; make it in Py"):
                parse_losses(name)
    assert forms["tversky"] == "tversky[:alpha[:beta[:zero_division]]]"
    assert forms["recall_at_k"] == "recall_at_k:k[:zero_division]"
    assert forms["hamming"] == "hamming"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", r"there is no loss 'nothing'; use f1, jaccard, balanced_accuracy, mcc or another name that "),
        ("jacard", r"there is no loss 'jacard'; use jaccard\."),
        ("balanced_acuracy", r"use balanced_accuracy\."),
        ("precision", r"precision alone is best where few rows are predicted positive; use f1, fbeta:2 or a floor\."),
        ("recall_score", r"recall_score alone is best where all rows"),
        ("iou:wrong", r"empty must be one of perfect, fraction, ignore; got 'wrong'"),
        ("tversky:0.3,0.7", r"loss '0\.7' is a number; parameters are joined by colons, as in tversky:0\.3:0\.7\."),
        ("precision_at_k", r"loss 'precision_at_k' needs k; write precision_at_k:k\."),
        ("recall_at_k:zero_division=0", r"needs k; write recall_at_k:k\[:zero_division\]"),
        ("precision_at_k:0", r"loss 'precision_at_k:0': k must be at least 1; got 0\."),
        ("precision_at_k:1.5", r"loss 'precision_at_k:1\.5': k must be a whole number; got '1\.5'\."),
        ("fbeta:two", r"beta must be a number; got 'two'\."),
        ("fbeta:1_0", r"beta must be a number; got '1_0'\."),
        ("fbeta:nan", r"loss 'fbeta:nan': beta must be a finite number"),
        ("fbeta:2:beta=2", r"loss 'fbeta' takes fbeta\[:beta\[:zero_division\]\]; got 'fbeta:2:beta=2'\."),
        ("fbeta:gamma=2", r"takes fbeta\[:beta"),
        ("fbeta:1:2:3", r"takes fbeta\[:beta"),
        ("hamming:1", r"loss 'hamming' takes no parameters; got 'hamming:1'\."),
        ("jaccard:foo", r"empty must be one of perfect, fraction, ignore; got 'foo'\."),
        ("auc+f1", r"loss 'auc\+f1' is not a sum of losses: \+ refuses RocArea\(\)"),
        ("class_weighted:auc:1:1", r"class_weight refuses RocArea"),
        ("0*f1", r"loss '0\*f1' has a factor that does not fit: factor must be a finite number in \(0,"),
        ("e*f1", r"must have a number before the star; got 'e'"),
        ("", r"loss '' must be names joined by ',', with parentheses in pairs\."),
        ("f1,", r"must be names joined by ','"),
        ("f1:", r"must be names joined by ':'"),
        ("+f1", r"must be names joined by '\+'"),
        ("(f1", r"with parentheses in pairs"),
        ("f1)", r"with parentheses in pairs"),
        ("(" * 5000 + "f1" + ")" * 5000, r"with parentheses in pairs"),
        ("2*" * 5000 + "f1", r"there is no loss '2\*2"),
        ("+".join(["1.5*jaccard"] * 5000) + "+", r"must be names joined"),
    ],
)
def test_what_is_wrong_is_one_sentence(text, says):
    with pytest.raises(ValueError, match=says) as refused:
        parse_losses(text)
    assert str(refused.value).endswith(".")


def test_only_text_is_read():
    with pytest.raises(TypeError, match="loss must be text; got 3"):
        parse_losses(3)


def test_names_metrics_and_scorers_of_scikit_learn_are_one_minus_losses():
    from sklearn.metrics import fbeta_score, get_scorer, make_scorer, matthews_corrcoef

    rng = np.random.default_rng(0)
    y, h, s = rng.integers(0, 2, 40), rng.integers(0, 2, 40), rng.normal(size=40)
    for name in ("accuracy", "balanced_accuracy", "f1", "jaccard", "matthews_corrcoef"):
        scorer = get_scorer(name)
        for given in (name, scorer, scorer._score_func):
            assert 1.0 - as_loss(given)(y, h) == pytest.approx(scorer._score_func(y, h))
    for name in ("roc_auc", "average_precision"):
        scorer = get_scorer(name)
        assert 1.0 - as_loss(scorer)(y, s) == 1.0 - as_loss(name)(y, s) == pytest.approx(scorer._score_func(y, s))
    beta = make_scorer(fbeta_score, beta=2)
    assert 1.0 - as_loss(beta)(y, h) == 1.0 - as_loss("f2")(y, h) == pytest.approx(fbeta_score(y, h, beta=2))
    assert as_loss(matthews_corrcoef) == MCC()
    assert parse_losses("Dice,accuracy") == {"f1": FBeta(), "error_rate": ErrorRate()}
    assert as_loss("jaccard+0.5*hamming")(y, h) == Jaccard()(y, h) + 0.5 * Hamming()(y, h)


def test_metrics_that_no_loss_stands_for_are_refused():
    from sklearn.metrics import f1_score, fbeta_score, get_scorer, log_loss, make_scorer, median_absolute_error

    def cohen_kapa_score(y_true, y_pred):
        return 0.0

    cohen_kapa_score.__module__ = "sklearn.metrics"
    for given, says in (
        (median_absolute_error, "there is no loss for median_absolute_error of scikit-learn; there are losses for acc"),
        (
            cohen_kapa_score,
            "there is no loss for cohen_kapa_score of scikit-learn; there are losses for cohen_kappa_score.",
        ),
        (log_loss, "log_loss judges probabilities"),
        (get_scorer("roc_auc_ovr"), "a scorer of roc_auc_score must judge labels, response_method='predict'; got 'pre"),
        (make_scorer(f1_score, greater_is_better=False), "a scorer of f1_score must have greater_is_better=True"),
        (fbeta_score, "fbeta_score needs beta; give make_scorer(fbeta_score, beta=2), or 'fbeta:2'."),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            as_loss(given)
    for given in (3, None, Jaccard):
        with pytest.raises(TypeError, match="loss must be a loss or its name"):
            as_loss(given)
