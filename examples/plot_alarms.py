"""
Fifty alarms a day
==================

A team can look at fifty payments a day. Which fifty? The most probable frauds are not the ones that save most. Here
both lists are compared on new days.
"""

# %%
# A day has 5,000 payments, so the limit is one row in a hundred. We give two strategies: the most probable rows up to
# the limit, and the decision by costs with the same limit.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from setwise import MeasureClassifier
from setwise.compare import FlooredThreshold
from setwise.estimators.selection import BayesDecision
from setwise.losses import RowCosts

DAY, LIMIT = 5_000, 0.01
rng = np.random.default_rng(0)


def days(n):
    """The payments of n days, and which are fraud."""
    table = pd.DataFrame({"risk": rng.normal(size=n * DAY), "amount": np.exp(rng.normal(3.0, 1.2, n * DAY))})
    return table, rng.random(n * DAY) < 1 / (1 + np.exp(4.5 - 1.5 * table["risk"]))


payments, fraud = days(4)
costs = RowCosts(fp=5.0, fn="amount")
ways = [FlooredThreshold(alarms=LIMIT), BayesDecision(alarms=LIMIT)]
model = MeasureClassifier(LogisticRegression(), costs, ways, random_state=0).fit(payments, fraud)

rows = {"most probable": [], "save most": []}
for _ in range(20):
    table, truth = days(1)
    of_day = costs.read(table)
    nothing = of_day(truth, np.zeros(DAY, bool))
    lists = {"most probable": model.predict(table, single_threshold=True), "save most": model.predict(table)}
    for name, labels in lists.items():
        rows[name].append((labels.sum(), nothing - of_day(truth, labels)))

# %%
# The limit holds on average, so a single day may have more alarms. ``confidence=0.95`` stays lower.

fig, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
means = {}
for (name, found), color in zip(rows.items(), ("#d1495b", "#2a7fb8"), strict=True):
    alarms, saved = np.transpose(found)
    means[name] = saved.mean()
    axes.scatter(alarms, saved, color=color, label=f"{name}: {saved.mean():,.0f} a day")
    print(f"{name:13} {alarms.mean():.0f} alarms a day, {saved.mean():,.0f} saved")
axes.axvline(DAY * LIMIT, color="#888888", linewidth=1)
axes.set(xlabel="alarms of a day (line: limit)", ylabel="money saved, compared with no alarm")
axes.set_title(f"Ranked by saving, alarms save {means['save most'] / means['most probable']:.1f} times as much")
axes.legend()
fig.set_label(
    "Twenty new days by their alarms and the money saved. Alarms that are ranked by expected saving save more than the "
    "most probable ones, with the same limit of fifty alarms a day on average."
)
plt.show()

# %%
# :doc:`/guide/costs` says how the rows are ranked. For your file: ``setwise compare payments.csv
# --target fraud --fp-cost 5 --fn-cost amount --alarms-at-most 50``.
