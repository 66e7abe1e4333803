from __future__ import annotations

import json

from viewer.base.json_text import encode_json


def test_json_is_readable_and_ends_with_a_line_break() -> None:
    assert encode_json({"é": [1, None]}) == '{\n "é": [\n  1,\n  null\n ]\n}\n'.encode()


def test_names_that_are_no_text_are_replaced_wherever_they_stand() -> None:
    data = {"bad\udcff": ("x\ud800", {"y": ["\udfff"]}), "good": "ok", "number": 2**63}
    found = json.loads(encode_json(data).decode("utf-8"))
    assert found == {"bad\ufffd": ["x\ufffd", {"y": ["\ufffd"]}], "good": "ok", "number": 2**63}
