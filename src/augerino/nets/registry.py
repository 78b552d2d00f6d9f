"""The networks of saved models by name, rebuilt from their `settings()`."""

from torch import nn

from augerino.nets.fc_densenet import FCDenseNet
from augerino.nets.layer13 import Layer13
from augerino.nets.lieconv import LieResNet
from augerino.nets.points import SmallPointNet
from augerino.nets.signal import SmallSignalNet
from augerino.nets.small import SmallCNN
from augerino.nets.steerable import SteerableCNN
from augerino.nets.unet import SmallUNet

BUILT_IN: dict[str, type[nn.Module]] = {
    kind.__name__: kind
    for kind in (
        FCDenseNet,
        Layer13,
        LieResNet,
        SmallCNN,
        SmallPointNet,
        SmallSignalNet,
        SmallUNet,
        SteerableCNN,
    )
}
