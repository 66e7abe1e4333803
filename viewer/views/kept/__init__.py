"""What a person made of a job: marks, notes, bookmarks, how they are anchored and kept."""
