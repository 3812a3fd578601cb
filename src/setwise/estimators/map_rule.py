"""How maps of class probabilities become labels: a rule that is chosen on held-out maps by the measure itself."""

import sys
import warnings
from collections.abc import Sized
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from scipy.stats import t as student
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from setwise.core.checks import Ints, Values, as_array, as_choice, as_count, as_flag, as_kind, as_random_state, shown
from setwise.core.loss import CountLoss, Loss
from setwise.core.pages import MAP_RULES
from setwise.decisions.map_rules import (
    MapMeasure,
    Over,
    PixelRule,
    PixelSample,
    rule_with_presence,
    tally_of,
    tuned_rule,
    whole_rule,
)
from setwise.estimators.base import with_parameters
from setwise.losses import as_loss

OVERS: tuple[Over, ...] = ("dataset", "present", "all")

CANDIDATES = {
    "plain": "the most probable class",
    "whole": "decided over the whole set",
    "multipliers": "class multipliers",
    "threshold": "a threshold",
    "presence": "a threshold and a least area",
}
"""The rules that are compared, in words."""

LEVEL = 0.977
"""A gain is believed above this quantile of Student's t; of a normal law it is two standard errors."""

CARRIERS = 5
"""Of how many maps or groups a gain must come."""

RESAMPLES = 400
"""How often the maps or groups are drawn anew for the standard error of a gain."""

TOGETHER = 1_000_000
"""Multipliers are searched on no more pixels than this."""

MANY = 20
"""So many logits are all in [0, 1] in no network."""

SLACK = 4e-3
"""Sums of probabilities may be so far from 1, as those of bfloat16 are."""

FEW, FAR, SURE = 20, 0.62, 3.0
"""New maps are compared with those of the fit if there are so many; they are unlike if an AUC is so high, so surely."""


class ShiftWarning(UserWarning):
    """Warns that new maps are unlike those that a :class:`MapRule` was fitted on, so that its gain may be lost.

    Examples
    --------
    >>> from setwise import ShiftWarning
    >>> issubclass(ShiftWarning, UserWarning)
    True
    """


