"""The axis of time: the visible window and its moves, ticks, edges to snap to, places as people type them. No lanes."""
