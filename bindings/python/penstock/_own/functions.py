"""The custom transforms of programs: ps.transform() for one output, ps.sample_transform() for several outputs of a
sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from .._penstock import Chain
from .._steps import refuse_step, torch_dtype_name
from .._words import keywords_in_words
from .rows import name_of

_LAYOUTS = ("CHW", "HWC")


class ChainState(NamedTuple):
    """The pickled form of a compiled chain."""

    sources: list[str]
    followed: str | None
    misuse: str
    steps: tuple[str, ...]
    """Their text, for pickles only. steps_of() returns steps with traits."""
    window: str
    """The window as text; empty: none."""

    @classmethod
    def of(cls, chain: Chain) -> ChainState:
        return cls(*chain.__getstate__())

    @property
    def begins(self) -> bool:
        """Whether the chain contains field(), window() or follow()."""
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
        raise TypeError(f'{function}(): layout must be "CHW" or "HWC", not {layout!r}')


_Parts = tuple[Union[Step, Chain], ...]


class Transform:
    """A chain that contains Python functions; made by transform()."""

    __slots__ = ("chain", "parts")

    def __init__(self, chain: Chain | None, parts: _Parts) -> None:
        self.chain = chain
        """The part that the loader's workers run; None: the default of the field's codec."""
        self.parts = parts
        """The rest: functions, and the chains between and after them."""

    def __ror__(self, before: Chain) -> Transform:
        if not isinstance(before, Chain):
            refuse_step(self, before, True)
        return Transform(before if self.chain is None else before | self.chain, self.parts)

    def __or__(self, after: object) -> Transform:
        """Returns a transform with the steps of `after` appended."""
        if isinstance(after, Transform):
            return (self if after.chain is None else self | after.chain)._followed_by(after.parts)
        if not isinstance(after, Chain):
            refuse_step(self, after, False)
        if ChainState.of(after).begins:
            raise TypeError(f"{after} cannot follow {self}: field() and follow() must come first in a chain")
        if isinstance(self.parts[-1], Chain):
            return Transform(self.chain, (*self.parts[:-1], self.parts[-1] | after))
        return self._followed_by((after,))

    def _followed_by(self, parts: _Parts) -> Transform:
        return Transform(self.chain, self.parts + parts)

    def __repr__(self) -> str:
        return " | ".join([str(part) for part in (self.chain, *self.parts) if part is not None])


@keywords_in_words
def transform(
    function: Callable[..., Any],
    shape: Sequence[int | None] | None = None,
    dtype: Any = None,
    *,
    layout: str | None = None,
) -> Transform:
    """Calls `function(row)` in Python, as a transform of a chain. Such a transform is slow (see below): use it for work
    that the workers cannot do.

        transforms = {"jpg": ps.image.resize((64, 64)) | ps.transform(lambda image: image[::-1].copy())}
        transforms = {"jpg": ps.image.random_resized_crop(224) | ps.transform(augment, layout="HWC")
                         | ps.image.normalize(mean, std)}

    `row` is a NumPy array, a view of the batch's memory. Its value is the one that the batch would hold if the chain
    ended there (uint8 (3, 64, 64), float32 (3, 64, 64), ...; for a ragged output uint8 (n,)).

    If no transform follows, the batch holds a new NumPy array instead of a Tensor, and the results are its rows. All
    rows of a batch need the same shape and dtype. `shape` and `dtype` state them; `dtype` then converts ("same_kind" in
    NumPy's terms). A shape whose first size is None, such as (None, 4), gives a Ragged.

    Transforms that follow take the result as if it were decoded; those for images need uint8. A row may then have any
    shape, as long as the later transforms make all rows alike.

    layout: for images. "HWC": the function gets and returns (H, W, C), as OpenCV and Albumentations need it. "CHW" or
      None: (C, H, W), or the layout of an earlier image.channels_last().

    If the function has a second parameter without a default, it also gets a numpy.random.Generator. The generator's
    seed depends on seed, epoch, sample and output name, so a restored loader and Loader.at() draw the same numbers
    again.

    All such functions of a loader run in one thread, ahead of the program, row by row, and hold the GIL. With
    Loader(python_workers=N) they run in N processes. If a function raises, the loop gets the exception, with a note on
    output, sample, epoch and batch; on_error does not apply. With on_error="mark", invalid samples are zeros, and no
    function sees them.
    """
    if not callable(function):
        raise TypeError(f"transform() requires a function, not {function!r}")
    _layout("transform", layout)
    return Transform(None, (Step(function, shape, dtype, layout),))


class SampleFunction:
    """A function of several outputs of a sample; made by sample_transform()."""

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
        return f"sample_transform({name_of(self.function)})"


@keywords_in_words
def sample_transform(
    function: Callable[..., Any],
    outputs: Sequence[str] | Mapping[str, str],
    *,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    after: Mapping[str, Chain] | None = None,
    layout: str | None = None,
) -> SampleFunction:
    """Calls `function(image=..., mask=...)` in Python, once for each sample. For Loader(sample_transform=...).

        augment = A.Compose([A.RandomCrop(224, 224), A.HorizontalFlip()])
        loader = ps.Loader(..., transforms={"image": ps.field("jpg") | ps.image.resize((256, 256)), "mask": ...},
                           sample_transform=ps.sample_transform(augment, ("image", "mask"), layout="HWC",
                                               after={"image": ps.image.normalize(mean, std)}))

    outputs: names of outputs. The function gets them as keyword arguments, as NumPy arrays. A dict gives other
      keywords: {"boxes": "bboxes"}. The function returns a dict with all of them. The values become the rows of new
      NumPy arrays. Other keys of the dict are ignored.
    shapes, dtypes: output -> shape or dtype of the results. All rows of a batch need the same ones. A shape whose first
      size is None, such as (None, 4) for boxes that are filtered, gives a Ragged. By default a ragged output stays
      ragged.
    after: output -> transforms of the result, which the compiled part runs in the same process.
    layout: "HWC": the function gets and returns images and masks of several channels as (H, W, C). None: the layout
      that the batch would have.

    A parameter that is not an output and has no default receives a numpy.random.Generator, seeded as in transform().
    This parameter must be the first positional one: `def augment(random, image, mask)`.

    The function runs after those of the chains and before batch_transform, in the same thread or in the processes of
    Loader(python_workers=N).
    """
    if not callable(function):
        raise TypeError(f"sample_transform() requires a function, not {function!r}")
    if isinstance(outputs, str):
        raise TypeError(f'sample_transform(): outputs must be a sequence of names: ("{outputs}",)')
    _layout("sample_transform", layout)
    keywords = dict(outputs) if isinstance(outputs, Mapping) else {name: name for name in outputs}
    if not keywords:
        raise TypeError("sample_transform() requires the outputs that the function gets")
    if len(set(keywords.values())) != len(keywords):
        raise TypeError("sample_transform(): two outputs have the same keyword")
    for option, given in (("shapes", shapes), ("dtypes", dtypes), ("after", after)):
        for name in given or {}:
            if name not in keywords:
                raise TypeError(f'sample_transform(): {option} names "{name}", which is not one of its outputs')
    for name, chain in (after or {}).items():
        if not isinstance(chain, Chain):
            raise TypeError(f'sample_transform(): after["{name}"] must be a chain of steps, not {chain!r}')
        if ChainState.of(chain).begins:
            raise TypeError(f'sample_transform(): after["{name}"]: field() and follow() belong in transforms=')
    checked = {name: _shape(shape) or () for name, shape in (shapes or {}).items()}
    named = {name: torch_dtype_name(dtype) or dtype for name, dtype in (dtypes or {}).items()}
    return SampleFunction(function, keywords, checked, named, dict(after or {}), layout)
