"""Names of the readings of K-pair, for table3-pair."""

ALL, PAIR = "all columns", "the shown pair alone"
