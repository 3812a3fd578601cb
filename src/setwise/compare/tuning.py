"""``setwise tune``: another threshold for a saved model, or other multipliers of its classes, by new labelled rows."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from setwise.compare.command import cost_matrix, floor_of, given_costs, row_costs, usual_loss
from setwise.compare.plan import NamedLoss, measures_of, named_loss
from setwise.compare.predict import decided, rows_for, table_in
from setwise.compare.problem import targets_of
from setwise.compare.saved_model import SavedModel, as_saved_path, load_model, save_model
from setwise.compare.text import between, figure, listed, percent, signed, threshold_text, wrap
from setwise.core.checks import Values, as_flag, as_kind, as_text, shown
from setwise.core.exceptions import Refusal
from setwise.core.files import try_file
from setwise.core.loss import Loss
from setwise.core.pages import TUNE
from setwise.datasets.columns import optional, some
from setwise.datasets.files import NewRows, as_names_of_columns, load_table, parts_of, request
from setwise.decisions.task import compared
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares
from setwise.estimators.selection.problem import SelectionProblem, problem_of
from setwise.estimators.selection.several_classes import ClassMultipliers, OffsetRule
from setwise.estimators.selection.strategies import Evidence, SingleThreshold, Strategy, ThresholdPerLabel, Weight
from setwise.losses import as_loss
from setwise.losses.row_costs import RowCosts

FOLDS = 5
"""The new threshold is judged on each of so many folds by a threshold of the others."""

SURE = float(ndtri(0.975))
"""So many standard errors to each side are an interval of 95 %."""


@final
@dataclass(frozen=True, eq=False)
class TunedModel:
    """A saved model with another threshold, and what that changes; printed, it says so in a few lines.

    Attributes
    ----------
    model : the ``SavedModel`` with the new threshold
    old, new : the threshold before and now, a number, or one for each of p labels; ``old`` is None where the model
        decided by no threshold that is known. Of more than two classes the multipliers of their probabilities, or the
        numbers that are added to their scores
    measure : the name of the measure, as ``"F1"``
    before, after : its value on the rows at the old threshold, and at the new one. For ``after`` each of five folds of
        the rows is judged at the threshold that the other rows choose
    before_interval, after_interval, gain_interval : intervals of 95 % of both, and of how much better the new one is
    clear : whether all of ``gain_interval`` is above 0
    lines : what is printed

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise.compare import save_model, tune
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.normal(50, 10, 3000).round(2)})
    >>> table["sick"] = np.where(table["age"] + rng.normal(0, 10, 3000) > 65, "yes", "no")
    >>> old, new = table[:1000], table[1000:]
    >>> fitted = LogisticRegression().fit(old[["age"]], old["sick"])
    >>> tuned = tune(save_model(fitted, "model.skops", old), new, "sick", "f1")
    >>> tuned.old, round(tuned.new, 1), tuned.clear
    (0.5, 0.3, True)
    """

    model: SavedModel
    old: float | tuple[float, ...] | None
    new: float | tuple[float, ...]
    measure: str
    before: float
    after: float
    before_interval: tuple[float, float]
    after_interval: tuple[float, float]
    gain_interval: tuple[float, float]
    lines: tuple[str, ...]

    @property
    def clear(self) -> bool:
        """Whether the new threshold is surely better, at 95 %."""
        return self.gain_interval[0] > 0.0

    def __str__(self) -> str:
        return "\n".join(self.lines)


@final
class KnownScores(Evidence):
    """The scores of a fitted model, which no weights change."""

    def __init__(self, scores: Values, probability: bool = False) -> None:
        self.groups, self._held = None, Response(np.zeros(scores.shape, np.bool_), scores, probability)

    def response(self, weight: Weight = 1.0) -> Response:
        """The scores."""
        return self._held

    @property
    def numbers(self) -> None:
        """None: the rows themselves are not known."""
        return None


def tune(
    model: SavedModel | str | Path,
    data: Any,
    target: str | None = None,
    loss: Any = "f1",
    *,
    floor: FlooredThreshold | None = None,
    group: str | None = None,
    average: str = "samples",
    sample_weight: ArrayLike | None = None,
    new_rows: bool = False,
    sep: str | None = None,
    encoding: str | None = None,
) -> TunedModel:
    """Another threshold for a saved model: the best one for a loss on labelled rows that were not in its training.

    The threshold is the one that :class:`setwise.MeasureClassifier` finds with ``cv="prefit"``, a mean of the best ones
    of resamples; a label matrix gets one for each label, or one for all if it had one. Nothing else of the model
    changes. Of more than two classes the multipliers of the probabilities are tuned, those of
    :class:`setwise.estimators.selection.ClassMultipliers`, or what is added to scores that are no probabilities.
    Training rows are recognized where the model remembers them, as it does after ``setwise compare --save`` and
    ``save_model(model, path, table)``.

    Parameters
    ----------
    model : a ``SavedModel``, or the path of its file
    data : the path of a file of labelled rows, or a data frame of pandas
    target : the column of the label; None takes the one called target, y, label or class. The columns of a label
        matrix are called as its labels
    loss : a loss of labels, its name, a metric or scorer of scikit-learn, a function ``f(y_true, y_pred)`` of yours, a
        :class:`NamedLoss`, or ``RowCosts``, whose costs may be columns of the data; of more than two classes its mean
        over the classes, as macro F1 for ``"f1"``, or ``CostMatrix``
    floor : what the threshold of two classes must keep, as ``FlooredThreshold(recall=0.9)``; None keeps nothing
    group : the column of set ids; None takes that of the model, if it has one
    average : what a set is in a label matrix, as for :class:`setwise.MeasureClassifier`
    sample_weight : (n,) weights of the rows in the measure
    new_rows : True confirms that the rows were not in the training, for a model that stores no training rows, or for
        rows that are equal to training rows
    sep, encoding : how a text table is written, as in :func:`setwise.datasets.load_table`

    Returns
    -------
    TunedModel
        The model, both thresholds, and what they are worth.

    Raises
    ------
    Refusal : a ValueError, for a model without scores, for rows that may be those of the training, for rows with one
        label, and where no threshold keeps the floor
    ValueError, TypeError, OSError : for what does not fit the model, and arguments of another kind

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise.compare import save_model, tune
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.normal(50, 10, 3000).round(2)})
    >>> table["sick"] = np.where(table["age"] + rng.normal(0, 10, 3000) > 65, "yes", "no")
    >>> old, new = table[:1000], table[1000:]
    >>> path = save_model(LogisticRegression().fit(old[["age"]], old["sick"]), "model.skops", old)
    >>> tuned = tune(path, new, "sick", "f1")
    >>> round(tuned.before, 2), round(tuned.after, 2)
    (0.47, 0.52)
    >>> path = save_model(tuned.model, "tuned.skops")
    """
    held, name = _opened(model)
    measured = _measure(loss, average, held)
    if floor is not None:
        as_kind(floor, "floor", FlooredThreshold, "FlooredThreshold(recall=0.9)")
    as_flag(new_rows, "new_rows")
    group = as_text("" if group is None else group, "group") or held.group
    for what, given in {"floor": floor, "group": group}.items() if held.several else ():
        if given is not None:
            raise Refusal(f"{what} is for two classes; {name} has {some(held.classes)}.", TUNE)
    rows, given, y, costs = _labelled(held, data, target, measured.loss, group, sep, encoding)
    where, n = Path(data).name if isinstance(data, str | Path) else "data", len(y)
    what = _new_rows(held, name, rows, where, new_rows)
    if not held.many and min(counts := np.bincount(y, minlength=len(held.classes)).tolist()) < FOLDS:
        held_rows = listed([f"{count:,} of {label}" for count, label in zip(counts, held.classes, strict=True)])
        raise Refusal(f"{where} must hold {FOLDS} rows or more of each label; it holds {held_rows}.", TUNE)
    labels, scores = decided(held, name, where, given, rows.groups)
    assert scores is not None
    layout: Any = average
    problem = problem_of(
        scores.reshape(n, -1), y, measured.on(costs, rows.groups), groups=rows.groups, sample_weight=sample_weight,
        average=layout, pos_label=None if held.many or held.several else 1,
    )  # fmt: skip
    at, judged = _chosen(problem, scores, held, floor)
    called: tuple[Any, Any] = labels if held.several else labels == 1, judged
    found = compared(problem.task, called, 0)
    new: Any = tuple(map(float, at)) if np.ndim(at) else float(at)
    training = None if held.training is None else replace(held.training, called=np.zeros(0))
    alarms = held.alarms if floor is None or floor.alarms is None else floor.alarms
    (low, before, high), (least, after, most) = (
        sorted(np.clip([measured.shown(one + side * sd) for side in (-SURE, 0.0, SURE)], *measured.range).tolist())
        for one, sd in zip(found.losses.tolist(), found.errors.tolist(), strict=True)
    )
    gain, half = float(found.gains[1]), SURE * float(found.gain_errors[1])
    changed: dict[str, Any] = {"offsets": new} if held.several else {"threshold": new}
    old = _old_threshold(held, labels, scores)
    if held.several and held.response == "predict_proba":
        old, new = (None if one is None else tuple(np.exp(one).tolist()) for one in (old, new))
    made = TunedModel(
        replace(held, **changed, loss=measured.name, training=training, alarms=alarms),
        old, new, measured.title, before, after,
        (low, high), (least, most), gain_interval=(gain - half, gain + half), lines=(),
    )  # fmt: skip
    shares = () if floor is None else tuple(floor.reached(problem.task, one) for one in called)
    return replace(
        made, lines=tuple(_lines(made, held, f"Rows: {n:,} of {where}", what, y, floor, shares, measured.better))
    )


def _opened(model: Any) -> tuple[SavedModel, str]:
    """The model and what it is called; Refusal where it has no threshold."""
    if not isinstance(model, SavedModel | str | Path):
        raise TypeError(f"model must be a SavedModel, or the path of its file; got {shown(model)}.")
    path = None if isinstance(model, SavedModel) else as_saved_path(model)
    held, name = (model, "the model") if path is None else (load_model(path), path.name)
    assert isinstance(held, SavedModel)
    if held.joint or held.response == "predict":
        why = "decides the rows of a group together" if held.joint else "gives no scores"
        raise Refusal(f"{name} has no threshold to tune: it {why}.", TUNE)
    return held, name


def _measure(loss: Any, average: str, model: SavedModel) -> NamedLoss:
    """The measure; ValueError for one that no threshold changes, or that is for other labels."""
    asked = loss.loss if isinstance(loss, NamedLoss) else as_loss(loss)
    if asked.reads == "scores":
        raise Refusal(f"loss must judge labels, as 'f1'; {asked!r} judges an order, which no threshold changes.", TUNE)
    measured = named_loss(loss, average, model.several)
    if not model.many and not model.several:
        measured = replace(measured, loss=measured.loss.for_labels(model.labels))
    if average != "samples" and not model.many:
        raise ValueError(f"average must be 'samples' for a model of one label; got {average!r}.")
    return measured


def _chosen(
    problem: SelectionProblem, scores: Values, model: SavedModel, floor: FlooredThreshold | None
) -> tuple[Any, NDArray[Any]]:
    """The threshold, or one for each label or class, and the labels of each fold at the threshold of the others."""
    task, each = problem.task, model.many and not isinstance(model.threshold, float)
    if model.several:
        classes, sure, labels = ClassMultipliers(), model.response == "predict_proba", np.zeros(len(scores), np.int64)
        for train, test in problem.folds(FOLDS, 0):
            own = classes.tune(KnownScores(scores[train], sure), task.take(train))
            labels[test] = own.labels(KnownScores(scores[test], sure))
        found = classes.tune(KnownScores(scores, sure), task)
        assert isinstance(found, OffsetRule)
        return found.offsets, labels
    strategy: Strategy = floor or (ThresholdPerLabel() if each else SingleThreshold())
    why = strategy.refuses_data(task) or (None if task.weights is None else strategy.refuses_weights(task))
    if why is not None:
        raise Refusal(why, TUNE)
    if floor is not None:
        floor.check(task.truth)
    strategy = strategy.bound(task)
    at = strategy.tune(KnownScores(scores), task).threshold
    judged = np.zeros(task.truth.shape, dtype=np.bool_)
    for train, test in problem.folds(FOLDS, 0):
        rule = strategy.tune(KnownScores(scores[train]), task.take(train))
        judged[test] = scores[test] >= rule.threshold
    return at, judged


def _labelled(
    model: SavedModel, data: Any, target: str | None, loss: Loss, group: str | None, sep: Any, encoding: Any
) -> tuple[NewRows, Any, NDArray[np.int64], Any]:
    """The rows of the data, what the model reads of them, their labels, and a data frame of the columns of costs."""
    file = isinstance(data, str | Path)
    if (sep, encoding) != (None, None) and not (file and model.columns):
        raise ValueError("sep and encoding must be None for what is no text table.")
    asked = as_names_of_columns(target, "target")
    named = tuple(dict.fromkeys(loss.columns.values())) if isinstance(loss, RowCosts) else ()
    if not model.columns:
        if not file or named:
            odd = f"costs must be numbers; got {some(list(map(str, named)))}" if named else "data must be a path"
            raise ValueError(f"{odd}, since the model has no names of columns.")
        rows, given = rows_for(model, data, group)
        held = load_table(data, target, group, None if model.many or model.several else model.classes[1])
        if tuple(held.classes) != model.classes:
            raise ValueError(f"{Path(data).name} must hold the labels {some(model.classes)}; got {some(held.classes)}.")
        return rows, given, held.y, rows.X
    table = table_in(data, sep, encoding)
    names, _ = parts_of(table, request(True, model.classes if model.many else asked))
    if asked is not None and (set(asked) != set(names) if model.many else len(asked) != 1):
        wanted = some(model.classes) if model.many else "one column"
        raise ValueError(f"target must name {wanted}, as the model has labels; got {some(asked)}.")
    rows, given = rows_for(model, table, group, list(names))
    y = targets_of(rows.kept, model.classes, names, table.path.name, model.many)
    pandas = optional("pandas", "to read tables")
    table.require(list(map(str, named)))
    costs = {str(name): table.numbers([str(name)]).ravel() for name in named}
    return rows, given, y, pandas.DataFrame(costs, index=range(len(y)))


def _new_rows(model: SavedModel, name: str, rows: NewRows, where: str, sure: bool) -> str:
    """Words on whether the rows are new to the model; Refusal where they may be those of the training."""
    X = rows.X if model.places is None else rows.X[:, model.places]
    found = None if model.training is None else model.training.same(X)
    if found is None:
        if not sure:
            why = f"{name} does not know its training rows, so it cannot tell whether those of {where} are others"
            raise Refusal(f"{why}; if none of them was in the training, say so by new_rows=True (--new-rows).", TUNE)
        return "you say that none was in the training"
    same, too_many = found
    if too_many and not sure:
        why = f"{same:,} of {X.shape[0]:,} rows of {where} are equal to rows of the training of {name}"
        why = f"{why}: the threshold would follow what the model has learned by heart"
        give = "Give other rows, or say by new_rows=True (--new-rows) that they only look alike."
        raise Refusal(f"{why}. {give}", TUNE)
    return f"{same:,} are equal to training rows" if same else "none is a training row"


def _old_threshold(model: SavedModel, labels: NDArray[Any], scores: Values) -> Any:
    """The threshold by which the model has decided; None where none is known that gives the same labels."""
    if model.several:
        largest = model.offsets is None and np.array_equal(labels, scores.argmax(axis=1))
        return (0.0,) * model.several if largest else model.offsets
    if model.threshold is not None:
        return model.threshold
    for name in ("best_threshold_", "threshold"):
        own = getattr(model.estimator, name, None)
        if isinstance(own, float | np.floating) and np.array_equal(labels, scores >= own):
            return float(own)
    usual = 0.5 if model.response == "predict_proba" else 0.0
    return usual if np.array_equal(labels, scores > usual) else None


def _lines(
    made: TunedModel, held: SavedModel, rows: str, what: str, y: NDArray[np.int64], floor: FlooredThreshold | None,
    shares: tuple[FloorShares, ...], better: str,
) -> Iterator[str]:  # fmt: skip
    """What is printed of a tuned model."""

    def shown_at(at: Any) -> str:
        return "its own decision" if at is None else ", ".join(map(threshold_text, at if np.ndim(at) else [at]))

    def with_interval(value: float, interval: tuple[float, float]) -> str:
        return f"{figure(value)} (95 % interval {figure(interval[0])} to {figure(interval[1])})"

    if held.many or held.several:
        each = list(map(shown_at, made.new)) if isinstance(made.new, tuple) else []
        few = [f"{name} {at}" for name, at in zip(held.classes, each, strict=False)]
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        word = _tuned(held)
        yield f"{word[0].upper() + word[1:]}s now: {', '.join(few[:5]) + more if few else shown_at(made.new)}."
        yield f"{rows}; {what}."
    else:
        yield f"Threshold: {shown_at(made.old)} before, {shown_at(made.new)} now."
        yield f"{rows}, {int(y.sum()):,} of them {held.classes[1]}; {what}."
    measure = made.measure[:1].upper() + made.measure[1:]
    yield f"{measure} before: {with_interval(made.before, made.before_interval)}."
    yield f"{measure} now: {with_interval(made.after, made.after_interval)}; {better}."
    if floor is not None:
        (old, new_shares), names = shares, {"recall": floor.recall, "precision": floor.precision}
        for name, least in names.items():
            if least is not None:
                one, two = percent(getattr(old, name)), percent(getattr(new_shares, name))
                yield f"{name.capitalize()}: {one} before, {two} now; at least {percent(least)} was asked."
        if floor.alarms is not None:
            one, two = percent(1.0 - old.unflagged), percent(1.0 - new_shares.unflagged)
            yield f"Alarms: {one} of the rows before, {two} now; at most {percent(floor.alarms)} was asked."
    low, high = made.gain_interval
    gain = f"Gain: {signed((low + high) / 2)} (95 % interval {between(low, high)})."
    yield f"{gain} {_verdict(made, floor, _tuned(held))}"


def _tuned(model: SavedModel) -> str:
    """What is tuned, in a word."""
    return "threshold" if not model.several else "multiplier" if model.response == "predict_proba" else "offset"


def _verdict(made: TunedModel, floor: FlooredThreshold | None, tuned: str) -> str:
    """Whether the gain is clear, in a sentence."""
    are, be = ("s are", "s") if made.model.several else (" is", "")
    if made.clear:
        return f"The new {tuned}{are} better."
    if made.gain_interval[1] >= 0.0:
        return f"That is not clear: on other rows the old {tuned}{be} may be as good."
    return f"The old {tuned}{are} better on these rows." if floor is None else f"That is the price of the {floor.kind}."


def tune_command(options: Namespace) -> str:
    """Write a model with another threshold; returns what is printed.

    Raises
    ------
    ValueError, OSError : in one sentence, for anything that is wrong with the model, the data or the place to write
    """
    out = as_saved_path(options.out)
    if out.exists() and Path(options.data).exists() and out.samefile(options.data):
        raise ValueError(f"--out must not be the data; got {out}.")
    try_file(out)
    held = load_model(options.model)
    costs = given_costs(options)
    if costs and (options.loss is not None or held.many or held.several):
        why = "is for one label a row; the model has several" if held.many else "and --loss do not go together"
        why = f"is for two classes; the model has {held.several}; use --cost-matrix" if held.several else why
        raise ValueError(f"--{next(iter(costs))}-cost {why}: costs are the measure.")
    if options.alarms_at_most is not None and not 0.0 < options.alarms_at_most < 1.0:
        raise ValueError(f"--alarms-at-most must be a share of the rows; got {options.alarms_at_most:g}.")
    losses: Any = [row_costs(costs)] if costs else measures_of(options.loss or usual_loss(options), "samples")
    if len(losses) > 1:
        raise ValueError(f"--loss must be one measure; got {options.loss}.")
    if options.cost_matrix is not None:
        losses = [cost_matrix(options, held)]
    made = tune(
        options.model, options.data, options.target, losses[0], floor=floor_of(options), group=options.group,
        average=options.average or "samples", new_rows=options.new_rows, sep=options.sep, encoding=options.encoding,
    )  # fmt: skip
    save_model(made.model, out)
    return "\n".join([*map(wrap, made.lines), wrap(f"Saved in {out}; all else of the model is as it was.")])
