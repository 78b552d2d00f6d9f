"""Lie algebras as data, and their exponential maps. Pure tensor functions.

A group is a stack of generators; an element of its algebra is their weighted sum; `exp` takes it to the group.
Geometry never runs below float32: bf16 and fp16 are lifted, float64 stays.
"""

from augerino.lie.bases import AFFINE2D as AFFINE2D
from augerino.lie.bases import AFFINE3D as AFFINE3D
from augerino.lie.bases import SATURATION as SATURATION
from augerino.lie.bases import at_least_float32 as at_least_float32
from augerino.lie.bases import combine as combine
from augerino.lie.bases import exp as exp
from augerino.lie.closed2d import inverse_affine2d as inverse_affine2d
from augerino.lie.series3d import exp_affine3d as exp_affine3d
from augerino.lie.table2d import element_affine2d as element_affine2d
from augerino.lie.table2d import exp_affine2d as exp_affine2d
