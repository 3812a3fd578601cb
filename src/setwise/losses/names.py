"""Losses from text, as on a command line: ``f1``, ``fbeta:2``, ``tversky:0.3:0.7``, ``jaccard+0.5*hamming``.

Losses are separated by commas, parameters by colons, and the losses of a sum by plus signs. Parameters come in the
order of the fields of the class, or by name, as ``tversky:beta=0.7``. A loss that takes another loss has it in
parentheses where that one has parameters: ``class_weighted:(fbeta:2):1:5``.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from setwise.core.checks import as_text, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.losses.combinations import OneClass
from setwise.losses.functions import MetricLoss, name_of, takes

Kinds = Mapping[str, type[Loss]]

SYNONYMS = {
    "dice": "f1", "iou": "jaccard",
    "accuracy": "error_rate", "accuracy_score": "error_rate",
    "balanced_accuracy": "balanced_error", "balanced_accuracy_score": "balanced_error",
    "f1_score": "f1", "f2": "fbeta:2", "f0.5": "fbeta:0.5", "fbeta_score": "fbeta", "jaccard_score": "jaccard",
    "f1_macro": "mean_over_classes:f1", "jaccard_macro": "mean_over_classes:jaccard",
    "f1_weighted": "mean_over_classes:f1:support", "jaccard_weighted": "mean_over_classes:jaccard:support",
    "f1_micro": "error_rate", "precision_micro": "error_rate",
    "recall_macro": "balanced_error", "recall_weighted": "error_rate", "recall_micro": "error_rate",
    "matthews_corrcoef": "mcc", "cohen_kappa": "kappa", "cohen_kappa_score": "kappa",
    "roc_auc": "auc", "roc_auc_score": "auc",
    "average_precision_score": "average_precision", "pr_auc": "average_precision", "auprc": "average_precision",
    "ndcg_score": "ndcg",
    "hamming_loss": "error_rate", "zero_one_loss": "error_rate",
}  # fmt: skip
"""Names of scikit-learn and where images are segmented, and the losses that are one minus these, or these themselves.
"""

ONE_SIDED = {
    "precision": "few", "precision_score": "few", "recall": "all", "recall_score": "all", "sensitivity": "all",
    "specificity": "no",
}  # fmt: skip
"""Measures that are best where few rows, or all, are predicted positive."""

NEAREST = {
    "youden": "balanced_accuracy, the mean of 1 and Youden's index", "f1_samples": "f1 with average='samples'",
    "jaccard_samples": "jaccard with average='samples'", "jaccard_micro": "accuracy, which orders models alike",
    "precision_macro": "balanced_accuracy or f1_macro", "precision_weighted": "balanced_accuracy or f1_weighted",
    "precision_samples": "f1 with average='samples'", "recall_samples": "f1 with average='samples'",
    "positive_likelihood_ratio": "balanced_accuracy, f1 or mcc",
    "neg_negative_likelihood_ratio": "balanced_accuracy, f1 or mcc",
    "profit": "your function f(y_true, y_pred) in make_scorer, or on the command line module:function",
    "cost": "RowCosts, or your function f(y_true, y_pred), on the command line module:function",
}  # fmt: skip
"""What to use instead of names that are like none of a loss, or like a wrong one."""

OWN_LOSS = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
"""How a loss of the user is written on the command line, ``module:function``."""

AVERAGES = {
    "macro": "mean_over_classes:{}", "weighted": "mean_over_classes:{}:support", "micro": "error_rate",
}  # fmt: skip
"""The losses of the averages of scikit-learn of the loss of one class."""

OF_PROBABILITIES = ("log_loss", "neg_log_loss", "brier_score_loss", "neg_brier_score")
"""Measures of scikit-learn that judge probabilities."""

FACTOR = re.compile(r"([-+0-9.eE]+)\s*\*\s*(.*)", re.DOTALL)
"""A factor before a loss."""

EXPONENT = re.compile(r"[0-9.][eE]")
"""What stands before the sign of an exponent."""

DEEPEST = 9
"""The largest number of parentheses inside each other."""


def losses_of(text: str, kinds: Kinds) -> dict[str, Loss]:
    """The losses that a text names, by what the text calls each of them; see the module for the grammar.

    Raises
    ------
    ValueError : with one sentence, for a name that no loss has, or for parameters that it does not take
    """
    found: dict[str, Loss] = {}
    for word in _split(as_text(text, "loss").lower(), ","):
        part = SYNONYMS.get(word, word)
        if found and not FACTOR.match(part) and _is_number(part):
            last = next(reversed(found))
            raise ValueError(f"loss {part!r} is a number; parameters are joined by colons, as in {last}:{part}.")
        found[part] = loss_of(part, kinds)
    return found


def loss_of(text: str, kinds: Kinds) -> Loss:
    """The one loss that a text names, which may be a sum."""
    terms = [_term(part, kinds) for part in _split(text, "+")]
    try:
        return sum(terms[1:], start=terms[0])
    except (Refusal, ValueError, OverflowError) as error:
        raise ValueError(f"loss {shown(text)} is not a sum of losses: {error}") from None


def loss_of_function(metric: Any) -> str | MetricLoss | None:
    """The loss, or its text, that a metric, scorer or function ``f(y_true, y_pred)`` asks for; None for anything else.

    Raises ValueError for metrics and scorers that judge no labels, or are said to be better in the wrong direction.
    """
    function, given = getattr(metric, "_score_func", metric), dict(getattr(metric, "_kwargs", {}))
    if not callable(function) or isinstance(function, type):
        return None
    name, scorer = str(getattr(function, "__name__", "")), function is not metric
    gain, reads = scorer and getattr(metric, "_sign", 1) > 0, getattr(metric, "_response_method", "predict")
    if _is_known(function):
        # An average has no positive label.
        label = given.pop("pos_label", None) if given.get("average", "binary") != "binary" else given.get("pos_label")
        if scorer and name in SYNONYMS and gain == name.endswith("_loss"):
            raise ValueError(f"a scorer of {name} must have greater_is_better={not gain}; got {gain}.")
        text = _text_of_metric(name, given)
        if text is not None and (label is None or "average" in given or name in ONE_SIDED):
            return text
        if text is not None and reads != "predict":
            raise ValueError(
                f"pos_label of {name} must be given to the classifier, as pos_label={label!r}, and not to make_scorer."
            )
        if name == "fbeta_score" and "beta" not in given:
            raise ValueError(f"{name} needs beta; give make_scorer({name}, beta=2), or 'fbeta:2'.")
        if text is None and not scorer:
            near = difflib.get_close_matches(name, METRICS, 1)
            raise ValueError(
                f"there is no loss for {name} of scikit-learn; there are losses for {', '.join(near or METRICS)}. "
                "A scorer of labels made by make_scorer is taken as a function."
            )
    if reads != "predict":
        raise ValueError(f"a scorer of {name} must judge labels, response_method='predict'; got {reads!r}.")
    judged = partial(function, **given) if given else function
    if not takes(judged, 2):
        raise TypeError(f"loss must be a function of (y_true, y_pred) or a scorer of make_scorer; got {shown(metric)}.")
    return MetricLoss(judged, gain)


def _is_known(function: Any) -> bool:
    """Whether it is a metric of scikit-learn."""
    return str(getattr(function, "__module__", "")).startswith("sklearn.metrics")


def _text_of_metric(name: str, given: Mapping[str, Any]) -> str | None:
    """The text of the loss that a metric of scikit-learn with these arguments asks for; None where there is none."""
    binary = isinstance(given.get("average"), str) and given["average"] == "binary"
    rest = {key: given[key] for key in given if key != "pos_label" and not (binary and key == "average")}
    # The scorers of the macro average come so from scikit-learn.
    average = name.replace("_score", f"_{rest.get('average')}")
    if set(rest) == {"average"} and (average in SYNONYMS or average in NEAREST or name in ONE_SIDED):
        return average
    if name in (*ONE_SIDED, *OF_PROBABILITIES):
        return name
    if name not in SYNONYMS:
        return None
    whole = (name == "fbeta_score") == ("beta" in rest)
    if set(rest) <= {"beta"} and whole:
        return f"{SYNONYMS[name]}{''.join(f':{value}' for value in rest.values())}"
    if set(rest) - {"beta"} == {"zero_division"} and name in ("f1_score", "fbeta_score") and whole:
        if rest["zero_division"] not in (0, 1):
            return None
        return f"fbeta:{rest.get('beta', 1)}:{rest['zero_division']}"
    if set(rest) == {"beta", "average"} and rest["average"] in AVERAGES:
        return AVERAGES[rest["average"]].format(f"(fbeta:{rest['beta']})")
    if name == "cohen_kappa_score" and set(rest) == {"weights"}:
        return "kappa" if rest["weights"] is None else f"kappa:{rest['weights']}"
    return None


def loss_of_label(f: Any, labels: tuple[Any, Any]) -> Loss | None:
    """The loss that a metric of scikit-learn with ``pos_label`` asks for, of two labels; None for other functions.

    Raises ValueError where ``pos_label`` is none of the labels.
    """
    from setwise.losses import as_loss

    metric: Any = getattr(f, "func", None)
    given = getattr(f, "keywords", {})
    label = given.get("pos_label")
    if label is None or not _is_known(metric):
        return None
    name = str(getattr(metric, "__name__", ""))
    if label not in labels:
        raise ValueError(
            f"pos_label of {name} must be one of the labels, {labels[0]!r} or {labels[1]!r}; got {label!r}. Without it "
            "the loss is that of pos_label= of the classifier."
        )
    text = _text_of_metric(name, given)
    if text is None:
        return None
    return as_loss(text) if label == labels[1] else OneClass(as_loss(text), 0)


def text_of(loss: Loss) -> str:
    """The text that makes a loss, as ``"tversky:0.3:0.7"``; what Python prints of it where text cannot give it."""
    if isinstance(loss, Combination):
        return "+".join(f"{'' if factor == 1.0 else f'{factor:g}*'}{text_of(part)}" for factor, part in loss.parts)
    if isinstance(loss, MetricLoss):
        return name_of(loss.f)
    usual = _usual(loss)
    if any(_reader(field.type) is None and not _is_default(loss, field) for field in fields(cast(Any, loss))):
        return repr(loss)
    while usual and _is_default(loss, usual[-1]):
        usual.pop()
    values = [getattr(loss, field.name) for field in usual]
    texts = [f"({text_of(one)})" if isinstance(one, Loss) else f"{one:g}" if _is_real(one) else one for one in values]
    return ":".join([loss.name, *map(str, texts)])


def _is_default(loss: Loss, field: Field[Any]) -> bool:
    held = getattr(loss, field.name)
    return not is_needed(field) and (held is field.default or (_is_real(held) and held == field.default))


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


METRICS = tuple(name for name in SYNONYMS if name.endswith(("_score", "_corrcoef", "_loss")))
"""The functions of ``sklearn.metrics`` that losses stand for."""


def form_of(name: str, kind: type[Loss]) -> str | None:
    """How a loss is written, as ``"ndcg[:k]"``; None if text cannot give what it needs."""
    usual = _usual(kind)
    if _hidden(kind):
        return None
    needed = "".join(f":{field.name}" for field in usual if is_needed(field))
    others = [field.name for field in usual if not is_needed(field)]
    return name + needed + "".join(f"[:{other}" for other in others) + "]" * len(others)


def forms(kinds: Kinds) -> dict[str, str]:
    """The forms of all losses that a text can give, by their names."""
    found = {name: form_of(name, kind) for name, kind in kinds.items()}
    return {name: form for name, form in found.items() if form is not None}


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that are outside of parentheses; no part may be empty."""
    parts, depth = [""], 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        # The plus sign of an exponent, as in 1e+3, separates nothing.
        exponent = letter == "+" and EXPONENT.fullmatch(text[max(i - 2, 0) : i]) is not None
        if letter == separator and depth == 0 and not exponent:
            parts.append("")
        else:
            parts[-1] += letter
        if depth < 0 or depth > DEEPEST:
            break
    found = [part.strip() for part in parts]
    if depth or "" in found:
        raise ValueError(f"loss {shown(text)} must be names joined by {separator!r}, with parentheses in pairs.")
    return found


