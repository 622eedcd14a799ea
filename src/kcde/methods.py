"""The one table of methods: estimators with options, and what they are called.

An estimator is by itself a method of its own name, with its defaults. `METHODS` has
these, and those that are defined here: `KCEF-LL` is `KCEF` with another selection. The workflow
merges the section `methods` of its configuration over them; nothing here imports numerics.

A key of `METHODS` is what scores and their files have, and a seed, so that it stays. Readers see
its name: that of the class for a plain class, else the key. Commands accept both, and what older
pages called it.

Examples
--------
>>> from kcde import methods
>>> model = methods.make("KCEF-LL", folds=10)
>>> model.selection, model.folds
('likelihood', 10)
"""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kcde.declared import of_kind
from kcde.estimators import configured, estimator_names
from kcde.names import AS_PUBLISHED, OURS, nearest

Options = Mapping[str, Any]

BASELINE = "MarginalKDE"
"""The density of y that ignores x: on a table of one's own, what x is worth is measured from it."""

CONTENDERS = ("LikelihoodKCEF", "QuantileForest", "LinearGaussian", "ResidualKDE")
CONTENDERS += ("GaussianProcess-ML", "KCEF-LL-defensive", "NGBoost", "NADE")
"""What is compared by default beside that on a table of one's own, the most useful first."""

STACKED = "Stacked"
"""The mixture of such densities that is the most likely for rows held out."""


@dataclass(frozen=True)
class Method:
    """An estimator with options, and how experiments use it.

    Attributes
    ----------
    estimator
        A class in `estimators/`.
    variant
        `as-published` answers a published number, `ours` stands beside it.
    options
        Constructor arguments.
    joint_options
        Added to them where one model has all columns: of a joint density and of the planar data.
    r_benchmark_options
        Added to them on the R sets.
    dataset_options
        Data set to constructor arguments, over all of these.
    evaluation
        `test-half` draws for the normaliser from a Gaussian with mean and spread of the test y, as
        the authors of dde did; `training-half`, the default, from one of the training y.
    settings
        In the experiments donut, terrain and traffic, what the options leave open is as the authors
        of cdo fixed it (`authors`, see `kcde.experiments._conditional`), or chosen by the class
        (`chosen`, the default).
    target
        On the R sets, `joint`: x and y are modelled together, x first; `conditional`, the default:
        y given x.
    graph
        Makes it a joint density, one factor a column: `full`, `markov`, or for each column in turn
        the list of its parents, counted from 0.
    columns
        `shown-pair`: of a joint density that is sampled, only the two columns that the figures
        show are modelled; `all`, the default.
    order
        `stored`: of a joint density of a file, training rows stand as there, so that folds which
        are runs of rows are those of the file; `shuffled`, the default.
    shown
        Artefacts that show it beside the methods that they list, e.g. `across/all_methods`.
    names
        What readers see in place of the key, then what older pages called it.
    """

    estimator: str
    variant: str = OURS
    options: Options = field(default_factory=dict)
    joint_options: Options = field(default_factory=dict)
    r_benchmark_options: Options = field(default_factory=dict)
    dataset_options: Mapping[str, Options] = field(default_factory=dict)
    evaluation: str | None = None
    settings: str | None = None
    target: str | None = None
    graph: str | Sequence[Sequence[int]] | None = None
    columns: str | None = None
    order: str | None = None
    shown: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def options_for(self, where: str = "", dataset: str = "") -> dict[str, Any]:
        """Return the constructor arguments for a data set.

        Parameters
        ----------
        where
            `joint`: one model of all columns; `r_benchmark`: the R sets; anything else has no
            options of its own.
        dataset
            Its name.
        """
        more = getattr(self, f"{where}_options") if where in ("joint", "r_benchmark") else {}
        return {**self.options, **more, **self.dataset_options.get(dataset, {})}

    def plain(self) -> dict[str, Any]:
        """Return what it says as plain values, as the configuration has them."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if value not in (None, {}, ())}


_FLOORED = {"density_floor": 2.220446049250313e-16}  # the spacing of doubles at 1

_UNPENALISED = {"density_weight": 1.0, "regularization": 0.0, "validation": 0}
"""DDE as its authors ran it: no penalty, no stopping rule, likelihoods with weight 1."""

DDE_PLANAR = {"base": "uniform", "hidden_units": 128, "latent": 128}
DDE_PLANAR |= {"sampler_layers": 4, "dual_layers": 4, "validation": 0}
"""Sizes of the networks that the authors of dde give their two-dimensional sets."""

_DDE_JOINT = {**DDE_PLANAR, "bandwidth_scale": 0.1}

_DDE_TUNED = ("dual_weight", "bandwidth_scale", "base_std", "batch_size")
_DDE_DATASETS: dict[str, Options] = {
    name: dict(zip(_DDE_TUNED, values, strict=True))
    for name, values in {
        "BigMac2003": (1.0, 0.5, 3.0, 34),
        "CobarOre": (0.5, 0.1, 1.0, 19),
        "GAGurine": (1.0, 0.5, 3.0, 100),
        "UN3": (1.0, 0.5, 1.0, 62),
        "birthwt": (0.5, 0.5, 1.0, 94),
        "caution": (0.5, 0.1, 3.0, 50),
        "cpus": (1.0, 0.1, 1.0, 100),
        "crabs": (1.0, 0.1, 1.0, 100),
        "ftcollinssnow": (0.5, 1.0, 1.0, 46),
        "geyser": (1.0, 0.5, 1.0, 100),
        "gilgais": (1.0, 0.1, 1.0, 100),
        "highway": (1.0, 1.0, 3.0, 19),
        "mcycle": (0.5, 0.1, 1.0, 66),
        "snowgeese": (1.0, 0.5, 3.0, 22),
        "topo": (1.0, 0.5, 3.0, 26),
        "ufc": (1.0, 0.5, 1.0, 100),
    }.items()
}
# The authors' code draws the ring and has no settings for it: the least of the 3 to 5 layers that
# the paper tuned.
_DDE_DATASETS |= {key: {"dual_layers": 3} for key in ("two-moons", "ring")}
"""DDE's parameters as its authors set them; on other sets it has the constructor's defaults."""

_dde = partial(Method, "DDE", joint_options=_DDE_JOINT, dataset_options=_DDE_DATASETS)

_EARLY_STOPPING = {"selection": "early-stopping", "folds": 10, "isotropic": True, "penalty": 0.1}
"""KCEF as the authors' code tunes the factors of a joint density."""

