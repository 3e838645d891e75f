"""What models need beyond the suite's own dependencies, told in one line where it is missing."""

from importlib.util import find_spec

from engine.errors import BadInput

PACKAGES = ("torch", "transformers", "tokenizers", "gguf")


def demand_models() -> None:
    """Refuse when a package that models need is not installed."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise BadInput(
            f"models need {', '.join(missing)}, which is not installed; pip install 'maskproof[models]'"
        )
