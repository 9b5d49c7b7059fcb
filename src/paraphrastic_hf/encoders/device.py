import torch


def chosen_device(device: str | torch.device | None) -> torch.device:
    """Convert a device name to a torch device. Default: CUDA if available, else the CPU."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        if found.type == "meta":
            raise RuntimeError("tensors on it have no values")
        torch.empty(0, device=found)
    # torch raises many kinds: AssertionError without CUDA, ImportError for missing backends
    except (RuntimeError, AssertionError, ImportError, TypeError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise ValueError(f"device {str(device)!r} is not available: {reason}") from error
    return found