_ANISOTROPIC = {**_EARLY_STOPPING, "isotropic": False}
_NO_PENALTY, _FEWER, _CONVERGED = {"penalty": 0.0}, {"tuning_rows": 500}, {"selection": "gradient"}
_CONVERGED_ISOTROPIC = {**_CONVERGED, "isotropic": True}

_NADE_SIZE = {"hidden_units": 100, "components": 10}
_NADE_JOINT = {**_NADE_SIZE, "epochs": [100, 400]}
"""The published network; the reference's 2500 updates, for red wine, are too few for more rows."""

_NADE_UNSTOPPED = {**_NADE_SIZE, "epochs": 100, "early_stopping": False}

_FEW_INPUTS = {"donut": {"tuning_rows": 500}, "rough-terrain": {"tuning_rows": 1000}}
"""With so few dimensions of x, fewer rows choose as well; of the terrain contiguous blocks of a
grid: `kcde.selection.tuning_rows`."""

_NADE_SMALL = {"hidden_units": 10, "components": 2, "epochs": 20}
_NADE_GROWN = {
    **dict.fromkeys(("bimodal-2-200", "bimodal-2-400"), _NADE_SMALL),
    "bimodal-2-10000": {**_NADE_SIZE, "epochs": [100, 400, 1600]},
    "bimodal-2-100000": {**_NADE_SIZE, "epochs": [400, 1600, 6400]},
    "bimodal-2-1000000": {**_NADE_SIZE, "epochs": [400, 1600, 6400], "batch_size": 1000},
}
"""More updates, of 25 an epoch, where there are more rows; held-out training rows choose. With few
rows the size of the network is chosen by cross-validation, and that of made-up rows is small."""

