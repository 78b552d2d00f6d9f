"""What was learned about each coordinate, in words."""

import math
from dataclasses import dataclass

from augerino.augmentation import Augmentation

# Below this share of its limit, an extent is a few degrees of rotation or a pixel of shift: as good as nothing.
NOTHING = 0.02


@dataclass(frozen=True)
class Verdict:
    """One coordinate's answer; `start`, `learned` and `true` are in the coordinate's own unit."""

    coordinate: str
    start: float
    learned: float
    start_text: str
    learned_text: str
    sentence: str


def verdicts(augmentation: Augmentation, start: dict[str, float], true: dict[str, float] | None = None) -> list[Verdict]:
    """One verdict per coordinate: whether it is a symmetry of the data, and how far it reaches.

    Args:
        augmentation: as learned.
        start: where each bound started.
        true: extents that are known, for data made to have them.
    """
    described, reach = augmentation.describe(), augmentation.distribution.reach.tolist()
    out = []
    for i, (name, learned) in enumerate(augmentation.bounds().items()):
        limit, unit, text = augmentation.limits[i].item(), augmentation.transform.unit(name), described[name]
        if reach[i] < NOTHING * (limit if math.isfinite(limit) else 1.0):
            answer = f"{name}: no, the data allow at most {text}"
        elif learned >= 0.95 * limit:
            answer = f"{name}: yes, all the way ({text})"
        else:
            answer = f"{name}: yes, {text}"
        if true and name in true:
            answer += f" — true extent {unit.extent(true[name])}"
        out.append(Verdict(name, start[name], learned, unit.extent(start[name]), text, answer))
    return out
