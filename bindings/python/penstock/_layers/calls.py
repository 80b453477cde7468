"""The calls of the modules in one run, and the autograd nodes that belong to them.

Autograd numbers its nodes in the order of their creation. A node belongs to the innermost call that was running when it
was created. Timing single nodes needs no backward hooks of modules, which reject in-place operations.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

_ACCUMULATES = 2**64 - 1  # the number of all AccumulateGrad nodes

Read = Callable[[], Any]
"""Returns a point of time, or a count of FLOPs."""


@dataclasses.dataclass
class Call:
    module: torch.nn.Module
    outer: Call | None
    begin: Any
    end: Any = None

    def chain(self) -> Iterator[Call]:
        """This call, and the calls around it."""
        call: Call | None = self
        while call is not None:
            yield call
            call = call.outer


class Recording:
    """Use as a context around the forward call and the backward call."""

    def __init__(self, model: torch.nn.Module, read: Read) -> None:
        self._model, self._read = model, read
        self._named = dict(model.named_modules(remove_duplicate=False))
        self.calls: list[Call] = []
        self.nodes: list[list[Any]] = []  # [the call or the module that a node belongs to, begin, end]
        self._inner: Call | None = None
        self._first_nodes: list[int] = []
        self._calls_from: list[Call | None] = []
        self._handles: list[Any] = []
        self._forward = True

    def __enter__(self) -> Recording:
        # "prepend" and the end of the list, so that the hooks of the program count as a part of the module
        for module in self._model.modules():
            if isinstance(module, torch.jit.ScriptModule) and module is not self._model:
                continue  # has no hooks
            self._handles.append(module.register_forward_pre_hook(self._enter, prepend=True))
            self._handles.append(module.register_forward_hook(self._leave))
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _boundary(self) -> None:
        self._first_nodes.append(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]
        self._calls_from.append(self._inner)

    def _enter(self, module: torch.nn.Module, _: Any) -> None:
        if not self._forward:  # a checkpoint computes again
            return
        self._inner = Call(module, self._inner, None)
        self.calls.append(self._inner)
        self._boundary()
        self._inner.begin = self._read()

    def _leave(self, module: torch.nn.Module, _: Any, __: Any) -> None:
        if not self._forward or self._inner is None:
            return
        end = self._read()
        while self._inner is not None and self._inner.module is not module:
            self._inner = self._inner.outer  # the program caught an exception of this call
        if self._inner is not None:
            self._inner.end = end
            self._inner = self._inner.outer
        self._boundary()

    def around(self, module: torch.nn.Module) -> list[torch.nn.Module]:
        """The module and those that contain it. The gradient of a parameter belongs to them, and to no call."""
        return [
            self._named[".".join(name.split(".")[:length]) if length else ""]
            for name, each in self._named.items()
            if each is module
            for length in range(len(name.split(".")) + 1 if name else 1)
        ]

    def follow(self, outputs: list[torch.Tensor]) -> None:
        """Prepares the backward pass of the outputs."""
        self._forward = False
        owners = {
            id(parameter): module for module in self._model.modules() for parameter in module._parameters.values()
        }
        for node in _nodes_behind(outputs):
            place = node._sequence_nr()
            owner = owners.get(id(node.variable)) if place == _ACCUMULATES else self._call_of(place)
            if owner is not None:
                self._time(node, [owner, None, None])

    def _call_of(self, number: int) -> Call | None:
        at = bisect.bisect_right(self._first_nodes, number) - 1
        return self._calls_from[at] if at >= 0 else None

    def _time(self, node: Any, row: list[Any]) -> None:
        self.nodes.append(row)

        def before(_: Any) -> None:
            row[1] = self._read()

        def after(_: Any, __: Any) -> None:
            row[2] = self._read()

        self._handles.append(node.register_prehook(before))
        self._handles.append(node.register_hook(after))


def _nodes_behind(outputs: list[torch.Tensor]) -> list[Any]:
    left = [output.grad_fn for output in outputs]
    found: dict[int, Any] = {}  # holds the nodes, whose ids change otherwise
    while left:
        node = left.pop()
        if node is None or id(node) in found:
            continue
        found[id(node)] = node
        left += [before for before, _ in node.next_functions]
    return list(found.values())


def sums(recording: Recording, between: Callable[[Any, Any], float]) -> tuple[dict[int, float], dict[int, float]]:
    """Forward and backward of each module, by id(module), over all calls. A module includes the modules that it calls.
    A call of a module inside of itself counts once."""
    forward: dict[int, float] = {}
    backward: dict[int, float] = {}
    for call in recording.calls:
        if call.end is not None and all(outer.module is not call.module for outer in _outside(call)):
            _add(forward, call.module, between(call.begin, call.end))
    for owner, begin, end in recording.nodes:
        if begin is None or end is None:  # the backward pass did not reach it
            continue
        modules = [call.module for call in owner.chain()] if isinstance(owner, Call) else recording.around(owner)
        for module in {id(module): module for module in modules}.values():
            _add(backward, module, between(begin, end))
    return forward, backward


def _add(into: dict[int, float], module: torch.nn.Module, amount: float) -> None:
    into[id(module)] = into.get(id(module), 0) + amount


def _outside(call: Call) -> Iterator[Call]:
    return call.outer.chain() if call.outer is not None else iter(())
