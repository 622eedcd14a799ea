"""Schuster, Mollenhauer, Klus, Muandet 2020, Kernel conditional density operators."""
