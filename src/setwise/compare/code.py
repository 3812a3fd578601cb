"""Python code that repeats the recommended way."""

from setwise.compare.bases import BASES
from setwise.compare.measures import Measured
from setwise.compare.plan import Key, Plan
from setwise.compare.problem import Problem


def code_of(key: Key, constant: float | None, problem: Problem, measured: Measured, plan: Plan) -> str:
    """Lines of Python that fit the base model with the lever, for the X, y and groups of the problem."""
    expression, imports = BASES[key[0]].code(problem, constant, plan.seed)
    groups = "" if problem.groups is None else ", groups=groups"
    if measured.orders:
        lines = [*problem.code, *imports, "", f"model = {expression}", "model.fit(X, y)"]
        return "\n".join(lines)
    average = f', average="{measured.average}"' if problem.many and measured.average != "samples" else ""
    lever = f'"{key[1]}"'
    if plan.floor is not None:
        imports, lever = (*imports, "from setwise.compare.floors import FlooredThreshold"), repr(plan.floor)
    return "\n".join(
        [
            *problem.code,
            *imports,
            "from setwise import MeasureClassifier",
            "",
            f"base = {expression}",
            f"model = MeasureClassifier(base, loss={measured.code}, levers=[{lever}], cv={plan.inner}{average})",
            f"model.fit(X, y{groups})",
        ]
    )
