"""The training loop of README.md runs as it was and as it becomes."""

import importlib.util
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(name="workplace", scope="session")
def workplace_fixture(tmp_path_factory):
    """A folder where the paths that the examples name are what they say."""
    folder = tmp_path_factory.mktemp("examples")
    command = os.environ["PENSTOCK_COMMAND"]
    subprocess.run([command, "synth", "images", "photos", "-n", "40", "--seed", "1"], cwd=folder, check=True)
    subprocess.run([command, "pack", "photos", "train.tar.d", "--format", "tar"], cwd=folder, check=True)
    return folder


def import_torchvision(monkeypatch):
    """Its usual wheel is linked with CUDA; beside a torch without, its operators must be declared first."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.syspath_prepend(ROOT / ".venv/torchvision")
    if not importlib.util.find_spec("torchvision"):
        pytest.skip("torchvision is not installed")
    try:
        import torchvision  # noqa: F401
    except AttributeError:
        pytest.skip("this PyTorch is too old for torchvision")
    except RuntimeError as error:
        if "operator torchvision::nms does not exist" not in str(error):
            raise
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision  # noqa: F401


def test_the_training_loop_of_the_readme_runs_before_and_after_the_change(workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    import_torchvision(monkeypatch)
    lines = re.search(r"^```diff\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[
        1
    ].splitlines()
    assert 0 < len([line for line in lines if line.startswith("+")]) <= 5
    seen = {}
    for sign in "-+":
        script = (
            "\n".join(line[1:] for line in lines if line[:1] in ("", " ", sign))
            + f"\n    seen[{sign!r}].append(batch(images, labels))\n"
        )
        seen[sign] = []
        names = {"seen": seen, "batch": lambda images, labels: (images.shape, images.dtype, labels.shape, labels.dtype)}
        exec(compile(script, f"README.md ({sign})", "exec"), names)
    assert len(seen["-"]) == 3 and seen["-"] == seen["+"]
