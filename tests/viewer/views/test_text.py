from __future__ import annotations

from viewer.base.scene import Font, plain_measure
from viewer.views.text import Fitter, bare_name, one_line

FONT = Font(10)


def fitter() -> Fitter:
    return Fitter(lambda text, font: len(text) * font.size)


def test_elision_takes_the_middle_and_keeps_as_much_as_fits() -> None:
    fit = fitter()
    assert fit.elide("abcdefghij", FONT, 100) == "abcdefghij"
    assert fit.elide("abcdefghij", FONT, 99) == "abcd…ghij"
    assert fit.elide("abcdefghij", FONT, 60) == "abc…ij"
    assert fit.elide("abcdefghij", FONT, 40) == ""
    assert fit.elide("abc", FONT, 20) == ""


def test_wrapping_breaks_at_spaces_and_elides_the_last_line_and_long_words() -> None:
    fit = fitter()
    assert fit.wrap("one two three", FONT, 70, 3) == ["one two", "three"]
    assert fit.wrap("one\ntwo", FONT, 200, 3) == ["one", "two"]
    assert fit.wrap("one two three four", FONT, 70, 2) == ["one two", "thr…our"]
    assert fit.wrap("abcdefghijkl x", FONT, 70, 3) == ["abc…jkl", "x"]


def test_parts_flow_without_being_torn() -> None:
    assert fitter().flow(["aa bb", "cc", "dd"], FONT, 120) == ["aa bb  ·  cc", "dd"]


def test_texts_from_files_lose_their_control_characters() -> None:
    assert one_line("a\nb\x1b[0m\u202e") == "a b\\x1b[0m\\x202e"


def test_the_plain_measure_grows_with_text_size_and_weight() -> None:
    assert (
        plain_measure("kernel", FONT) < plain_measure("kernels", FONT) < plain_measure("kernels", Font(10, bold=True))
    )
    assert plain_measure("核", FONT) == 10


def test_parameter_lists_go_before_anything_else_of_a_name() -> None:
    assert bare_name("void f<g(1)>(int, T (*)(U))") == "f<g(1)>"
    assert bare_name("Memcpy HtoD (Pinned -> Device)") == "Memcpy HtoD (Pinned -> Device)"
    assert bare_name("aten::mm") == "aten::mm"
    assert bare_name(")") == ")"
    assert bare_name("(x)") == "(x)"
    fit = fitter()
    assert fit.name("abc(int)", FONT, 80) == "abc(int)"
    assert fit.name("abc(int)", FONT, 79) == "abc"
    assert fit.name("abcdefghij(int)", FONT, 60) == "abc…ij"
    assert fit.name("ncclDevKernel_AllReduce_Sum(Args)", FONT, 140) == "AllReduce_Sum"
