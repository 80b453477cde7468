"""Runs what a program adds to a loader in Python: functions of single rows and samples, and one of whole batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from .._penstock import Chain, image
from .._warn import warn
from .batch import BatchRows, in_this_thread
from .rows import (
    Call,
    Column,
    RowWork,
    SampleCall,
    Steps,
    add_note,
    generator,
    misuse,
    name_of,
    takes_random,
    transform_number,
)

if TYPE_CHECKING:
    from .processes import Processes

_LAYOUTS = ("CHW", "HWC")


class _Step:
    __slots__ = ("dtype", "function", "layout", "shape")

    def __init__(
        self, function: Callable[..., Any], shape: Sequence[int | None] | None, dtype: Any, layout: str | None
    ) -> None:
        self.function = function
        self.shape = _shape(shape)
        self.dtype = dtype
        self.layout = layout

    def __repr__(self) -> str:
        return f"transform({name_of(self.function)})"


def _shape(shape: Sequence[int | None] | None) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    sizes = tuple(None if size is None else int(size) for size in shape)
    if None in sizes[1:]:
        raise TypeError(f"shape {sizes}: only the first size may be None, for rows of different length")
    return sizes


def _layout(function: str, layout: str | None) -> None:
    if layout is not None and layout not in _LAYOUTS:
        raise TypeError(f'{function}(): layout is "CHW" or "HWC", not {layout!r}')


_Parts = tuple[Union[_Step, Chain], ...]


class Transform:
    """A chain with functions in it that Python computes; made by transform()."""

    __slots__ = ("chain", "parts")

    def __init__(self, chain: Chain | None, parts: _Parts) -> None:
        self.chain = chain
        """What the loader's workers do before; None: what the field's codec gives."""
        self.parts = parts
        """From the first function on: functions, and chains of steps behind them."""

    def __ror__(self, before: Chain) -> Transform:
        if not isinstance(before, Chain):
            return NotImplemented
        return Transform(before if self.chain is None else before | self.chain, self.parts)

    def __or__(self, after: object) -> Transform:
        if isinstance(after, Transform):
            return (self if after.chain is None else self | after.chain)._followed_by(after.parts)
        if not isinstance(after, Chain):
            return NotImplemented
        sources, followed, _, _ = after.__getstate__()
        if sources or followed is not None:
            raise TypeError(f"{after} cannot follow {self}: field() and follow() come first in a chain")
        if isinstance(self.parts[-1], Chain):
            return Transform(self.chain, (*self.parts[:-1], self.parts[-1] | after))
        return self._followed_by((after,))

    def _followed_by(self, parts: _Parts) -> Transform:
        return Transform(self.chain, self.parts + parts)

    def __repr__(self) -> str:
        return " | ".join([str(part) for part in (self.chain, *self.parts) if part is not None])


def transform(
    function: Callable[..., Any],
    shape: Sequence[int | None] | None = None,
    dtype: Any = None,
    *,
    layout: str | None = None,
) -> Transform:
    """A step of a chain: `function(row)` in Python, for what the workers cannot do. Slow: see below.

        fields = {"jpg": ps.image.resize((64, 64)) | ps.transform(lambda image: image[::-1].copy())}
        fields = {"jpg": ps.image.random_resized_crop(224) | ps.transform(augment, layout="HWC")
                         | ps.image.normalize(mean, stddev)}

    `row` is a NumPy array, a view of the batch's memory, as the batch would hold it if the chain ended there (uint8
    (3, 64, 64), float32 (3, 64, 64), ...; of a ragged output, uint8 (n,)). Where nothing stands behind it, what the function
    returns becomes that row of a new NumPy array, which the batch then holds in place of a Tensor. All rows of a batch must
    come out with one shape and dtype; `shape` and `dtype`, where they are given, say which, and dtype then converts
    ("same_kind", as NumPy calls it). A shape whose first size is None, (None, 4), gives a Ragged.

    Steps behind it go on with what the function returned as with a decoded value; those of images want uint8. A row may
    have any shape there, as long as the steps make all rows alike.

    layout: of images, "HWC" has the function get and return (H, W, C), as OpenCV and Albumentations want it; "CHW", or
    None: (C, H, W), or what image.channels_last() before it makes.

    A function with a second parameter, one without a default, also gets a numpy.random.Generator that is a function of
    the loader's seed, the epoch, the sample, and the output's name: whatever is drawn from it is drawn again by a
    restored loader, and by Loader.at().

    All such functions of a loader run in one thread, ahead of the program, one row after the other, and hold Python's
    lock as they do so; Loader(python_workers=N) runs them in N processes. An exception of one is what the loop gets, with
    a note on output, sample, epoch and batch, whatever `on_error` says; with on_error="mark", rows that do not count are
    zeros, and no function sees them.
    """
    if not callable(function):
        raise TypeError(f"transform() takes a function, not {function!r}")
    _layout("transform", layout)
    return Transform(None, (_Step(function, shape, dtype, layout),))


class SampleFunction:
    """A function of several outputs of a sample; made by sample()."""

    __slots__ = ("after", "dtypes", "function", "keywords", "layout", "shapes")

    def __init__(
        self,
        function: Callable[..., Any],
        keywords: dict[str, str],
        shapes: dict[str, tuple[int | None, ...]],
        dtypes: dict[str, Any],
        after: dict[str, Chain],
        layout: str | None,
    ) -> None:
        self.function, self.keywords, self.shapes, self.dtypes = function, keywords, shapes, dtypes
        self.after, self.layout = after, layout

    def __repr__(self) -> str:
        return f"sample({name_of(self.function)})"


def sample(
    function: Callable[..., Any],
    outputs: Sequence[str] | Mapping[str, str],
    *,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    after: Mapping[str, Chain] | None = None,
    layout: str | None = None,
) -> SampleFunction:
    """For Loader(on_sample=...): `function(image=..., mask=...)` in Python, once for each sample, with several outputs.

        augment = A.Compose([A.RandomCrop(224, 224), A.HorizontalFlip()])
        loader = ps.Loader(..., fields={"image": ps.field("jpg") | ps.image.resize((256, 256)), "mask": ...},
                           on_sample=ps.sample(augment, ("image", "mask"), layout="HWC",
                                               after={"image": ps.image.normalize(mean, stddev)}))

    outputs: names of outputs, which the function gets as keyword arguments, as NumPy arrays; or a dict of outputs and the
    keywords that stand for them ({"boxes": "bboxes"}). It returns a dict with all of them, which become the rows of new
    NumPy arrays; what else the dict has is left.
    shapes, dtypes: output -> what comes back for it. Rows of a batch must come out alike; a shape whose first size is None,
    as (None, 4) for boxes that are filtered, gives a Ragged. Without, an output that is ragged stays so.
    after: output -> steps that go on with what came back, run by the compiled part in the same process.
    layout: "HWC" gives images, and masks of several channels, as (H, W, C), and expects them back so; None: as the batch
    would hold them.

    A function with a parameter without a default besides the outputs' gets a numpy.random.Generator by place, first, as in
    transform().

    It runs after the functions of the fields' chains and before on_batch, where those run: see transform(), and
    Loader(python_workers=N).
    """
    if not callable(function):
        raise TypeError(f"sample() takes a function, not {function!r}")
    if isinstance(outputs, str):
        raise TypeError(f'sample(): outputs is a sequence of names: ("{outputs}",)')
    _layout("sample", layout)
    keywords = dict(outputs) if isinstance(outputs, Mapping) else {name: name for name in outputs}
    if not keywords:
        raise TypeError("sample() needs the outputs that the function gets")
    if len(set(keywords.values())) != len(keywords):
        raise TypeError("sample(): two outputs have the same keyword")
    for option, given in (("shapes", shapes), ("dtypes", dtypes), ("after", after)):
        for name in given or {}:
            if name not in keywords:
                raise TypeError(f'sample(): {option} names "{name}", which is none of its outputs')
    for name, chain in (after or {}).items():
        if not isinstance(chain, Chain):
            raise TypeError(f'sample(): after["{name}"] is a chain of steps, not {chain!r}')
        sources, followed, _, _ = chain.__getstate__()
        if sources or followed is not None:
            raise TypeError(f'sample(): after["{name}"]: field() and follow() belong into fields')
    checked = {name: _shape(shape) or () for name, shape in (shapes or {}).items()}
    return SampleFunction(function, keywords, checked, dict(dtypes or {}), dict(after or {}), layout)


def _wants_generator(function: Callable[..., Any], keywords: set[str]) -> bool:
    """Whether it has a parameter by place, without a default, that is no output."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is p.empty and p.name not in keywords for p in parameters)


