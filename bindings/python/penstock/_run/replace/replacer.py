"""Decides for each DataLoader of the program whether penstock replaces it."""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ..._profile.about import About
from .. import frames
from ..imports import after_import
from .places import Place, Places


class Replacer:
    """Errors of a check never end the program: it continues with its own loader."""

    def __init__(self, show: Callable[[str], None]) -> None:
        """show: prints a line."""
        self.lines: list[str] = []
        self.checking = False
        self._show = show
        self._places = Places()
        self._process = os.getpid()
        self._checked: dict[Any, Any] = {}  # Form, or Refused, by the key of a recipe
        # (recipe, form) of the loaders whose next iterator is replaced
        self._replaced: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()
        self._unmade = 0

    def start(self) -> None:
        after_import({"torch.utils.data.dataloader": self._patch})

    def _patch(self, module: ModuleType) -> None:
        kind: Any = module.DataLoader
        make = kind._get_iterator
        self._places.watch(kind)

        def _get_iterator(loader: Any) -> Any:
            try:
                found = self._found(loader)
                if found is None:
                    return make(loader)
                if loader.num_workers:
                    loader.check_worker_number_rationality()
                return self._iterator(loader, *found)
            except BaseException as raised:
                frames.drop_frame(raised)
                raise

        kind._get_iterator = _get_iterator

    def _found(self, loader: Any) -> tuple[Any, Any] | None:
        if os.getpid() != self._process:  # a worker, whose dataset has a loader
            return None
        try:
            return self._replaced.get(loader)
        except TypeError:  # a class without a hash
            return None

    # ---- Decisions -------------------------------------------------------------------------------------------------------

    def decide(self, loader: Any) -> None:
        """Call it before the loader makes an iterator."""
        if self.checking or os.getpid() != self._process or getattr(loader, "_iterator", None) is not None:
            return
        self.checking = True
        try:
            self._decide(loader)
        except BaseException:  # Ctrl-C
            self.lines.append("Not replaced: the check was interrupted")
            raise
        finally:
            self.checking = False

    def _decide(self, loader: Any) -> None:
        made = self._places.of(loader)
        self._forget(loader)
        try:
            from .recognize import Refused, recognize
        except Exception as failure:  # another version of PyTorch
            self._say(f"Not replaced: penstock does not know this PyTorch: {failure}")
            return
        try:
            recipe = recognize(loader, self._places)
            self._replaced[loader] = recipe, self._form(loader, recipe, made)
        except Refused as reason:
            self._say(f"Not replaced: {reason}")
        except Exception as failure:
            shown = f"{made}: " if made is not None else ""
            self._say(f"Not replaced: {shown}the check failed: {type(failure).__name__}: {failure}")

    def _forget(self, loader: Any) -> None:
        try:
            self._replaced.pop(loader, None)
        except TypeError:
            pass

    def _form(self, loader: Any, recipe: Any, made: Place | None) -> Any:
        from .check import Check
        from .places import Refused

        known = self._checked.get(recipe.key)
        if isinstance(known, Refused):
            raise known
        if known is not None:
            return known
        try:
            recipe.source.validate(made)
            check = Check(loader, recipe, made)
            form = check.run()
        except Refused as reason:
            self._checked[recipe.key] = reason
            raise
        self._say(self._described(loader, recipe, form, check.indices, made))
        self._checked[recipe.key] = form
        return form

    def _described(self, loader: Any, recipe: Any, form: Any, indices: list[int], made: Place | None) -> str:
        from . import rates
        from .batches import threads_for

        measured = rates.measure(loader, indices, lambda like: self._iterator(like, recipe, form))
        workers, threads = loader.num_workers, threads_for(loader.num_workers)
        return (
            f"Replaced: DataLoader({recipe.source.kind}){f' at {made}' if made is not None else ''}; "
            f"checked {len(indices)} samples; {measured.torch:,.0f} -> {measured.penstock:,.0f} samples/s "
            f"({workers} worker{'' if workers == 1 else 's'} -> {threads} thread{'' if threads == 1 else 's'})"
        )

    # ---- The replacement -------------------------------------------------------------------------------------------------

    def _iterator(self, loader: Any, recipe: Any, form: Any) -> Iterator[Any]:
        from .iterator import ReplacedIterator

        still = _unchanged if loader.num_workers else self._still(loader, recipe.key)
        return ReplacedIterator(loader, recipe, form, still, self._count)

    def _still(self, loader: Any, key: Any) -> Callable[[], bool]:
        from .recognize import recognize

        def still() -> bool:
            try:
                return bool(recognize(loader, self._places).key == key)
            except Exception:
                return False

        return still

    def _count(self, reason: str) -> None:
        if not self._unmade:
            self._say(f"PyTorch made a batch that penstock cannot make: {reason}")
        self._unmade += 1

    # ---- Reports ---------------------------------------------------------------------------------------------------------

    def about(self, loader: Any) -> About:
        about = About.of(loader)
        return about if self._found(loader) is None else dataclasses.replace(about, num_workers=None, persistent=False)

    def verdict(self, loader: Any) -> dict[str, Any] | None:
        """The diagnosis of a replaced loader for which the program waits."""
        if self._found(loader) is None:
            return None
        from .batches import threads_for

        threads = threads_for(loader.num_workers)
        text = f"penstock decodes the batches of this DataLoader, on {threads} thread{'' if threads == 1 else 's'}"
        return {"binds": "cores", "text": text}

    def _say(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)
            self._show(line)

    def notes(self) -> list[str]:
        """For the end of the run."""
        more = [f"PyTorch made {self._unmade} batches that penstock cannot make"] if self._unmade > 1 else []
        return [*(self.lines or ["Not replaced: no DataLoader made an iterator"]), *more]


def _unchanged() -> bool:
    return True
