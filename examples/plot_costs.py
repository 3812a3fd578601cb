"""
Each row by its own costs
=========================

A missed fraud costs the amount of the payment, and an alarm costs 5. One threshold treats a payment of 10 like one of
1,000. Deciding each row by its own costs saves several times as much, with the same model.
"""

# %%
# The payments are generated. ``RowCosts(fp=5.0, fn="amount")`` reads the cost of a miss from the
# column ``amount``.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from setwise import MeasureClassifier
from setwise.losses import RowCosts, savings_score

rng = np.random.default_rng(0)
payments = pd.DataFrame({"risk": rng.normal(size=20_000), "amount": np.exp(rng.normal(3.0, 1.2, 20_000))})
fraud = rng.random(20_000) < 1 / (1 + np.exp(4.5 - 1.5 * payments["risk"]))
old, new = slice(10_000), slice(10_000, None)

costs = RowCosts(fp=5.0, fn="amount")
model = MeasureClassifier(LogisticRegression(), costs, random_state=0).fit(payments[old], fraud[old])

labels = {
    "threshold 0.5": model.estimator_.predict(payments[new]),
    "the best threshold": model.predict(payments[new], single_threshold=True),
    "each row by its costs": model.predict(payments[new]),
}
saved = {name: savings_score(fraud[new], found, costs.read(payments[new])) for name, found in labels.items()}
for name, share in saved.items():
    print(f"{name:21} {share:5.0%} of the cost saved, {labels[name].mean():.1%} alarms")

# %%
# The left panel shows the alarms of both rules. A single threshold is one line at one risk. The rule of costs needs
# less risk if the amount is large.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained", width_ratios=(3, 2))
rows = payments[new][::4]
by_row, single = labels["each row by its costs"][::4], labels["the best threshold"][::4]
left.scatter(rows["risk"], rows["amount"], s=3, color="#bbbbbb", label="no alarm")
left.scatter(rows["risk"][by_row], rows["amount"][by_row], s=5, color="#2a7fb8", label="alarm by costs")
left.axvline(rows["risk"][single].min(), color="#d1495b", linewidth=2, linestyle="--", label="best threshold")
left.set(yscale="log", xlabel="risk", ylabel="amount", title="Large amounts need less risk")
left.legend(loc="lower left", markerscale=3, fontsize=8)
bars = right.barh(list(saved), list(saved.values()), color=["#888888", "#d1495b", "#2a7fb8"])
right.bar_label(bars, [f" {share:.0%}" for share in saved.values()])
right.invert_yaxis()
right.set(xlim=(0, 1.25 * max(saved.values())), xlabel="share of the cost saved", title="Same model, three rules")
fig.suptitle(
    f"Costs of each row save {saved['each row by its costs']:.0%} instead of {saved['the best threshold']:.0%}"
)
fig.set_label(
    "Payments by risk and amount: alarms by costs lie right of a falling curve, those of the best threshold right of a "
    "vertical line. Bars: the rule of costs saves several times what the best threshold does."
)
plt.show()

# %%
# :doc:`/guide/costs` has costs as numbers, columns and arrays, and a limit of alarms. For your
# file: ``setwise compare payments.csv --target fraud --fp-cost 5 --fn-cost amount``.
