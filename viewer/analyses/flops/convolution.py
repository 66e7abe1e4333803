"""Convolutions: FLOPs = 2 x elements of the output x multiply-adds behind each; each gradient costs the same."""

from __future__ import annotations

from viewer.analyses.flops.call import Call, Cost, Dims, Unknown, product, traffic

_MISMATCH = "its shapes are not those of a convolution"
_SETTINGS = "stride and padding were not recorded"


def _spread(values: tuple[int, ...] | None, dims: int) -> tuple[int, ...]:
    """A setting per dimension of space. Raises Unknown where it was not recorded."""
    if values is None:
        raise Unknown(_SETTINGS)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise Unknown(_MISMATCH)
    return values


def _out(x: Dims, w: Dims, stride: Dims, padding: Dims, dilation: Dims) -> Dims:
    """Sizes of space of the output of a convolution that is not transposed."""
    out = []
    for n, k, s, p, d in zip(x[2:], w[2:], stride, padding, dilation, strict=True):
        if s <= 0 or d <= 0:
            raise Unknown(_MISMATCH)
        out.append((n + 2 * p - d * (k - 1) - 1) // s + 1)
    if min(out, default=0) <= 0:
        raise Unknown(_MISMATCH)
    return tuple(out)


def _operands(call: Call, x_at: int, w_at: int) -> tuple[Dims, Dims]:
    x, w = call.tensor(x_at), call.tensor(w_at)
    if len(x) == len(w) - 1:  # a single picture without a batch
        x = (1, *x)
    if len(x) != len(w) or len(w) < 3:
        raise Unknown(_MISMATCH)
    return x, w


def _shape(x: Dims, w: Dims) -> str:
    return f"input {list(x)} weight {list(w)}".replace(", ", "x")


def _forward(
    call: Call,
    stride: int,
    padding: int,
    dilation: int,
    transposed: bool | None = False,
    operands: tuple[int, int] = (0, 1),
) -> Cost:
    """The arguments at which the settings are. ``transposed`` None: it was not recorded."""
    x, w = _operands(call, *operands)
    if transposed is None:
        raise Unknown(_SETTINGS)
    size = call.size(operands[0])
    if transposed:  # each element of the input meets every weight of its group
        flops = 2 * product(x) * product(w[1:])
        return Cost(flops, None, "convolution", call.type(operands[0]), _shape(x, w), "transposed")
    space = len(w) - 2
    text = call.value(padding).strip().strip("'\"").lower()
    if text == "same":
        out = tuple(-(-n // s) for n, s in zip(x[2:], _spread(call.numbers(stride), space), strict=True))
    else:
        pad = (0,) if text == "valid" else call.numbers(padding)
        settings = (call.numbers(stride), pad, call.numbers(dilation))
        out = _out(x, w, *(_spread(v, space) for v in settings))
    result = x[0] * w[0] * product(out)
    moved = traffic((product(x) + product(w) + result, size))
    return Cost(2 * result * product(w[1:]), moved, "convolution", call.type(operands[0]), _shape(x, w))


def convolution(call: Call) -> Cost:
    """``convolution(x, w, bias, stride, padding, dilation, transposed, ., groups)`` and ``_convolution``."""
    return _forward(call, 3, 4, 5, call.flag(6))


def conv(call: Call) -> Cost:
    """``conv1d/2d/3d(x, w, bias, stride, padding, dilation, groups)``."""
    return _forward(call, 3, 4, 5)


def conv_transpose(call: Call) -> Cost:
    """``conv_transpose1d/2d/3d(x, w, ...)`` and the libraries' own."""
    return _forward(call, 3, 4, 5, True)


def cudnn(call: Call) -> Cost:
    """``cudnn_convolution(x, w, padding, stride, dilation, ...)``."""
    return _forward(call, 3, 2, 4)


def miopen(call: Call) -> Cost:
    """``miopen_convolution(x, w, bias, padding, stride, dilation, ...)``, also depthwise and oneDNN's."""
    return _forward(call, 4, 3, 5)


def cudnn_add_relu(call: Call) -> Cost:
    """``cudnn_convolution_add_relu(x, w, z, alpha, bias, stride, padding, dilation, groups)``."""
    return _forward(call, 5, 6, 7)


def depthwise(call: Call) -> Cost:
    """``_conv_depthwise2d(x, w, kernel_size, bias, stride, padding, dilation)``."""
    return _forward(call, 4, 5, 6)


def backward(call: Call) -> Cost:
    """``convolution_backward(grad, x, w, bias, stride, padding, dilation, transposed, ., groups, mask)``.

    Each of the gradients by input and by weight costs what the forward pass did; ``mask`` says which are wanted (both
    where it was not recorded).
    """
    x, w = _operands(call, 1, 2)
    grad = call.tensor(0)
    if len(grad) == len(w) - 1:
        grad = (1, *grad)
    if len(grad) != len(w):
        raise Unknown(_MISMATCH)
    transposed = call.flag(7)
    if transposed is None:  # the channels tell, except where they are as many on both sides
        if grad[1] == w[0] != x[1]:
            transposed = False
        elif x[1] == w[0] != grad[1]:
            transposed = True
        elif product(grad) == product(x):
            transposed = False  # then both counts are equal
        else:
            raise Unknown(_SETTINGS)
    once = 2 * product(x if transposed else grad) * product(w[1:])
    mask = call.flags(10)
    wanted = 2 if mask is None or len(mask) < 2 else int(mask[0]) + int(mask[1])
    size = call.size(1)
    moved = traffic((wanted * (product(grad) + product(x) + product(w)), size))
    how = "" if mask is not None else "both gradients are taken to be wanted"
    return Cost(once * wanted, moved, "convolution", call.type(1), _shape(x, w), how)
