"""GPU work by what launched it: kernels, operators, shapes, modules, steps; sums over ranks and ranges.

``nest`` has the calls of one kind with what they enclose, ``modules`` says which module GPU work belongs to, ``part``
groups one file, ``table`` adds files up.
"""
