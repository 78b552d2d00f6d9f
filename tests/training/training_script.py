"""A small training to run, kill and resume: PATH EPOCHS RESUME [PAUSE_AT_STEP]."""

import random
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

import augerino as ag


class Noisy(Dataset):
    """Items that draw from every global generator, so that any state that is not restored shows."""

    def __len__(self):
        return 60

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        x = (
            torch.rand(1, 8, 8, generator=generator)
            + 0.01 * random.random()
            + 0.01 * np.random.rand()
            + 0.01 * torch.rand(1)
        )
        return x.float(), torch.tensor(index % 3)


def build(loader_kind="dataloader"):
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(144, 3),
    )
    augmentation = ag.Augmentation(ag.Affine2d(), ag.Uniform.named(ag.Affine2d().names, start=0.2))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    objective = ag.Objective(F.nll_loss, augmentation)
    optimizer = torch.optim.AdamW(ag.param_groups(model, weight_decay=0.01), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=200)
    if loader_kind == "dataloader":
        loader = DataLoader(Noisy(), batch_size=8, shuffle=True)
    else:
        generator, y = torch.Generator().manual_seed(5), torch.arange(60) % 3
        loader = ag.data.Batches(
            torch.rand(60, 1, 8, 8) + y[:, None, None, None] / 3, y, 8, generator=generator
        )
    return model, objective, loader, optimizer, scheduler


def run(path, epochs, resume, pause_at=None, loader_kind="dataloader", save_every=3):
    model, objective, loader, optimizer, scheduler = build(loader_kind)
    seen = 0

    def on_step(epoch, step, loss):
        nonlocal seen
        seen += 1
        if seen == pause_at:
            print("waiting", flush=True)
            time.sleep(60)

    history = ag.fit(
        model,
        objective,
        loader,
        optimizer,
        epochs=epochs,
        scheduler=scheduler,
        checkpoint=path,
        save_every=save_every,
        resume=resume,
        on_step=on_step,
    )
    return model, optimizer, history


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(
        sys.argv[1],
        int(sys.argv[2]),
        sys.argv[3] == "resume",
        int(sys.argv[4]) if len(sys.argv) > 4 else None,
    )
