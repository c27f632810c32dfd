"""Text from outside made fit to keep: one choke point for NUL, lone surrogates, control characters and lengths."""

from watchbook.base.text.clean import clean_text, cut, fold

__all__ = ["clean_text", "cut", "fold"]
