"""Direct labels: apart, as near as can be, and inside the axes."""

import itertools

import numpy as np
import pytest
from scipy import optimize

from kcde.pages import labels, style


def test_labels_that_do_not_touch_stay():
    assert labels.apart([0.1, 0.9, 0.5], 0.2).tolist() == pytest.approx([0.1, 0.9, 0.5])


def test_touching_labels_are_moved_least():
    wanted = np.array([0.5, 0.52, 0.1, 0.51])
    found = labels.apart(wanted, 0.1)
    assert np.diff(np.sort(found)).min() == pytest.approx(0.1)
    assert np.argsort(found).tolist() == np.argsort(wanted).tolist()
    order = np.argsort(wanted)
    gaps = {"type": "ineq", "fun": lambda places: np.diff(places[order]) - 0.1}
    best = optimize.minimize(lambda places: ((places - wanted) ** 2).sum(), found, constraints=gaps)
    assert ((found - wanted) ** 2).sum() == pytest.approx(best.fun, abs=1e-6)


def test_labels_stay_on_the_axis():
    found = labels.apart([0.0, 0.97, 1.0, 0.98], 0.1)
    assert np.sort(found).tolist() == pytest.approx([0.0, 0.8, 0.9, 1.0])
    assert labels.apart([0.5] * 3, 1.0).tolist() == [0.0, 1.0, 2.0]  # no room: apart all the same


def test_drawn_labels_neither_overlap_nor_leave_the_axes():
    with style.figure(style.COLUMN, 2.0) as (made, axes):
        axes.set_ylim(0.0, 1.0)
        wanted = [
            labels.Label(y, f"method {y:g}", "#000000", "--") for y in (0.97, 0.98, 1e6, -3.0)
        ]
        labels.beside(axes, wanted, 1.5)
        made.canvas.draw()
        boxes = [text.get_window_extent() for text in axes.texts]
        frame = axes.get_window_extent()
    assert len(boxes) == 4
    heights = sorted((box.y0, box.y1) for box in boxes)
    assert all(upper[0] >= lower[1] - 1 for lower, upper in itertools.pairwise(heights))
    for low, high in heights:
        assert frame.y0 <= (low + high) / 2 <= frame.y1


@pytest.mark.parametrize(("dashes", "points"), [("--", 14.0), ("-.", 22.0)])
@pytest.mark.parametrize("width", [style.COLUMN, style.PAGE])
def test_strokes_show_their_pattern_whatever_the_width(width, dashes, points):
    with style.figure(width, 2.0) as (made, axes):
        labels.beside(axes, [labels.Label(0.5, "method", "#000000", dashes)], 1.5)
        made.canvas.draw()
        stroke = axes.get_lines()[-1].get_window_extent()
    assert stroke.width / made.dpi * 72 == pytest.approx(points)
