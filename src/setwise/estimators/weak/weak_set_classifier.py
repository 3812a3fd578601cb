"""WeakSetClassifier: a classifier of rows, from labels of some rows and numbers of positives of whole bags."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import _num_samples, check_is_fitted

from setwise.core.checks import Values, as_factor, as_number
from setwise.core.loss import Loss
from setwise.core.pages import AFTER_A_FIT, BAG_LIMITS, BAGS
from setwise.core.surrogate import Surrogate
from setwise.decisions.expected_loss import rule_of_cuts
from setwise.estimators.base import (
    Names,
    VersionedEstimator,
    as_matrix,
    linear_scores,
    take_features,
    threads,
    warn_of_dropped_groups,
    with_parameters,
)
from setwise.estimators.weak.bag_scores import (
    BagPredictions,
    mean_log_likelihood,
    predicted,
    share_right,
    threshold_for,
)
from setwise.estimators.weak.bags import Bagging, Ranges
from setwise.estimators.weak.families import BAG_FEATURES, BagFeatureFamily, ClassifierModel, family_of
from setwise.estimators.weak.knowledge import Knowledge, PartLabels, refuse_one_class
from setwise.estimators.weak.methods import LINEAR, check
from setwise.estimators.weak.problem import BagProblem, FeatureScaling, FitProgress, FitSettings, LinearModel, taken
from setwise.estimators.weak.selection import USUAL, SelectedModel, SelectionPlan
from setwise.losses import as_loss

ENDINGS = {
    "max_iter": ("{name} {message}; raise max_iter or tol.", ConvergenceWarning, BAGS),
    "interrupted": ("{name} was {message}.", RuntimeWarning, AFTER_A_FIT),
}


def keep(model: Any, trained: Sequence[SelectedModel], classes: NDArray[Any], scaling: FeatureScaling | None) -> None:
    """Store the models of all classes in the attributes of ``model``, and warn of what went wrong."""
    models = [one.model for one in trained]
    model.classes_, model._models, model.estimators_ = classes, [], []
    # Two classes have one model of bags.
    model._bag_model, model._bag_scaling = trained[0].of_bags, scaling
    model.bag_estimator_ = None if model._bag_model is None else model._bag_model.estimator
    if scaling is not None:
        pairs = [scaling.given(one.w) for one in models if isinstance(one, LinearModel)]
        model.coef_, model.intercept_ = (np.array(parts) for parts in zip(*pairs, strict=True))
    else:
        model._models = models
        model.estimators_ = [one.estimator for one in models if isinstance(one, ClassifierModel)]
        if model.estimators_:
            take_features(model, model.estimators_[0])
    races = [one.race for one in trained]
    of_classes: dict[str, list[Any]] = {
        "method_": [one.method for one in trained],
        "bag_method_": [one.method if one.of_bags is None else BAG_FEATURES for one in trained],
        "C_": [one.C for one in trained],
        "candidates_": [() if race is None else race.candidates for race in races],
        "doubt_": [None if race is None else race.doubt for race in races],
        "choice_": [one.choice for one in trained],
        "interval_": [one.interval for one in trained],
        "objective_": [one.model.objective for one in trained],
        "n_iter_": [max(one.model.n_iter, 1) for one in trained],
        "status_": [one.model.status for one in trained],
        "stop_reason_": [one.model.message for one in trained],
    }
    for name, values in of_classes.items():
        setattr(model, name, values[0] if len(trained) == 1 else values)
    # Of each kind of reason the first class is named that has it; the warning points at the line that called fit.
    statuses = {one.model.status: one.model.message for one in reversed(trained)}
    for status, (words, kind, page) in ENDINGS.items():
        if status in statuses:
            sentence = words.format(name=type(model).__name__, message=statuses[status])
            warnings.warn(sentence + page.see, kind, stacklevel=4)
    advice = next((one.advice for one in trained if one.advice is not None), None)
    if advice is not None:
        warnings.warn(advice + BAG_LIMITS.see, UserWarning, stacklevel=4)


@final
@with_parameters
class WeakSetClassifier(ClassifierMixin, VersionedEstimator):
    """A classifier of rows that learns from numbers of positives of whole bags, and from the labels of some rows.

    What is known of a bag may be the number of its positives (``counts``), their share (``proportions``), a least
    number (``at_least``, 1 for multiple instances) or a range (``between``); each may differ by bag, and they may be
    mixed. Labels of single rows are given as ``y``, in which -1 is unknown. One bag over all rows with a known share,
    and some positive rows, is learning from positive and unlabeled rows.

    The model gives each row independent log-odds. What is minimized depends on ``method``:

    - ``"count_likelihood"``: ``-log Pr(what is known of the bag)``, which is exact for all of these kinds of knowledge.
      With labels alone it is logistic regression.
    - ``"proportion_loss"``: ``m KL(R || mean probability)`` for bags of m rows with the share R.
    - ``"alternation"``: from the model of greatest likelihood on, the labels are completed to the most probable ones
      that agree with what is known, a classifier is trained on these, and so on in turn, from soft labels to hard ones
      (HOL 4.1). Its scores are then made log-odds by the factor of greatest likelihood: what is positive stays so.
    - ``"margin"``, for linear models: margin rescaling of :class:`setwise.losses.CountRange` in each bag, with such
      completions (HOL 4.1), by :class:`setwise.learners.NRBM`, and then made log-odds in the same way.
    - ``"ramp"``, for linear models: the ramp of the same loss, in the same way.
    - a surrogate of any loss, as ``MarginRescaling("f1")``, for linear models: whole bags are judged by that loss. The
      truth of a bag is the labeling of greatest score that agrees with what is known, or the one before where the
      surrogate is less there. Weights and labelings descend in turn; the objective never rises where the maxima of
      the surrogate are exact. A loss that says itself what unknown labels mean, as ``CountRange`` and sums with it, is
      bound to the labels 1, 0 and -1 as it is, its values of bags in the sorted order of the ids of all bags. What
      ``fit`` is told is then for the start, the log-odds and the choice of C. Where a loss ranks, the boundary is that
      of greatest likelihood.
    - ``"bag_features"``, where it is known of each bag whether it has a positive row, and nothing else: a classifier of
      bags is fitted to the mean, the least, the quartiles and the greatest of each feature. It is ``estimator``, or a
      random forest of 300 trees. A row is judged as a bag of one row. X is dense and finite.
    - ``"auto"``: the count likelihood, or another one under which bags that were held out are more likely by more than
      a standard error. No label of a row needs to be known. Features of bags are compared too. Where they make held-out
      bags more likely than that choice by more than a standard error, and by 1.92 in all, they judge whole bags, in
      :meth:`predict_bags` and in the likelihood of :meth:`score`, and the choice judges rows.

    None of the methods for rows is convex; all begin at logistic regression in which each row has the share of its bag
    as its label.

    With ``estimator=None`` the log-odds are linear, and ``0.5 |w|^2 + C sum over bags`` is minimized for features that
    are scaled to a variance of 1; the intercept is hardly regularized. Any other classifier is fitted to soft labels
    again and again: under ``"count_likelihood"`` by the EM algorithm, and under ``"proportion_loss"`` once, with the
    shares of the bags. Each row is then given twice, with the probabilities of its labels as weights; a classifier
    without weights is given labels that are drawn.

    More than two classes are one class against the rest, each with counts or proportions of its own; probabilities
    are normalized to the sum 1. Where a number of a class is unknown it is what the others of the same argument leave
    of the bag, or at most that if several are unknown.

    Parameters
    ----------
    estimator : None, or a classifier with ``predict_proba``, to which X goes untouched
    method : ``"auto"``, ``"count_likelihood"``, ``"proportion_loss"``, ``"alternation"``, ``"margin"``, ``"ramp"``,
        ``"bag_features"``, or an object of :mod:`setwise.surrogates`
    C : the weight of the sum over bags, for linear models; that of ``LogisticRegression`` where all labels are known.
        ``"auto"`` tries .01, .1, 1 and 10 on held-out bags. It is 1 where there is one bag
    loss : what ``predict`` decides for. None takes the more probable label of each row. A loss of labels, or its name,
        takes the threshold of probability at which the expected loss of all training rows, as one set, is least under
        the probabilities of the model; that reads no label. For more than 4096 rows it may be 1e-3 above. A loss that a
        further mistake may make smaller takes as many rows, as ``"qf1"``, or 131072 if it is one of the number
        predicted alone, as ``"kld"``; others that are no function of the numbers of mistakes take 10 to 16. More rows
        are refused before anything is trained. For two classes
    classes : the labels in order, negative first; None takes the sorted labels of ``y``, or 0, 1, .. where it does not
        show all of them
    cv : the number of folds of bags that are held out in turn
    tol : descent ends if a step gains less than this share of the objective at the start. With an ``estimator``, fits
        end if no soft label changes by more than ``max(tol, .001)``. With ``"alternation"`` they end if at most this
        share of the labels changes
    max_iter : the largest number of steps of a descent, or of fits of a classifier; None is 1000 steps, or 20 fits
    n_jobs : the number of threads that share the bags
    random_state : the seed of the folds; with None they repeat from fit to fit
    verbose : 0 or 1, which draws a line with the progress on standard error, and prints the choice and its doubt

    Attributes
    ----------
    classes_ : the labels; the second one of two is positive
    coef_, intercept_ : (1, d) and (1,), or (k, d) and (k,) for k classes; for linear models
    bag_estimator_ : the classifier of features of bags, or None where it judges no bags
    estimators_ : a list with the fitted classifier, or one for each of k classes against the rest; else empty
    threshold_ : the log-odds above which a row is predicted positive, 0 unless ``loss`` is given
    method_, C_ : what was chosen, a surrogate as its text; lists for k > 2 classes, and so are all of the following
    bag_method_ : what judges whole bags: ``"bag_features"``, or the same as ``method_``
    candidates_ : a tuple of ``WeakCandidate``, the best first, with the mean log-likelihood of held-out bags and its
        standard error; empty without a comparison. ``"constant"`` is the mean share as the probability of all rows.
        One that does not fit what is known has the likelihood -inf, and its ``refusal`` says why
    doubt_ : the runner-up of another method, by how much the choice is better, and the standard error; None without
        a comparison
    choice_ : the choice and its doubt in a sentence
    interval_ : an object with the numbers ``low``, ``high`` and ``undecided``: constants from low to high may be added
        to all log-odds with a drop of the log-likelihood of at most 1.92, an interval of 95 %; and undecided is the
        share of the training rows of which something is known whose label depends on it. None after Ctrl-C,
        and for ``"bag_features"``
    objective_ : what was minimized, at the model; the negative log-likelihood of all bags for other classifiers
    n_iter_, status_, stop_reason_ : the number of steps, and why they ended, in a word and in a sentence
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows, bags and knowledge that do not fit together
    Refusal : a ValueError by ``fit``, where estimator, method, loss and target do not fit each other
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    No label of a row is known, only the share of positives in each of thirty bags:

    >>> from setwise import WeakSetClassifier
    >>> X = np.random.default_rng(0).standard_normal((600, 2))
    >>> y, bags = (X[:, 0] > 0.5).astype(int), np.repeat(np.arange(30), 20)
    >>> shares = y.reshape(30, 20).mean(axis=1)
    >>> model = WeakSetClassifier(method="count_likelihood", C=1.0).fit(X, groups=bags, proportions=shares)
    >>> model.score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "method": [Names({"auto", BAG_FEATURES, *LINEAR}), Surrogate],
        "C": [Interval(Real, 0, None, closed="neither"), Names({"auto"})],
        "loss": [str, Loss, callable, None],
        "classes": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    estimator: Any = None
    method: str | Surrogate = "auto"
    C: float | str = "auto"
    _: KW_ONLY
    loss: str | Loss | None = None
    classes: Any = None
    cv: int = 5
    tol: float = 1e-6
    max_iter: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        counts: Any = None,
        proportions: Any = None,
        at_least: Any = None,
        between: Any = None,
    ) -> Self:
        """Train on rows, their bags, and what is known of either.

        The values of bags are one value for all, a mapping from ids of bags, or an array with one value for each bag,
        (bags,) in the sorted order of the ids, or for each row, (n,). None and NaN are unknown. A mapping may hold
        other bags too.
        A series of pandas whose index holds the ids of the bags is a mapping; with another index it is an array.
        Counts are of all rows of a bag, those with known labels included. For k classes, counts and proportions have
        k numbers each; for all bags these are ``[[...]]``, or ``(...)`` where ``classes`` or ``y`` show k classes and
        there are not k bags or rows. A share of m rows that is no whole number allows the two next to it.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best model so far is stored, a
        warning says so, and KeyboardInterrupt is raised; of more than two classes each must have a model by then. A
        warning says where bags carry no signal.

        Parameters
        ----------
        X : (n, d), dense or CSR, or whatever the estimator takes
        y : (n,) labels, in which -1, None and NaN are unknown; None if no label is known
        groups : (n,) the id of the bag of each row; None makes all rows one bag
        counts : numbers of positives
        proportions : shares of positives, from 0 to 1
        at_least : least numbers of positives: 1 for a positive bag; a negative one has ``counts`` of 0
        between : pairs of the least and the largest number of positives

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, and rows, bags and knowledge that do not fit together
        Refusal : a ValueError, where estimator, method, loss and target do not fit each other
        TypeError : for features of linear models that are neither numbers nor text
        """
        self._validate_params()
        if groups is None:
            warn_of_dropped_groups("fit", type(self).__name__)
        with self._unchanged_by_errors():
            interrupted = self._fit(X, y, groups, (counts, proportions, at_least, between))
        if interrupted:
            raise KeyboardInterrupt
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The log-odds of the rows, of each class against the rest where there are more than two.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``, or whatever the estimator takes

        Returns
        -------
        scores : (n,), or (n, k) for k > 2 classes

        Raises
        ------
        ValueError, TypeError, OverflowError : for rows that the model or the estimator refuses
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        rows = self._read(X)
        if self._models:
            scores = np.column_stack([model.scores(rows) for model in self._models])
        else:
            scores = linear_scores(rows, self.coef_, self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class; for k > 2 classes those of one against the rest, normalized to the sum 1.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``, or whatever the estimator takes

        Returns
        -------
        probabilities : (n, k) in the order of ``classes_``

        Raises
        ------
        ValueError, TypeError, OverflowError : for rows that the model or the estimator refuses
        NotFittedError : before ``fit``
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        each = np.maximum(expit(scores), np.finfo(np.float64).tiny)
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the most probable one, or with ``loss`` what its threshold says.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``, or whatever the estimator takes

        Returns
        -------
        labels : (n,) of ``classes_``

        Raises
        ------
        ValueError, TypeError, OverflowError : for rows that the model or the estimator refuses
        NotFittedError : before ``fit``
        """
        scores = self.decision_function(X)
        codes = (scores > self.threshold_).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_bags(self, X: Any, groups: Any = None) -> BagPredictions:
        """The ids of the bags, their sizes, mean and most probable numbers of positives, and Pr(one or more).

        With independent decisions the last is ``1 - prod (1 - p_i)``, so a bag is positive if one of its rows is. Where
        ``bag_method_`` is ``"bag_features"`` it is the probability of that model, and the numbers are those of
        independent decisions that have one positive or more, mixed with 0 by it.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``, or whatever the estimator takes
        groups : (n,) the id of the bag of each row; None makes all rows one bag

        Returns
        -------
        BagPredictions
            ``ids``, ``sizes``, ``mean``, ``most_probable`` and ``at_least_one``, (bags,) each; the last three (bags, k)
            for k > 2 classes

        Raises
        ------
        ValueError : for groups that do not fit the rows
        ValueError, TypeError, OverflowError : for rows that the model or the estimator refuses
        NotFittedError : before ``fit``
        """
        scores = self._log_odds(X)
        bags = Bagging.of(groups, len(scores))
        return predicted(bags, scores, self._of_bags(X, bags))

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        counts: Any = None,
        proportions: Any = None,
        at_least: Any = None,
        between: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """The share of the known labels ``y`` that are predicted; without y the mean ``log Pr(what is known)`` of bags.

        For k > 2 classes the second is also a mean over the classes, each against the rest, of bags and classes of
        which something is known. The values of bags are given as in :meth:`fit`.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``, or whatever the estimator takes
        y : (n,) labels, in which -1, None and NaN are unknown; None if no label is known
        groups : (n,) the id of the bag of each row; None makes all rows one bag
        counts : numbers of positives
        proportions : shares of positives, from 0 to 1
        at_least : least numbers of positives
        between : pairs of the least and the largest number of positives
        sample_weight : (n,) weights of rows, where labels are known; those of rows without a known label do not count

        Returns
        -------
        score : a share from 0 to 1; where no label is known a mean log-likelihood of bags, in nats

        Raises
        ------
        ValueError : for rows, bags and knowledge that do not fit together or do not fit the model, where nothing is
            known, and for ``sample_weight`` without a known label
        TypeError, OverflowError : for rows that the model or the estimator refuses
        NotFittedError : before ``fit``
        """
        if groups is None:
            warn_of_dropped_groups("score", type(self).__name__)
        scores = self._log_odds(X)
        n = len(scores)
        bags = Bagging.of(groups, n)
        labels = PartLabels.of(y, n, self.classes_)
        ranges = Ranges.of(bags, counts, proportions, at_least, between, labels.count)
        codes, _ = labels.coded(ranges.width)
        if (codes >= 0).any():
            return share_right(self.predict(X) == self.classes_[codes], codes >= 0, sample_weight)
        if sample_weight is not None:
            raise ValueError(
                "sample_weight must be None where score is given no known label in y: it weights rows with known "
                "labels, but the log-likelihood is that of whole bags."
            )
        return mean_log_likelihood(bags, ranges, scores, self._of_bags(X, bags))

    def _fit(self, X: Any, y: Any, groups: Any, values: tuple[Any, Any, Any, Any]) -> bool:
        """Train and store everything; returns whether Ctrl-C ended it."""
        rows = as_matrix(self, X) if self._reads_matrix else indexable(X)[0]
        n = _num_samples(rows)
        bags = Bagging.of(groups, n)
        given = PartLabels.of(y, n, self.classes)
        ranges = Ranges.of(bags, *values, given.count)
        codes, classes = given.coded(ranges.width)
        if ranges.empty:
            refuse_one_class(codes, classes)
        ranges.warn_of_zeros(codes >= 0)
        loss = None if self.loss is None else as_loss(self.loss)
        if loss is not None and len(classes) > 2:
            raise ValueError(f"loss must be None for more than two classes; got {loss!r} and {len(classes)} classes.")
        if loss is not None:
            # It refuses losses without a threshold of n rows that can be found, before anything is trained.
            rule_of_cuts(loss, n)
        if self.method == BAG_FEATURES and len(classes) > 2:
            raise ValueError(
                f"method must be another one than 'bag_features', which is for two classes; got {len(classes)} classes."
            )
        scaling = FeatureScaling.of(rows) if self.estimator is None and self.method != BAG_FEATURES else None
        plan, trained = self._plan(len(classes)), []
        for k in range(1, 2) if len(classes) == 2 else range(len(classes)):
            labels = np.where(codes < 0, -1, codes == k).astype(np.int8)
            what = "any bag" if len(classes) == 2 else f"class {classes.tolist()[k]!r} in any bag"
            knowledge = Knowledge.of(bags, labels, *ranges.of_class(k, len(classes)), what)
            if isinstance(self.method, Surrogate):
                check(self.method, knowledge, n, len(classes))
            part = taken(rows, knowledge.order)
            trained.append(plan.train(BagProblem(part if scaling is None else scaling.inside(part), knowledge)))
            if trained[-1].interrupted and k + 1 < len(classes):
                # The classes that follow have no model yet.
                raise KeyboardInterrupt
        keep(self, trained, classes, scaling)
        self.threshold_, interrupted = 0.0, any(one.interrupted for one in trained)
        if loss is None:
            return interrupted
        try:
            self.threshold_ = threshold_for(loss, self.decision_function(rows))
        except KeyboardInterrupt:
            words = (
                f"{type(self).__name__} was interrupted before the threshold for {loss!r} was found; it is that of .5."
            )
            warnings.warn(words + AFTER_A_FIT.see, RuntimeWarning, stacklevel=3)
            return True
        return interrupted

    def _plan(self, classes: int) -> SelectionPlan:
        """What is fitted, by the parameters."""
        family, method = family_of(self.estimator, self.method)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        watch = FitProgress(self.verbose > 0, type(self).__name__)
        C, tol = self.C if isinstance(self.C, str) else as_factor(self.C, "C"), as_number(self.tol, "tol", low=0.0)
        steps = family.steps if self.max_iter is None else int(self.max_iter)
        settings = FitSettings(USUAL, tol, steps, threads(self.n_jobs), watch, seed)
        bags = BagFeatureFamily(self.estimator) if self.method == "auto" and classes == 2 else None
        return SelectionPlan.of(family, method, C, settings, int(self.cv), seed, bags)

    @property
    def _reads_matrix(self) -> bool:
        """Whether X is a matrix of numbers, and not whatever the estimator takes."""
        return self.estimator is None or self.method == BAG_FEATURES

    def _read(self, X: Any) -> Any:
        """New rows, checked where the estimator does not see them as they are."""
        return as_matrix(self, X, reset=False) if self._reads_matrix else X

    def _of_bags(self, X: Any, bags: Bagging) -> Values | None:
        """The log-odds that each bag has a positive row, (bags,), if features of bags judge it."""
        if self._bag_model is None:
            return None
        rows = taken(self._read(X), bags.order)
        rows = rows.toarray() if issparse(rows) else rows
        scaled = rows if self._bag_scaling is None else self._bag_scaling.inside(rows)
        return np.asarray(self._bag_model.of_bags(scaled, bags.offsets))

    def _log_odds(self, X: Any) -> Values:
        """The log-odds of the probabilities, (n,), or (n, k)."""
        scores = self.decision_function(X)
        return scores if scores.ndim == 1 else np.asarray(logit(np.clip(self.predict_proba(X), 1e-15, 1.0 - 1e-15)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        reads = self.estimator is None or get_tags(self.estimator).input_tags.sparse
        tags.input_tags.sparse = reads and self.method != BAG_FEATURES
        tags.target_tags.required = False
        return tags
