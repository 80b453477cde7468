"""A training loop under PyTorch's profiler and a loader's trace at once."""

import time

import torch

import penstock as ps


def merged_trace(loader, folder):
    """Runs an epoch of a loader with ragged rows in the field npy. Writes penstock.json, torch.json and merged.json to `folder`,
    and returns the path of the last."""
    next(iter(loader))
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler, loader.trace(folder / "penstock.json"):
        for batch in loader:
            torch.from_dlpack(batch["npy"].values).sum()
            time.sleep(0.001)
            profiler.step()
    profiler.export_chrome_trace(str(folder / "torch.json"))
    ps.merge_traces(folder / "torch.json", folder / "penstock.json", folder / "merged.json")
    return folder / "merged.json"
