"""The Memory panel: its parts, what it shows of them, and the axis that it shares with the lanes."""
