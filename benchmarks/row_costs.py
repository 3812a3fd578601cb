"""What decisions by costs of each row save, beside other ways: ``python benchmarks/row_costs.py`` (needs empulse).

``[--tables NAME ...] [--splits 10] [--seeds 5]`` cut it down. The protocol was written before the first result.

*Tables.* The four that empulse bundles, with the costs of their authors: subscribers who leave, two tables of loans,
and calls of a bank. Of more than 20,000 rows so many are drawn, by the seed 0. *Splits.* Ten stratified ones of halves.

*Base models.* Logistic regression and ``HistGradientBoostingClassifier`` of 100 rounds. Numbers are scaled, gaps filled
by means; words are columns of 0 and 1, the rare ones in one column. All methods get these columns.

*Ours.* ``MeasureClassifier(base, RowCosts())`` as it is by default, with costs as arrays of ``fit`` and ``predict``.
For information its strategies ``"threshold"`` and ``"decision"`` alone, tuned on the out-of-fold probabilities that the
rivals get. *Rivals.* The row rule by hand: positive where the raw probability q of the base has
``q (fn - tp) > (1 - q) (fp - tn)``; the single threshold of least cost on out-of-fold probabilities (5 folds); the
threshold 1/2; and empulse's ``CSLogitClassifier`` and ``CSBoostClassifier``, as they predict and by the row rule on
their probabilities: the better of the two on the table, by its mean over the splits, is the rival.

*Either base.* CSBoost boosts trees, so logistic regression loses to it where trees are needed. The base "either" is the
one of the two whose choice cost less in the folds of the training half, as ``setwise compare`` chooses. (It was added
after the first results; the other cells are as they were.)

*Measure.* ``savings_score`` of the half held out. It is refused where the better constant decision costs nothing, or
less; such a split would be named and left out for all methods. *Test.* The one-sided p that ours saves less than the
rival: Student's t of the paired differences over the splits, with the variance of Nadeau and Bengio (2003). Holm at .05
over all cells, which are table, base and rival.

*Payments.* A generated table of 75,000 card payments, about 1 % of them fraud, by the seeds 0 to 4: 50,000 to train,
the 25,000 later ones to test. An alarm at an honest payment costs 5, a missed fraud its amount. Ours reads the amount
by the name of its column. Rivals: scikit-learn's ``TunedThresholdClassifierCV``, to which metadata routing hands the
amounts for its scorer, and the row rule by hand. The measure is the total cost, the test as above, by Student's t
without correction, since the tables of different seeds share no rows; Holm over the cells of payments.

Costs by array and by name are compared on the first split of the first table.
"""

import argparse
import time
import warnings

import empulse.datasets
import numpy as np
import pandas as pd
from empulse.models import CSBoostClassifier, CSLogitClassifier
from scipy.stats import t as student
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    StratifiedKFold,
    StratifiedShuffleSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from setwise import MeasureClassifier
from setwise.compare.answer import PairedDifference
from setwise.decisions.task import Task
from setwise.estimators.selection import STRATEGIES
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.strategies import Evidence
from setwise.losses import RowCosts, savings_score

MOST_ROWS, LEVEL = 20_000, 0.05
LOST_GIVEN_DEFAULT = 0.75
BASES = {
    "logistic": LogisticRegression(max_iter=500),
    "boosting": HistGradientBoostingClassifier(max_iter=100, random_state=0),
}
OURS = ("ours", "ours: threshold", "ours: decision")
RIVALS = ("row rule", "one threshold", "CSLogit", "CSBoost", "1/2")
RIVALS_OF_PAYMENTS = ("TunedThreshold", "row rule")


def churn():
    """Subscribers who leave, 9,379 rows."""
    d = empulse.datasets.load_churn_tv_subscriptions(backend=pd)
    return d, {cell: d.instance_costs[f"{cell}_cost"] for cell in ("tp", "fp", "fn", "tn")}


def loans(load):
    """Loans that are not paid back, of which a share of the amount is lost."""
    d = load(backend=pd)
    lost = LOST_GIVEN_DEFAULT * np.asarray(d.instance_costs["cl"], dtype=float)
    return d, {"tp": 0.0, "fp": d.instance_costs["fp_cost"], "fn": lost, "tn": 0.0}


def upsell():
    """Customers who buy if they are called: a call costs 1, a customer who is not called interest on the balance."""
    d = empulse.datasets.load_upsell_bank_telemarketing(backend=pd)
    interest = 0.25 * 0.02463333 * np.asarray(d.instance_costs["balance"], dtype=float)
    return d, {"tp": 1.0, "fp": 1.0, "fn": np.maximum(1.0, interest), "tn": 0.0}


