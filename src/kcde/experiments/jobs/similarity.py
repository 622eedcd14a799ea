"""Jobs that compare two samplers (kcef, table 3)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kcde.experiments import job
from kcde.experiments.job import parameter


@dataclass(frozen=True)
class Job(job.Job):
    """Test, for each seed, whether KCEF's samples are closer to the data than a rival's.

    \b
    python -m kcde run similarity --ours samples/red-wine/KCEF-F.npz \\
        --rival samples/red-wine/KEF.npz --rival-name KEF --out similarity.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "similarity"

    ours: Path = parameter(help="Samples of KCEF, as `run samples` wrote them.", is_file=True)
    rival: Path = parameter(help="Samples of the method compared with.", is_file=True)
    ours_exact: Path | None = parameter(
        None, "Samples of KCEF by inversion of the distribution function.", is_file=True
    )
    rival_exact: Path | None = parameter(
        None,
        "What they are compared with, by default RIVAL: the same density, sampled better.",
        is_file=True,
    )
    rival_name: str = parameter(help="Name of the rival in the hypothesis.")
    our_name: str = parameter("KCEF", "Name of our method in the hypothesis.")
    backend: str = parameter("auto", "auto, numpy or cupy.")
