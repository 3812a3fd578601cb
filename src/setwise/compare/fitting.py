"""Whether the estimator of a saved model was fitted to what ``setwise predict`` will give it."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from setwise.core.exceptions import Refusal
from setwise.core.pages import OWN_MODEL
from setwise.datasets.columns import some

WAY_OUT = "fit it to {}, or save your model without SavedModel."


def check_features(reader: Any, given: int, wanted: str, name: str) -> None:
    """Raise Refusal if what reads new rows is not fitted, or was fitted to other features than these have.

    Parameters
    ----------
    reader : the encoder of a saved model, or its estimator if it has none. What it does not tell by ``n_features_in_``
        and ``feature_names_in_`` is not known
    given : the number of features of new rows, which have no names
    wanted : what it should have been fitted to
    name : the name of the file in the sentence
    """
    check_fitted(reader, name)
    names = getattr(reader, "feature_names_in_", None)
    fitted = getattr(reader, "n_features_in_", given)
    if names is not None:
        was = f"columns with names, {some(names.tolist())}, and setwise predict will give it numbers without names"
    elif fitted != given:
        was = f"{fitted} features, and setwise predict will give it {given}"
    else:
        return
    raise Refusal(
        f"{name} cannot be saved: its {type(reader).__name__} was fitted to {was}: {WAY_OUT.format(wanted)}", OWN_MODEL
    )


def check_fitted(reader: Any, name: str) -> None:
    """Raise Refusal for an estimator or an encoder that is not fitted; ``name`` is the file in the sentence.

    A pipeline counts as fitted where its last step is, so all its steps are asked.
    """
    steps = reader.steps if isinstance(reader, Pipeline) else []
    for _, step in steps:
        check_fitted(step, name)
    try:
        if hasattr(reader, "fit") and not steps:
            check_is_fitted(reader)
    except NotFittedError:
        raise Refusal(f"{name} cannot be saved: its {type(reader).__name__} is not fitted.", OWN_MODEL) from None


def check_classes(classes: Any) -> None:
    """Raise Refusal unless the classes that an estimator of one label knows are 0 and 1."""
    known = np.asarray(classes)
    if known.dtype.kind not in "biuf" or not np.isin(known, (0, 1)).all():
        raise Refusal(
            f"the estimator was fitted to the labels {some(known.tolist())}: "
            f"{WAY_OUT.format('0 and 1, as y of load_table')}",
            OWN_MODEL,
        )