TABLES = {
    "churn": churn,
    "vub": lambda: loans(empulse.datasets.load_vub_credit_scoring),
    "upsell": upsell,
    "pakdd": lambda: loans(empulse.datasets.load_credit_scoring_pakdd),
}


def read(name):
    """The rows X, the labels y of 0 and 1, and the costs by their cells, (n,) each."""
    d, costs = TABLES[name]()
    X, y = d.data.copy(), np.asarray(d.target, dtype=int)
    costs = {cell: np.broadcast_to(np.asarray(cost, dtype=float), y.shape) for cell, cost in costs.items()}
    for column in X.columns:
        if not pd.api.types.is_numeric_dtype(X[column]):
            X[column] = X[column].astype(str)
    if len(y) > MOST_ROWS:
        kept = np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False)
        X, y, costs = X.iloc[kept].reset_index(drop=True), y[kept], {c: cost[kept] for c, cost in costs.items()}
    return X, y, costs


def payments(n, seed):
    """A table of card payments like those of a bank; what tells fraud is partly in the hour, merchant and customer."""
    r = np.random.default_rng(seed)
    seconds = np.sort(r.integers(0, 180 * 86400, n))
    customers = n // 12 + 1
    customer = r.integers(0, customers, n)
    customer_risk = r.normal(size=customers)
    share = 1 / np.arange(1, 801) ** 1.1
    merchant = r.choice(800, n, p=share / share.sum())
    merchant_risk = r.normal(size=800)
    kinds = ["grocery", "travel", "electronics", "fuel", "restaurant", "gaming", "jewelry"]
    kind = r.choice(kinds, n, p=[0.3, 0.1, 0.12, 0.18, 0.2, 0.07, 0.03])
    countries = ["DE", "FR", "US", "GB", "PL", "RO", "NG", "BR"]
    country = r.choice(countries, n, p=[0.45, 0.15, 0.12, 0.1, 0.08, 0.05, 0.02, 0.03])
    device = r.choice(["ios", "android", "web", "pos", ""], n, p=[0.25, 0.3, 0.2, 0.2, 0.05])
    amount = np.round(np.exp(r.normal(3.3, 1.1, n)), 2)
    hour = (seconds // 3600) % 24
    age = np.where(r.random(n) < 0.12, np.nan, np.clip(r.normal(42, 14, n), 18, 95).round())
    days = np.where(r.random(n) < 0.03, np.nan, r.exponential(400, n).round())
    velocity = r.poisson(1.5, n)
    z = (
        -4.75
        + 0.9 * np.log(amount / 27)
        + 1.2 * np.isin(country, ["NG", "RO", "BR"])
        + 1.1 * np.isin(kind, ["electronics", "jewelry", "gaming"])
        + 0.9 * ((hour < 6) | (hour > 22))
        + 0.45 * velocity * (np.nan_to_num(days, nan=100) < 60)
        + 0.5 * merchant_risk[merchant]
        + 0.6 * customer_risk[customer]
        - 1.0 * (device == "pos")
        + 1.2 * ((device == "web") & (amount > 120))
    )
    y = r.random(n) < 1 / (1 + np.exp(-z * 1.25 + 0.9))
    columns = {
        "amount": amount,
        "merchant": merchant.astype(str),
        "kind": kind,
        "country": country,
        "device": device,
        "age": age,
        "days": days,
        "velocity": velocity,
        "hour": hour,
        "weekday": (seconds // 86400) % 7,
    }
    return pd.DataFrame(columns), y.astype(int)


def encoding(X, rare):
    """Scaled numbers, and words as columns of 0 and 1; columns of X that come later are left out."""
    numbers = [c for c in X.columns if pd.api.types.is_numeric_dtype(X[c])]
    words = [c for c in X.columns if c not in numbers]
    one_hot = OneHotEncoder(handle_unknown="ignore", min_frequency=rare, sparse_output=False)
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((scaled, numbers), *([(one_hot, words)] if words else []))


class Known(Evidence):
    """Probabilities that are at hand."""

    def __init__(self, q):
        self.q = q

    def response(self, weight=1.0):
        """The probabilities, with labels at 1/2."""
        return Response(self.q >= 0.5, self.q, True)

    @property
    def numbers(self):
        """No columns of X."""


def row_rule(q, costs):
    """Each row by its own costs."""
    return q * (costs.fn - costs.tp) > (1 - q) * (costs.fp - costs.tn)


def one_threshold(y, q, costs):
    """The cut between two probabilities at which the rows cost least, by trying all cuts."""
    order = np.argsort(-q, kind="stable")
    change = np.where(y == 1, costs.tp - costs.fn, costs.fp - costs.tn)[order]
    total = np.concatenate(([0.0], np.cumsum(change)))
    falling = np.concatenate(([np.inf], q[order], [-np.inf]))
    total[1:][falling[1:-1] == falling[2:]] = np.inf
    k = int(np.argmin(total))
    return (falling[k] + falling[k + 1]) / 2


def of_base(base, train, test, seed):
    """The labels of ours and of what can be done over one base model, and the fitted model."""
    (X, y, costs), (X_test, _, costs_test) = train, test
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    held_out = cross_val_predict(clone(base), X, y, cv=folds, method="predict_proba")[:, 1]
    q = clone(base).fit(X, y).predict_proba(X_test)[:, 1]
    out = {
        "row rule": row_rule(q, costs_test),
        "one threshold": q >= one_threshold(y, held_out, costs),
        "1/2": q >= 0.5,
    }
    for name in ("threshold", "decision"):
        rule = STRATEGIES[name]().tune(Known(held_out), Task(y == 1, costs, None, "samples"))
        out[f"ours: {name}"] = rule.for_rows(costs_test).labels(Known(q))
    return out


def given(costs):
    """The costs as arguments of ``fit`` and ``predict``."""
    return {f"{cell}_cost": getattr(costs, cell) for cell in ("tp", "fp", "fn", "tn")}


def peers(encoder, train, test):
    """The labels of the classifiers of empulse, each in two ways."""
    (X, y, costs), (X_test, _, costs_test) = train, test
    rows, rows_test = encoder.fit_transform(X), encoder.transform(X_test)
    out = {}
    for name, model in (("CSLogit", CSLogitClassifier()), ("CSBoost", CSBoostClassifier())):
        model.fit(rows, y, **given(costs))
        out[f"{name}: predict"] = model.predict(rows_test) == 1
        out[f"{name}: row rule"] = row_rule(model.predict_proba(rows_test)[:, 1], costs_test)
    return out


def said(model):
    """What was chosen and why, in one line."""
    tried = [c for c in model.candidates_ if not c.refusal]
    gains = ", ".join(f"{c.strategy} {c.gain:.4g} ± {c.gain_error:.2g}" for c in tried[1:])
    way = type(getattr(model.rule_, "calibration", None)).__name__
    return f"{model.best_strategy_} ({way}); gains {gains}"


def of_table(name, splits):
    """The savings by base, split and method, and the ratio of the numbers of test and training rows."""
    X, y, costs = read(name)
    found, agree = [], ""
    for split, parts in enumerate(StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y)):
        train, test = (
            (X.iloc[i].reset_index(drop=True), y[i], RowCosts(**{c: cost[i] for c, cost in costs.items()}))
            for i in parts
        )
        shared, chosen = peers(encoding(X, 50), train, test), {}
        for base_name, last in BASES.items():
            begin = time.perf_counter()
            base = make_pipeline(encoding(X, 50), clone(last))
            labels = {**shared, **of_base(base, train, test, split)}
            model = MeasureClassifier(base, RowCosts(), random_state=split).fit(train[0], train[1], **given(train[2]))
            labels["ours"] = model.predict(test[0], **given(test[2])) == 1
            chosen[base_name] = next(c.loss for c in model.candidates_ if c.chosen), len(found)
            try:
                saved = {method: savings_score(test[1], h, test[2]) for method, h in labels.items()}
            except ValueError as error:
                print(f"{name} split {split} is left out: {error}")
                break
            found.append({"base": base_name, "split": split, **saved})
            shown = ", ".join(f"{key} {v:.4f}" for key, v in saved.items())
            print(
                f"{name} {split} {base_name}: {shown}; {said(model)}; {time.perf_counter() - begin:.0f} s", flush=True
            )
            if split == 0 and not agree:
                agree = named_as_given(base, train, test)
                print(f"{name}: costs by array and by name {agree}", flush=True)
        else:
            _, at = min(chosen.values())
            found.append({**found[at], "base": "either"})
    return pd.DataFrame(found), len(parts[1]) / len(parts[0])


def named_as_given(base, train, test):
    """Whether costs as arrays and as names of columns give the same labels."""
    wide, wide_test = (part[0].assign(**given(part[2])) for part in (train, test))
    names = RowCosts(**{cell: f"{cell}_cost" for cell in ("tp", "fp", "fn", "tn")})
    first = MeasureClassifier(base, RowCosts(), random_state=0).fit(wide, train[1], **given(train[2]))
    second = MeasureClassifier(base, names, random_state=0).fit(wide, train[1])
    same = np.array_equal(first.predict(wide_test, **given(test[2])), second.predict(wide_test))
    return "agree" if same and first.candidates_ == second.candidates_ else "DIFFER"


def of_payments(seeds):
    """The total cost by base, seed and method."""
    found = []
    for seed in range(seeds):
        X, y = payments(75_000, seed)
        old, new = slice(0, 50_000), slice(50_000, None)
        costs = RowCosts(fp=5.0, fn="amount")
        train, test = ((X[part].reset_index(drop=True), y[part], costs.read(X[part])) for part in (old, new))
        for base_name, last in BASES.items():
            begin = time.perf_counter()
            base = make_pipeline(encoding(X, 250), clone(last))
            labels = of_base(base, train, test, seed)
            with config_context(enable_metadata_routing=True):
                scorer = make_scorer(minus_cost).set_score_request(amount=True)
                tuned = TunedThresholdClassifierCV(clone(base), scoring=scorer, cv=5, random_state=seed)
                tuned.fit(train[0], train[1], amount=train[0]["amount"].to_numpy())
                labels["TunedThreshold"] = tuned.predict(test[0]) == 1
            model = MeasureClassifier(base, costs, random_state=seed).fit(train[0], train[1])
            labels["ours"] = model.predict(test[0]) == 1
            cost = {method: test[2](test[1], h) for method, h in labels.items()}
            found.append({"base": base_name, "split": seed, **cost})
            shown = ", ".join(f"{key} {v:.0f}" for key, v in cost.items())
            print(
                f"payments {seed} {base_name}: {shown}; {said(model)}; {time.perf_counter() - begin:.0f} s", flush=True
            )
    return pd.DataFrame(found)


def minus_cost(y, predicted, amount):
    """The scorer of amounts."""
    return -float(np.where(y == 1, np.where(predicted == 1, 0.0, amount), 5.0 * (predicted == 1)).sum())


def tested(first, second, ratio):
    """The mean of ours minus the rival's, its error, and the one-sided p that it is below 0."""
    d = PairedDifference.of(first - second, ratio)
    p = float(student.cdf(d.mean / d.error, d.splits - 1)) if d.error > 0 else float(d.mean >= 0)
    return d.mean, d.error, p


def print_cells(cells, unit):
    """Every cell with p and that of Holm, the smallest p first."""
    cells = sorted(cells, key=lambda cell: cell["p"])
    most = 0.0
    for i, cell in enumerate(cells):
        most = max(most, min(1.0, (len(cells) - i) * cell["p"]))
        verdict = "LOST" if most < LEVEL else "behind" if cell["mean"] < 0 else ""
        print(
            f"{cell['table']:9} {cell['base']:9} {cell['rival']:18} {cell['ours']:{unit}} and {cell['theirs']:{unit}}, "
            f"difference {cell['mean']:+{unit}} ± {cell['error']:{unit}} p {cell['p']:.4f} Holm {most:.3f} {verdict}"
        )
    print(f"{sum(cell['mean'] < 0 for cell in cells)} of {len(cells)} cells are behind", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", choices=tuple(TABLES), default=tuple(TABLES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    if args.splits < 2 or args.seeds == 1:
        parser.error("--splits must be 2 or more, and --seeds 0, 2 or more: a test needs a spread.")
    warnings.simplefilter("ignore")
    cells, means = [], {}
    for name in args.tables:
        rows, ratio = of_table(name, args.splits)
        for base, part in rows.groupby("base", sort=False):
            for rival in RIVALS if base in BASES else ("CSLogit", "CSBoost"):
                ways = [key for key in part.columns if key.split(":")[0] == rival]
                key = max(ways, key=lambda way: part[way].mean())
                mean, error, p = tested(part["ours"], part[key], ratio)
                cell = {"table": name, "base": base, "rival": key, "ours": part["ours"].mean()}
                cells.append({**cell, "theirs": part[key].mean(), "mean": mean, "error": error, "p": p})
                means.setdefault((base, rival), []).append(part[key].mean())
            for key in OURS:
                means.setdefault((base, key), []).append(part[key].mean())
    if cells:
        print("\nSavings of the half held out, ours minus the rival's, error of Nadeau and Bengio")
        print_cells(cells, ".4f")
        print("\nMean savings over the tables: " + ", ".join(args.tables))
        for (base, key), values in sorted(means.items()):
            print(f"{base:9} {key:16} {np.mean(values):.4f}   " + " ".join(f"{v:.4f}" for v in values))
    if args.seeds:
        rows = of_payments(args.seeds)
        cells = []
        for base, part in rows.groupby("base", sort=False):
            print(
                f"\nMean total cost of payments, {base}: "
                + ", ".join(f"{m} {part[m].mean():.0f}" for m in part.columns[2:])
            )
            for rival in RIVALS_OF_PAYMENTS:
                mean, error, p = tested(-part["ours"], -part[rival], 0.0)
                cell = {"table": "payments", "base": base, "rival": rival, "ours": part["ours"].mean()}
                cells.append({**cell, "theirs": part[rival].mean(), "mean": mean, "error": error, "p": p})
        print("\nTotal cost of payments, the rival's minus ours")
        print_cells(cells, ".1f")


if __name__ == "__main__":
    main()
