"""One clicked slice or gap explained, a file per kind of it and per section that several kinds show."""
