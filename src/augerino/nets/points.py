"""A small network for point clouds: one small network for every point, then a pool over all of them."""

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor, nn


class SmallPointNet(nn.Module):
    """The same three layers with batch norm for every point, mean and maximum over the points, then two layers.

    Takes positions (B, N, 3), or a dict of "positions" and, as they come, a "mask" (B, N) that is true where there is a point and
    "features" (B, N, features) of each. The order of the points changes nothing, nor does padding. Positions
    count as they are, not relative to each other, so that nothing is invariant that has not been learned.

    Reference: Zaheer et al. (2017), "Deep Sets"; Qi et al. (2017), "PointNet".

    Args:
        outputs: of the head.
        width: of the first layer; the later ones have 2 and 4 times as many.
        features: numbers given with each point beside its position.
    """

    def __init__(self, outputs: int, width: int = 16, features: int = 0) -> None:
        super().__init__()
        self._settings = {"outputs": outputs, "width": width, "features": features}
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise([3 + features, width, 2 * width, 4 * width]):
            layers += [
                nn.Linear(before, after, bias=False),
                nn.BatchNorm1d(after),
                nn.ReLU(inplace=True),
            ]
        self.points = nn.Sequential(*layers)
        self.head = nn.Sequential(
            *(
                nn.Linear(8 * width, 4 * width, bias=False),
                nn.BatchNorm1d(4 * width),
                nn.ReLU(inplace=True),
            ),
            nn.Linear(4 * width, outputs),
        )
        self.features = features

    def settings(self) -> dict[str, int]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor | Mapping[str, Tensor]) -> Tensor:
        cloud = {"positions": x} if isinstance(x, Tensor) else x
        points = cloud["positions"]
        if self.features:
            points = torch.cat([points, cloud["features"].to(points)], dim=-1)
        mask = cloud.get("mask")
        there = torch.ones_like(points[..., 0], dtype=torch.bool) if mask is None else mask.bool()
        if self.training and mask is not None:  # padding must have no part in the statistics
            rows = self.points(points[there])
            seen = rows.new_zeros(*there.shape, rows.shape[-1]).masked_scatter(
                there[..., None], rows
            )
        else:
            seen = self.points(points.flatten(0, 1)).unflatten(0, there.shape) * there[..., None]
        count = there.sum(dim=1, keepdim=True).clamp_min(1)
        # After ReLU nothing is below 0, so that padding is never the maximum.
        return self.head(torch.cat([seen.sum(dim=1) / count, seen.amax(dim=1)], dim=1))
