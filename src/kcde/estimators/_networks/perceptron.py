"""Perceptrons and random numbers of the networks that numba trains, in float32.

Points are columns, so that the long axis is the fast one. Random numbers are those of `jax.random`
(threefry), so that a training repeats one by JAX up to rounding, and networks of all sizes see the
same.
"""

from typing import NamedTuple

import numba
import numpy as np
from numba import int32, uint32


def compiled(function):
    """Compile a function when it is first called; keep the program where a folder can be written.

    That is `__pycache__` beside the source or a folder of the user, or NUMBA_CACHE_DIR.
    """
    # No sums in another order, no fused operations: a function would round otherwise in the process
    # that compiles it than where it is loaded. Long sums are products of BLAS, which are fast.
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"nsz"}}
    try:
        return numba.njit(function, cache=True, **options)
    except RuntimeError:
        return numba.njit(function, **options)


class Shape(NamedTuple):
    """Sizes of a perceptron, whose first layer sees a linear map of some inputs beside others.

    `embedded` inputs are mapped to `width` numbers, `plain` ones are not; all layers but the last
    have `hidden` rectified units.
    """

    embedded: int
    width: int
    plain: int
    hidden: int
    layers: int
    outputs: int


class Pass(NamedTuple):
    """Arrays of a perceptron at N columns.

    Ones (N,), the inputs (those embedded first), the product of the first layer with the embedding
    and the first layer for all inputs (later their gradients), its bias, the values of hidden units
    (layers, H, N), and outputs; gradients in outputs, in hidden units (2, H, N: a layer and the one
    below), and in the inputs.
    """

    ones: np.ndarray
    inputs: np.ndarray
    folded: np.ndarray
    first: np.ndarray
    bias: np.ndarray
    hidden: np.ndarray
    outputs: np.ndarray
    d_outputs: np.ndarray
    d_hidden: np.ndarray
    d_inputs: np.ndarray


