"""Comparing methods over the same splits, and samples with data."""

from kcde.metrics.conditional_spread import ConditionalSpread, conditional_spread
from kcde.metrics.mmd import median_bandwidth, mmd2_biased, mmd2_unbiased
from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon
from kcde.metrics.relative_similarity import RelativeSimilarity, relative_similarity_test

__all__ = [
    "ConditionalSpread",
    "PairedTest",
    "RelativeSimilarity",
    "conditional_spread",
    "median_bandwidth",
    "mmd2_biased",
    "mmd2_unbiased",
    "paired_t_test",
    "paired_wilcoxon",
    "relative_similarity_test",
]
