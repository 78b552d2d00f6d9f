r"""Generators of Lie groups and their exponential maps, as plain tensor functions.

A group is a stack of generators \(G_i\), an element of its algebra is \(A = \sum_i t_i G_i\), and
the element of the group is \(\exp A\). bfloat16 and float16 are computed in float32, float64 in
float64.
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
