"""What cannot be reported on, told in one line."""


class ReportError(ValueError):
    """Results that cannot be found or read, or a picture that cannot be drawn; the message names the remedy."""
