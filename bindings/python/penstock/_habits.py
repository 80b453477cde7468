"""Errors for members that arrays and modules of other libraries have. Each names the replacement."""

from __future__ import annotations

import sys
from typing import NoReturn

from ._penstock import Dataset, Ragged, Tensor, hint_for

# Names of torch tensor members. A list, because torch may not be imported; NumPy's names are looked up in NumPy.
_OF_TORCH = frozenset(
    "bfloat16 bool byte chunk clamp clone contiguous cuda detach dim double expand expand_as flatten float gather half "
    "index_select int is_cuda item long masked_select mul narrow norm numel one_hot permute pin_memory requires_grad "
    "requires_grad_ scatter short softmax split stack sub to type type_as unbind unfold unsqueeze view view_as".split()
)


def here(module: str, name: str) -> str:
    """Says that `module` has no `name`, and names the replacement if one is known."""
    return f"module {module!r} has no attribute {name!r}{hint_for('module', name)}"


def _known(name: str) -> bool:
    """Whether NumPy arrays or torch tensors have this member."""
    if name[0] == "_":
        return False
    if name in _OF_TORCH:
        return True
    loaded = (("numpy", "ndarray"), ("torch", "Tensor"))
    return any(hasattr(getattr(sys.modules.get(module), kind, None), name) for module, kind in loaded)


def no_member_of_tensor(tensor: Tensor, name: str) -> NoReturn:
    """Raises AttributeError; the compiled Tensor.__getattr__ calls it."""
    if name == "size":
        raise AttributeError("a penstock.Tensor has no size; use t.shape, len(t) or t.nbytes")
    if name in ("to", "cuda"):
        raise AttributeError(
            f'a penstock.Tensor has no {name}; use t.torch().{name}(...), or Loader(device="cuda:0"), which copies '
            "batches in advance"
        )
    if _known(name):
        raise AttributeError(
            f"a penstock.Tensor only holds values and has no {name}; use t.torch().{name} or t.numpy().{name}"
        )
    raise AttributeError(f"'penstock.Tensor' object has no attribute {name!r}")


def no_member_of_ragged(ragged: Ragged, name: str) -> NoReturn:
    """Raises AttributeError; the compiled Ragged.__getattr__ calls it."""
    if name in ("shape", "dtype", "ndim", "numpy", "torch", "tolist") or _known(name):
        raise AttributeError(
            f"a penstock.Ragged has no {name}, because its rows differ in length; use the tensors r.values and "
            "r.offsets, a "
            "row r[i], or the list ps.torch.rows(r)"
        )
    raise AttributeError(f"'penstock.Ragged' object has no attribute {name!r}")


def no_member_of_dataset(dataset: Dataset, name: str) -> NoReturn:
    """Raises AttributeError; the compiled Dataset.__getattr__ calls it."""
    raise AttributeError(f"'penstock.Dataset' object has no attribute {name!r}{hint_for('Dataset', name)}")
