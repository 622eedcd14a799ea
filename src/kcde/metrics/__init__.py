"""Comparing methods over the same splits, and samples with data."""

from kcde.metrics.conditional_spread import ConditionalSpread, conditional_spread
from kcde.metrics.mmd import median_bandwidth, mmd2_biased, mmd2_unbiased
from kcde.metrics.multiplicity import holm
from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon
from kcde.metrics.relative_similarity import RelativeSimilarity, relative_similarity_test
from kcde.metrics.smae import smae

__all__ = [
    "ConditionalSpread",
    "PairedTest",
    "RelativeSimilarity",
    "conditional_spread",
    "holm",
    "median_bandwidth",
    "mmd2_biased",
    "mmd2_unbiased",
    "paired_t_test",
    "paired_wilcoxon",
    "relative_similarity_test",
    "smae",
]
