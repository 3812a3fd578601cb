"""One new file is all that a new loss, surrogate, inference, learner, label space or strategy needs.

Lists and tests find it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import setwise
from test_carry_docs import blocks

TESTS = Path(__file__).parents[1]

FILES = {
    "losses/late_misses.py": '''
"""The share of positives that are missed."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.loss import CountLoss
from setwise.core.terms import CURVATURES, Trait


@final
@dataclass(frozen=True)
class LateMisses(CountLoss):
    """``fn / P``. Modular."""

    name: ClassVar[str] = "late_misses"

    @classmethod
    def examples(cls, p):
        return [LateMisses()]

    @property
    def traits(self):
        return CURVATURES | {Trait.INCREASING, Trait.COUNTS}

    def of_counts(self, fn, fp, P, N):
        return fn / np.maximum(P, 1.0) + 0.0 * fp
''',
    "surrogates/half_scale.py": '''
"""Margin rescaling in the scale 1/2."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.surrogate import Surrogate
from setwise.core.loss import Loss
from setwise.losses import as_loss
from setwise.surrogates.rescaling import MarginRescaling


@final
@dataclass(frozen=True, eq=False)
class HalfScale(Surrogate):
    """``max_y loss(y) + 2 <s, phi(y) - phi(truth)>``."""

    loss: Loss

    name: ClassVar[str] = "half_scale"

    def __post_init__(self):
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch):
        return MarginRescaling(self.loss, scale=0.5).on(batch)
''',
    "inference/tiny_tables.py": '''
"""The labelings of tiny sets, one by one."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.inference import Inference
from setwise.inference.enumeration import Enumeration
from setwise.inference.independent_decisions import SETS


@final
@dataclass(frozen=True)
class TinyTables(Inference):
    """Every labeling of at most 6 decisions. Exact."""

    name: ClassVar[str] = "tiny_tables"
    about: ClassVar[str] = "all labelings of a tiny set are tried"
    takes = SETS

    def _refuses(self, bound_loss, slack):
        large = bound_loss.batch.sizes.max() > 6
        return "TinyTables refuses sets of more than 6 decisions. Use Auto." if large else None

    def bind(self, bound_loss, slack):
        return Enumeration(6).bind(bound_loss, slack)
''',
    "learners/plain_planes.py": '''
"""One plane after another, at the solution of the master."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.learner import Learner, Step
from setwise.core.promises import padded
from setwise.learners.masters import PlaneMaster


@final
@dataclass(frozen=True)
class PlainPlanes(Learner):
    """The cutting-plane method without stabilization."""

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000

    name: ClassVar[str] = "plain_planes"

    def steps(self, risk, w0):
        planes, w = PlaneMaster(risk, self.C, w0), w0
        while True:
            cut, known = risk.cut(w), planes.at(w)
            planes.add(cut)
            planes.solve(0.0)
            yield Step(padded(w, risk.size), cut, known, planes.lower)
            w = planes.w
''',
}
# What the page shows those who add one.
(STRATEGY,) = blocks("architecture.md", "example: strategy")
(FILES["spaces/spans.py"],) = blocks("architecture.md", "example: space")
NAMES = [Path(path).stem for path in FILES]
ASKED = [*NAMES, "LateMisses", "SeriesSpans", "auto_names", "examples_of_its_own"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package with one new file in each of six folders, its compiled kernels included."""
    room = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(setwise.__file__).parent, room / "setwise")
    for path, text in FILES.items():
        (room / "setwise" / path).write_text(text.lstrip(), "utf-8")
    (room / "setwise" / "estimators" / "selection" / "upper_half.py").write_text(STRATEGY.lstrip(), "utf-8")
    return room


