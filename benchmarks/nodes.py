"""How much nearer to the expectation fixed nodes are than random copies: `python -m benchmarks.nodes`."""

import torch

import augerino as ag
from augerino.data.synthetic.sprites import sprites

COORDINATES = {
    ("rotate",): [0.785],
    ("rotate", "scale"): [0.785, 0.4],
    ("translate_x", "translate_y", "rotate", "scale"): [0.3, 0.3, 0.785, 0.3],
    ("translate_x", "translate_y", "rotate", "scale", "squeeze", "shear"): [
        0.3,
        0.3,
        0.785,
        0.3,
        0.2,
        0.2,
    ],
}
COPIES = (4, 8, 16, 32, 64)


def ratios(names: tuple[str, ...], bound: list[float]) -> list[float]:
    """Error of random copies over that of fixed nodes, for every number of copies."""
    data = sprites(256, seed=0)
    net = ag.learn(None, (data.x, data.y), coordinates=("rotate",), epochs=6).model.net
    model = ag.InvariantModel(
        net, ag.Augmentation(ag.Affine2d(*names), ag.Uniform(bound)), average=ag.mean_log_prob
    ).eval()
    x, found = data.x[:16], []
    with torch.no_grad():
        truth = model.with_nodes(4096)(x)
        for copies in COPIES:
            model.test_copies = copies
            fixed = (model.with_nodes(copies)(x) - truth).square().mean().sqrt()
            random = (
                torch.stack([(model(x) - truth).square().mean() for _ in range(20)]).mean().sqrt()
            )
            found.append(float(random / fixed))
    return found


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"{'coordinates':58}" + "".join(f"{copies:8}" for copies in COPIES))
    for names, bound in COORDINATES.items():
        print(f"{', '.join(names):58}" + "".join(f"{value:8.1f}" for value in ratios(names, bound)))
