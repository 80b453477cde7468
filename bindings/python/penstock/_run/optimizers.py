"""Times the steps of all optimizers. The closure of optimizer.step(closure) computes the loss, so it is left out."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from . import frames
from .loops import Totals

_now = time.perf_counter_ns


def time_optimizers(module: Any, totals: Totals) -> None:
    """module: torch.optim.optimizer. Versions before 2.1 have no hooks for all optimizers: AttributeError. Then the
    time of the optimizer counts as compute."""
    began = 0

    def pause() -> None:
        nonlocal began
        if began:
            totals.optimizer += _now() - began
        began = 0

    def run() -> None:
        nonlocal began
        began = _now()

    def before(optimizer: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = _with_closure(arguments, keywords, lambda closure: _left_out(closure, pause, run))
        run()
        return given

    def after(optimizer: Any, arguments: Any, keywords: Any) -> None:
        if began:
            pause()
            totals.optimizer_steps += 1

    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def _with_closure(
    arguments: tuple[Any, ...], keywords: dict[str, Any], changed: Callable[[Any], Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of step() with another closure; None without a closure. The first argument is the optimizer."""
    if callable(keywords.get("closure")):
        return arguments, {**keywords, "closure": changed(keywords["closure"])}
    if len(arguments) > 1 and callable(arguments[1]):
        return (arguments[0], changed(arguments[1]), *arguments[2:]), keywords
    return None


def _left_out(closure: Callable[..., Any], pause: Callable[[], None], run: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(closure)
    def timed(*arguments: Any, **keywords: Any) -> Any:
        pause()
        try:
            return closure(*arguments, **keywords)
        except BaseException as raised:
            frames.drop_frame(raised)
            raise
        finally:
            run()

    return timed
