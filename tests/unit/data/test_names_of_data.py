import re

import pytest

from kcde.data import names


def test_names_say_dimension_and_rows():
    assert names.GAUSSIAN.sizes("gaussian-2-1000") == (2, 1000)
    assert names.PORTFOLIOS.sizes("portfolios-25-20000") == (25, 20000)
    for wrong in ("gaussian-0-10", "gaussian-2", "grid-200", "gaussian-1-1e5", "portfolios-1-10"):
        assert not names.GAUSSIAN.has(wrong)
        with pytest.raises(ValueError, match=f"no Gaussian data '{wrong}': give gaussian-<d>-<n>"):
            names.GAUSSIAN.sizes(wrong)
    with pytest.raises(ValueError, match="no portfolio data 'portfolios-25': give portfolios-<d>"):
        names.PORTFOLIOS.sizes("portfolios-25")


def test_names_of_gaussian_pairs_may_state_a_variation():
    assert names.GAUSSIAN.sizes("gaussian-2-1000-laws") == (2, 1000)
    assert names.GAUSSIAN.variation("gaussian-2-1000-laws") == names.LAWS
    assert names.GAUSSIAN.variation("gaussian-2-1000") == ""
    assert names.GAUSSIAN.has("gaussian-1-1000-fewer")
    for wrong in ("gaussian-1-1000-more", "gaussian-1-1000-", "gaussian-1-1000-laws-laws"):
        assert not names.GAUSSIAN.has(wrong)
    assert not names.PORTFOLIOS.has("portfolios-1-1000-laws")


def test_names_of_grid_data_state_rows_columns_and_frequency():
    assert names.grid_name("grid-200") == names.GridName(200, 1)
    assert names.grid_name("grid-2000-frequency-3") == names.GridName(2000, 3)
    assert names.grid_name("grid-200").columns(20) == names.grid_name("grid-8000").columns(20) == 3
    assert names.grid_name("grid-2000").columns(20) == 20
    assert names.grid_name("grid-2000-frequency-2").columns(20) == 20
    assert names.is_grid("grid-60")
    wrong = ("grid", "grid-", "grid-6o", "my-grid-60", "grid-60-code", "grid-60-frequency-")
    # One wave is what `grid-60` has: no data have two names.
    assert not any(map(names.is_grid, (*wrong, "grid-60-frequency-1")))


def test_no_name_belongs_to_two_kinds():
    patterns = [names.GRID_PATTERN, names.GAUSSIAN.pattern, names.PORTFOLIOS.pattern]
    patterns += map(re.escape, [names.DONUT, names.SIMULATED_TRAFFIC, *names.PLANAR])
    known = [
        "grid-60",
        "grid-60-frequency-2",
        "gaussian-1-200",
        "portfolios-2-300",
        "donut",
        "simulated-traffic",
    ]
    known += [*names.PLANAR, *names.MADE_UP_RETURNS.values(), names.MADE_UP_JOINT]
    for name in known:
        made_up = name.startswith("smoke-")
        assert sum(re.fullmatch(pattern, name) is not None for pattern in patterns) == 1 - made_up
