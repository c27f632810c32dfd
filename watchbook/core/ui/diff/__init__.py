"""What changed between two versions of a text."""

from watchbook.core.ui.diff.compare import Difference, Paragraph, Segment, compare, segments

__all__ = ["Difference", "Paragraph", "Segment", "compare", "segments"]
