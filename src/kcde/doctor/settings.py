"""The backend, threads and mirror of the workflow's configuration."""

from dataclasses import dataclass
from pathlib import Path

from kcde.arrays import BACKENDS
from kcde.doctor.findings import HINT, PROBLEM, Finding


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Parameters
    ----------
    backend
        "auto", "numpy" or "cupy".
    blas_threads
        Numerical threads of one job.
    data_mirror
        A folder or URL, or None.
    origin
        Where these are set.
    """

    backend: str = "auto"
    blas_threads: int = 1
    data_mirror: str | None = None
    origin: str = "the default"


def read(path: Path) -> tuple[Settings, list[Finding]]:
    """Return the settings of a configuration, with defaults, and the problems with it.

    Parameters
    ----------
    path
        The workflow's config.yaml; the package alone needs none.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        known = {key: content[key] for key in ("backend", "blas_threads", "data_mirror")}
        if known["backend"] not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}")
    except FileNotFoundError:
        remedy = "the workflow runs in the checkout: change to it, or name the file with --config"
        return Settings(), [Finding("configuration", f"no {path} here", HINT, remedy)]
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError) as error:
        said = " ".join(f"{path} cannot be read: {type(error).__name__} {error}".split())[:300]
        remedy = f"correct {path}: git diff shows what was changed"
        return Settings(), [Finding("configuration", said, PROBLEM, remedy)]
    return Settings(**known, origin=f"{path}"), []
