"""Measures the cost of each augmentation: microseconds of one worker per 224 x 224 x 3 image, beside Pillow.

    python bench/studies/augmentations.py [--rounds 5] [--images 500]

The images are stored as uint8 arrays, so nothing is decoded. Each result is the time of the `transform` stage in an
epoch of one worker, minus that of the chain without the transform. Results are medians of rounds that go through all
transforms in turn. Needs the package penstock and, for the second column, Pillow.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

import numpy as np

import penstock as ps

SIDE = 224

STEPS = {
    "random_resized_crop(224)": ps.image.random_resized_crop(SIDE),
    'random_resized_crop(224, interpolation="area")': ps.image.random_resized_crop(SIDE, interpolation="area"),
    'random_resized_crop(224, interpolation="bicubic")': ps.image.random_resized_crop(SIDE, interpolation="bicubic"),
    'random_resized_crop(224, interpolation="nearest")': ps.image.random_resized_crop(SIDE, interpolation="nearest"),
    "random_horizontal_flip(1)": ps.image.random_horizontal_flip(1),
    "random_vertical_flip(1)": ps.image.random_vertical_flip(1),
    "random_crop(224, 28)": ps.image.random_crop(SIDE, 28),
    "random_rotation(30)": ps.image.random_rotation(30),
    'random_rotation(30, interpolation="bilinear")': ps.image.random_rotation(30, interpolation="bilinear"),
    'random_rotation(30, interpolation="bicubic")': ps.image.random_rotation(30, interpolation="bicubic"),
    "color_jitter(brightness=0.4)": ps.image.color_jitter(brightness=0.4),
    "color_jitter(contrast=0.4)": ps.image.color_jitter(contrast=0.4),
    "color_jitter(saturation=0.4)": ps.image.color_jitter(saturation=0.4),
    "color_jitter(hue=0.1)": ps.image.color_jitter(hue=0.1),
    "color_jitter(0.4, 0.4, 0.4, 0.1)": ps.image.color_jitter(0.4, 0.4, 0.4, 0.1),
    "random_grayscale(1)": ps.image.random_grayscale(1),
    "random_invert(1)": ps.image.random_invert(1),
    "random_posterize(4, 1)": ps.image.random_posterize(4, 1),
    "random_solarize(128, 1)": ps.image.random_solarize(128, 1),
    "random_sharpness(2, 1)": ps.image.random_sharpness(2, 1),
    "random_autocontrast(1)": ps.image.random_autocontrast(1),
    "random_equalize(1)": ps.image.random_equalize(1),
    "gaussian_blur(3)": ps.image.gaussian_blur(3),
    "gaussian_blur(23)": ps.image.gaussian_blur(23),
    "rand_augment()": ps.image.rand_augment(),
    "trivial_augment()": ps.image.trivial_augment(),
}


def pillow_steps():
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps

    bilinear, bicubic = Image.Resampling.BILINEAR, Image.Resampling.BICUBIC
    box = (20, 10, 190, 200)

    def hue(image):
        h, s, v = image.convert("HSV").split()
        shifted = Image.fromarray(np.asarray(h) + np.uint8(20))
        return Image.merge("HSV", (shifted, s, v)).convert("RGB")

    return {
        "random_resized_crop(224)": lambda image: image.resize((SIDE, SIDE), bilinear, box),
        'random_resized_crop(224, interpolation="area")': lambda image: image.resize(
            (SIDE, SIDE), Image.Resampling.BOX, box
        ),
        'random_resized_crop(224, interpolation="bicubic")': lambda image: image.resize((SIDE, SIDE), bicubic, box),
        'random_resized_crop(224, interpolation="nearest")': lambda image: image.resize(
            (SIDE, SIDE), Image.Resampling.NEAREST, box
        ),
        "random_horizontal_flip(1)": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        "random_vertical_flip(1)": lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        "random_crop(224, 28)": lambda image: ImageOps.expand(image, 28).crop((9, 30, 9 + SIDE, 30 + SIDE)),
        "random_rotation(30)": lambda image: image.rotate(20),
        'random_rotation(30, interpolation="bilinear")': lambda image: image.rotate(20, bilinear),
        'random_rotation(30, interpolation="bicubic")': lambda image: image.rotate(20, bicubic),
        "color_jitter(brightness=0.4)": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
        "color_jitter(contrast=0.4)": lambda image: ImageEnhance.Contrast(image).enhance(1.3),
        "color_jitter(saturation=0.4)": lambda image: ImageEnhance.Color(image).enhance(1.3),
        "color_jitter(hue=0.1)": hue,
        "random_grayscale(1)": lambda image: Image.merge("RGB", [image.convert("L")] * 3),
        "random_invert(1)": ImageOps.invert,
        "random_posterize(4, 1)": lambda image: ImageOps.posterize(image, 4),
        "random_solarize(128, 1)": ImageOps.solarize,
        "random_sharpness(2, 1)": lambda image: ImageEnhance.Sharpness(image).enhance(2),
        "random_autocontrast(1)": ImageOps.autocontrast,
        "random_equalize(1)": ImageOps.equalize,
        "gaussian_blur(3)": lambda image: image.filter(ImageFilter.GaussianBlur(0.8)),
        "gaussian_blur(23)": lambda image: image.filter(ImageFilter.GaussianBlur(1.5)),
    }


def write_images(folder: pathlib.Path, count: int) -> None:
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    random = np.random.default_rng(0)
    for number in range(count):
        waves = [np.sin(x / random.uniform(3, 40)) * np.cos(y / random.uniform(3, 40)) for _ in range(3)]
        pixels = np.stack(waves, -1) * 100 + 128 + random.normal(0, 6, (SIDE, SIDE, 3))
        np.save(folder / f"{number:05}.npy", pixels.clip(0, 255).astype(np.uint8))


def microseconds(folder: pathlib.Path, chain: ps.Chain, count: int) -> float:
    with ps.Loader(folder, batch_size=50, workers=1, transforms={"npy": chain | ps.image.channels_last()}) as loader:
        for _ in loader:  # the first epoch allocates
            pass
        loader.reset_stats()
        for _ in loader:
            pass
        stages = loader.stats()["stages"]
        return stages["transform"]["busy_s"] / count * 1e6


def pillow_microseconds(step, images) -> float:
    began = time.perf_counter()
    for image in images:
        step(image)
    return (time.perf_counter() - began) / len(images) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=500)
    given = parser.parse_args()
    try:
        from PIL import Image

        others = pillow_steps()
    except ImportError:
        Image, others = None, {}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        write_images(folder, given.images)
        sample = [np.load(path) for path in sorted(folder.glob("*.npy"))[:100]]
        images = [Image.fromarray(pixels) for pixels in sample] if Image else []
        ours = {name: [] for name in STEPS}
        theirs = {name: [] for name in others}
        for _ in range(given.rounds):
            plain = microseconds(folder, ps.image.decode(), given.images)
            for name, step in STEPS.items():
                ours[name].append(microseconds(folder, step, given.images) - plain)
                if name in others:
                    theirs[name].append(pillow_microseconds(others[name], images))
    print("| step | us | Pillow, us |\n| --- | --: | --: |")
    for name in STEPS:
        beside = f"{statistics.median(theirs[name]):.0f}" if name in others else ""
        print(f"| `{name}` | {statistics.median(ours[name]):.0f} | {beside} |")


if __name__ == "__main__":
    main()
