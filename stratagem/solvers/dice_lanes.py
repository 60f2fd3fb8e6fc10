"""Thirty-two score differences at a time: a vector of floats that numba code can hold in registers.

numba leaves vectorising to LLVM, which gives up on rows of one buffer that might overlap; the solver then
runs eight times slower. So the vector is a numba type of its own, its few operations written as LLVM IR.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.extending import models, register_model

LANES = 32
COARSE = 0xFFFFF000  # of the 23 binary digits of a float32 fraction, the first 11
intrinsic: Any = extending.intrinsic  # its own annotation hides what the decorated function returns


class Lanes(types.Type):
    """The numba type of a vector of `LANES` float32 values."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


lanes = Lanes()
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


def _address(context, builder, kind, array, index):
    data = cgutils.create_struct_proxy(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


@intrinsic
def load(typing, array, index):
    """The vector that starts at this element of a flat float32 array."""

    def build(context, builder, signature, values):
        return builder.load(_address(context, builder, signature.args[0], *values), align=4)

    return lanes(array, types.intp), build


@intrinsic
def store(typing, array, index, vector):
    """Write the vector to a flat float32 array, from this element on."""

    def build(context, builder, signature, values):
        builder.store(values[2], _address(context, builder, signature.args[0], *values[:2]), align=4)
        return context.get_dummy_value()

    return types.none(array, types.intp, lanes), build


@intrinsic
def fill(typing, number):
    """The same number in every lane."""

    def build(context, builder, signature, values):
        return _spread(builder, values[0])

    return lanes(types.float32), build


@intrinsic
def add(typing, left, right):
    def build(context, builder, signature, values):
        return builder.fadd(*values)

    return lanes(lanes, lanes), build


@intrinsic
def minus(typing, left, right):
    def build(context, builder, signature, values):
        return builder.fsub(*values)

    return lanes(lanes, lanes), build


@intrinsic
def scale(typing, vector, number):
    """Every lane times one number."""

    def build(context, builder, signature, values):
        return builder.fmul(values[0], _spread(builder, values[1]))

    return lanes(lanes, types.float32), build


@intrinsic
def coarse(typing, vector):
    """Every lane cut to the first 12 digits of its fraction, so that a product of two such numbers is exact."""

    def build(context, builder, signature, values):
        whole = ir.VectorType(ir.IntType(32), LANES)
        mask = ir.Constant(whole, [COARSE] * LANES)
        return builder.bitcast(builder.and_(builder.bitcast(values[0], whole), mask), _VECTOR)

    return lanes(lanes), build


@intrinsic
def larger(typing, left, right):
    """The larger value of each lane."""

    def build(context, builder, signature, values):
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return lanes(lanes, lanes), build


@intrinsic
def follow(typing, left, right, of_left, of_right):
    """`of_left` where left is strictly larger than right, `of_right` elsewhere."""

    def build(context, builder, signature, values):
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), values[2], values[3])

    return lanes(lanes, lanes, lanes, lanes), build


def _spread(builder, number):
    nothing, first = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(nothing, number, first)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, nothing, zeros)
