"""The distribution function of the standard normal, which the array API does not have."""

from array_api_compat import array_namespace, is_cupy_array

from kcde.arrays.backends import to_numpy


def normal_cdf(z):
    """Return Φ(z), elementwise, in the namespace of z; to rounding in the lower tail as well."""
    if is_cupy_array(z):
        from cupyx.scipy.special import ndtr

        return ndtr(z)
    from scipy.special import ndtr

    return array_namespace(z).asarray(ndtr(to_numpy(z)))
