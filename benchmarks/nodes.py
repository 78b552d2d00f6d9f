"""Error of random copies relative to fixed nodes: `python -m benchmarks.nodes`."""

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
    """Error of random copies divided by that of fixed nodes, for every number of copies."""
    data = sprites(256, seed=0)
    net = ag.learn(None, (data.x, data.y), coordinates=("rotate",), epochs=6).model.net
    augmentation = ag.Augmentation(ag.Affine2d(*names), ag.Uniform(bound))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob).eval()
    x = data.x[:16]
    found = []
    with torch.no_grad():
        expectation = model.with_nodes(4096)(x)
        for copies in COPIES:
            model.test_copies = copies
            fixed = (model.with_nodes(copies)(x) - expectation).square().mean()
            errors = [(model(x) - expectation).square().mean() for _ in range(20)]
            random = torch.stack(errors).mean()
            found.append(float(random.sqrt() / fixed.sqrt()))
    return found


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"{'coordinates':58}" + "".join(f"{copies:8}" for copies in COPIES))
    for names, bound in COORDINATES.items():
        print(f"{', '.join(names):58}" + "".join(f"{value:8.1f}" for value in ratios(names, bound)))
