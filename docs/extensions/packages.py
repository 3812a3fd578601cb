"""The packages whose names are public: the site has a page for each name, and a test reads each docstring."""

PACKAGES = (
    "setwise", "setwise.losses", "setwise.surrogates", "setwise.inference", "setwise.models", "setwise.risks",
    "setwise.learners", "setwise.decisions", "setwise.probabilistic", "setwise.spaces", "setwise.graphs",
    "setwise.datasets", "setwise.estimators", "setwise.torch", "setwise.boosting", "setwise.dask", "setwise.plotting",
    "setwise.compare", "setwise.experiments",
)  # fmt: skip
