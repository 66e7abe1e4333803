"""One file per output: report, summary, picture. What needs painting receives the painter as a callable."""
