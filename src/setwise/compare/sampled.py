"""Read a part of a Parquet file that a budget of memory has room for, and make the rest of it ready to be judged."""

from dataclasses import replace
from pathlib import Path

from joblib import effective_n_jobs

from setwise.compare.options import Options
from setwise.compare.others import OtherRows
from setwise.compare.plan import Plan
from setwise.compare.problem import Problem
from setwise.compare.reading import problem_of
from setwise.compare.room import WORDS, Room
from setwise.datasets.blocks import Budget
from setwise.datasets.files import as_existing, parts_of, request
from setwise.datasets.sampling import ParquetTable, drawn


def read_sample(options: Options, plan: Plan) -> tuple[Problem, OtherRows | None]:
    """The problem of random rows of a file, as many as ``--memory`` has room for, and all its other rows.

    With a group whole groups are drawn.

    Raises
    ------
    ValueError, OSError : in one sentence, for a file that cannot be read so, and for a budget that is too small
    """
    assert options.data is not None
    budget, path = Budget.of(options.memory, "--memory"), Path(options.data)
    if path.suffix.lower() != ".parquet":
        raise ValueError(f"--memory is for a Parquet file, which can be read part by part; got {path.name}.")
    asked, table = (
        request(options.target, options.group, options.positive, options.drop, True),
        ParquetTable(as_existing(path)),
    )
    target, apart = parts_of(table.head, asked)
    features = [name for name in table.names if name not in (*target, *apart)]
    cells = sum(1 if name in table.numbers else WORDS for name in features)
    grouped, jobs = options.group is not None, effective_n_jobs(options.n_jobs or 1)
    room, wanted = Room(budget, table, max(cells, 1), len(target), grouped, "forest" in plan.bases, jobs), list[int]()

    def rows(sets: int) -> int:
        wanted.append(min(room.rows(sets), table.rows))
        return wanted[-1]

    held, sample = drawn(table, asked, rows, plan.seed)
    given = {"target": options.target, "group": options.group, "positive": options.positive, "drop": options.drop}
    problem = problem_of(held, options.data, "load_sample", {"rows": wanted[-1], **given, "seed": plan.seed})
    if len(sample.rows) == table.rows:
        return replace(problem, notes=(*problem.notes, f"All rows of {path.name} fit into --memory.")), None
    assert problem.origin is not None
    origin = replace(problem.origin, rows=table.rows, drawn=(f"as many as --memory {options.memory} has room for",))
    return replace(problem, origin=origin), OtherRows(sample, problem, room.most(sample.sets), budget)
