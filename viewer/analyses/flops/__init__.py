"""FLOPs and bytes of operator calls, from the shapes that the profiler recorded, and how much of the work they explain.

One file per family of operators: a function of a :class:`~viewer.analyses.flops.call.Call` that gives its
:class:`~viewer.analyses.flops.call.Cost`, or says why it cannot. ``formulas`` knows which operator is which,
``main_kernels`` which kernels are matrix products, convolutions or attention, ``ledger`` puts both together.
"""
