"""What minimizes ``0.5 |w|^2 + C risk(w)`` to a certified gap, seeing planes and nothing else."""

from setwise.learners.block_frank_wolfe import BlockFrankWolfe
from setwise.learners.n_slack import NSlack
from setwise.learners.one_slack import OneSlack
from setwise.learners.subgradient import Subgradient

LEARNERS = {
    "one_slack": OneSlack,
    "n_slack": NSlack,
    "block_frank_wolfe": BlockFrankWolfe,
    "subgradient": Subgradient,
}
"""The learners by name."""

__all__ = ["LEARNERS", "BlockFrankWolfe", "NSlack", "OneSlack", "Subgradient"]
