"""Comparing methods: tests over the same splits."""

from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon

__all__ = ["PairedTest", "paired_t_test", "paired_wilcoxon"]
