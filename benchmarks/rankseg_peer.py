"""Decisions of the package rankseg, timed in a Python of its own, which has torch: ``python rankseg_peer.py IN OUT``.

The archive IN holds ``case|metric|solver|mode`` -> probabilities (k, p), and OUT gets the labels and the seconds. Where
the peer fails, as for lack of memory, the labels predict nothing and the seconds are NaN.
"""

import sys
import time

import numpy as np
import torch
from rankseg import RankSEG


def main(source: str, target: str) -> None:
    torch.set_num_threads(1)
    out = {}
    with np.load(source) as cases:
        for name in cases.files:
            _, metric, solver, mode = name.split("|")
            probabilities = torch.from_numpy(cases[name])[None]
            # Classes are not left out for small probabilities, so that the same problem is solved.
            peer = RankSEG(metric=metric, solver=solver, output_mode=mode, pruning_prob=0.0)
            seconds = []
            for _ in range(4):
                begin = time.perf_counter()
                try:
                    labels = peer.predict(probabilities)
                except RuntimeError as error:
                    print(f"rankseg fails on {name}: {str(error)[:150]}", file=sys.stderr)
                    labels, seconds = torch.zeros_like(probabilities, dtype=torch.bool), [np.nan]
                    break
                seconds.append(time.perf_counter() - begin)
                if seconds[-1] > 5.0:
                    break
            out[name], out[f"{name}|s"] = labels[0].numpy(), np.array(sorted(seconds)[len(seconds) // 2])
    np.savez(target, **out)


if __name__ == "__main__":
    main(*sys.argv[1:3])
