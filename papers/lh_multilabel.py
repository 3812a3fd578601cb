"""The protocol that LH Tables 3 and 4 share: many samplings of multi-label data, and two losses for each table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Advance, Outcome, Settings, Table, need_data
from papers.lovasz_paper import NAMES, STEPS, beside, cross, mean_and_error, pattern
from papers.multilabel_samples import about_sample, common_labels, read, sample
from setwise.compare.problem import Problem, digit_traits
from setwise.core.loss import Loss

FILES = ("scene.npz", "yeast.npz")

Figures = dict[str, tuple[float, ...]]


@final
@dataclass(frozen=True, eq=False)
class TableHalf:
    """One half of a table of LH: a loss, its name in the paper, and the published means and standard errors."""

    name: str
    loss: Loss
    published: Figures
    published_errors: Figures


@final
@dataclass(frozen=True, eq=False)
class Protocol:
    """A table of LH and how it is measured.

    ``source`` names the data of the paper. Each of the ``samplings`` draws ``total`` rows with ``p`` labels; the
    numbers of rows with 0..p labels present are in proportion to ``weights``.
    """

    name: str
    source: str
    parts: tuple[TableHalf, ...]
    p: int
    total: int
    weights: tuple[float, ...]
    samplings: int = 10

    def steps(self, settings: Settings) -> int:
        """The number of calls of ``advance``."""
        return len(self.parts) * STEPS * (2 if settings.quick else self.samplings * len(FILES))

    def run(self, settings: Settings, advance: Advance) -> Outcome:
        """Measure the table on scene and yeast; when quick, on two samplings of the traits of scikit-learn's digits."""
        problems = _problems(self, settings)
        samplings, total = (2, self.total // 8) if settings.quick else (self.samplings, self.total)
        tables, words = (
            [],
            [f"The paper's data are {self.source}; these are others, so only the pattern can be compared."],
        )
        for problem in problems:
            rng = np.random.default_rng(settings.seed)
            # Both losses are measured on the same samplings.
            drawn = [sample(problem, total, np.array(self.weights), rng) for _ in range(samplings)]
            words.append(about_sample(problem, drawn[0][0]))
            for part in self.parts:
                losses = self._measure(part, drawn, settings, advance)
                tables.append(_table(part, problem, losses))
                words += [f"{problem.name}: {sentence}" for sentence in pattern(losses, part.name, "samplings")]
        return Outcome(tuple(tables), tuple(words))

    def _measure(
        self, part: TableHalf, drawn: Sequence[tuple[Problem, Problem]], settings: Settings, advance: Advance
    ) -> NDArray[np.float64]:
        """The mean losses at test, (methods, 2, samplings); the second axis is the loss of the part and 0-1."""
        means = []
        for k, (train, test) in enumerate(drawn):
            # Each sampling draws its inner folds anew.
            losses, _ = cross(train, test, part.loss, replace(settings, seed=settings.seed + k), advance)
            means.append(losses.mean(axis=2))
        return np.stack(means, axis=2)


def _problems(protocol: Protocol, settings: Settings) -> list[Problem]:
    """The problems with as many labels as the protocol has."""
    if settings.quick:
        return [common_labels(digit_traits(), protocol.p)]
    return [common_labels(read(path), protocol.p) for path in need_data(settings, protocol.name, FILES)]


def _table(part: TableHalf, problem: Problem, losses: NDArray[np.float64]) -> Table:
    """The measured means of one part on one problem, with the published ones."""
    means, errors = mean_and_error(losses)
    title = f"{problem.name}, {part.name} = {part.loss!r}: mean loss ± standard error over {losses.shape[2]} samplings"
    return Table(title, NAMES, (part.name, "0-1"), means, errors, beside(part.published), beside(part.published_errors))