_QUARTER = {"rough-terrain": {"bandwidth_x": 485.83**0.5 / 4.0}}
"""√m/4, where m is the median distance of two points of rough-terrain, in metres."""

_PRINTED = {
    "second": {"bandwidth_x": 0.7, "bandwidth_y": 0.7, "regularization": 8.0},
    "traffic": {"bandwidth_x": 0.1, "bandwidth_y": 0.1, "regularization": 0.1, "n_centres": 1000},
}
"""Choices for LSCDE that the notebooks of cdo's authors print beside that of its settings: another
one of the donut's, and that of traffic."""

_SIGNED, _CLIPPED = {"weights": "signed"}, {"weights": "clipped"}
_BY_WEIGHTS = {f"-{kind}": {"weights": kind} for kind in ("signed", "constrained", "projected")}

_TUNED_FLOW = {
    "candidates": [[32, 2, 0.003], [32, 2, 0.01], [64, 3, 0.003], [64, 3, 0.01]],
    "steps": 200,
}
"""Hidden units, blocks and learning rate of a flow, smaller than published."""

_NYSTROM = {name: {"n_basis": 300, "tuning_basis": 300} for name in ("two-moons", "ring", "grid")}
"""The estimate of KEF that dde compares with, tuned as it is fitted."""

_DEFINED = {
    "KCEF": Method("KCEF", AS_PUBLISHED, {"selection": "score"}),
    # Readings of table 1 with a bandwidth for each dimension, as the text has it elsewhere.
    "KCEF-converged": Method("KCEF", OURS, _CONVERGED),
    "KCEF-stopped": Method("KCEF", OURS, _ANISOTROPIC),
    "KCEF-LL": Method("KCEF", OURS, {"selection": "likelihood"}),
    # A reading of table 1: as KCEF, on the same grid, by the criterion of LSCDE.
    "KCEF-LL-shared": Method("KCEF", OURS, {"selection": "shared-likelihood"}),
    "KCEF-LL-defensive": Method("Defensive", OURS, _FEWER),
    # In cdo's experiments that of the package which its authors call; elsewhere Sugiyama's.
    "LSCDE": Method("LSCDE", AS_PUBLISHED, r_benchmark_options=_FLOORED, settings="authors"),
    "LSCDE-exact": Method("LSCDE"),
    "epsilon-KDE": Method("EpsilonKDE", AS_PUBLISHED),
    "NADE": Method("NADE", AS_PUBLISHED, joint_options=_NADE_JOINT),
    # The other reading of the column NADE of kcef, table 1.
    "NADE-joint": Method("NADE", OURS, target="joint"),
    # A reading of figure 1: the reference's 2500 updates for red wine, without selection.
    "NADE-unstopped": Method("NADE", OURS, joint_options=_NADE_UNSTOPPED),
    "NADE-grown": Method("NADE", OURS, {"epochs": 400}, dataset_options=_NADE_GROWN),
    "KEF": Method("KEF", AS_PUBLISHED, {"n_basis": "auto"}, dataset_options=_NYSTROM),
    # The same fits, sampled with more leapfrog steps: `kcde.experiments.planar`.
    "KEF-100-steps": Method("KEF", OURS, {"n_basis": "auto"}, dataset_options=_NYSTROM),
    # Copies of a row in one fold: red wine has 195 among its 1439 training rows.
    "KEF-grouped": Method("KEF", OURS, {"n_basis": "auto", "group_copies": True}),
    # Readings of table 3 and figures 2 and 4: models of the two shown columns alone.
    "KCEF-F-pair": Method("KCEF", OURS, _EARLY_STOPPING, graph="full", columns="shown-pair"),
    "KEF-pair": Method("KEF", OURS, {"n_basis": "auto"}, columns="shown-pair"),
    "NADE-pair": Method("NADE", OURS, joint_options=_NADE_JOINT, columns="shown-pair"),
    "DDE": _dde(AS_PUBLISHED, _UNPENALISED, evaluation="test-half"),
    # With the paper's penalty, 1/n, the density it trains, and early stopping.
    "DDE-penalised": _dde(OURS, {"refit": False}),
    # With the authors' default for the bandwidth of f; for the ring they ship no other.
    "DDE-narrow": _dde(OURS, _UNPENALISED, joint_options={**_DDE_JOINT, "bandwidth_scale": 0.01}),
    "JDL": Method("JDL", AS_PUBLISHED),
    "JPDL": Method("JPDL", AS_PUBLISHED, {"degree": 4}),
    # The semidefinite program as the paper states it, without an interior.
    "JPDL-unreduced": Method("JPDL", AS_PUBLISHED, {"degree": 4, "solver": "clarabel-unreduced"}),
    # Other readings of positivity: of JDL with constraints, which these options are.
    "JDL-sub-grid": Method("JDL", OURS, {"constrained": "sub-grid"}),
    "JDL-clipped": Method("JDL", OURS, {"constrained": "clipped"}),
    "CME": Method("CME", AS_PUBLISHED),
    "CME-rows": Method("CME", OURS, {"constrained": "rows"}),
    "KLR": Method("KernelLogisticRegression", AS_PUBLISHED),
    # As densities, with a bump around each y.
    "JDL-smoothed": Method("SmoothedJDL"),
    "CME-smoothed": Method("SmoothedCME"),
    "CDO": Method("CDO", AS_PUBLISHED, settings="authors"),
    "CDO-clipped": Method("CDO", OURS, _CLIPPED, settings="authors"),
    "CDO-projected": Method("CDO", OURS, {"weights": "projected"}, settings="authors"),
    # On the donut: an output bandwidth of three steps of its reference grid.
    "CDO-narrow": Method("CDO", OURS, {"bandwidth_y": 3 * 4 / 61}, settings="authors"),
    # The formula with Mα' in place of α'.
    "CDO-corrected": Method("CDO", OURS, {"scaling": "corrected"}, settings="authors"),
    # The fraction that traffic has, √m/4, in place of √m/2, with the median distance m of all
    # points: that of the training points of a fold gives the same within 0.2%.
    "CDO-quarter": Method("CDO", OURS, dataset_options=_QUARTER, settings="authors"),
    # On the R sets a density: negative weights are taken as 0.
    "CDO-chosen": Method(
        "CDO", OURS, _SIGNED, r_benchmark_options=_CLIPPED, dataset_options=_FEW_INPUTS
    ),
    "CDO-LL": Method("CDO", OURS, {"selection": "likelihood"} | _CLIPPED),
    "GP": Method("GaussianProcess", AS_PUBLISHED, settings="authors"),
    # With its own spread: see experiments/donut.py.
    "GP-spread": Method("GaussianProcess", OURS, settings="authors"),
    "GP-ML": Method("GaussianProcess", OURS, dataset_options=_FEW_INPUTS),
    "GP-Matern": Method("GaussianProcess", OURS, {"kernel": "matern"}, dataset_options=_FEW_INPUTS),
    "CondRealNVP": Method("ConditionalRealNVP", AS_PUBLISHED, settings="authors"),
    "CondMAF": Method("ConditionalMAF", AS_PUBLISHED, settings="authors"),
    "CondRealNVP-tuned": Method("ConditionalRealNVP", OURS, _TUNED_FLOW),
    "CondMAF-tuned": Method("ConditionalMAF", OURS, _TUNED_FLOW),
    # Of a table of one's own: of the densities that it names, see `kcde.table_model`.
    STACKED: Method(STACKED, OURS),
}
_DEFINED |= {
    f"{name}{ending}": Method("LSCDE", OURS, weights, settings=settings)
    for name, settings in (("LSCDE-package", "authors"), ("LSCDE", None))
    for ending, weights in _BY_WEIGHTS.items()
}

