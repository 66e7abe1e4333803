"""Stacks merged into one tree, weighted by CPU self time or by the GPU time that was launched in them.

``stacks`` gives every slice of a thread its node, ``tree`` weighs and merges the trees of several files.
"""