def _steps_of(chain: Chain | None) -> list[str]:
    return [] if chain is None else list(chain.__getstate__()[3])


def _is_image(chain: Chain | None) -> bool:
    return any(step.startswith("image.") for step in _steps_of(chain))


class _Resolved:
    """One output: the chain that the workers run, and what is Python's."""

    def __init__(self, output: str, value: Any, layout: str | None) -> None:
        self.chain: Chain | None = value if isinstance(value, Chain) else None
        self.column: Column | None = None
        self.places = len(_steps_of(self.chain))
        self.image = _is_image(self.chain)
        self.layout = self._of(self.chain, "CHW")
        if isinstance(value, Transform):
            self._resolve(output, value, layout)
        elif layout is not None and self.chain is not None:
            self._for_sample(output, layout)

    @staticmethod
    def _of(chain: Chain | None, otherwise: str) -> str:
        return "HWC" if "image.channels_last()" in _steps_of(chain) else otherwise

    def _resolve(self, output: str, value: Transform, layout: str | None) -> None:
        self.chain = value.chain
        self.places = len(_steps_of(value.chain))
        chains = [part for part in (value.chain, *value.parts) if isinstance(part, Chain)]
        self.image = any(map(_is_image, chains)) or any(
            isinstance(part, _Step) and part.layout is not None for part in value.parts
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
                wanted = following.layout if isinstance(following, _Step) else layout if following is None else None
                if wanted == "HWC" and now == "CHW" and self.image:
                    chain, now = chain | image.channels_last(), "HWC"
                parts.append(Steps(output, chain, self.places, self.image, moves))
                self.places += len(_steps_of(part))
                continue
            wanted = part.layout or now
            moves = False
            if wanted != now:
                if number == 0 and wanted == "HWC":  # the workers write it so
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
        steps = _steps_of(self.chain)
        follows = self.chain.__getstate__()[1] is not None
        mask = follows and all(step.startswith(("image.", "cast(")) for step in steps)
        if not steps and not follows:
            raise misuse(output, f'layout="{layout}" needs to know what it is: name a step, as image.decode()')
        if not self.image and not mask:
            return
        if layout == "HWC" and self.layout == "CHW":
            self.chain = self.chain | image.channels_last()
        elif layout != self.layout:
            raise misuse(output, f'{self.chain} gives (H, W, C), and layout="CHW" is asked for')
        self.layout = layout


def _check_followers(fields: Mapping[str, Any]) -> None:
    """What follows an image goes by what the workers drew for it."""
    for output, value in fields.items():
        chain = value.chain if isinstance(value, Transform) else value
        followed = chain.__getstate__()[1] if isinstance(chain, Chain) else None
        leader = fields.get(followed) if followed is not None else None
        if isinstance(leader, Transform):
            for part in leader.parts:
                for step in _steps_of(part) if isinstance(part, Chain) else []:
                    if step.startswith("image.") and not step.startswith(_LEAVES_PLACES):
                        raise misuse(
                            output,
                            f'follows "{followed}", where {step} stands behind a function: what moves pixels must stand '
                            "before it, or both go through on_sample",
                        )


_LEAVES_PLACES = (
    "image.decode", "image.normalize", "image.cast", "image.channels_last", "image.color_jitter", "image.grayscale",
    "image.random_grayscale", "image.random_invert", "image.random_posterize", "image.random_solarize",
    "image.random_sharpness", "image.random_autocontrast", "image.random_equalize", "image.gaussian_blur",
    "image.random_erasing",
)  # fmt: skip


class OwnStep:
    """All functions of one loader; called by its thread, with each batch in order, and by Loader.at()."""

    def __init__(
        self, work: RowWork | None, on_batch: Callable[..., Any] | None, marks: bool, processes: Processes | None
    ) -> None:
        self._work = work
        self._on_batch = on_batch
        self._on_batch_number = (
            transform_number("", "on_batch") if on_batch is not None and takes_random(on_batch) else None
        )
        self._marks = marks
        self._processes = processes
        self._one_at_a_time = threading.Lock()  # of batches whose rows are seeded
        self.seconds: dict[str, float] = {}
        """Inside each output's functions, on_sample and on_batch; in processes, of all of them together."""
        self.reset()

    def stats(self) -> dict[str, Any]:
        processes = self._processes
        return {
            "python_s": dict(self.seconds),
            "python_workers": 0 if processes is None else processes.workers,
            "python_workers_replaced": 0 if processes is None else processes.replaced,
        }

    def reset(self) -> None:
        names = [] if self._work is None else self._work.timed
        self.seconds.update(dict.fromkeys(names + (["on_batch"] if self._on_batch is not None else []), 0.0))

    def stop(self) -> None:
        """Before the loader ends: batches that are still in the making are given up."""
        if self._processes is not None:
            self._processes.stop()

    def close(self) -> None:
        """After it has ended."""
        if self._processes is not None:
            self._processes.close()

    def __call__(self, batch: dict[str, Any], seed: int, epoch: int, number: int, draws: list[int]) -> Any:
        try:
            return self._run(batch, seed, epoch, draws)
        except StopIteration as error:  # would pass for the end of the epoch
            raised = RuntimeError("a function of a loader raised StopIteration")
            add_note(raised, f"penstock: epoch {epoch}, batch {number}")
            raise raised from error
        except BaseException as error:
            add_note(error, f"penstock: epoch {epoch}, batch {number}")
            raise

    def _run(self, batch: dict[str, Any], seed: int, epoch: int, draws: list[int]) -> Any:
        if self._work is not None:
            valid = [byte != 0 for byte in batch["__valid__"].tobytes()] if self._marks else None
            self._rows(self._work, BatchRows(batch, seed, epoch, draws, valid, self._work))
        if self._on_batch is None:
            return batch
        began = time.perf_counter()
        if self._on_batch_number is None:
            made = self._on_batch(batch)
        else:
            made = self._on_batch(batch, generator(seed, epoch, draws[0], self._on_batch_number))
        self.seconds["on_batch"] += time.perf_counter() - began
        if made is None:
            raise TypeError("on_batch returned None: return the batch, or what the loop should get in its place")
        return made

    def _rows(self, work: RowWork, batch: BatchRows) -> None:
        if self._processes is not None:
            seconds = self._processes.run(batch)
        elif work.seeds.wanted:
            with self._one_at_a_time:
                seconds = in_this_thread(work, batch)
        else:
            seconds = in_this_thread(work, batch)
        for name, spent in seconds.items():
            self.seconds[name] += spent


def own_step(
    fields: dict[str, Any] | None,
    on_sample: SampleFunction | None,
    on_batch: Callable[..., Any] | None,
    marks: bool,
    python_workers: int,
) -> tuple[dict[str, Any] | None, OwnStep | None]:
    """The chains that the loader's workers run, and what runs all that is Python's."""
    if on_batch is not None and not callable(on_batch):
        raise TypeError(f"on_batch is a function, not {on_batch!r}")
    if on_sample is not None and not isinstance(on_sample, SampleFunction):
        raise TypeError(f"on_sample is ps.sample(function, outputs), not {on_sample!r}")
    columns: list[Column] = []
    chains: dict[str, Any] | None = None
    resolved: dict[str, _Resolved] = {}
    if fields is not None:
        chains = {}
        _check_followers(fields)
        for output, value in fields.items():
            if not isinstance(value, (Chain, Transform)):
                chains[output] = value  # which the compiled part refuses
                continue
            layout = on_sample.layout if on_sample is not None and output in on_sample.keywords else None
            one = resolved[output] = _Resolved(output, value, layout)
            chains[output] = one.chain
            if one.column is not None:
                columns.append(one.column)
    call = None if on_sample is None else _sample_call(on_sample, fields, resolved)
    work = RowWork(columns, call) if columns or call is not None else None
    processes = None
    if python_workers > 0:
        if work is None:
            warn("penstock: python_workers run ps.transform() and ps.sample(), of which this loader has none")
        else:
            from .processes import Processes

            processes = Processes(work, python_workers)
    step = OwnStep(work, on_batch, marks, processes) if work is not None or on_batch is not None else None
    return chains, step


def _sample_call(on_sample: SampleFunction, fields: Mapping[str, Any] | None, known: dict[str, _Resolved]) -> SampleCall:
    if fields is None and (on_sample.layout is not None or on_sample.after):
        raise misuse(next(iter(on_sample.keywords)), "on_sample with layout= or after= needs the chains in fields=")
    for output in on_sample.keywords:
        if fields is not None and output not in fields:
            raise misuse(output, f"on_sample asks for it, and fields has {', '.join(fields)}")
    after = {}
    for output, chain in on_sample.after.items():
        of = known[output]
        is_image = of.image or _is_image(chain)
        layout = on_sample.layout or of.layout
        after[output] = Steps(output, chain, of.places + 1, is_image, is_image and layout == "CHW")
    draws = _wants_generator(on_sample.function, set(on_sample.keywords.values()))
    number = transform_number("", "on_sample") if draws else None
    return SampleCall(on_sample.function, on_sample.keywords, on_sample.shapes, on_sample.dtypes, number, after)
