"""Where models that torch computes go: to a GPU if there is one."""

from __future__ import annotations

import torch


def chosen_device(device: str | torch.device | None) -> torch.device:
    """Where to compute: as it is said, else a GPU of CUDA if there is one.

    Args:
        device: What the caller named, or None.

    Raises:
        ValueError: There is no device of that name here.

    Example:
        >>> chosen_device("cpu")
        device(type='cpu')
    """
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        if found.type == "meta":
            raise RuntimeError("nothing can be computed on it")
        torch.empty(0, device=found)
    # torch without CUDA asserts, and further kinds of device have modules of their own
    except (RuntimeError, AssertionError, ImportError, TypeError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise ValueError(f"there is no device {str(device)!r} here: {reason}") from error
    return found