def python(package, *arguments):
    """What Python prints with the copy in place of the package."""
    path = os.pathsep.join([str(package), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=TESTS.parent, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_registries_rooms_names_and_lists_find_it(package):
    found = python(
        package,
        "-c",
        "import setwise; print(setwise.__file__)\n"
        "from setwise import SetClassifier\n"
        "from setwise.cli import main\n"
        "from setwise.losses import LOSSES, LateMisses, as_loss\n"
        "from setwise.surrogates import SURROGATES, HalfScale\n"
        "from setwise.inference import INFERENCES, TinyTables\n"
        "from setwise.learners import LEARNERS, PlainPlanes\n"
        "from setwise.spaces import SEARCHES, SPACES, BySpans, SeriesSpans\n"
        "assert LOSSES['late_misses'] is LateMisses and as_loss('late_misses') == LateMisses()\n"
        "assert SURROGATES['half_scale'] is HalfScale and INFERENCES['tiny_tables'] is TinyTables\n"
        "assert LEARNERS['plain_planes'] is PlainPlanes\n"
        "assert SPACES['spans'] is SeriesSpans and SEARCHES['by_spans'] is BySpans\n"
        "model = SetClassifier('late_misses', 'half_scale', 'plain_planes')\n"
        "print(model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).status_)\n"
        "main(['list'])\n",
    )
    assert found.startswith(str(package))
    assert "\nconverged\n" in found
    for name in [*NAMES, "by_spans"]:
        assert re.search(rf"^\s+{name}\s+\S", found, re.MULTILINE), f"{name} is not in the list:\n{found}"


@pytest.mark.slow
def test_a_strategy_is_tried_listed_and_compared(package, tmp_path):
    lines = [f"{i % 7},{i % 5},{int(i % 7 + i % 5 > 5)}" for i in range(120)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]))
    found = python(
        package,
        "-c",
        "from sklearn.datasets import make_classification\n"
        "from setwise import MeasureClassifier\n"
        "from setwise.cli import main\n"
        "from setwise.estimators import selection\n"
        "assert selection.STRATEGIES['upper_half'] is selection.UpperHalf and 'UpperHalf' in selection.__all__\n"
        "X, y = make_classification(100, 4, random_state=0)\n"
        "model = MeasureClassifier(loss='f1', strategies=['upper_half']).fit(X, y)\n"
        "print([candidate.strategy for candidate in model.candidates_])\n"
        "main(['list'])\n"
        f"main(['compare', {str(tmp_path / 'rows.csv')!r}, '--base', 'linear', '--strategies', 'upper_half', "
        f"'--folds', '2', '--out', {str(tmp_path / 'report')!r}])\n",
    )
    assert "['threshold', 'upper_half']" in found
    assert re.search(r"^  upper_half +\[score >= median\]", found, re.MULTILINE)
    assert re.search(r"^upper half +\S* ± ", found, re.MULTILINE), found
    assert "upper half</a>: half of the rows are positive" in (tmp_path / "report" / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_its_contract_is_tested_with_no_other_edit(package):
    suites = ("contract/test_losses.py", "contract/test_gains.py", "contract/test_bound_losses.py")
    suites += (
        "contract/test_surrogates.py",
        "contract/test_inference.py",
        "contract/test_spaces.py",
        "contract/test_masters.py",
        "learners/test_learners.py",
        "surface",
    )
    found = python(
        package,
        "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-rA", "-k", " or ".join(ASKED),
        *(str(TESTS / suite) for suite in suites),
    )  # fmt: skip
    assert "FAILED" not in found
    passed = re.findall(r"^PASSED (\S+)", found, re.MULTILINE)
    suites = ("test_losses", "test_surrogates", "test_inference", "test_learners", "test_spaces")
    for name, suite in zip(NAMES, suites, strict=True):
        assert sum(name in test and suite in test for test in passed) >= 8, f"{name}: {passed}"
    for name in ("LateMisses", "SeriesSpans", "BySpans"):
        assert any(name in test and "surface" in test for test in passed), name


@pytest.mark.slow
def test_a_promise_that_does_not_hold_fails_its_contract(package):
    path = package / "setwise" / "losses" / "late_misses.py"
    true = path.read_text("utf-8")
    path.write_text(true.replace("+ 0.0 * fp", "* (1.0 + fp)"), "utf-8")
    try:
        with pytest.raises(AssertionError, match="breaks its promise: on these sets it is not modular"):
            python(
                package, "-m", "pytest", "-q", "-n", "0", "-k", "late_misses", str(TESTS / "contract/test_losses.py")
            )
    finally:
        path.write_text(true, "utf-8")
