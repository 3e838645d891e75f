"""Measures: the reference beside the engines that ship, and a model with and without the constraint.

`child` is the stand-alone program in which one engine is timed, `peers` runs one child an engine through the same
workloads in turn, `decoding` measures a model on one machine with itself, `records` turns samples into results.
"""
