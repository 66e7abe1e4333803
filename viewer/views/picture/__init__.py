"""The annotated picture as a scene: its parts, laid out in logical px. How it is written is in ``viewer.exporters``."""
