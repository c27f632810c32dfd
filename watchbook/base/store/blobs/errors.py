"""What can go wrong with a blob; the tree is drawn in the docstring of the package."""

from __future__ import annotations


class BlobError(Exception):
    """The message is one sentence for the operator."""


class BlobMissing(BlobError):
    pass


class BlobDamaged(BlobError):
    pass


class BlobTooLarge(BlobError):
    pass


class PlaceFailed(BlobError):
    pass
