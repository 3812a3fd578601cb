"""Random sets of scores and codes, and the comparison of a form on a device with the same form on the host."""

import numpy as np
import torch

from setwise.surrogates import MarginRescaling, Ramp, SlackRescaling
from setwise.torch.operators import ValueAndGradient


def cases(seed, count, largest=40):
    """Pairs (scores, codes): gaps, empty rows, one class only, no rows, no columns, both precisions."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        sets, p = int(rng.integers(0, 5)), int(rng.choice([0, 1, 2, 3, 7, 12, largest]))
        scores = rng.standard_normal((sets, p)) * rng.choice([0.1, 1.0, 5.0, 1e3])
        codes = (rng.random((sets, p)) < rng.choice([0.0, 0.1, 0.5, 1.0])).astype(np.int8)
        if rng.random() < 0.5:
            codes[rng.random((sets, p)) < 0.3] = -1
        if sets and rng.random() < 0.3:
            codes[0] = -1
        dtype = torch.float32 if rng.random() < 0.5 else torch.float64
        yield torch.tensor(scores, dtype=dtype), torch.tensor(codes)


def on_host(form, scores, codes):
    """The values and the gradient of a form on the host, as tensors."""
    found = form.on_host(scores.contiguous().numpy(), codes.contiguous().numpy())
    return ValueAndGradient(torch.from_numpy(found.values), torch.from_numpy(found.gradient))


def assert_same(form, scores, codes, gradient=True):
    """The form on tensors equals the form on the host, in values and, away from ties, in gradients."""
    host, device = on_host(form, scores, codes), form.on_device(scores, codes)
    assert device is not None, form
    tol = 1e-6 if scores.dtype == torch.float32 else 1e-12
    size = 1.0 + scores.abs().sum(dim=1).max().item() if scores.numel() else 1.0
    torch.testing.assert_close(device.values, host.values, rtol=tol, atol=tol * size)
    if gradient:
        torch.testing.assert_close(device.gradient, host.gradient, rtol=10 * tol, atol=tol)


def surrogates(loss):
    """The rescaled losses of a loss, in all their kinds."""
    return [
        MarginRescaling(loss),
        MarginRescaling(loss, scale="size"),
        SlackRescaling(loss),
        Ramp(loss),
        Ramp(loss, scale=2.5),
    ]