_DEFINED |= {
    key.format(letter): dataclasses.replace(method, graph=graph)
    for key, letters, method in (
        ("KCEF-{}", "FM", Method("KCEF", AS_PUBLISHED, _EARLY_STOPPING)),
        ("KCEF-LL-{}", "F", Method("KCEF", OURS, {"selection": "likelihood", "tuning_rows": 300})),
        ("LikelihoodKCEF-{}", "F", Method("LikelihoodKCEF", OURS)),
        # The full graph as the text states it, for figure 1.
        ("KCEF-{}-anisotropic", "F", Method("KCEF", AS_PUBLISHED, _ANISOTROPIC)),
        # The other readings of when the tuning stops.
        ("KCEF-{}-unpenalised", "FM", Method("KCEF", OURS, _EARLY_STOPPING | _NO_PENALTY)),
        ("KCEF-{}-anisotropic-unpenalised", "F", Method("KCEF", OURS, _ANISOTROPIC | _NO_PENALTY)),
        ("KCEF-{}-converged", "FM", Method("KCEF", OURS, _CONVERGED)),
        ("KCEF-{}-converged-isotropic", "F", Method("KCEF", OURS, _CONVERGED_ISOTROPIC)),
        # Readings of how many rows the tuning sees; elsewhere the scale says it.
        ("KCEF-{}-500-rows", "FM", Method("KCEF", OURS, _EARLY_STOPPING | _FEWER)),
        ("KCEF-{}-anisotropic-500-rows", "F", Method("KCEF", OURS, _ANISOTROPIC | _FEWER)),
        ("KCEF-{}-1000-rows", "FM", Method("KCEF", OURS, _EARLY_STOPPING | {"tuning_rows": 1000})),
        # A reading of the order of rows whose runs are folds.
        ("KCEF-{}-stored", "FM", Method("KCEF", OURS, _EARLY_STOPPING, order="stored")),
        ("LSCDE-{}", "FM", Method("LSCDE", AS_PUBLISHED, _FLOORED)),
        # The full graph as the text states it, for figure 1, and the other one to compare it with;
        # how they are tuned is ours.
        ("LSCDE-{}-anisotropic", "FM", Method("LSCDE", OURS, _FLOORED | {"isotropic": False})),
    )
    for letter, graph in (("F", "full"), ("M", "markov"))
    if letter in letters
}
"""Joint densities, of one factor a column, by the letters of their graphs."""

