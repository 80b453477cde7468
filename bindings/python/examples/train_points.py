#!/usr/bin/env python3
"""Trains PointNet to classify point clouds, and says whether loading or training is the limit.

    penstock synth clouds trees -n 300 --num-classes 6 --points 20k-40k
    penstock pack trees trees.tar.d --format tar --point-order progressive
    python train_points.py trees.tar.d

If the clouds are packed in progressive order, each epoch reads and trains on other points. From a folder of LAS files,
each epoch reads whole clouds and draws its points from them.
"""

from __future__ import annotations

import argparse
import sys

import penstock as ps
import torch
import training
from pointnet import PointNet

FILES = "las|laz|ply|pcd|off|npy"


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    source = f"any format, or a folder of class folders; a field of {FILES.replace('|', ', ')}, and cls"
    parser = training.parser(__doc__ or "", source, epochs=20, batch_size=32, learning_rate=0.001)
    parser.add_argument("--points", type=int, default=1024, help="points of each cloud in each epoch")
    parser.add_argument(
        "--sampling",
        default="random",
        metavar="METHOD[:SIZE]",
        help="how the points are chosen: random, fps, voxel:0.1, ...",
    )
    parser.add_argument(
        "--scale", type=float, help="factor for all coordinates, instead of scaling each cloud to the unit sphere"
    )
    parser.add_argument("--width", type=int, default=16, help="channels of the first layer; 64 in the paper")
    parser.add_argument("--feature-transform", action="store_true", help="a T-Net for the features too")
    return parser.parse_args(arguments)


def chains(options: argparse.Namespace) -> tuple[ps.Chain, ps.Chain]:
    method, _, size = options.sampling.partition(":")
    sample = ps.points.sample(options.points, method, size=float(size or 0))
    normalize = ps.points.center() | (
        ps.points.unit_sphere() if options.scale is None else ps.points.scale(options.scale)
    )
    clouds = ps.field(FILES) | sample | normalize
    augment = ps.points.random_rotate("z") | ps.points.random_jitter(sigma=0.01, clip=0.05)
    return clouds | augment | ps.points.channels_first(), clouds | ps.points.channels_first()


def trainer(options: argparse.Namespace, classes: int) -> training.Trainer:
    model = PointNet(classes, options.width, feature_transform=options.feature_transform)
    optimizer = torch.optim.Adam(model.parameters(), options.learning_rate)
    if not options.feature_transform:
        return training.Trainer(model, optimizer)
    return training.Trainer(model, optimizer, penalty=lambda: 0.001 * model.far_from_orthogonal())


if __name__ == "__main__":
    sys.exit(training.main(parsed(), chains, trainer))
