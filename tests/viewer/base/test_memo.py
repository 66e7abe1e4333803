from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from viewer.base.memo import Memo

LONG = 20.0
"""Seconds after which a thread that should go on is taken for stuck."""


def test_a_value_is_built_once_and_kept_also_when_it_is_none() -> None:
    memo, calls = Memo(), []
    for _ in range(3):
        assert memo.get("a", lambda: calls.append(1)) is None
    assert len(calls) == 1
    assert "a" in memo
    assert "b" not in memo


def test_a_key_that_is_built_does_not_hold_up_others() -> None:
    memo = Memo()
    memo.get("there", lambda: 7)
    begun, go = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert go.wait(LONG)
        return 1

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memo.get, "slow", slow)
        assert begun.wait(LONG)
        assert memo.get("there", lambda: 0) == 7
        assert memo.get("new", lambda: 2) == 2
        second = pool.submit(memo.get, "slow", lambda: 99)
        assert not second.done()
        go.set()
        assert first.result(LONG) == second.result(LONG) == 1


def test_many_threads_ask_in_any_order_and_each_key_is_built_once() -> None:
    memos = (Memo(), Memo())
    built: Counter[int] = Counter()

    def value(key: int) -> int:
        def build() -> int:
            built[key] += 1
            # Each asks for some lower keys, so any two threads meet somewhere.
            return key + sum(value(k) for k in range(key) if (key + k) % 3 == 0)

        return memos[key % 2].get(key, build)

    def ask(seed: int) -> list[int]:
        order = list(range(24))
        random.Random(seed).shuffle(order)
        return [v for _, v in sorted((k, value(k)) for k in order)]

    with ThreadPoolExecutor(8) as pool:
        results = [f.result(LONG) for f in [pool.submit(ask, n) for n in range(16)]]
    assert all(r == results[0] for r in results)
    assert built == dict.fromkeys(range(24), 1)


def test_after_a_failure_the_next_one_that_waits_builds() -> None:
    memo = Memo()
    begun, go = threading.Event(), threading.Event()

    def bad() -> int:
        begun.set()
        assert go.wait(LONG)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memo.get, "a", bad)
        assert begun.wait(LONG)
        second = pool.submit(memo.get, "a", lambda: 5)
        go.set()
        with pytest.raises(ValueError, match="no"):
            first.result(LONG)
        assert second.result(LONG) == 5


def test_a_value_that_asks_for_itself_is_an_error_not_a_hang() -> None:
    memo = Memo()

    def again() -> int:
        return memo.get("a", again)

    with pytest.raises(RuntimeError, match="asks for itself"):
        memo.get("a", again)
    assert memo.get("a", lambda: 3) == 3


def test_two_threads_whose_values_ask_for_each_other_are_an_error_not_a_hang() -> None:
    memo, meet = Memo(), threading.Barrier(2)

    def crossed(other: str) -> Callable[[], int]:
        def build() -> int:
            meet.wait(LONG)
            return memo.get(other, lambda: 0)

        return build

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(memo.get, "a", crossed("b")), pool.submit(memo.get, "b", crossed("a"))]
        errors = [f.exception(LONG) for f in asked]
    # One of them is told; the other then finds the key free, and builds it.
    assert sum(isinstance(e, RuntimeError) for e in errors) == 1
