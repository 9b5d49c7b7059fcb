"""The errors this package raises on purpose. Each message names the thing, the value and the way
out."""

from __future__ import annotations


class ParaphrasticError(Exception):
    """Base of every error raised on purpose; the command line prints its message without a
    traceback."""


class RecipeError(ParaphrasticError, ValueError):
    """A recipe or one of its values is wrong."""


class DataError(ParaphrasticError, ValueError):
    """A data file is missing, empty or malformed."""


class NotApplicableError(DataError):
    """What is asked has no meaning for this model; no data would help."""


class MissingFileError(DataError):
    """A file that a corpus needs is not in the folder."""


class ModelError(ParaphrasticError, ValueError):
    """A model directory is missing a file or does not hold what it says."""


class CheckpointError(ParaphrasticError, RuntimeError):
    """A checkpoint is damaged or belongs to another run."""
