"""What is kept of a training, in memory and in a folder, from which an interrupted run goes on."""

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import final

import numpy as np

from papers.horses.data import HorseSize
from setwise import __version__
from setwise.core.checks import Bools, Values
from setwise.datasets.formats import read_arrays


@final
@dataclass(frozen=True)
class TrainingJob:
    """One training: a way, a learning rate, the number of the seed, and the seed of the whole experiment."""

    way: str
    rate: float
    seed: int
    base: int = 0


@final
@dataclass(frozen=True, eq=False)
class Run:
    """What a training gave.

    Attributes
    ----------
    validation : the mean Jaccard index of the images to validate, in percent, at 0.5
    cells : Jaccard indices of the test images in percent, (decodings, measures)
    curve : the index of validation after each of some epochs
    share : the share of a step of training that the loss and its gradient take, in percent of processor time
    seconds : of processor time, for the training
    shown : masks of the first test images, (decodings, images, H, W)
    """

    validation: float
    cells: Values
    curve: Values
    share: float
    seconds: float
    shown: Bools


@final
@dataclass
class Store:
    """Trainings in a folder, one file each; without a folder nothing is kept.

    A file is read only where it was made with the same settings by the same version of setwise. ``reused`` counts the
    files that were.
    """

    folder: Path | None
    size: HorseSize
    quick: bool
    reused: int = 0

    def _path(self, job: TrainingJob) -> Path | None:
        name = f"{job.way}-{job.rate:g}-{job.seed}.npz".replace(" ", "_")
        return None if self.folder is None else self.folder / name

    def _key(self, job: TrainingJob) -> str:
        size = self.size
        return repr(
            (__version__, self.quick, astuple(job), size.epochs, size.widths, size.batch, size.held, size.every)
        )

    def read(self, job: TrainingJob) -> Run | None:
        """The training that is kept, if there is one."""
        path = self._path(job)
        if path is None or not path.is_file():
            return None
        found = read_arrays(path)
        if str(found.get("key")) != self._key(job):
            return None
        self.reused += 1
        numbers = found["numbers"]
        return Run(
            float(numbers[0]), found["cells"], found["curve"], float(numbers[1]), float(numbers[2]), found["shown"]
        )

    def write(self, job: TrainingJob, run: Run) -> None:
        """Keep a training."""
        path = self._path(job)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # A file that was cut short would be refused; what is renamed is whole.
        part = path.with_suffix(".part")
        numbers = np.array([run.validation, run.share, run.seconds])
        with part.open("wb") as file:
            np.savez(file, key=self._key(job), numbers=numbers, cells=run.cells, curve=run.curve, shown=run.shown)
        part.replace(path)
