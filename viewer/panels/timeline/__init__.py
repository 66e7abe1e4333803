"""The timeline's panel, a file per thing that a person does on it. What it shows is computed in ``viewer.views``."""
