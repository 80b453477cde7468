"""Usage: python digests.py FOLDER [--make [--photographs FOLDER]] [--runner COMMAND]

Prints one line for each kind of work, a name and the SHA-256 of the batches of one epoch, of the datasets in FOLDER: the same
on every machine. --make first makes the datasets there with the penstock command (PENSTOCK_COMMAND, or the one that is installed),
of synthetic files, and of photographs where a folder of them is named. --runner is put before the command (an emulator)."""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sysconfig

import penstock as ps

IMAGE = ps.image
POINTS = ps.points
UNIT = IMAGE.normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

IMAGES = {
    "crop": IMAGE.random_resized_crop(96) | IMAGE.random_horizontal_flip() | UNIT,
    "resize": IMAGE.resize(112) | IMAGE.center_crop(96) | UNIT,
    "bicubic": IMAGE.resize((100, 90), interpolation="bicubic"),
    "colours": IMAGE.resize((64, 64)) | IMAGE.color_jitter(0.4, 0.4, 0.4, 0.1) | UNIT,
    "blur": IMAGE.resize((64, 64)) | IMAGE.gaussian_blur(9) | UNIT,
    "affine": IMAGE.resize((64, 64))
    | IMAGE.random_affine(20, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=10, interpolation="bilinear"),
    "rotation": IMAGE.resize((64, 64)) | IMAGE.random_rotation(30, interpolation="bilinear"),
    "rand_augment": IMAGE.resize((64, 64)) | IMAGE.rand_augment() | UNIT,
    "trivial_augment": IMAGE.resize((64, 64)) | IMAGE.trivial_augment() | UNIT,
    "erasing": IMAGE.resize((64, 64)) | UNIT | IMAGE.random_erasing(value="random"),
    "grey": IMAGE.resize((64, 64))
    | IMAGE.random_grayscale(0.5)
    | IMAGE.random_sharpness(2.0)
    | IMAGE.random_equalize(),
}
CLOUDS = {
    "random": POINTS.sample(1024)
    | POINTS.center()
    | POINTS.unit_sphere()
    | POINTS.random_rotate("z")
    | POINTS.random_jitter(),
    "free": POINTS.sample(1024)
    | POINTS.unit_box()
    | POINTS.random_rotate("free")
    | POINTS.random_scale()
    | POINTS.random_shift(),
    "fps": POINTS.sample(4096) | POINTS.sample(256, "fps"),
    "voxel": POINTS.sample(512, "voxel", size=0.5),
    "poisson": POINTS.sample(256, "poisson", size=0.2),
    "stratified": POINTS.sample(512, "stratified"),
    "density": POINTS.sample(512, "inverse_density", size=0.5),
    "dropout": POINTS.sample(1024) | POINTS.random_dropout() | POINTS.random_shuffle() | POINTS.channels_first(),
}
ARRAYS = {"normalize": UNIT, "cast": ps.array.cast("float16")}
MIXES = {
    "mixup": [ps.mixup(0.2, num_classes=10)],
    "cutmix": [ps.cutmix(1.0, num_classes=10)],
    "both": [ps.mixup(2.5, num_classes=10), ps.cutmix(3.0, num_classes=10)],
}


def digest(dataset, field, chain, **options):
    """Of all bytes that an epoch delivers of a field, in their order."""
    sums = hashlib.sha256()
    fields = {field: chain, **({"cls": ps.label()} if "mix" in options else {})}
    for batch in ps.Loader(str(dataset), batch_size=16, shuffle=True, seed=3, transforms=fields, **options):
        for name in fields:
            sums.update(batch[name].tobytes())
    return sums.hexdigest()


def works(folder):
    """(name, dataset, field, chain, options) of each line."""
    for name in ("photos", "photos_tar", "photos_jpt", "photographs", "photographs_jpt"):
        if not (folder / name).exists():
            continue
        chains = IMAGES if name in ("photos", "photographs") else {key: IMAGES[key] for key in ("crop", "resize")}
        for key, chain in chains.items():
            yield f"{name} {key}", folder / name, "jpg", chain, {}
    for key, mix in MIXES.items():
        yield f"photos {key}", folder / "photos", "jpg", IMAGES["crop"], {"mix": mix}
    yield "icons", folder / "icons", "png", UNIT, {}
    for key, chain in CLOUDS.items():
        yield f"clouds {key}", folder / "clouds", "las", chain, {}
    for key, chain in ARRAYS.items():
        yield f"arrays {key}", folder / "arrays", "jpg", chain, {}


def make(folder, photographs, runner):
    def run(*words):
        penstock = os.environ.get("PENSTOCK_COMMAND") or pathlib.Path(sysconfig.get_path("scripts")) / "penstock"
        command = [*runner, str(penstock), *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("synth", "images", folder / "photos", "-n", "40")
    run("synth", "icons", folder / "icons", "-n", "40")
    run("synth", "clouds", folder / "clouds", "-n", "4", "--points", "20k")
    pictures = ["photos"]
    if photographs:
        (folder / "photographs").symlink_to(pathlib.Path(photographs).resolve())
        pictures.append("photographs")
    for name in pictures:
        run("pack", folder / name, folder / f"{name}_jpt", "--format", "tar", "--jpeg", "recode")
    run("pack", folder / "photos", folder / "photos_tar", "--format", "tar")
    run("pack", folder / "photos", folder / "arrays", "--format", "hdf5", "--decode", "64")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[1])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--photographs")
    parser.add_argument("--runner", default="")
    arguments = parser.parse_args()
    if arguments.make:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        make(arguments.folder, arguments.photographs, arguments.runner.split())
    for name, dataset, field, chain, options in works(arguments.folder):
        print(name, digest(dataset, field, chain, **options), flush=True)


if __name__ == "__main__":
    main()