_0, _1, _HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
_HIGHEST, _LOWEST = np.float32(89.0), np.float32(-87.3)  # exp is infinite, or nearly 0
_LOG2_E = np.float32(1.44269504088896341)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# exp on ±(ln 2)/2, as in the Cephes library: 1 + r + r² times this.
_SERIES = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3)
_SERIES += (4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_E5, _E4, _E3, _E2, _E1, _E0 = map(np.float32, _SERIES)
_LARGEST_GRADIENT = np.float32(5.0)


@compiled
def exp(x):
    """Return e^x within 3e-7, by what a loop does for several x at once."""
    x = _HIGHEST if x > _HIGHEST else x
    x = _LOWEST if x < _LOWEST else x
    power = np.floor(x * _LOG2_E + _HALF)
    r = x - power * _LN2_HIGH - power * _LN2_LOW
    series = ((((_E5 * r + _E4) * r + _E3) * r + _E2) * r + _E1) * r + _E0
    bits = int32((int32(power) + int32(127)) << int32(23))
    return (series * r * r + r + _1) * np.int32(bits).view(np.float32)


@compiled
def fold_in(key, number):
    """Return two random words of a key, two words, and a number: threefry2x32, 20 rounds."""
    high, low = uint32(key[0]), uint32(key[1])
    words = (low, uint32(high ^ low ^ uint32(0x1BD11BDA)), high)
    a, b = high, uint32(low + uint32(number))
    for rounds in range(5):
        for turn in (13, 15, 26, 6) if rounds % 2 == 0 else (17, 29, 16, 24):
            a = uint32(a + b)
            b = uint32(a ^ uint32(uint32(b << uint32(turn)) | uint32(b >> uint32(32 - turn))))
        a = uint32(a + words[rounds % 3])
        b = uint32(b + words[(rounds + 1) % 3] + uint32(rounds + 1))
    return a, b


def parts(flat, shape):
    """Return views of the parameters of a perceptron.

    Weights (width, embedded) and bias of the embedding; weights of the first layer for it and for
    the plain inputs; biases (layers - 1, H) and weights (layers - 2, H, H) of hidden layers;
    weights (outputs, H) and bias of the last.
    """
    embedded, width, plain, hidden, layers, outputs = shape
    a = width * embedded
    b = a + width
    c = b + hidden * width
    d = c + hidden * plain
    e = d + hidden * (layers - 1)
    f = e + hidden * hidden * (layers - 2)
    g = f + outputs * hidden
    return (
        flat[:a].reshape(width, embedded),
        flat[a:b],
        flat[b:c].reshape(hidden, width),
        flat[c:d].reshape(hidden, plain),
        flat[d:e].reshape(layers - 1, hidden),
        flat[e:f].reshape(layers - 2, hidden, hidden),
        flat[f:g].reshape(outputs, hidden),
        flat[g:],
    )


compiled_parts = compiled(parts)


@compiled
def pass_of(shape, N):
    inputs, hidden = shape.embedded + shape.plain, shape.hidden
    return Pass(
        np.ones(N, np.float32),
        np.empty((inputs, N), np.float32),
        np.empty((hidden, shape.embedded), np.float32),
        np.empty((hidden, inputs), np.float32),
        np.empty(hidden, np.float32),
        np.empty((shape.layers - 1, hidden, N), np.float32),
        np.empty((shape.outputs, N), np.float32),
        np.empty((shape.outputs, N), np.float32),
        np.empty((2, hidden, N), np.float32),
        np.empty((inputs, N), np.float32),
    )


@compiled
def _rectified(weights, values, bias, out):
    np.dot(weights, values, out)
    for i in range(len(out)):
        for j in range(out.shape[1]):
            value = out[i, j] + bias[i]
            out[i, j] = _0 if value < _0 else value


@compiled
def forward(parameters, at):
    """Compute hidden units and outputs of a perceptron from its inputs."""
    embedding, shift, mixed, plain, biases, weights, last, bias = parameters
    embedded = embedding.shape[1]
    if embedded:
        # A linear map of a linear map: one product with the inputs in place of two.
        np.dot(mixed, embedding, at.folded)
    at.first[:, :embedded], at.first[:, embedded:] = at.folded, plain
    for i in range(len(mixed)):
        total = biases[0, i]
        for j in range(len(shift)):
            total += mixed[i, j] * shift[j]
        at.bias[i] = total
    _rectified(at.first, at.inputs, at.bias, at.hidden[0])
    for layer in range(len(weights)):
        _rectified(weights[layer], at.hidden[layer], biases[layer + 1], at.hidden[layer + 1])
    np.dot(last, at.hidden[len(weights)], at.outputs)
    for k in range(len(last)):
        at.outputs[k] += bias[k]


@compiled
def masked(values, rectified, ones, sums):
    """Set to 0 where a unit is, and sum over columns."""
    for i in range(len(values)):
        for j in range(values.shape[1]):
            values[i, j] = values[i, j] if rectified[i, j] > _0 else _0
    np.dot(values, ones, sums)


@compiled
def backward(parameters, gradients, at, learns):
    """Compute gradients in the parameters, or if it does not learn, in the inputs.

    From those in the last hidden units, which the caller has written to `at.d_hidden`.
    """
    embedding, shift, mixed, _, _, weights, _, _ = parameters
    d_embedding, d_shift, d_mixed, d_plain, d_biases, d_weights, d_last, d_bias = gradients
    depth = len(weights)
    top, above = at.hidden[depth], at.d_hidden[depth % 2]
    masked(above, top, at.ones, d_biases[depth])
    if learns:
        np.dot(at.d_outputs, top.T, d_last)
        np.dot(at.d_outputs, at.ones, d_bias)
    for layer in range(depth - 1, -1, -1):
        above, below = at.d_hidden[(layer + 1) % 2], at.d_hidden[layer % 2]
        if learns:
            np.dot(above, at.hidden[layer].T, d_weights[layer])
        np.dot(weights[layer].T, above, below)
        masked(below, at.hidden[layer], at.ones, d_biases[layer])
    if not learns:
        np.dot(at.first.T, at.d_hidden[0], at.d_inputs)
        return
    np.dot(at.d_hidden[0], at.inputs.T, at.first)
    embedded = embedding.shape[1]
    at.folded[:], d_plain[:] = at.first[:, :embedded], at.first[:, embedded:]
    if not embedded:
        return
    np.dot(at.folded, embedding.T, d_mixed)
    np.dot(mixed.T, at.folded, d_embedding)
    d_shift[:] = _0
    for i in range(len(mixed)):
        for j in range(len(shift)):
            d_mixed[i, j] += d_biases[0, i] * shift[j]
            d_shift[j] += mixed[i, j] * d_biases[0, i]


@compiled
def clip(gradient):
    norm = np.sqrt(np.dot(gradient, gradient))
    if not norm < _LARGEST_GRADIENT:
        gradient[:] = gradient / norm * _LARGEST_GRADIENT
