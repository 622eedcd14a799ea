"""One update of NADE beside one of a mixture density network of the same shape in PyTorch.

Two layers of rectified units, a Gaussian mixture for one y, 100 rows an update, stochastic
gradients with momentum, gradients no longer than 5; 1000 made-up rows of five columns. Processor
time on one thread. An update is the difference of a longer and a shorter training, so that neither
compiling nor reading counts.

Run: python benchmarks/networks.py (needs torch; a minute)
"""

import time
from collections.abc import Callable
from pathlib import Path

import timing

import torch

from kcde.data import made_up
from kcde.estimators import NADE

SHAPES = ((10, 5), (100, 10))
ROWS, BATCH, EPOCH, EPOCHS, REPEATS = 1000, 100, 25, 40, 3


def ours(units: int, components: int, epochs: int) -> None:
    X, Y = made_up.bimodal_training_pairs(ROWS, 2)
    NADE(units, components, epochs=epochs, early_stopping=False).fit(X, Y)


def torchs(units: int, components: int, epochs: int) -> None:
    X, y = map(torch.from_numpy, made_up.bimodal_training_pairs(ROWS, 2))
    X, y = X.float(), y.float()
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], units),
        torch.nn.ReLU(),
        torch.nn.Linear(units, units),
        torch.nn.ReLU(),
        torch.nn.Linear(units, 3 * components),
    )
    optimiser = torch.optim.SGD(network.parameters(), lr=0.002, momentum=0.9)
    for _ in range(EPOCH * epochs):
        rows = torch.randint(ROWS, (BATCH,))
        logits, means, log_stds = network(X[rows]).chunk(3, dim=1)
        weights, stds = torch.log_softmax(logits, dim=1), log_stds.exp() + 1e-3
        logs = weights - 0.5 * ((y[rows] - means) / stds) ** 2 - stds.log()
        loss = -torch.logsumexp(logs, dim=1).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimiser.step()


def microseconds(train: Callable[[int], None]) -> float:
    """Return the microseconds of an update."""
    train(1)
    once, twice = (
        timing.fastest(lambda: train(epochs), REPEATS, time.process_time)  # noqa: B023
        for epochs in (EPOCHS, 2 * EPOCHS)
    )
    return (twice - once) / (EPOCHS * EPOCH) * 1e6


def table() -> list[dict]:
    rows = []
    for units, components in SHAPES:
        own = microseconds(lambda n: ours(units, components, n))  # noqa: B023
        peer = microseconds(lambda n: torchs(units, components, n))  # noqa: B023
        rows.append(
            {
                "units": units,
                "components": components,
                "microseconds": f"{own:.0f}",
                "torch_over_ours": f"{peer / own:.1f}",
            }
        )
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    timing.write(Path(__file__).with_suffix(".csv"), table())
