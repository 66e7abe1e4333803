"""Two runs beside each other, as tables and as a waterfall."""
