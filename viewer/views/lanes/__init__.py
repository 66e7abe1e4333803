"""The lanes as data: which there are, how they lie, their pixels, and what lies under a point. No panel's tables."""
