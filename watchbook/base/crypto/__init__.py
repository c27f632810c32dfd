"""Secrets at rest: key files made at first start, and sealed values bound to the row they belong to."""

from watchbook.base.crypto.keyfile import KeyTrouble, secret_file
from watchbook.base.crypto.seal import CannotOpen, KeyRing, Seal, is_current, key_of, open_sealed, seal

__all__ = [
    "CannotOpen", "KeyRing", "KeyTrouble", "Seal", "is_current", "key_of", "open_sealed", "seal", "secret_file",
]  # fmt: skip
