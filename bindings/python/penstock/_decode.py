"""Decodes values in memory or files with a chain, for programs that keep their own loader."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

from ._error import made
from ._own.functions import Transform
from ._penstock import Chain, ChainDecoder, image

if TYPE_CHECKING:
    import numpy as np

Value = Union[bytes, bytearray, memoryview, "np.ndarray", str, "os.PathLike[str]"]
Finish = Callable[[Any, str], Any]

_ALONE = "value"  # the field and the output of a value without a name
_MOST = 64
_decoders: dict[tuple[tuple[str, str], ...], ChainDecoder] = {}
_of_parents: list[object] = []


def _forget_decoders() -> None:
    """A thread of the parent may have held a decoder's lock at the time of fork(). The child never destroys it."""
    global _decoders
    _of_parents.append(_decoders)
    _decoders = {}


os.register_at_fork(after_in_child=_forget_decoders)


def decode(
    value: Value | Mapping[str, Value],
    chain: Chain | Mapping[str, Chain] | None = None,
    out: Any = None,
    *,
    seed: int | None = None,
) -> Any:
    """Decodes one value with a chain, for a Dataset of your own. Returns a NumPy array.

        pixels = ps.decode("cat.jpg", ps.image.random_resized_crop(224) | ps.image.random_horizontal_flip())

    Only the pixels that a crop needs are decoded. The call releases the GIL, so threads decode in parallel.
    penstock.torch.decode() returns a tensor.

    value: the bytes of a file (bytes, bytearray, memoryview or uint8 array), or its path. A dict of values is a sample,
      with the field names of a dataset. `chain` is then a dict of chains, and the result is a dict of arrays.
      Masks, boxes and keypoints follow() an image:
      ps.decode({"jpg": photo, "png": mask}, {"jpg": crop, "png": ps.follow("jpg")}).
    chain: as in a Loader, without ps.transform(): call your functions on the result. Default: ps.image.decode(). Images
      are uint8 (C, H, W). `ps.image.channels_last()` gives (H, W, C).
    out: an array of the result's dtype and shape, NumPy or torch in host memory, to fill and return.
    seed: determines the random steps. Default: a number from Python's `random`, which torch seeds in each worker of a
      DataLoader.

    Thread-safe. Raises Error: corrupt, unsupported, shape, io, invalid_argument.
    """
    return run(value, chain, out, seed, as_numpy)


def decode_batch(
    values: Sequence[Value], chain: Chain | None = None, out: Any = None, *, seed: int | None = None, workers: int = 0
) -> Any:
    """Decodes several values with one chain into one NumPy array. Its first dimension is the number of values.

        images = ps.decode_batch(paths, ps.image.resize((224, 224)))  # uint8 (n, 3, 224, 224)

    The parameters are those of decode(). All results must have one dtype and shape. The random draws of a value depend
    on `seed` and its position.

    workers: threads, 0: as many as there are usable cores.

    Raises Error as decode() does, and names the path or the position of the value.
    """
    return run_batch(values, chain, out, seed, workers, as_numpy)


class decoder:
    """decode() with a fixed chain, as a function of a value. Can be pickled, for workers of a DataLoader.

    ImageFolder("photos", loader=ps.decoder(ps.image.resize((224, 224)) | ps.image.channels_last()))
    """

    def __init__(self, chain: Chain | None = None) -> None:
        self.chain = _chain_of(chain)

    def __call__(self, value: Value) -> Any:
        """Decodes one value."""
        return decode(value, self.chain)

    def __repr__(self) -> str:
        return f"penstock.decoder({self.chain})"


def _chain_of(chain: Any) -> Chain:
    if chain is None:
        return image.decode()
    if isinstance(chain, Transform):
        raise TypeError(f"decode() does not run Python functions: call them on the result, and not in {chain}")
    if not isinstance(chain, Chain):
        raise TypeError(
            f"a chain is a step such as ps.image.resize(224), or several joined by |, not {type(chain).__name__}"
        )
    return chain


def _decoder_of(chains: dict[str, Chain]) -> ChainDecoder:
    key = tuple((name, repr(chain)) for name, chain in chains.items())
    found = _decoders.get(key)
    if found is None:
        while len(_decoders) >= _MOST:
            _decoders.pop(next(iter(_decoders)), None)
        found = _decoders[key] = ChainDecoder(list(chains.items()))
    return found


def _field(name: str, value: Any) -> tuple[str, str, Any]:
    """The field for ChainDecoder: name, extension, and a path as str or the bytes as an array."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fsdecode(cast("str | os.PathLike[str]", value))
        return name, os.path.splitext(path)[1][1:].lower(), path
    extension = "" if name == _ALONE else name.rsplit(".", 1)[-1].lower()
    import numpy as np  # here, because importing penstock does not import it

    try:
        return name, extension, np.frombuffer(value, np.uint8)
    except (TypeError, ValueError) as error:
        raise TypeError(f"a value is bytes or a path, not {type(value).__name__}") from error


def _seed(seed: int | None) -> int:
    return random.getrandbits(64) if seed is None else seed % 2**64


def run(value: Any, chain: Any, out: Any, seed: int | None, finish: Finish) -> Any:
    """decode(), with the function that makes results of arrays and their dtypes."""
    if isinstance(value, Mapping) != isinstance(chain, Mapping):
        raise TypeError("decode() takes a value and a chain, or a dict of values and a dict of chains")
    if isinstance(value, Mapping):
        if out is not None:
            raise TypeError("decode() of a dict takes no out")
        chains = {name: _chain_of(one) for name, one in chain.items()}
        results = _Results(len(chains), None)
        _decoder_of(chains).decode([_field(name, one) for name, one in value.items()], "", _seed(seed), results.memory)
        return {name: results.finished(i, finish) for i, name in enumerate(chains)}
    results = _Results(1, out)
    shown = os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else ""
    _decoder_of({_ALONE: _chain_of(chain)}).decode([_field(_ALONE, value)], shown, _seed(seed), results.memory)
    return results.finished(0, finish)


def run_batch(values: Sequence[Value], chain: Any, out: Any, seed: int | None, workers: int, finish: Finish) -> Any:
    """decode_batch(), likewise."""
    if len(values) == 0:
        raise made("invalid_argument", "decode_batch() takes at least one value")
    if workers < 0:
        raise made("invalid_argument", f"workers must be 0 or more, not {workers}")
    results = _Results(1, out)
    fields = [_field(_ALONE, value) for value in values]
    _decoder_of({_ALONE: _chain_of(chain)}).decode_rows(fields, _seed(seed), workers, results.memory)
    return results.finished(0, finish)


def as_numpy(array: np.ndarray, dtype: str) -> np.ndarray:
    """A result in NumPy."""
    if dtype == "bfloat16":
        raise made("unsupported", 'NumPy has no bfloat16: use penstock.torch.decode(), or image.cast("float16")')
    return array


class _Results:
    """Memory for the results: new arrays, or `out`. bfloat16 is uint16 here."""

    def __init__(self, outputs: int, out: Any) -> None:
        self._arrays: list[Any] = [None] * outputs
        self._dtypes = [""] * outputs
        self._out = out

    def memory(self, output: int, dtype: str, shape: tuple[int, ...]) -> Any:
        if self._out is not None:
            return self._out
        import numpy as np

        self._arrays[output] = np.empty(shape, "uint16" if dtype == "bfloat16" else dtype)
        self._dtypes[output] = dtype
        return self._arrays[output]

    def finished(self, output: int, finish: Finish) -> Any:
        return self._out if self._out is not None else finish(self._arrays[output], self._dtypes[output])