_DEFINED |= {
    f"LSCDE-package-{choice}{ending}": Method("LSCDE", OURS, options | weights, settings="authors")
    for choice, options in _PRINTED.items()
    for ending, weights in {"": {}, **_BY_WEIGHTS}.items()
}

_INVERTED = ("KCEF-F", "KCEF-LL-F", "KCEF-F-unpenalised", "KCEF-F-converged", "KCEF-F-pair")
_DEFINED |= {
    f"{name}{ending}": dataclasses.replace(_DEFINED[name], variant=OURS)
    for ending, names in (("-inverse", _INVERTED), ("-adapted", ("KEF", "KEF-pair")))
    for name in names
}
"""The same fits, sampled in another way: `kcde.names.SAMPLED_BY`."""

_NAMES = {
    "epsilon-KDE": ("EpsilonKDE", "ε-KDE"),
    "NADE-grown": ("NADE-grown", "NADE, more updates"),
    "KLR": ("KernelLogisticRegression",),
    "JDL-smoothed": ("SmoothedJDL",),
    "CME-smoothed": ("SmoothedCME",),
    "GP": ("GaussianProcess",),
    "GP-spread": ("GaussianProcess-spread",),
    "GP-ML": ("GaussianProcess-ML",),
    "GP-Matern": ("GaussianProcess-Matern", "GP-Matérn"),
    "CondRealNVP": ("ConditionalRealNVP", "Cond. Real NVP"),
    "CondMAF": ("ConditionalMAF", "Cond. MAF"),
    "CondRealNVP-tuned": ("ConditionalRealNVP-tuned", "Cond. Real NVP tuned"),
    "CondMAF-tuned": ("ConditionalMAF-tuned", "Cond. MAF tuned"),
    # Plain classes that older pages called otherwise.
    "KernelCDE": ("KernelCDE", "kernel CDE"),
    "LinearGaussian": ("LinearGaussian", "ridge, normal"),
    "MarginalKDE": ("MarginalKDE", "marginal KDE"),
    "QuantileForest": ("QuantileForest", "quantile forest"),
    "ResidualKDE": ("ResidualKDE", "ridge, residual KDE"),
}
"""What readers see in place of a key, then what older pages called it."""

