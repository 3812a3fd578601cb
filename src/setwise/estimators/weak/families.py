"""The family of models that the parameters of the estimator ask for."""

from typing import Any

from setwise.core.checks import shown
from setwise.core.surrogate import Surrogate
from setwise.estimators.weak.family import Family, LinearFamily, SurrogateFamily
from setwise.estimators.weak.judged_bags import loss_of
from setwise.estimators.weak.wrapped import WrappedFamily


def family_of(estimator: Any, method: str | Surrogate) -> tuple[Family, str]:
    """The family, and the name of its method or ``"auto"``: a surrogate is the only method of its own family."""
    if estimator is None:
        if not isinstance(method, Surrogate):
            return LinearFamily(), method
        loss_of(method)
        return SurrogateFamily(method), "auto"
    family = WrappedFamily(estimator)
    if isinstance(method, Surrogate) or method not in ("auto", *family.methods):
        *names, last = (repr(name) for name in ("auto", *family.methods))
        raise ValueError(
            f"method must be {', '.join(names)} or {last} where estimator is given, since all others are for linear "
            f"models; got {shown(method)}."
        )
    return family, method