def _term(text: str, kinds: Kinds) -> Loss:
    """A loss with its parameters, and perhaps a factor before it."""
    if text.startswith("-") and not FACTOR.match(text):
        raise ValueError(f"loss {shown(text)} must have no minus; setwise knows which is better, so write {text[1:]}.")
    scaled = FACTOR.fullmatch(text)
    if scaled is None:
        return _plain(text, kinds)
    if not _is_number(scaled[1]):
        raise ValueError(f"loss {shown(text)} must have a number before the star; got {shown(scaled[1])}.")
    loss = _plain(scaled[2], kinds)
    try:
        return float(scaled[1]) * loss
    except (ValueError, OverflowError) as error:
        raise ValueError(f"loss {shown(text)} has a factor that does not fit: {error}") from None


def _plain(text: str, kinds: Kinds) -> Loss:
    """A loss with its parameters, without a factor; or a sum in parentheses."""
    if text.startswith("(") and text.endswith(")"):
        return loss_of(text[1:-1], kinds)
    name, *given = _split(text, ":")
    if name in SYNONYMS:
        name, *given = [*SYNONYMS[name].split(":"), *given]
    kind = _kind(name, kinds, text)
    values: dict[str, Any] = {}
    usual = {field.name: field for field in _usual(kind)}
    _refuse_missing(name, kind, given)
    for place, word in enumerate(given):
        key, _, value = word.rpartition("=") if re.match(r"\w+\s*=", word) else (None, "", word)
        key = list(usual)[place] if key is None and place < len(usual) else (key or "").strip()
        if key not in usual or key in values:
            takes = f"takes {form_of(name, kind)}" if usual else "takes no parameters"
            raise ValueError(f"loss {shown(name)} {takes}; got {shown(text)}.")
        values[key] = _value(value.strip(), usual[key], text, kinds)
    try:
        return kind(**values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"loss {shown(text)}: {error}") from None


