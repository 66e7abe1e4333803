"""The application: command line, main window, jobs, actions, settings, themes, demo job.

Importing this package loads no Qt: the command line must run without a screen.
"""