@with_parameters
class MapRule(BaseEstimator):
    """Labels of maps, as of a segmentation network, by the rule that is best for the measure on held-out maps.

    :meth:`fit` compares the most probable class of each pixel with rules ``argmax_c a_c q_c - b_c`` of the
    probabilities q, where a and b are fitted on some of the maps and judged on the others:

    - *decided over the whole set*: a and b of the least expected loss over all maps together. They need no labels
    - *class multipliers*: b = 0, and the a of the best measure on labelled maps
    - for masks of one class: *a threshold*, and *a threshold and a least area*, below which a mask is left empty

    It takes the one that gains most, of those whose gain comes from at least five maps or groups, k, and is above 0 by
    a one-sided t-test at 2.3 % with k - 1 degrees of freedom; otherwise the most probable class. Here ``k = (sum |d|)^2
    / sum d^2``, and d is what the measure loses if one map or group keeps its most probable classes.
    It makes no assumption about how pixels depend on each other; :func:`setwise.torch.decide` takes them for
    independent. Maps must be held out: of images that the network was not trained on, and like those to come.

    Source: own; docs/guide/decisions.md tells of it, and docs/results.md has figures.

    Parameters
    ----------
    over : what the measure is a mean of, which must be named, for no rule gains in all of them. ``"dataset"``: of
        classes, whose pixels are counted over all maps together. ``"present"``: of maps, and in each of the classes
        that its target has. ``"all"``: of maps, and in each of all classes, where one that is neither there nor
        predicted has the loss of an empty set, 0 for IoU
    loss : a loss of counts, or its name; ``"jaccard"`` is 1 - IoU, ``"f1"`` is 1 - Dice
    from_logits : whether maps hold logits, or else probabilities
    ignore_index : the label of pixels that do not count, or None
    include_background : whether class 0 counts in the measure, of several classes
    cv : the number of folds of maps, or of their groups
    pixels : how many pixels of each map a and b are fitted on, drawn at random, and at most a million in all. Measures
        and gains count all pixels
    random_state : the seed of the pixels, the folds and the resamples

    Attributes
    ----------
    rule_ : the name of the rule that is taken: ``"plain"``, ``"whole"``, ``"multipliers"``, ``"threshold"`` or
        ``"presence"``
    a_, b_ : (C,) the numbers of the rule; for masks those of background and object
    least_area_ : the share of a map below which a mask is left empty
    gain_, gain_se_ : the measure less that of the most probable class, on maps that a and b were not fitted on, and its
        standard error over maps or groups; NaN without targets
    table_ : for each rule a dict: its gain and standard error, of how many maps or groups the gain comes, the three
        measures, and the share of right pixels
    absent_ : the mean over maps and classes of ``prod(1 - q)``, the probability that a class is absent if pixels were
        independent, and the share of maps and classes in which it is. Where the first is far below,
        :func:`setwise.torch.decide` predicts classes that are not there

    Raises
    ------
    ValueError : by the methods, for maps and targets that do not fit, and too few maps
    TypeError : for arguments of other types
    Refusal : by the methods, for losses that are no functions of counts

    Examples
    --------
    Probabilities that give a rare class too little:

    >>> from setwise import MapRule
    >>> rng = np.random.default_rng(0)
    >>> target = (rng.random((40, 16, 16)) < 0.1).astype(int)
    >>> score = target + 0.4 * rng.standard_normal(target.shape)
    >>> q = 1 / (1 + np.exp(-4 * (score - 1.0)))
    >>> rule = MapRule("dataset", from_logits=False, random_state=0).fit(np.stack([1 - q, q], axis=1), target)
    >>> rule.rule_, bool(rule.gain_ > 2 * rule.gain_se_)
    ('multipliers', True)
    >>> rule.predict(np.stack([1 - q, q], axis=1)).shape
    (40, 16, 16)
    """

    over: Over
    loss: Loss | str = "jaccard"
    _: KW_ONLY
    from_logits: bool = True
    ignore_index: int | None = None
    include_background: bool = True
    cv: int = 5
    pixels: int = 4096
    random_state: int | None = None

    def fit(self, logits: Any, target: Any = None, groups: Any = None) -> Self:
        """Fit a and b, and choose a rule; maps are read one by one, twice.

        Parameters
        ----------
        logits : n maps: an array or tensor (n, C, ...), or a sequence of arrays or tensors (C, ...), which may be read
            from files one by one. Masks of one class are (n, 1, ...), or C = 1
        target : the n maps of labels (...), of 0..C-1, or of 0 and 1 for masks. None fits the rule that is decided over
            the whole set, of ``over="dataset"``, and then no gain is known
        groups : (n,) what group a map is of, as the frames of one video; maps of a group stay in one fold

        Returns
        -------
        self : the fitted rule

        Raises
        ------
        ValueError : for maps and targets that do not fit, and too few maps or groups for the folds
        """
        self._check()
        n = _length(logits, "logits")
        if target is not None and _length(target, "target") != n:
            raise ValueError(f"target must have one map for each of the {n} maps of logits; got {len(target)}.")
        given = np.arange(n) if groups is None else as_array(groups, "groups")
        if given.shape != (n,):
            raise ValueError(f"groups must have one id for each of the {n} maps; got shape {given.shape}.")
        owners = np.unique(given, return_inverse=True)[1]
        drawn = self._drawn(logits, target, n)
        if target is None:
            if self.over != "dataset":
                raise ValueError(f"target may be None for over='dataset' alone; got over={self.over!r}.")
            self._take("whole", whole_rule(drawn, self._measure()))
            self.gain_ = self.gain_se_ = np.nan
            self.table_: list[dict[str, Any]] = []
            return self
        folds = len(np.unique(owners))
        if folds < self.cv:
            raise ValueError(f"cv must be at most the number of maps or groups, {folds}; got {self.cv}.")
        self._choose(drawn, logits, target, owners)
        return self

    def predict(self, logits: Any) -> Any:
        """The labels of n maps, (n, ...) of 0..C-1, or for masks 0 and 1; a list where maps differ in shape.

        Warns with :class:`ShiftWarning` where there are 20 maps or more that are unlike those of the fit.

        Parameters
        ----------
        logits : (n, C, ...) maps as in :meth:`fit`; of one map pass ``logits[None]``

        Returns
        -------
        labels : (n, ...), an array, or a tensor of the device of the logits where they are one

        Raises
        ------
        ValueError : for maps that do not fit
        """
        check_is_fitted(self, "rule_")
        rule, found, seen = PixelRule(self.a_, self.b_, self.least_area_), [], []
        for i in range(_length(logits, "logits")):
            q, shape = self._probabilities(logits[i], i)
            found.append(rule.labels(q).reshape(shape))
            seen.append(_features(q))
        self._compare(np.array(seen))
        tensor = sys.modules["torch"].is_tensor(logits) if "torch" in sys.modules else False
        if len({labels.shape for labels in found}) > 1:
            return found
        whole = np.stack(found)
        return sys.modules["torch"].from_numpy(whole).to(logits.device) if tensor else whole

    def shift(self, logits: Any) -> float:
        """The held-out AUC of a logistic regression that tells these maps from those of the fit, without labels.

        It reads the mean probability of each class, the mean of the largest one, and the mean entropy of each map.
        About .5: alike. Near 1: another source, whose gain is not that of the fit.

        Parameters
        ----------
        logits : (n, C, ...) maps as in :meth:`fit`, n >= 5

        Returns
        -------
        float
            The area under the ROC curve

        Raises
        ------
        ValueError : for fewer than 5 maps, and maps that do not fit
        """
        check_is_fitted(self, "rule_")
        n = _length(logits, "logits")
        if n < 5:
            raise ValueError(f"logits must hold at least 5 maps to be compared; got {n}.")
        return self._apart(np.array([_features(self._probabilities(logits[i], i)[0]) for i in range(n)]))

    def __str__(self) -> str:
        """The rule that is taken, its gain, and the table."""
        if not hasattr(self, "rule_"):
            return repr(self)
        words = CANDIDATES[self.rule_]
        if not self.table_:
            return f"{words}; nothing is known of its gain without targets"
        lines = [f"{words}: gain {self.gain_:+.4f} +- {self.gain_se_:.4f} (over={self.over!r})"]
        lines.append(f"{'rule':34}{'gain':>9}{'+-':>8}{'from':>7}{'dataset':>9}{'present':>9}{'all':>9}{'pixels':>9}")
        for row in self.table_:
            figures = "".join(f"{row[name]:9.4f}" for name in (*OVERS, "accuracy"))
            lines.append(f"{CANDIDATES[row['rule']]:34}{row['gain']:+9.4f}{row['se']:8.4f}{row['from']:7.1f}{figures}")
        return "\n".join(lines)

    def _check(self) -> None:
        as_choice(self.over, "over", OVERS)
        as_kind(as_loss(self.loss), "loss", CountLoss, "'jaccard'")
        for name in ("from_logits", "include_background"):
            as_flag(getattr(self, name), name)
        as_count(self.cv, "cv", low=2)
        as_count(self.pixels, "pixels")
        as_random_state(self.random_state)
        if self.ignore_index is not None and (
            isinstance(self.ignore_index, bool) or not isinstance(self.ignore_index, int | np.integer)
        ):
            raise TypeError(f"ignore_index must be None or a whole number; got {shown(self.ignore_index)}.")

    def _probabilities(self, logits: Any, i: int) -> tuple[Values, tuple[int, ...]]:
        """The probabilities (C, p) of one map, C >= 2, and the shape of its labels."""
        given = _as_array(logits)
        if given.ndim < 2 or given.dtype.kind != "f" or not given.size:
            raise ValueError(f"logits[{i}] must be floats of shape (C, ...); got {given.dtype} of shape {given.shape}.")
        flat = given.reshape(len(given), -1).astype(np.float32 if given.dtype.itemsize <= 4 else np.float64)
        if not np.isfinite(flat).all():
            raise ValueError(f"logits[{i}] must be finite; got NaN or inf.")
        known = getattr(self, "n_classes_", None)
        if known is not None and known != len(flat):
            raise ValueError(f"logits[{i}] must have {known} classes, as the first map; got {len(flat)}.")
        self.n_classes_ = len(flat)
        if len(flat) == 1:
            one = expit(flat) if self.from_logits else flat
            q = np.concatenate([1 - one, one])
        else:
            q = softmax(flat, axis=0) if self.from_logits else flat
        if not self.from_logits and (q.min() < 0 or np.abs(q.sum(axis=0) - 1).max() > SLACK):
            raise ValueError(
                f"logits[{i}] must be probabilities with the sum 1 over the classes C, its first axis, for "
                f"from_logits=False; got a map of shape {given.shape}."
            )
        return q, given.shape[1:]

    def _target(self, target: Any, i: int, shape: tuple[int, ...], classes: int) -> Ints:
        """The labels (p,) of one map, and -1 where pixels do not count."""
        given = _as_array(target)
        if given.shape == (1, *shape):
            given = given[0]
        if given.shape == (self.n_classes_, *shape):
            raise ValueError(
                f"logits must be maps (n, C, H, W), with C = 1 for masks, and target their labels (n, H, W); got "
                f"logits[{i}] and target[{i}] both of shape {given.shape}."
            )
        if given.shape != shape or given.dtype.kind not in "iub":
            raise ValueError(
                f"target[{i}] must be whole numbers of shape {shape}, as its map; got {given.dtype} of shape "
                f"{given.shape}."
            )
        found = given.ravel().astype(np.int64)
        out = np.zeros(len(found), bool) if self.ignore_index is None else found == self.ignore_index
        odd = found[~out & ((found < 0) | (found >= classes))]
        if len(odd):
            raise ValueError(f"target[{i}] must hold labels 0..{classes - 1}, or ignore_index; got {odd[0]}.")
        return np.where(out, -1, found)

    def _drawn(self, logits: Any, target: Any, n: int) -> PixelSample:
        """Some pixels of each map; checks all maps, and keeps what :meth:`shift` compares."""
        self.__dict__.pop("n_classes_", None)
        rng = np.random.default_rng(self.random_state)
        most = max(1, min(self.pixels, TOGETHER // max(n, 1)))
        parts, seen, absent = [], [], np.zeros((n, 2))
        for i in range(n):
            q, shape = self._probabilities(logits[i], i)
            if i == 0 and self.from_logits and _in_unit(_as_array(logits[i])):
                warnings.warn(
                    "all numbers of logits[0] are in [0, 1], like probabilities, but MapRule reads them as logits: "
                    f"give from_logits=False for probabilities.{MAP_RULES.see}",
                    UserWarning,
                    stacklevel=3,
                )
            y = np.zeros(q.shape[1], np.int64) if target is None else self._target(target[i], i, shape, len(q))
            counted = np.flatnonzero(y >= 0)
            if not len(counted):
                raise ValueError(f"target[{i}] must have a pixel that counts; got ignore_index alone.")
            at = counted if len(counted) <= most else rng.choice(counted, most, replace=False)
            parts.append((q[:, at].T.astype(np.float32), y[at], np.full(len(at), len(counted) / len(at))))
            seen.append(_features(q))
            inside = slice(self._first, None)
            with np.errstate(divide="ignore"):
                absent[i, 0] = np.exp(np.log1p(-q[inside][:, counted].astype(np.float64)).sum(axis=1)).mean()
            absent[i, 1] = 1.0 - np.isin(np.arange(len(q))[inside], y).mean()
        self.absent_ = (float(absent[:, 0].mean()), float(absent[:, 1].mean()) if target is not None else np.nan)
        self._seen = np.array(seen)
        sizes = np.array([len(y) for _, y, _ in parts])
        q, y, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        return PixelSample(q, y, np.repeat(np.arange(n), sizes), weight, n)

    @property
    def _first(self) -> int:
        """The first class that counts."""
        return 1 if self.n_classes_ == 1 or not self.include_background else 0

    def _measure(self) -> MapMeasure:
        loss = as_loss(self.loss)
        assert isinstance(loss, CountLoss)
        return MapMeasure(loss, self.over, self._first)

    def _rules(self, drawn: PixelSample, measure: MapMeasure) -> dict[str, PixelRule]:
        """The rules that fit some pixels."""
        k = drawn.q.shape[1]
        found = {"plain": PixelRule(np.ones(k), np.zeros(k)), "whole": whole_rule(drawn, measure)}
        tuned = tuned_rule(drawn, measure)
        if self.n_classes_ > 1:
            return found | {"multipliers": tuned}
        return found | {"threshold": tuned, "presence": rule_with_presence(drawn, measure, tuned)}

    def _choose(self, drawn: PixelSample, logits: Any, target: Any, owners: Ints) -> None:
        measure, n = self._measure(), drawn.maps
        rules: list[dict[str, PixelRule]] = [{} for _ in range(n)]
        for train, test in GroupKFold(self.cv).split(owners, groups=owners):
            fold = self._rules(drawn.of(train), measure)
            for i in test:
                rules[i] = fold
        names = list(rules[0])
        tallies, right = np.zeros((len(names), n, drawn.q.shape[1], 4)), np.zeros((len(names), n))
        for i in range(n):
            q, shape = self._probabilities(logits[i], i)
            y = self._target(target[i], i, shape, len(q))
            for j, name in enumerate(names):
                h = rules[i][name].labels(q)
                tallies[j, i], right[j, i] = tally_of(h, y, len(q)), (h == y)[y >= 0].mean()
        rng = np.random.default_rng(self.random_state)
        count = int(owners.max()) + 1
        weights = rng.multinomial(count, np.ones(count) / count, RESAMPLES)[:, owners]
        values = [measure.values(each, np.ones((1, n)))[0] for each in tallies]
        drawn_values = [measure.values(each, weights.astype(np.float64)) for each in tallies]
        self.table_ = []
        for j, name in enumerate(names):
            se = float(np.std(drawn_values[j] - drawn_values[0], ddof=1))
            carriers = measure.carriers(tallies[0], tallies[j], owners)
            row: dict[str, Any] = {"rule": name, "gain": float(values[j] - values[0]), "se": se, "from": carriers}
            for over in OVERS:
                row[over] = float(MapMeasure(measure.loss, over, measure.first).values(tallies[j], np.ones((1, n)))[0])
            self.table_.append(row | {"accuracy": float(right[j].mean())})
        good = [row for row in self.table_ if is_known(row["gain"], row["se"], row["from"])]
        best = max(good, key=lambda row: row["gain"], default=self.table_[0])
        self.gain_, self.gain_se_ = best["gain"], best["se"]
        self._take(best["rule"], self._rules(drawn, measure)[best["rule"]])

    def _take(self, name: str, rule: PixelRule) -> None:
        self.rule_, self.a_, self.b_, self.least_area_ = name, rule.a, rule.b, rule.least

    def _apart(self, seen: Values) -> float:
        both = np.concatenate([self._seen, seen])
        new = np.arange(len(both)) >= len(self._seen)
        model = make_pipeline(StandardScaler(), LogisticRegression())
        folds = min(5, len(self._seen), len(seen))
        scores = cross_val_predict(model, both, new, cv=folds, method="decision_function")
        return float(roc_auc_score(new, scores))

    def _compare(self, seen: Values) -> None:
        if len(seen) < FEW or len(self._seen) < FEW:
            return
        n, m = len(seen), len(self._seen)
        auc = self._apart(seen)
        if auc >= FAR and auc - 0.5 >= SURE * np.sqrt((n + m + 1) / (12.0 * n * m)):
            warnings.warn(
                f"these {n} maps are unlike the {m} maps of the fit: a classifier tells them apart with an AUC of "
                f"{auc:.2f}. The gain of the fit may be lost; fit the rule on labeled maps of this "
                f"source.{MAP_RULES.see}",
                ShiftWarning,
                stacklevel=3,
            )


def is_known(gain: float, se: float, carriers: float) -> bool:
    """Whether a gain is above 0, as far as the maps or groups that it comes from can tell."""
    return carriers >= CARRIERS and gain > student.ppf(LEVEL, carriers - 1.0) * se


def _in_unit(given: Any) -> bool:
    """Whether many numbers are all in [0, 1] and reach far in it, as probabilities do."""
    return given.size >= MANY and bool(0 <= given.min() < 0.25 and 0.75 < given.max() <= 1)


def _features(q: Values) -> Values:
    """What maps are told apart by: the mean probability of each class, of the largest one, and the mean entropy."""
    entropy = -(q * np.log(np.maximum(q, 1e-30))).sum(axis=0).mean()
    return np.append(q.mean(axis=1, dtype=np.float64), [q.max(axis=0).mean(), entropy])


def _as_array(values: Any) -> NDArray[Any]:
    """A map as an array; floats of half precision, of which NumPy does not know all kinds, become float32."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    held = values.detach().cpu()
    return np.asarray(held.float() if held.is_floating_point() and held.element_size() < 4 else held)


def _length(values: Any, name: str) -> int:
    """The number of maps; an iterator cannot be read twice."""
    if isinstance(values, str) or not isinstance(values, Sized) or not hasattr(values, "__getitem__"):
        raise TypeError(f"{name} must be an array, a tensor or a sequence of maps; got {shown(values)}.")
    if len(values) == 0:
        raise ValueError(f"{name} must hold a map; got none.")
    return len(values)