def _kind(name: str, kinds: Kinds, text: str) -> type[Loss]:
    """The class of a loss by its short name, or by the name of the class, in letters of any case; ``text`` names it."""
    plain = name.strip().lower()
    for short, kind in kinds.items():
        if plain in (short, kind.__name__.lower()):
            return kind
    if plain in ONE_SIDED:
        raise ValueError(
            f"{plain} alone is best where {ONE_SIDED[plain]} rows are predicted positive; use f1, fbeta:2 or a floor."
        )
    judged = None if plain in NEAREST else _judged(plain)
    if judged is not None:
        raise ValueError(f"{plain} judges {judged}; a loss judges labels, as f1, or an order of rows, as roc_auc.")
    bare, known = plain.removeprefix("neg_"), [*kinds, *SYNONYMS]
    near = [bare] if bare in known else difflib.get_close_matches(plain, known, 1)
    beta = re.fullmatch(r"f_?([0-9.]+)", plain)
    if plain not in NEAREST and not near and OWN_LOSS.fullmatch(text):
        raise ValueError(
            f"loss {shown(text)} must be the function itself in Python, as loss={text.rpartition(':')[2]}; its name is "
            "for the command line."
        )
    use = f"fbeta:{beta[1]}" if beta else NEAREST.get(plain, "".join(near) or OFTEN)
    raise ValueError(f"there is no loss {shown(name)}; use {use}.")


