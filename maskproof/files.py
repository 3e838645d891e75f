"""Files that a command writes when all of its work is done: asked for before the work, so that none is lost to them."""

from pathlib import Path

from engine.errors import BadInput


def demand_writable(path: Path | None, option: str) -> None:
    """Refuse a file that could not be written later; what is there stays as it is, and nothing new is left there."""
    if path is None:
        return
    is_new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        reason = "not a folder" if isinstance(error, FileExistsError) else error.strerror
        raise BadInput(
            f"{option} {path}: {error.filename or path}: {reason}; give a file that can be written"
        ) from error
    if is_new:
        path.unlink()
