"""What an oracle cannot judge."""


class OracleError(ValueError):
    """A question outside what this oracle reads; never a verdict."""
