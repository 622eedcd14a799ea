"""What kcde finds on a machine, what it will use, and how to fix problems."""

from pathlib import Path

from kcde import __version__
from kcde.data import bundled
from kcde.doctor import data, devices, machine, probe, settings, software
from kcde.doctor.findings import Finding, Report

__all__ = ["examine"]


def examine(
    config: Path = Path("config.yaml"),
    backend: str | None = None,
    data_dir: Path = Path("data"),
) -> Report:
    """Look at everything that the workflow needs; changes nothing and uses no network.

    Takes a few seconds: JAX and cupy are examined in processes of their own, in parallel.

    Parameters
    ----------
    config
        The workflow's configuration.
    backend
        "auto", "numpy" or "cupy"; by default that of the configuration.
    data_dir
        The raw data folder.

    Returns
    -------
    Report
        With a problem for everything that keeps the workflow from running.
    """
    asked = {topic: probe.start(topic) for topic in ("cupy", "jax")}
    chosen, wrong = settings.read(config)
    mirror, named_by = data.named_mirror(chosen.data_mirror)
    cards, newest_cuda, reason = devices.ask_driver()
    found = [*_host(), *devices.gpus(cards, newest_cuda, reason)]
    copies = bundled.folder()
    raw = [data.folder(data_dir), data.mirror(mirror, named_by), data.bundled(data_dir, copies)]
    rest = [*_tools(), *raw, *wrong]
    said = {topic: probe.answer(process) for topic, process in asked.items()}
    wanted = backend or chosen.backend
    used = [
        devices.backend(wanted, said["cupy"], bool(cards)),
        devices.jax_platform(said["jax"]),
        _threads(chosen),
        data.source(data_dir, mirror, copies),
    ]
    return Report([*found, *_device_libraries(said), *rest], used)


def _host() -> list[Finding]:
    return [
        Finding("kcde", f"{__version__} from {Path(__file__).parents[1]}"),
        machine.python(),
        machine.processor(),
        machine.memory(),
        software.environment(),
        software.packages(),
        software.blas(machine.usable_cores()),
    ]


def _device_libraries(said: dict[str, dict]) -> list[Finding]:
    packages, runtime = devices.installed("cupy"), devices.installed("nvidia-cuda-runtime")
    return [devices.cupy(packages, runtime, said["cupy"]), devices.jax(said["jax"])]


def _tools() -> list[Finding]:
    return [software.snakemake(), software.slurm()]


def _threads(chosen: settings.Settings) -> Finding:
    threads, cores = chosen.blas_threads, machine.usable_cores()
    value = f"{threads} a job (blas_threads of {chosen.origin}); --cores all means {cores} cores"
    return Finding("threads", value, facts={"threads": threads, "cores": cores})
