"""Python code that repeats the recommended way."""

from dataclasses import fields

from setwise.compare.bases import BASES
from setwise.compare.floors import FlooredThreshold
from setwise.compare.measures import Measured
from setwise.compare.plan import Key, Plan
from setwise.compare.problem import Problem

LONG = 100
"""The most characters of a printed line."""


def code_of(key: Key, constant: float | None, problem: Problem, measured: Measured, plan: Plan) -> str:
    """Lines of Python that fit the base model with the lever, for the X, y and groups of the problem."""
    expression, imports = BASES[key[0]].code(problem, constant, plan.seed)
    lines = list(problem.code)
    if measured.orders:
        lines += ["", f"model = {expression}", "model.fit(X, y)"]
        return _ordered([*imports, *lines])
    groups = "" if problem.groups is None else ", groups=groups"
    average = [f'average="{measured.average}"'] if problem.many and measured.average != "samples" else []
    lever, loss = f'"{key[1]}"', f'"{measured.name}"'
    more = ["from setwise import MeasureClassifier"]
    if plan.floor is not None:
        more, lever = [*more, "from setwise.compare import FlooredThreshold"], _floored(plan.floor)
    named = ""
    if measured.name != measured.loss.name:
        more, loss = [*more, f"from setwise.losses import {type(measured.loss).__name__}"], repr(measured.loss)
        if measured.title != measured.name and measured.title.isidentifier():
            # The title is the name by which a reader knows it.
            named, loss = f"{measured.title} = {loss}  # a loss: 1 - {measured.title}\n", measured.title
    lines += [
        "",
        f"{named}base = {expression}",
        _called("MeasureClassifier", ["base", f"loss={loss}", f"levers=[{lever}]", f"cv={plan.inner}", *average]),
        f"model.fit(X, y{groups})",
        *_labels(problem),
    ]
    return _ordered([*imports, *more, *lines])


def _called(name: str, arguments: list[str]) -> str:
    """The line that makes a model, with one argument to a line if it would be long."""
    line = f"model = {name}({', '.join(arguments)})"
    return line if len(line) <= LONG else "\n".join([f"model = {name}(", *(f"    {one}," for one in arguments), ")"])


def _floored(floor: FlooredThreshold) -> str:
    """The lever of a floor, without what is None."""
    given = {field.name: getattr(floor, field.name) for field in fields(floor)}
    return f"FlooredThreshold({', '.join(f'{name}={value!r}' for name, value in given.items() if value is not None)})"


def _labels(problem: Problem) -> list[str]:
    """Lines that give labels by their names, where a file names them and each row is decided by itself."""
    if problem.many or problem.groups is not None or not (problem.origin and problem.origin.file):
        return []
    new = ["# Of new rows: X = load_rows('new.csv', data.columns).X, from setwise.datasets"] if problem.columns else []
    return [*new, "labels = [data.classes[label] for label in model.predict(X)]"]


def _ordered(lines: list[str]) -> str:
    """The imports first and sorted, others' before those of setwise, then the other lines."""
    imports = dict.fromkeys(line for line in lines if line.startswith(("import ", "from ")))
    foreign = sorted((line for line in imports if "setwise" not in line), key=lambda line: (line[0] == "f", line))
    own = sorted(line for line in imports if "setwise" in line)
    body = "\n".join(line for line in lines if line not in imports)
    return "\n".join([*foreign, *own, "", *filter(None, [part.strip() for part in body.split("\n\n")])])
