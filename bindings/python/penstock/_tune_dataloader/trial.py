"""One run in its own process: describes a DataLoader, or times two passes of it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
import time
from typing import Any

from .processes import ENDS
from .rebuilt import is_iterable, own_setting, rebuilt
from .replaced import CannotReplace, replaced
from .setting import setting_of
from .source import WrongSource, loader_of


def main() -> None:
    """sys.argv: the request as JSON, and the number of a pipe that ends with the parent. Writes the result to a file."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    request = json.loads(sys.argv[1])
    threading.Thread(target=_end_with, args=(int(sys.argv[2]),), daemon=True).start()
    try:
        result = _result(request)
    except WrongSource as failure:
        result = {"wrong": str(failure)}
    with open(request["result"], "w", encoding="utf-8") as file:
        json.dump(result, file)


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)  # the workers, too


def _result(request: dict[str, Any]) -> dict[str, Any]:
    loader = loader_of(request["file"], request["name"])
    if request["setting"] is None:
        return _description(loader)
    if request["penstock"]:
        return timed(replaced(loader, request["batches"]), 0, request)
    setting = setting_of(request["setting"])
    return timed(rebuilt(loader, setting, request["batches"]), setting.num_workers, request)


def _description(loader: Any) -> dict[str, Any]:
    try:
        batches: int | None = len(loader)
    except TypeError:  # an IterableDataset without length
        batches = None
    prevented = ""
    try:
        replaced(loader, None)
    except CannotReplace as failure:
        prevented = str(failure)
    kind = type(loader.dataset)
    return {
        "own": vars(own_setting(loader)),
        "epoch_batches": batches,
        "iterable": is_iterable(loader),
        "dataset": f"{kind.__module__}.{kind.__qualname__}",
        "gpu": _gpu(),
        "prevented": prevented,
    }


def _gpu() -> str | None:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def timed(loader: Any, workers: int, request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the first pass: until the workers run, and until the first batch. Seconds of an epoch: those of the
    last pass, and for batches that it leaves out the mean of its later ones."""
    from torch.utils.data import DataLoader

    take = _copier()
    startup = first = 0.0
    times: list[float] = []
    # The second pass begins as the later epochs of a training. One of an IterableDataset would begin with batches that
    # its workers prepared in vain, because its first pass does not reach the end.
    endless = isinstance(loader, DataLoader) and is_iterable(loader)
    for number in range(1 if endless else 2):
        times = []
        began = time.perf_counter()
        iterator = iter(loader)
        started = time.perf_counter()
        for batch in itertools.islice(iterator, request["batches"]) if endless else iterator:
            take(batch)
            times.append(time.perf_counter() - began)
        ended = time.perf_counter() - began  # workers that are not persistent have ended
        del iterator
        if not times:
            raise SystemExit("the DataLoader has no batches")
        if number == 0:
            startup, first = started - began, times[0]
    skipped = min(max(1, workers), (len(times) + 1) // 2)  # each worker's first batch
    later = len(times) - skipped
    batch_s = (times[-1] - times[skipped - 1]) / later if later else times[-1] / len(times)
    left_out = max(0, (request["epoch_batches"] or len(times)) - len(times))
    return {
        "startup_s": startup,
        "first_batch_s": first,
        "pass_s": ended,
        "batches": len(times),
        "batch_s": batch_s,
        "epoch_s": ended + left_out * batch_s,
    }


def _copier() -> Any:
    """Copies batches to the GPU, because pin_memory only speeds up this copy."""
    import torch

    if not torch.cuda.is_available():
        return lambda batch: None
    from .._layers.values import mapped

    def copy(batch: Any) -> None:
        mapped(batch, lambda tensor: tensor.to("cuda", non_blocking=True))
        torch.cuda.synchronize()

    return copy


if __name__ == "__main__":
    main()
