"""Pipeline parallelism: stages of ranks, their forward and backward passes, and the bubble held against theory.

``figures.pipeline`` is the way in. ``stages`` says which ranks form a pipeline, ``gpu_passes`` and ``span_passes`` what
passes they ran, ``schedule`` in which order and what theory says of it, ``replay`` how long the order takes when
nothing else is in the way, ``figures`` puts them together per step. ``peers`` compares workers of one stage.
"""
