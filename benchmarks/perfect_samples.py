"""How many sweeps exact samples of denoising posteriors take: ``python benchmarks/perfect_samples.py``.

*Instances.* The Weizmann horses of SETWISE_DATA, 50 x 50 pixels, the stored split, 1, 5, 10 and 20 % of the pixels
flipped: posteriors of the 100 test images by ``BinaryDenoiser`` and by the likelihood itself, the weight of the
observation learned and regularizers of 1e-3; and the prior, in which no image is seen.

*Printed.* The couplings; over three samples an image the median, the 95 % quantile and the largest of the sweeps, which
are powers of two, and milliseconds of the processor, the set-up included; and what is said of the prior with 2^12
sweeps at most.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

import clone  # noqa: F401
from papers.experiment import Settings
from papers.lsm_images import LEVELS, flipped, silhouettes
from papers.lsm_likelihoods import distributions, exact_likelihood
from setwise import BinaryDenoiser
from setwise.core.exceptions import Refusal
from setwise.probabilistic import LogSupermodularDistribution, sample
from setwise.probabilistic.training import Weights
from timing import table


def main() -> None:
    """Print the table."""
    if "SETWISE_DATA" not in os.environ:
        sys.exit("SETWISE_DATA must be the folder of real data.")
    images = silhouettes(Settings(data=Path(os.environ["SETWISE_DATA"])), "perfect_samples")
    rows = [("flipped", "learned by", "couplings", "median", "95 %", "largest", "ms a sample", "prior")]
    for level in LEVELS:
        noisy, test = (flipped(part, level, 0, k) for k, part in enumerate((images.train, images.test)))
        denoiser = BinaryDenoiser(observation="learned", random_state=0).fit(noisy, images.train)
        ways = {
            "denoiser": Weights(denoiser.bias_.ravel(), denoiser.observation_, denoiser.coupling_),
            "likelihood": exact_likelihood(noisy, images.train, (1e-3, 1e-3), float(np.log(1.0 / level - 1.0)), 3000),
        }
        for name, weights in ways.items():
            models = distributions(weights, test)
            sample(models[0])
            begin = time.process_time()
            sweeps = np.concatenate([sample(one, 3, random_state=i).sweeps for i, one in enumerate(models)])
            seconds = (time.process_time() - begin) / len(sweeps)
            few = [f"{np.quantile(sweeps, q, method='lower'):.0f}" for q in (0.5, 0.95, 1.0)]
            prior = LogSupermodularDistribution(models[0].terms, weights.unary, weights.couplings)
            couplings = " ".join(f"{one:.2f}" for one in weights.couplings)
            rows.append((f"{100 * level:g} %", name, couplings, *few, f"{1e3 * seconds:.1f}", said_of(prior)))
    table(rows)


def said_of(prior: LogSupermodularDistribution) -> str:
    """The sweeps of a sample of the prior, or that it is refused."""
    try:
        return f"{sample(prior, budget=1 << 12, random_state=0).sweeps[0]} sweeps"
    except Refusal:
        return "refused"


if __name__ == "__main__":
    main()
