"""Qt panels: each binds one view model to widgets. Slow work goes through ``work.WorkRunner``, never inline."""
