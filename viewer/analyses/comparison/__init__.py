"""Two runs of one load against each other: what changed, by how much, and whether that is more than their own noise.

``compare`` is the way in. ``pairing`` says which rank and which step of one run stands against which of the other and
whether the two can be compared at all; ``spans`` charges every instant of the paired steps to one cause, so that causes
add up; ``amounts`` sums by name, operator, operation or gap; ``noise`` holds a change against the scatter of the steps.
No text for people beyond the sentences that say why something cannot be said.
"""
