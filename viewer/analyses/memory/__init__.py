"""Memory of one source and of a job: levels and peaks, what it is for, what is lost, what grows, what theory expects.

``figures`` reads the tables; ``at`` says who holds what at an instant. Every source gives what it can: a figure that it
cannot tell is None.
"""
