"""What float16 does to the gradient of Lovász-softmax, with and without a scale of 2^16."""

import torch

from setwise.torch import LovaszSoftmaxLoss


def gradient(logits: torch.Tensor, labels: torch.Tensor, scale: float) -> torch.Tensor:
    given = logits.clone().requires_grad_()
    (scale * LovaszSoftmaxLoss()(given, labels)).backward()
    return given.grad.double() / scale


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 8, 512, 512, generator=generator).half()
    labels = torch.randint(0, 8, (2, 512, 512), generator=generator)
    exact = gradient(logits.float(), labels, 1.0)
    print(f"median of the absolute gradients: {exact.abs().median():.1e}")
    for scale in (1.0, 2.0**16):
        found = gradient(logits, labels, scale)
        lost = ((found == 0) & (exact != 0)).sum() / (exact != 0).sum()
        error = (found - exact).norm() / exact.norm()
        print(f"scale {scale:7.0f}: {lost:.2%} became 0, relative error (l2) {error:.2%}")


if __name__ == "__main__":
    main()
