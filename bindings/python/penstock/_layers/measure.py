"""The runs of a model: one that counts FLOPs, then pairs with and without the timing of modules."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import torch

from .._error import made
from .calls import Recording, sums
from .clocks import Clock, clock_of
from .kept import unchanged
from .result import Layers
from .rows import rows_of, spread_of
from .step import optimizer_of, seconds_of
from .values import arguments_of, fresh, tensors_in

_DEVICES = ("cpu", "cuda", "meta")
_WARMUP = 2  # runs, which allocate memory and choose algorithms


def measured(model: Any, given: Any, loss: Callable[[Any], Any] | None, optimizer: Any, repeats: int) -> Layers:
    model = getattr(model, "_orig_mod", model)
    device = _device_of(model, given)
    if device.type == "meta":
        repeats = 0
    gpus = list(range(torch.cuda.device_count())) if device.type == "cuda" else []
    name, make = optimizer_of(torch.optim.AdamW if optimizer is None else optimizer)
    run = _Run(model, given, loss, clock_of(device.type))
    with torch.inference_mode(False), unchanged(model, gpus):  # also enables gradients within no_grad()
        flops, calls = run.flops()
        for _ in range(_WARMUP if repeats else 0):
            run.plain()
        plain, times = [], []
        for _ in range(repeats):
            plain.append(run.plain())
            times.append(run.timed())
        steps = {}
        for module in model.modules() if repeats else ():
            seconds = seconds_of(module, make, run.clock, repeats)
            if seconds is not None:
                steps[id(module)] = seconds
    totals = _totals(plain, device)
    totals.update(optimizer=name, repeats=repeats)
    return Layers(rows_of(model, flops, calls, times, steps), totals)


class _Run:
    def __init__(self, model: torch.nn.Module, given: Any, loss: Callable[[Any], Any] | None, clock: Clock) -> None:
        self._model, self._given, self._loss, self.clock = model, given, loss, clock

    def flops(self) -> tuple[tuple[dict[int, float], dict[int, float]], dict[int, int]]:
        """FLOPs of forward and backward, and the number of calls, by id(module)."""
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter, Recording(self._model, counter.get_total_flops) as recording:
            outputs, gradients = self._outputs(recording)
            self._backward(outputs, gradients)
        calls: dict[int, int] = {}
        for call in recording.calls:
            calls[id(call.module)] = calls.get(id(call.module), 0) + 1
        return sums(recording, lambda begin, end: end - begin), calls

    def timed(self) -> tuple[dict[int, float], dict[int, float]]:
        """Seconds of forward and backward, by id(module)."""
        with Recording(self._model, self.clock.now) as recording:
            outputs, gradients = self._outputs(recording)
            self._backward(outputs, gradients)
        self.clock.finish()
        return sums(recording, self.clock.seconds)

    def plain(self) -> tuple[float, float | None]:
        """Seconds of the whole forward and backward."""
        positional, named = arguments_of(fresh(self._given))
        begin = self.clock.now()
        output = self._model(*positional, **named)
        middle = self.clock.now()
        outputs, gradients = self._roots(output)
        start = self.clock.now()
        self._backward(outputs, gradients)
        end = self.clock.now()
        self.clock.finish()
        forward = self.clock.seconds(begin, middle)
        return forward, self.clock.seconds(start, end) if outputs else None

    def _outputs(self, recording: Recording) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        positional, named = arguments_of(fresh(self._given))
        outputs, gradients = self._roots(self._model(*positional, **named))
        recording.follow(outputs)
        return outputs, gradients

    def _roots(self, output: Any) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """The tensors where the backward pass begins, and their gradients."""
        if self._loss is not None:
            return [self._loss(output)], [None]
        outputs = [tensor for tensor in tensors_in(output) if tensor.requires_grad]
        return outputs, [torch.ones_like(tensor) for tensor in outputs]

    def _backward(self, outputs: list[torch.Tensor], gradients: list[torch.Tensor | None]) -> None:
        if outputs:
            torch.autograd.backward(outputs, gradients)  # type: ignore[arg-type]
        for parameter in self._model.parameters():
            parameter.grad = None


def _device_of(model: Any, given: Any) -> torch.device:
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"ps.layers(): model must be a torch.nn.Module, not {type(model).__name__}")
    if not hasattr(torch.autograd, "_get_sequence_nr"):
        raise made("unsupported", f"ps.layers() needs a newer PyTorch than {torch.__version__}: install 2.1 or later")
    tensors = [*model.parameters(), *model.buffers()]
    if any(torch.nn.parameter.is_lazy(tensor) for tensor in tensors):
        raise made("unsupported", "ps.layers(): the model has lazy parameters; call it once before")
    devices = {tensor.device for tensor in (*tensors, *tensors_in(given))}
    for device in sorted(devices, key=str):
        if device.type not in _DEVICES:
            raise made("unsupported", f"ps.layers() measures models on the CPU or on NVIDIA GPUs, not on {device}")
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))


def _totals(plain: list[tuple[float, float | None]], device: torch.device) -> dict[str, Any]:
    forward = [each for each, _ in plain]
    backward = [each for _, each in plain if each is not None]
    both = [first + (second or 0) for first, second in plain]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "forward_ms": 1e3 * statistics.median(forward) if forward else None,
        "backward_ms": 1e3 * statistics.median(backward) if backward else None,
        "spread": spread_of(both),
        "device": name,
        "torch": torch.__version__,
        "reason": "tensors of the device meta have no data" if device.type == "meta" else "repeats=0",
    }