OFTEN = "f1, jaccard, balanced_accuracy, mcc or another name that 'setwise list' prints"
"""What is proposed for a name that is like none of a loss."""


JUDGED = {
    "clusters": "rand_|mutual_info|homogeneity|completeness|v_measure|fowlkes|silhouette|davies|calinski",
    "predicted numbers": "^r2|max_error|explained_variance|absolute|squared|poisson|gamma|tweedie|pinball",
    "probabilities": "log_loss|brier|top_k_acc|roc_auc_ov|det_curve",
}
"""What metrics of scikit-learn judge that no loss does, and what their names contain."""


def _judged(name: str) -> str | None:
    """What a metric of scikit-learn judges that no loss does; None for other names."""
    return next((what for what, form in JUDGED.items() if re.search(form, name)), None)


def _refuse_missing(name: str, kind: type[Loss], given: list[str]) -> None:
    """Raise ValueError if a parameter without a default is not given."""
    hidden = _hidden(kind)
    if hidden:
        raise ValueError(f"loss {name!r} needs {', '.join(hidden)}, which text cannot give; make it in Python.")
    named = {word.split("=")[0].strip() for word in given if "=" in word}
    needed = [field.name for field in _usual(kind) if is_needed(field)]
    if any(field not in named for field in needed[len(given) - len(named) :]):
        raise ValueError(f"loss {name!r} needs {', '.join(needed)}; write {form_of(name, kind)}.")


def _usual(kind: Any) -> list[Field[Any]]:
    """The fields of a loss that text can give: numbers, words of a list, and losses."""
    return [field for field in fields(kind) if _reader(field.type) is not None]


def _hidden(kind: Any) -> list[str]:
    """The parameters that a loss needs and that text cannot give: arrays and functions."""
    return [field.name for field in fields(kind) if _reader(field.type) is None and is_needed(field)]


def is_needed(field: Field[Any]) -> bool:
    """Whether a parameter has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def _reader(annotation: Any) -> Any:
    """What turns text into a value of the annotated type: ``int``, ``float``, ``str`` or ``Loss``; None for others."""
    if get_origin(annotation) in (UnionType, Union):
        known = [_reader(part) for part in get_args(annotation) if part is not type(None)]
        return known[0] if len(known) == 1 else None
    if get_origin(annotation) is Literal:
        return str
    if annotation in (Loss, CountLoss):
        return Loss
    return annotation if annotation in (int, float) else None


def _value(text: str, field: Field[Any], whole: str, kinds: Kinds) -> Any:
    """The value of a parameter; ValueError if the text is none."""
    reader = _reader(field.type)
    if reader is Loss:
        return loss_of(text, kinds)
    parts = (field.type, *get_args(field.type))
    choices = next((get_args(part) for part in parts if get_origin(part) is Literal), ())
    try:
        value = reader(text)
    except ValueError:
        value = None
    if value is None or "_" in text or (choices and text not in choices):
        wanted = {int: "a whole number", float: "a number", str: f"one of {', '.join(choices)}"}[reader]
        raise ValueError(f"loss {shown(whole)}: {field.name} must be {wanted}; got {shown(text)}.")
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
