"""The datasets whose batches penstock makes. image_folder.py and hugging_face.py have one kind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Unmade(Exception):
    """penstock cannot make this batch as torch would. str() is the reason."""


class Sample(NamedTuple):
    name: str
    value: str | bytes
    """A path, or the content of a file."""
    numbers: tuple[Any, ...]
    """Such as the label."""


class Source(Protocol):
    kind: str
    """Its name in reports."""
    reads: bool
    """Whether samples() reads files."""
    upright: bool
    """Whether opened() applies the orientation of EXIF."""

    def validate(self, made: Any) -> None:
        """Raises Refused, at the place `made`, if it has samples of another form."""

    def samples(self, indices: Sequence[Any], folder: str = "") -> list[Sample]:
        """folder: of relative paths."""

    def paths(self) -> Sequence[str | None]:
        """Returns the path of each sample."""

    def require_plain(self, sample: Sample) -> None:
        """Raises Unmade for a file that becomes other pixels than in the program."""

    def opened(self, sample: Sample) -> Any:
        """The PIL image that the transforms get."""

    def size(self, sample: Sample) -> tuple[int, int]:
        """(width, height) of opened(), without decoding."""

    def of_item(self, item: Any) -> tuple[Any, tuple[Any, ...]]:
        """The image and the numbers of an item of the dataset."""

    def batch(self, images: Any, numbers: list[Any]) -> Any:
        """A batch of tensors, as the collate function returns it."""

    def image_key(self) -> Any:
        """The place of the images in a batch."""

    def copied(self) -> Source:
        """A copy that the program does not change."""
