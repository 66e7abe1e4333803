"""One file per question: tables in, figures and findings out. No pixel, no Qt, no file access."""
