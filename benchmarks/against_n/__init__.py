"""What `scaling.py` is made of: time against n, with ceilings, exponents, bars and a figure."""
