"""Splits the chains of a loader's outputs: one part runs in its workers, the other in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._penstock import Chain, image, steps_of
from .functions import ChainState, SampleFunction, Step, Transform
from .rows import (
    Call,
    Column,
    Count,
    Padding,
    RowWork,
    SampleCall,
    Steps,
    is_image,
    misuse,
    name_of,
    needed_places,
    no_items,
    takes_random,
    transform_number,
)


def _pads(output: str, chain: Chain, last: bool) -> bool:
    """Whether pad() ends the chain."""
    steps = steps_of(chain)
    for step, following in zip(steps, steps[1:]):
        if step.padding is not None:
            raise misuse(output, f"{following} must come before {step}")
    padding = Padding.of(chain)
    if padding is not None and padding.length == 0 and not last:
        cause = "to the longest row of a batch must come last, after all functions and sample_transform; only"
        raise misuse(output, f"{steps[-1]} {cause} pad(length) may come before a function")
    return padding is not None


def _keeps_items(chain: Chain) -> bool:
    return all(step.converts for step in steps_of(chain))


class Resolved:
    """One output: the chain that the workers run, and the part that Python runs."""

    def __init__(self, output: str, value: Any, layout: str | None, in_sample: bool = False) -> None:
        self.in_sample = in_sample
        self.chain: Chain | None = value if isinstance(value, Chain) else None
        self.column: Column | None = None
        self.places = len(steps_of(self.chain))
        self.image = is_image(self.chain)
        self.layout = self._of(self.chain, "CHW")
        if isinstance(value, Transform):
            self._resolve(output, value, layout)
        elif layout is not None and self.chain is not None:
            self._for_sample(output, layout)

    @staticmethod
    def _of(chain: Chain | None, otherwise: str) -> str:
        return "HWC" if any(step.channels_last for step in steps_of(chain)) else otherwise

    def _resolve(self, output: str, value: Transform, layout: str | None) -> None:
        self.chain = value.chain
        self.places = len(steps_of(value.chain))
        chains = [part for part in (value.chain, *value.parts) if isinstance(part, Chain)]
        self.image = any(map(is_image, chains)) or any(
            isinstance(part, Step) and part.layout is not None for part in value.parts
        )
        now = self._of(value.chain, "CHW")
        parts: list[Call | Steps] = []
        functions = 0
        for number, part in enumerate(value.parts):
            following = value.parts[number + 1] if number + 1 < len(value.parts) else None
            if isinstance(part, Chain):
                moves = self.image and now == "CHW"
                now = self._of(part, "CHW")
                chain = part
                wanted = following.layout if isinstance(following, Step) else layout if following is None else None
                if wanted == "HWC" and now == "CHW" and self.image:
                    chain, now = chain | image.channels_last(), "HWC"
                pads = _pads(output, part, following is None and not self.in_sample)
                before = parts[-1] if parts else None
                differ = isinstance(before, Call) and before.shape is not None and None in before.shape
                items = (pads and not is_image(part)) or (not self.image and differ and _keeps_items(part))
                parts.append(Steps(output, chain, self.places, self.image, moves, items, repr(before)))
                self.places += len(steps_of(part))
                continue
            wanted = part.layout or now
            moves = False
            if wanted != now:
                if number == 0 and wanted == "HWC":  # the workers write this layout
                    self.chain = image.channels_last() if self.chain is None else self.chain | image.channels_last()
                else:
                    moves = True
                now = wanted
            draws = transform_number(output, functions) if takes_random(part.function) else None
            parts.append(Call(output, draws, part.function, part.shape, part.dtype, wanted, moves))
            functions += 1
            self.places += 1
        self.layout = now
        self.column = Column(output, parts)

    def _for_sample(self, output: str, layout: str) -> None:
        assert self.chain is not None
        steps = steps_of(self.chain)
        follows = ChainState.of(self.chain).followed is not None
        mask = follows and all(step.domain == "image" or step.converts for step in steps)
        if not steps and not follows:
            raise misuse(
                output,
                f'layout="{layout}" requires a chain that names the kind of data; add a step such as image.decode()',
            )
        if not self.image and not mask:
            return
        if layout == "HWC" and self.layout == "CHW":
            self.chain = self.chain | image.channels_last()
        elif layout != self.layout:
            raise misuse(output, f'{self.chain} returns (H, W, C), but layout="CHW" was requested')
        self.layout = layout


def _check_followers(fields: Mapping[str, Any]) -> None:
    """An output that follows an image uses the random numbers that the workers drew for that image. A later step in
    Python that moves pixels would leave the follower behind, so it is refused."""
    for output, value in fields.items():
        chain = value.chain if isinstance(value, Transform) else value
        followed = ChainState.of(chain).followed if isinstance(chain, Chain) else None
        leader = fields.get(followed) if followed is not None else None
        if isinstance(leader, Transform):
            for part in leader.parts:
                for step in steps_of(part) if isinstance(part, Chain) else []:
                    if step.domain == "image" and not step.leaves_places:
                        raise misuse(
                            output,
                            f'follows "{followed}", but {step} comes after a function there; put steps that move '
                            "pixels "
                            "before the function, or pass both outputs through sample_transform",
                        )


def parted(
    fields: Mapping[str, Any] | None, on_sample: SampleFunction | None
) -> tuple[dict[str, Any] | None, RowWork | None]:
    """Returns the chains that the loader's workers run, and the Python work on the rows after them; None if there is no
    such work."""
    columns: list[Column] = []
    chains: dict[str, Any] | None = None
    resolved: dict[str, Resolved] = {}
    if fields is not None:
        chains = {}
        _check_followers(fields)
        for output, value in fields.items():
            if not isinstance(value, (Chain, Transform)):
                chains[output] = value  # the compiled part raises the error
                continue
            in_sample = on_sample is not None and output in on_sample.keywords
            layout = on_sample.layout if on_sample is not None and in_sample else None
            one = resolved[output] = Resolved(output, value, layout, in_sample)
            chains[output] = one.chain
            if one.column is not None:
                columns.append(one.column)
    call = None if on_sample is None else _sample_call(on_sample, fields, resolved)
    if not columns and call is None:
        return chains, None
    counts = _counts(fields or {}, resolved, call)
    for count in counts:
        if not count.made_before and chains is not None:  # the workers cannot know these lengths
            del chains[count.output]
    return chains, RowWork(columns, call, counts=counts, order=list(fields or {}))


def _counts(fields: Mapping[str, Any], known: dict[str, Resolved], sample: SampleCall | None) -> list[Count]:
    """lengths() and valid_mask() of outputs that functions change."""
    counts = []
    for output, value in fields.items():
        chain = value.chain if isinstance(value, Transform) else value
        if not isinstance(chain, Chain):
            continue
        steps = steps_of(chain)
        if len(steps) != 1 or not (steps[0].counts_items or steps[0].marks_items):
            continue
        leader = ChainState.of(chain).followed
        if leader is None or leader not in known:
            continue
        column = known[leader].column
        in_sample = sample is not None and leader in sample.keywords
        if column is None and not in_sample:
            continue
        # the function gets the length of the rows that it receives beside this output
        if sample is not None and output in sample.keywords:
            if column is None and in_sample:
                continue
            raise misuse(output, f'counts items of "{leader}" after a function; count them in sample_transform instead')
        if isinstance(value, Transform):
            raise misuse(output, f'counts items of "{leader}" after a function, so it cannot have a function itself')
        counts.append(_count(output, steps[0].marks_items, leader, known[leader], sample if in_sample else None))
    return counts


def _count(output: str, mask: bool, leader: str, of: Resolved, sample: SampleCall | None) -> Count:
    column = of.column
    if sample is not None:
        steps = sample.after.get(leader)
        padding = None if steps is None else steps.padding
        ragged = sample.ragged(leader, column is None or column.ragged)
        step: object = sample
    else:
        assert column is not None
        padding, ragged, step = column.padded, column.ragged, column.parts[-1]
    before = None if of.chain is None else Padding.of(of.chain)
    if padding is None and before is not None and not (column is not None and column.ragged):
        if sample is None or not (leader in sample.shapes and ragged):
            return Count(output, leader, None, True)
    if not ragged and padding is None:
        raise misuse(output, no_items(leader, step))
    if mask and padding is None:
        raise misuse(
            output, f'valid_mask() shows which items pad() added, but no pad() comes after {step} of "{leader}"'
        )
    return Count(output, leader, padding if mask else None, False)


def _sample_call(on_sample: SampleFunction, fields: Mapping[str, Any] | None, known: dict[str, Resolved]) -> SampleCall:
    if fields is None and (on_sample.layout is not None or on_sample.after):
        raise misuse(
            next(iter(on_sample.keywords)), "sample_transform with layout= or after= requires the chains in transforms="
        )
    for output in on_sample.keywords:
        if fields is not None and output not in fields:
            raise misuse(output, f"sample_transform requires it, but transforms has {', '.join(fields)}")
    after = {}
    for output, chain in on_sample.after.items():
        of = known[output]
        of_image = of.image or is_image(chain)
        layout = on_sample.layout or of.layout
        pads = _pads(output, chain, True)
        shape = on_sample.shapes.get(output)
        differ = shape is not None and None in shape and _keeps_items(chain)
        items = (pads and not is_image(chain)) or (not of_image and differ)
        behind = f"sample_transform({name_of(on_sample.function)})"
        after[output] = Steps(output, chain, of.places + 1, of_image, of_image and layout == "CHW", items, behind)
    draws = not set(needed_places(on_sample.function)) <= set(on_sample.keywords.values())
    number = transform_number("", "on_sample") if draws else None
    return SampleCall(on_sample.function, on_sample.keywords, on_sample.shapes, on_sample.dtypes, number, after)
