"""The face: a thin command line over engine/ and reports/."""

__version__ = "0.1.0"
