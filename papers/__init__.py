"""Tables and figures of papers: a file that defines ``EXPERIMENT`` reproduces one, and is found by itself.

They are run from the root of a clone: ``python -m papers`` lists them, ``python -m papers NAME`` runs one.
"""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from papers.experiment import Experiment

__all__ = ["experiments", "find"]


def experiments() -> "list[Experiment]":
    """All experiments, in the order of their names.

    Returns
    -------
    found : a list of experiments; ``name`` is that on the command line, and ``about`` says what is reproduced

    Examples
    --------
    >>> from papers import experiments
    >>> [one.name for one in experiments() if one.name.startswith("lh_table")]
    ['lh_table1', 'lh_table2', 'lh_table3', 'lh_table4']
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "__main__")
    # Files without an EXPERIMENT hold what several experiments share.
    modules = (import_module(f"{__name__}.{name}") for name in names)
    return [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]


def find(name: str) -> "Experiment":
    """The experiment with the given name.

    Parameters
    ----------
    name : as on the command line; ``-`` may stand for ``_``

    Returns
    -------
    found : the experiment

    Raises
    ------
    ValueError : if there is none of this name

    Examples
    --------
    >>> from papers import find
    >>> find("lh-figure1").about
    'LH Fig. 1, surfaces of three surrogates over two decisions'
    """
    known = {experiment.name: experiment for experiment in experiments()}
    same = name.replace("-", "_")
    if same not in known:
        raise ValueError(f"there is no experiment {name!r}; use {', '.join(known)}.")
    return known[same]
