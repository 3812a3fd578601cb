"""The training of one class against the rest: a race where there is a choice, and the fit of what won."""

from dataclasses import dataclass, replace
from typing import final

from setwise.estimators.threads import base_threads
from setwise.estimators.weak.advice import Interval, interval_of, words_on_signal
from setwise.estimators.weak.family import Family
from setwise.estimators.weak.problem import Model, Problem, Settings
from setwise.estimators.weak.racing import CS, Race, race

USUAL = 1.0
"""C where no race chooses it: that of logistic regression in scikit-learn."""

INTERRUPTED = "interrupted in the race of methods; this is the start of all of them, fitted to soft labels"


@final
@dataclass(frozen=True, eq=False)
class Trained:
    """A model of one class against the rest, and how it was chosen.

    Attributes
    ----------
    model : the model
    method, C : how it was fitted; ``"soft_labels"`` where Ctrl-C came before
    race : the race, or None if there was none
    choice : a sentence on the choice and its doubt
    advice : a sentence on what bags without signal cannot teach, or None
    interval : how far the intercept is decided, or None after Ctrl-C
    interrupted : whether Ctrl-C has ended the fit
    """

    model: Model
    method: str
    C: float
    race: Race | None
    choice: str
    advice: str | None = None
    interval: Interval | None = None
    interrupted: bool = True


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """What is fitted, and how it is chosen.

    Attributes
    ----------
    family : linear models, or a classifier
    methods : the names of the methods that are tried
    Cs : the values of C that are tried
    settings : how each is fitted, C aside
    cv : the number of folds of a race
    seed : the seed of the folds
    """

    family: Family
    methods: tuple[str, ...]
    Cs: tuple[float, ...]
    settings: Settings
    cv: int
    seed: int

    @classmethod
    def of(cls, family: Family, method: str, C: float | str, settings: Settings, cv: int, seed: int) -> "Plan":
        """The plan for a method and a C, each of which may be ``"auto"``."""
        methods = family.methods if method == "auto" else (method,)
        Cs = CS if C == "auto" and family.regularized else (USUAL if isinstance(C, str) else C,)
        return cls(family, methods, Cs, settings, cv, seed)

    @property
    def open(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.methods) * len(self.Cs) > 1

    @property
    def usual(self) -> tuple[str, float]:
        """The method and C that are taken without a race."""
        return self.methods[0], USUAL if USUAL in self.Cs else self.Cs[0]

    def train(self, problem: Problem) -> Trained:
        """The model that the plan chooses; after Ctrl-C the best so far, or KeyboardInterrupt if there is none."""
        with base_threads(problem.X):
            return self._train(problem)

    def _train(self, problem: Problem) -> Trained:
        method, C = self.usual
        start = self.family.start(problem, None, self.settings.at(C))
        if start.status == "interrupted":
            return Trained(start, "soft_labels", C, None, "")
        outcome = None
        if self.open and len(problem.knowledge) > 1:
            try:
                outcome = race(problem, self.family, self.methods, self.Cs, self.settings, self.cv, self.seed)
            except KeyboardInterrupt:
                return Trained(_stopped(start, INTERRUPTED), "soft_labels", C, None, "")
            self.settings.watch.close()
            method = outcome.best.method
            if outcome.best.C != C:
                C = outcome.best.C
                start = self.family.start(problem, start, self.settings.at(C))
        choice = self._words(method, C, outcome)
        self.settings.watch.say(choice)
        return self._last(problem, start, Trained(start, method, C, outcome, choice))

    def _last(self, problem: Problem, start: Model, chosen: Trained) -> Trained:
        """The fit of what was chosen, and what is to be said of it."""
        if start.status == "interrupted":
            return chosen
        try:
            model = self.family.fit(chosen.method, problem, start, self.settings.at(chosen.C))
        except KeyboardInterrupt:
            return replace(chosen, model=_stopped(start, INTERRUPTED), method="soft_labels")
        if model.status == "interrupted":
            return replace(chosen, model=model)
        try:
            interval = interval_of(problem.knowledge, model.scores(problem.X))
        except KeyboardInterrupt:
            words = "interrupted after the fit of the weights, while the interval of the intercept was looked for"
            return replace(chosen, model=_stopped(model, words))
        advice = words_on_signal(problem.knowledge, chosen.race)
        return replace(chosen, model=model, interval=interval, advice=advice, interrupted=False)

    def _words(self, method: str, C: float, outcome: Race | None) -> str:
        """The choice and its doubt."""
        what = self._named(method, C)
        if not self.open:
            return f"{what}, as asked for"
        if outcome is None:
            return f"{what}, without a race, which needs two bags or more"
        doubt = outcome.doubt
        if doubt.difference < 0.0:
            return (
                f"{what}: {self._named(doubt.method, doubt.C)} makes held-out bags more likely, but only by "
                f"{-doubt.difference:.3g} ± {doubt.error:.2g} (log-likelihood of a bag, ± its standard error)"
            )
        return (
            f"{what}: held-out bags are more likely by {doubt.difference:.3g} ± {doubt.error:.2g} (log-likelihood of a "
            f"bag, ± its standard error) than under {self._named(doubt.method, doubt.C)}"
        )

    def _named(self, method: str, C: float) -> str:
        return f"{method} with C = {C:g}" if self.family.regularized and method != "constant" else method


def _stopped(model: Model, words: str) -> Model:
    """The model, marked as what Ctrl-C has left."""
    return replace(model, status="interrupted", message=words)  # type: ignore[type-var]
