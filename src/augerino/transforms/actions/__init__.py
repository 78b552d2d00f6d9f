"""How elements act on outputs that are no images, for `EquivariantModel(action=...)`: points, boxes, vectors, fields, label maps.

Each is built from a transform of the inputs and has its coordinates. Positions are in pixels, (x, y), x right and y down, from
the top left corner of the image: pixels are little squares, so the one in row i and column j has its centre at
(j + 1/2, i + 1/2), and an image of (height, width) spans 0..width and 0..height. Any transform that says how it moves points
will do: `Affine2d`, `RotoTranslate2d` (with a margin, moved positions are those on the larger canvas), `Flip`, and chains of
these, with colour or without.
"""

from augerino.transforms.actions.base import Action
from augerino.transforms.actions.dense import LabelMap, VectorField
from augerino.transforms.actions.points import Boxes, Keypoints
from augerino.transforms.actions.vectors import Vectors

__all__ = ["Action", "Boxes", "Keypoints", "LabelMap", "VectorField", "Vectors"]
