"""Qt controls that draw what they are given and emit signals: lanes, axis, tables, plots; all painting code.

They may import ``viewer.base`` only. A widget never sees a table or a session.
"""
