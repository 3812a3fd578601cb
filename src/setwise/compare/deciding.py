"""The choice among all levers over all base models, by out-of-fold losses alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from setwise.compare.fits import SEED, Advance, Fits, Sources
from setwise.compare.floors import short_of
from setwise.compare.order import order_of
from setwise.compare.plan import FIRST, PLAIN, Key, Plan
from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.decisions.task import replicated_losses
from setwise.estimators.selection import Candidate, Task, choose
from setwise.estimators.selection.choice import REPLICATES, chosen_of, errors_needed
from setwise.estimators.selection.levers import AsItIs, Lever, Rule


@final
@dataclass(frozen=True, eq=False)
class Decision:
    """All candidates over some rows, their rules, and the one that was chosen.

    Attributes
    ----------
    candidates : out-of-fold losses, and gains over the reference with standard errors; the reference comes first
    rules : the rule of each candidate that was not refused, tuned on all these rows
    chosen : the key of the candidate to take
    own : the lever that each base model would take by itself
    sources : the responses of the base models with the constants that suit the measure
    """

    candidates: tuple[Candidate, ...]
    rules: Mapping[Key, Rule]
    chosen: Key
    own: Mapping[str, str]
    sources: Sources


def decide(fits: Fits, task: Task, plan: Plan, reference: Lever, where: str, advance: Advance) -> Decision:
    """The reference, unless another way has a paired out-of-fold gain above one standard error.

    First each base model chooses among its levers, as :class:`setwise.MeasureClassifier` does: its tuned threshold,
    unless a lever gains more than one standard error over it. Of these choices those remain that gain more than one
    standard error over logistic regression with a tuned threshold. The first of them is taken, in the order of the
    base models, that is within one standard error of the best. Under floors only what keeps them on these rows is
    taken, if anything does.

    Raises
    ------
    Refusal : if the reference refuses the loss
    """
    sources = fits.best(task, reference)
    if task.loss.reads == "scores":
        candidates, chosen = order_of(sources.tuned, task)
        advance(f"{where}: order", sum(len(plan.tried(base)) for base in sources.tuned))
        rules = {candidate.key: reference.tune(sources.of(candidate.key).held_out(), task) for candidate in candidates}
        return Decision(candidates, rules, chosen, dict.fromkeys(sources.tuned, "order"), sources)
    candidates_, labels, own = _over_each_base(sources, task, plan, reference, where, advance)
    judged = _judged(candidates_, labels, task)
    levers = {lever.name: lever for base in sources.tuned for lever in plan.tried(base)} | {
        reference.name: reference,
        PLAIN[1]: AsItIs(),
    }
    rules = {}
    for base, name in labels:
        try:
            rules[base, name] = levers[name].bound(task).tune(sources.of((base, name)).held_out(), task)
        except Refusal:
            # What fits the folds may not fit all rows; the candidate then has no figures on new rows.
            continue
    first = (FIRST, reference.name)
    rivals = [first, *(key for key in own.items() if key != first)]
    # A threshold that misses a floor is a rival of nothing, and where all of them do the reference is as good as any.
    rivals = [key for key in rivals if key not in rules or not short_of(rules[key])] or [first]
    chosen = rivals[simplest([labels[key] for key in rivals], task)]
    marked = tuple(replace(candidate, chosen=candidate.key == chosen) for candidate in judged.values())
    return Decision(marked, rules, chosen, own, sources)


def simplest(labels: Sequence[Bools], task: Task) -> int:
    """The first that loses no more than one standard error more than the best, among those that beat the first at all.

    A prediction beats the first one by the rule of :class:`setwise.MeasureClassifier`: its gain is above one standard
    error, or above the one of the luckiest of several. If none does, the answer is 0. So a base model that comes later,
    and is less simple, is taken only for a gain that can be told from noise.
    """
    losses: Values = np.array([task.mean_loss(guess) for guess in labels])
    drawn = replicated_losses(task, labels, REPLICATES, SEED)
    gains, drawn_gains = losses[0] - losses, drawn[:, :1] - drawn
    needed = errors_needed(gains, drawn_gains, drawn_gains.std(axis=0, ddof=1))
    best = chosen_of(losses, gains, needed)
    if best == 0:
        return 0
    near = losses - losses[best] <= (drawn - drawn[:, best : best + 1]).std(axis=0, ddof=1)
    return int(np.argmax((gains > needed) & near))


def _over_each_base(
    sources: Sources, task: Task, plan: Plan, reference: Lever, where: str, advance: Advance
) -> tuple[list[Candidate], dict[Key, Bools], dict[str, str]]:
    """The candidates over each base model, their cross-fitted labels, and the choice inside each base model."""
    candidates: list[Candidate] = []
    labels: dict[Key, Bools] = {}
    own: dict[str, str] = {}
    for base, source in sources.tuned.items():
        levers = [lever for lever in plan.tried(base) if lever.name != reference.name and (base, lever.name) != PLAIN]

        def progress(name: str, lever: str, title: str = source.name) -> None:
            advance(f"{where}: {title}, {lever.replace('_', ' ')}", 1)

        found = choose({base: source}, task, levers, reference=reference, seed=SEED, progress=progress)
        if found.interrupted:
            raise KeyboardInterrupt
        candidates += found.candidates
        labels |= found.labels
        own[base] = found.chosen.lever
    # Logistic regression at 0.5 has a constant of its own but under floors, and says what the threshold is worth.
    if plan.floor is None:
        advance(f"{where}: {sources.plain.name}, {PLAIN[1].replace('_', ' ')}", 1)
    labels[PLAIN] = sources.plain.response().labels
    candidates.insert(1, Candidate(*PLAIN))
    return candidates, labels, own


def _judged(candidates: Sequence[Candidate], labels: Mapping[Key, Bools], task: Task) -> dict[Key, Candidate]:
    """The candidates by their keys, with gains over the first one of all base models."""
    losses: Values = np.array([task.mean_loss(guess) for guess in labels.values()])
    drawn = replicated_losses(task, list(labels.values()), REPLICATES, SEED)
    gains, drawn_gains = losses[0] - losses, drawn[:, :1] - drawn
    errors, gain_errors = drawn.std(axis=0, ddof=1), drawn_gains.std(axis=0, ddof=1)
    numbers = {
        key: {"loss": float(losses[i]), "error": float(errors[i]), "gain": float(gains[i]), "gain_error": float(e)}
        for i, (key, e) in enumerate(zip(labels, gain_errors, strict=True))
    }
    return {c.key: replace(c, **numbers.get(c.key, {})) for c in candidates}  # type: ignore[arg-type]
