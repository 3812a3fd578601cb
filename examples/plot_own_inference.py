"""
An inference of one's own
=========================

A monitor labels each second of a record, and an operator is called once for each run of wrong seconds, however long it
is. The number of runs is not a function of the number of mistakes, so the built-in search for the worst labels is
greedy and only bounded. A dynamic program does better. Here we write it, check it against all labelings, and use it in
training.
"""

# %%
# The loss
# --------
# A loss that depends on the places of mistakes gives their function as a term. A run begins at a mistake that follows a
# right second or the start of the record.

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar, final

import numpy as np
from matplotlib import pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from setwise import SetClassifier
from setwise.core import BoundLoss, SetFunction, Sets
from setwise.inference import Auto, Enumeration, Inference, Maximizer
from setwise.inference.independent_decisions import SETS
from setwise.losses import Loss, Trait
from setwise.surrogates import MarginRescaling


def runs(sets, mistakes):
    """The number of runs of mistakes of each record."""
    before = np.concatenate([[False], mistakes[:-1]])
    before[sets.offsets[:-1]] = False
    return np.add.reduceat((mistakes & ~before).astype(float), sets.offsets[:-1])


@final
@dataclass(frozen=True)
class Calls(Loss):
    """The number of runs of mistakes. Submodular: a mistake beside others adds less."""

    name: ClassVar[str] = "calls"
    traits: ClassVar[frozenset] = frozenset({Trait.SUBMODULAR, Trait.LABEL_FREE})

    @classmethod
    def examples(cls, p):
        """What tests of all losses try."""
        return [Calls()]

    def _bind(self, batch):
        """The loss as a sum of one term."""
        return BoundLoss(batch, (SetFunction(runs, self.traits),))


# %%
# The search
# ----------
# An inference declares what it takes, refuses anything else, and binds what it takes. Later seconds matter to the first
# ones only through whether the last of these is wrong. So two values per second suffice. All records are searched at
# once here, so they must have equal lengths.


@final
@dataclass(frozen=True)
class ByRuns(Inference):
    """``max_A runs(A) - m(A)`` from second to second. Exact, O(p)."""

    name: ClassVar[str] = "by_runs"
    about: ClassVar[str] = "two values a second: is it wrong or right?"
    takes: ClassVar = SETS

    def _refuses(self, bound_loss, slack):
        """None, or why this method does not fit sets of decisions."""
        known = [isinstance(term, SetFunction) and term.value is runs for term in bound_loss.terms]
        if slack or known != [True]:
            return f"ByRuns refuses {bound_loss!r}: it is no number of runs. Use Auto."
        if len(set(bound_loss.batch.sizes)) > 1:
            return "ByRuns refuses records of different lengths. Use Auto."
        return None

    def bind(self, bound_loss, slack):
        """The method for these records."""
        return RunsMaximizer(self, bound_loss, slack)


@final
class RunsMaximizer(Maximizer):
    """The search for the worst labels of records."""

    def __init__(self, method, bound_loss, slack):
        self.method, self.bound_loss, self.slack = method, bound_loss, slack

    def solve(self, scores, tol):
        """The best labels of all records."""
        batch, call = self.bound_loss.batch, self.bound_loss.terms[0].factor
        gain = np.where(batch.truth, -scores, scores).reshape(len(batch), -1)  # of a mistake
        n, p = gain.shape
        right, wrong = np.zeros(n), np.full(n, -np.inf)
        was_wrong = np.empty((p, 2, n), dtype=bool)  # the best before a right, a wrong second
        for t in range(p):
            was_wrong[t] = wrong > right, wrong > right + call
            right, wrong = np.maximum(right, wrong), gain[:, t] + np.maximum(wrong, right + call)
        mistakes, now = np.empty((n, p), dtype=bool), wrong > right
        for t in range(p - 1, -1, -1):
            mistakes[:, t] = now
            now = was_wrong[t, now.astype(int), np.arange(n)]
        return self.solved(scores, mistakes.ravel() ^ batch.truth)


# %%
# Is it right?
# ------------
# Every method of setwise is tested against the enumeration of all labelings, and so is this one. We compare it with
# Auto, which knows only the traits of the loss.

