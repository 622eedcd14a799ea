"""Parts of pictures and pages: style, dot plots, samples, tables, words, and the scorecard."""
