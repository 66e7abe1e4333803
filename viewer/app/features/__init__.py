"""Parts of the window that bring actions of their own: one file each, listed in ``registry``.

A feature binds actions to panels and keeps what belongs to the window. What it computes lives in analyses and views.
Importing one must stay light (Qt alone): the window shows before the engine is loaded.
"""
