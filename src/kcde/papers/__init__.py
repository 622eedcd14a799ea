"""Scores in; tables, figures, decided claims and the scorecard out. Nothing here fits anything."""
