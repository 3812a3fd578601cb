"""LH Table 1: early detection in synthetic bags, with the submodular loss and with 0-1 in training and at test."""

import numpy as np

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.lovasz_paper import (
    NAMES,
    STEPS,
    TRAINERS,
    beside,
    cross,
    mean_and_error,
    pattern,
)
from setwise.compare.problem import bags
from setwise.datasets.synthetic import early_stage
from setwise.losses import EarlyDetection

PUBLISHED = {"L": (0.100, 7.42), "0-1": (0.166, 2.87), "S": (0.144, 7.69), "M": (0.154, 3.01)}
PUBLISHED_ERRORS = {"L": (0.001, 0.01), "0-1": (0.001, 0.02), "S": (0.001, 0.01), "M": (0.001, 0.01)}

SHORT = "Δ1"


def run(settings: Settings, advance: Advance) -> Outcome:
    """Measure with 1,000 training and 5,000 test bags of 15 samples (when quick, with 200 and 1,000).

    Standard errors are over test bags.
    """
    n_train, n_test = (200, 1000) if settings.quick else (1000, 5000)
    # The test bags come from another seed, so that they are independent of the training bags.
    train, test = bags(n_train, settings.seed), bags(n_test, settings.seed + 1)
    losses, models = cross(train, test, EarlyDetection(), settings, advance)
    means, errors = mean_and_error(losses)
    title = (
        f"Mean loss of {n_test:,} test bags ± standard error, trained on {n_train:,}. The distributions in the "
        "plane are ours: the paper gives no numbers for its Fig. 3."
    )
    table = Table(title, NAMES, (SHORT, "0-1"), means, errors, beside(PUBLISHED), beside(PUBLISHED_ERRORS))
    words = pattern(losses, SHORT, "test bags")
    gaps = ", ".join(f"{t.name} {m.gap:.0e}" for t, m in zip(TRAINERS, models, strict=True))
    words.append(
        f"Certified relative gaps of training: {gaps}. With greedy inference the rest of the gap is what it may miss."
    )

    def figure() -> object:
        from setwise import plotting

        # The picture shows 100 bags of 15 samples; more would hide the lines.
        shown = train.take(np.arange(min(len(train.y), 100 * 15)))
        scale, center = train.X.std(axis=0), train.X.mean(axis=0)
        lines = {}
        for trainer, model in zip(TRAINERS, models, strict=True):
            # The model was trained on standardized features; here its line is in the units of the data.
            a, b = model.coef[0] / scale
            lines[f"{trainer.name}: {trainer.about}"] = (a, b, float(model.intercept[0] - center @ (a, b)))
        title = "Early detection: 100 training bags and the lines learned"
        # Early positives lie elsewhere than late ones, which the label does not tell.
        stage = np.where(shown.y == 0, 0, np.where(np.tile(early_stage(), len(shown.y) // 15), 1, 2))
        names = ("negative", "early positive", "late positive")
        return plotting.plane(shown.X, stage, names, lines, title)

    return Outcome((table,), tuple(words), {"": figure})


EXPERIMENT = Experiment(
    "lh_table1", "LH Table 1, early detection in synthetic bags (Eq. 50-51)", lambda settings: STEPS, run
)
