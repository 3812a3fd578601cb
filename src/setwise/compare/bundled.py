"""Problems that need no file: the synthetic one of LH 6.1, and real data that come with scikit-learn."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from setwise.compare.problem import Problem
from setwise.datasets import early_detection
from setwise.datasets.synthetic import early_stage


def bags(n: int, seed: int) -> Problem:
    """The problem of early detection in ``n`` bags of 15 samples (LH 6.1)."""
    X, y, groups = early_detection(n, random_state=seed)
    about = "Synthetic bags of 15 samples in time order: early positives lie elsewhere than late ones."
    # Pictures tell early positives from late ones, which the label does not.
    kinds = np.where(y == 0, 0, np.where(np.tile(early_stage(15), n), 1, 2))
    names = ("negative", "early positive", "late positive")
    code = (
        "from setwise.datasets import early_detection",
        "",
        f"X, y, groups = early_detection({n}, random_state={seed})",
    )
    return Problem("early detection", about, X, y, groups, kinds=kinds, kind_names=names, code=code)


def digits(digit: int = 8) -> Problem:
    """The problem of one digit against the rest: 1,797 images of 8 x 8 pixels, as one set."""
    X, y = load_digits(return_X_y=True)
    about = f"Real images of 8 x 8 pixels (scikit-learn's digits): is it {digit}?"
    return Problem(
        f"digit {digit} against the rest", about, X, (y == digit).astype(np.int64), None, ("other", f"{digit}")
    )


def breast_cancer() -> Problem:
    """The problem of malignant against benign cells: 569 samples of 30 measurements, as one set."""
    held = load_breast_cancer()
    about = "Real measurements of cell nuclei (scikit-learn's breast cancer data): is it malignant?"
    code = (
        "from sklearn.datasets import load_breast_cancer",
        "",
        "X, y = load_breast_cancer(return_X_y=True)",
        "y = 1 - y",
    )
    # scikit-learn codes malignant as 0; what is to be detected is the positive class here.
    return Problem(
        "breast cancer", about, held.data, 1 - held.target, None, ("benign", "malignant"),
        features=tuple(map(str, held.feature_names)), code=code,
    )  # fmt: skip


TRAITS: dict[str, tuple[int, ...]] = {
    "odd": (1, 3, 5, 7, 9),
    "5 or more": (5, 6, 7, 8, 9),
    "has a loop": (0, 6, 8, 9),
    "straight": (1, 4, 7),
    "square": (0, 1, 4, 9),
    "prime": (2, 3, 5, 7),
}
"""Labels of digits, each with the digits that have it."""


def digit_traits(count: int = 6) -> Problem:
    """The multi-label problem of the first ``count`` labels in :data:`TRAITS`, on the 1,797 digits."""
    X, y = load_digits(return_X_y=True)
    names = tuple(TRAITS)[:count]
    Y = np.column_stack([np.isin(y, TRAITS[name]) for name in names]).astype(np.int64)
    digits = {name: TRAITS[name] for name in names}
    code = (
        "import numpy as np",
        "from sklearn.datasets import load_digits",
        "",
        "X, digit = load_digits(return_X_y=True)",
        f"traits = {digits}",
        "y = np.column_stack([np.isin(digit, held) for held in traits.values()]).astype(int)",
    )
    about = "Real images of 8 x 8 pixels (scikit-learn's digits): what is true of the digit?"
    return Problem("traits of digits", about, X, Y, None, names, code=code)
