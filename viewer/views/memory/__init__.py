"""Memory as lanes, maps, blocks in words and tables. What memory means is in ``viewer.analyses.memory``."""