rng = np.random.default_rng(0)
methods = {"all labelings": Enumeration(), "Auto": Auto(), "ByRuns": ByRuns()}
lengths, records = [4, 8, 16, 32, 64, 128], 100
seconds, missed = ({name: [] for name in methods} for _ in range(2))
for p in [4, *lengths]:  # the first round compiles
    sets = Sets.rows(rng.random((records, p)) < 0.5)
    scores, found = rng.standard_normal(records * p), {}
    for name, method in methods.items():
        if name == "all labelings" and p > 16:
            continue
        maximizer, begin = method.prepare(Calls().bind(sets)), perf_counter()
        found[name] = maximizer.maximize(scores)
        seconds[name].append((perf_counter() - begin) / records)
    if "all labelings" in found:
        values = found["all labelings"].values
        np.testing.assert_allclose(found["ByRuns"].values, values, atol=1e-9)
    for name, one in found.items():
        missed[name].append(100 * np.mean(one.values < found["ByRuns"].values - 1e-9))
missed = {name: shares[1:] for name, shares in missed.items()}
print("of the records of", lengths, "seconds Auto misses the best labels in")
print([f"{share:.0f} %" for share in missed["Auto"]])

fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
colors = {"Auto": "#d1495b", "ByRuns": "#2a7fb8"}
for name, color in colors.items():
    times, shares = 1e3 * np.array(seconds[name][1:]), missed[name]
    panels[0].loglog(lengths[: len(times)], times, "o-", color=color, label=name)
    panels[1].semilogx(lengths[: len(shares)], shares, "o-", color=color)
for panel in panels:
    panel.set_xticks(lengths, lengths)
    panel.minorticks_off()
    panel.set_xlabel("seconds of a record")
panels[0].set_ylabel("milliseconds for a record")
panels[1].set_ylabel("best labels missed, percent")
panels[0].set_title("Time")
panels[1].set_title("Auto misses, ByRuns does not")
panels[0].legend()
fig.set_label(
    "Time and misses over the length of a record. The time of Auto grows fast at first; from 32 on "
    "it is greedy and misses most records of 128 seconds. ByRuns is fast and exact."
)

# %%
# Up to twenty decisions Auto tries all labelings. Beyond that it is greedy, which is fast but mostly wrong for long
# records. It says so: its solutions have bounds, and the fit below says that it stalled.
#
# In training
# -----------
#
# Auto does not know the new method, so a surrogate names it. Records of sixty seconds have events
# that come and go, and a noisy signal of which each second sees nine values.


def drawn(n, p=60):
    """Windows of the signal, whether there is an event, and the record of each second."""
    events, now = np.empty((n, p), dtype=bool), rng.random(n) < 0.3
    for t in range(p):
        now = np.where(now, rng.random(n) > 0.1, rng.random(n) < 0.06)
        events[:, t] = now
    signal = np.pad(events + 0.5 * rng.standard_normal((n, p)), ((0, 0), (4, 4)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(signal, 9, axis=1)
    return windows.reshape(-1, 9), events.ravel(), np.repeat(np.arange(n), p)


X, y, record = drawn(100)
new, truth, new_record = drawn(300)
train, test = (Sets.rows(one.reshape(-1, 60)) for one in (y, truth))
logistic = LogisticRegression().fit(X, y)
before, scores = logistic.decision_function(X), logistic.decision_function(new)
cut = min(np.linspace(-4, 4, 161), key=lambda t: Calls().values(train, before > t).mean())
labels = {"logistic regression": scores > 0, "with tuned threshold": scores > cut}
for name in ("Auto", "ByRuns"):
    surrogate, begin = MarginRescaling(Calls(), methods[name]), perf_counter()
    model = SetClassifier(Calls(), surrogate, C=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
        model.fit(X, y, groups=record)
    took = perf_counter() - begin
    print(f"{name}: {model.status_}, certified gap {model.duality_gap_:.4f}, {took:.2f} s")
    labels[f"trained by {name}"] = model.predict(new)
for name, one in labels.items():
    each = Calls().values(test, one)
    error = each.std() / np.sqrt(len(each))
    print(f"{name:21} {each.mean():.2f} +- {error:.2f} calls for a record")

# %%
# With the exact search the fit converges in a fraction of the time, and its gap is a certificate. The model is not
# better here: all four need about the same number of calls. But now we know that no weights do better for this
# surrogate.
#
# :doc:`/architecture` has a method that also serves losses of others, and says what a file in
# ``setwise/inference`` must give so that the tests of the package find it; :doc:`/guide/inference`
# lists all methods.
