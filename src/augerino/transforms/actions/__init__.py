"""Actions on outputs other than images: points, boxes, vectors, vector fields and label maps.

Pass one to `EquivariantModel(action=...)`. Each is built from the transform of the inputs and has
its coordinates. The transform must implement `point_map`: `Affine2d`, `RotoTranslate2d` (with a
margin, positions are on the larger canvas), `Flip`, and chains of these, with or without colour.

Positions are in pixels, (x, y), with x right and y down, from the top left corner of the image.
Pixels are squares: the pixel in row i and column j has its centre at (j + 1/2, i + 1/2), and an
image of (height, width) spans 0..width and 0..height.
"""

from augerino.transforms.actions.base import Action
from augerino.transforms.actions.dense import LabelMap, VectorField
from augerino.transforms.actions.points import Boxes, Keypoints
from augerino.transforms.actions.vectors import Vectors

__all__ = ["Action", "Boxes", "Keypoints", "LabelMap", "VectorField", "Vectors"]
