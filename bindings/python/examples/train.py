#!/usr/bin/env python3
"""Trains a small convolutional network on the images of a dataset, and says whether loading or training is the limit.

penstock synth icons icons -n 4000 && penstock pack icons icons.tar.d --format tar
python train.py icons.tar.d --epochs 3
"""

from __future__ import annotations

import argparse
import sys

import penstock as ps
import torch
import training


def parsed() -> argparse.Namespace:
    source = "any format, or a folder of class folders; fields jpg or png, and cls"
    parser = training.parser(__doc__ or "", source, epochs=5, batch_size=64, learning_rate=0.05)
    parser.add_argument("--size", type=int, default=32, help="pixels; images are square")
    return parser.parse_args()


def chains(options: argparse.Namespace) -> tuple[ps.Chain, ps.Chain]:
    size = options.size
    normalize = ps.image.normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
    crop = ps.image.random_resized_crop(size, scale=(0.5, 1.0)) | ps.image.random_horizontal_flip()
    images = ps.field("jpg|png")
    return images | crop | normalize, images | ps.image.resize((size, size)) | normalize


def trainer(options: argparse.Namespace, classes: int) -> training.Trainer:
    def layer(inputs: int, outputs: int) -> list[torch.nn.Module]:
        convolution = torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        return [convolution, torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]

    body = [*layer(3, 16), torch.nn.MaxPool2d(2), *layer(16, 32), torch.nn.MaxPool2d(2), *layer(32, 64)]
    head = [torch.nn.AdaptiveMaxPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, classes)]
    model = torch.nn.Sequential(*body, *head)
    return training.Trainer(model, torch.optim.SGD(model.parameters(), options.learning_rate, momentum=0.9))


if __name__ == "__main__":
    sys.exit(training.main(parsed(), chains, trainer))
