"""The training fingerprint: five figures of a job, each with theory, range, condition, trend, spread and evidence.

``whole.fingerprint`` is the way in. One file per figure; ``figure`` says what each of them has, ``periods`` over what
time they are taken, ``model_flops`` what a step must compute, ``waterfall`` where the peak goes.
"""
