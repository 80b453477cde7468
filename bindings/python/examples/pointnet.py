"""PointNet, which classifies a point cloud independently of the order of its points.

Source: Qi, Su, Mo, Guibas, "PointNet: Deep Learning on Point Sets for 3D Classification and Segmentation", CVPR 2017.
All layers are as wide as the paper's times width / 64.
"""

from __future__ import annotations

import torch
from torch import nn


def for_each_point(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Conv1d(inputs, outputs, 1, bias=False), nn.BatchNorm1d(outputs), nn.ReLU()]


def for_the_cloud(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs), nn.ReLU()]


class TNet(nn.Module):
    """(N, C, K) -> (N, C, C): a matrix for each cloud, which multiplies its points and starts as the identity."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.points = nn.Sequential(
            *for_each_point(channels, width), *for_each_point(width, 2 * width), *for_each_point(2 * width, 16 * width)
        )
        self.cloud = nn.Sequential(*for_the_cloud(16 * width, 8 * width), *for_the_cloud(8 * width, 4 * width))
        self.matrix = nn.Linear(4 * width, channels * channels)
        nn.init.zeros_(self.matrix.weight)
        with torch.no_grad():
            self.matrix.bias.copy_(torch.eye(channels).flatten())

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        channels = points.shape[1]
        return self.matrix(self.cloud(self.points(points).amax(2))).view(-1, channels, channels)


class PointNet(nn.Module):
    """float32 (N, 3, K) -> (N, classes), for any K."""

    def __init__(self, classes: int, width: int = 64, *, feature_transform: bool = False, dropout: float = 0.3) -> None:
        super().__init__()
        self.input = TNet(3, width)
        self.first = nn.Sequential(*for_each_point(3, width), *for_each_point(width, width))
        self.feature = TNet(width, width) if feature_transform else None
        self.last = nn.Sequential(
            *for_each_point(width, width), *for_each_point(width, 2 * width), *for_each_point(2 * width, 16 * width)
        )
        head = [*for_the_cloud(16 * width, 8 * width), *for_the_cloud(8 * width, 4 * width), nn.Dropout(dropout)]
        self.head = nn.Sequential(*head, nn.Linear(4 * width, classes))
        self.matrices = torch.eye(1).expand(1, 1, 1)  # output of the feature T-Net for the last batch

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        features = self.first(self.input(points) @ points)
        if self.feature is not None:
            self.matrices = self.feature(features)
            features = self.matrices @ features
        return self.head(self.last(features).amax(2))

    def far_from_orthogonal(self) -> torch.Tensor:
        """Mean of |1 - A A^T|^2 over the feature T-Net's matrices for the last batch: the paper's regulariser."""
        square = self.matrices @ self.matrices.transpose(1, 2)
        return (torch.eye(square.shape[1]) - square).square().sum((1, 2)).mean()