_OF_CLASSES = {*_DEFINED, *(name for key in _DEFINED for name in _NAMES.get(key, ()))}

_PLAIN = {name: Method(name) for name in estimator_names() if name not in _OF_CLASSES}

METHODS: dict[str, Method] = {
    key: dataclasses.replace(method, names=_NAMES.get(key, ()))
    for key, method in (_PLAIN | _DEFINED).items()
}
"""Every method by its key; a class that no other one is the name of has its defaults."""


def shown(key: str) -> str:
    """Return the name that readers see; what is no method, as a baseline, is called by its key."""
    return next(iter(METHODS[key].names), key) if key in METHODS else key


def key_of(name: str, fitting: Iterable[str] = ()) -> str:
    """Return the key of a method in `METHODS`.

    Parameters
    ----------
    name
        Its key, the name that readers see, or that of older pages.
    fitting
        Methods that suit what is asked; by default those with similar names.

    Raises
    ------
    ValueError
        If there is none; the message suggests the nearest name and ten that fit.
    """
    known = {each: key for key, method in METHODS.items() for each in (*method.names, key)}
    if name in known:
        return known[name]
    lower = {each.lower(): shown(key) for each, key in known.items()}
    close = difflib.get_close_matches(str(name).lower(), lower, n=20, cutoff=0.0)
    guess = difflib.get_close_matches(str(name).lower(), close, n=1)
    near = f" (did you mean `{lower[guess[0]]}`?)" if guess else ""
    ten = [*dict.fromkeys(list(map(shown, fitting)) or [lower[each] for each in close])][:10]
    raise ValueError(f"there is no method {name!r}{near}; some that fit: {', '.join(ten)}")


def find(name: str) -> Method:
    """Return a method by its key or one of its names, or raise `ValueError`."""
    return METHODS[key_of(name)]


def make(name: str, /, **options):
    """Return the estimator of a method, configured and unfitted.

    It standardises by itself, so that data may be in any units; experiments do so on their own.

    Parameters
    ----------
    name
        E.g. `KCEF-LL`: a key of `METHODS`, or a name, see `key_of`.
    **options
        Constructor arguments in place of the method's own.

    Returns
    -------
    estimator
        Of a method with a graph a `kcde.joint.JointDensity` of it.

    Raises
    ------
    ValueError
        If there is no such method, or its estimator does not know one of the options.
    """
    method = find(name)
    made = configured(method.estimator, {**method.options, **options})
    if method.graph is None:
        return made
    from kcde.joint import JointDensity

    return JointDensity(made, graph=method.graph)


def define(methods: Mapping[str, Mapping[str, Any]]) -> None:
    """Add methods of one's own, or change options of those there are.

    Parameters
    ----------
    methods
        Name to the attributes of `Method`, as the configuration has them; those of a known method
        that are left out stay, and its options are merged.

    Raises
    ------
    ValueError
        If an estimator, an attribute or an option is unknown, or a value is of the wrong kind.
    """
    known = {each.name: each.type for each in dataclasses.fields(Method)}
    for name, said in methods.items():
        of_kind(f"methods.{name}", Mapping, said)
        if wrong := [key for key in said if key not in known]:
            guess = nearest(wrong[0], known)
            raise ValueError(f"methods.{name} has {wrong[0]!r}{guess}; known: {', '.join(known)}")
        name = next((key for key, each in METHODS.items() if name in each.names), name)
        before = METHODS.get(name, Method(""))
        try:
            given = {key: of_kind(key, known[key], said[key]) for key in said}
            given["options"] = {**before.options, **given.get("options", {})}
            new = dataclasses.replace(before, **given)
            for dataset in ("", *new.dataset_options):
                options = new.options_for("joint", dataset)
                configured(new.estimator, new.r_benchmark_options | options)
        except (TypeError, ValueError) as error:
            raise ValueError(f"methods.{name}: {error}") from None
        METHODS[name] = new
