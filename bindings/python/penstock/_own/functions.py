"""What a program puts into a loader: ps.transform(), a step of a chain, and ps.sample(), of several outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from .._penstock import Chain
from .._steps import refuse_step, torch_dtype_name
from .rows import name_of

_LAYOUTS = ("CHW", "HWC")


class ChainState(NamedTuple):
    """What a compiled chain is pickled as."""

    sources: list[str]
    followed: str | None
    misuse: str
    steps: tuple[str, ...]
    """As text."""
    window: str
    """As text; empty: none."""

    @classmethod
    def of(cls, chain: Chain) -> ChainState:
        return cls(*chain.__getstate__())

    @property
    def begins(self) -> bool:
        """Whether field(), window() or follow() stands in it."""
        return bool(self.sources) or bool(self.window) or self.followed is not None


class Step:
    __slots__ = ("dtype", "function", "layout", "shape")

    def __init__(
        self, function: Callable[..., Any], shape: Sequence[int | None] | None, dtype: Any, layout: str | None
    ) -> None:
        self.function = function
        self.shape = _shape(shape)
        self.dtype = torch_dtype_name(dtype) or dtype
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


_Parts = tuple[Union[Step, Chain], ...]


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
            refuse_step(self, before, True)
        return Transform(before if self.chain is None else before | self.chain, self.parts)

    def __or__(self, after: object) -> Transform:
        """A transform with the steps of `after` behind its own."""
        if isinstance(after, Transform):
            return (self if after.chain is None else self | after.chain)._followed_by(after.parts)
        if not isinstance(after, Chain):
            refuse_step(self, after, False)
        if ChainState.of(after).begins:
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

        transforms = {"jpg": ps.image.resize((64, 64)) | ps.transform(lambda image: image[::-1].copy())}
        transforms = {"jpg": ps.image.random_resized_crop(224) | ps.transform(augment, layout="HWC")
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
    return Transform(None, (Step(function, shape, dtype, layout),))


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
    """For Loader(sample_transform=...): `function(image=..., mask=...)` in Python, once for each sample, with several outputs.

        augment = A.Compose([A.RandomCrop(224, 224), A.HorizontalFlip()])
        loader = ps.Loader(..., transforms={"image": ps.field("jpg") | ps.image.resize((256, 256)), "mask": ...},
                           sample_transform=ps.sample(augment, ("image", "mask"), layout="HWC",
                                               after={"image": ps.image.normalize(mean, stddev)}))

    outputs: names of outputs, which the function gets as keyword arguments, as NumPy arrays; or a dict of outputs and the
    keywords that stand for them ({"boxes": "bboxes"}). It returns a dict with all of them, which become the rows of new
    NumPy arrays; what else the dict has is left.
    shapes, dtypes: output -> what comes back for it. Rows of a batch must come out alike; a shape whose first size is None,
    as (None, 4) for boxes that are filtered, gives a Ragged. Without, an output that is ragged stays so.
    after: output -> steps that go on with what came back, run by the compiled part in the same process.
    layout: "HWC" gives images, and masks of several channels, as (H, W, C), and expects them back so; None: as the batch
    would hold them.

    A function with a parameter without a default besides the outputs' gets a numpy.random.Generator as its first, by place:
    `def augment(random, image, mask)`. Outputs come by keyword; a function of transform() has the row first, the generator
    second. It is drawn from as told there.

    It runs after the functions of the chains and before batch_transform, where those run: see transform(), and
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
        if ChainState.of(chain).begins:
            raise TypeError(f'sample(): after["{name}"]: field() and follow() belong into transforms')
    checked = {name: _shape(shape) or () for name, shape in (shapes or {}).items()}
    named = {name: torch_dtype_name(dtype) or dtype for name, dtype in (dtypes or {}).items()}
    return SampleFunction(function, keywords, checked, named, dict(after or {}), layout)
