"""Measures ps.decode() beside other decoders, on one thread: JPEGs in memory to arrays.

    python bench/studies/decode.py PHOTOS [--seconds 1.5] [--rounds 7]

Every decoder does the same work. "crop": a random crop as of torchvision's RandomResizedCrop, resized to 224 with
antialiasing (bilinear). "full": all pixels. The crops are drawn once. penstock draws others, from the same
distribution. A decoder that can only decode whole images decodes them and crops then. Prints the images per second of
CPU time, which other programs disturb less than elapsed time: the median of the rounds, in which the decoders take
turns. The last line of each table is the median ratio to the best other decoder, and its range.
"""

import argparse
import io
import pathlib
import statistics
import time

import numpy as np
import penstock as ps
from PIL import Image

SIZE = 224


def boxes_of(photos, seed=0):
    """A box (x, y, width, height) for each photo. Source: RandomResizedCrop of torchvision, scale 0.08 to 1."""
    random = np.random.default_rng(seed)
    boxes = []
    for photo in photos:
        width, height = Image.open(io.BytesIO(photo)).size
        for _ in range(10):
            area = width * height * random.uniform(0.08, 1)
            ratio = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
            w, h = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                break
        else:
            w = h = min(width, height)
        boxes.append((int(random.integers(0, width - w + 1)), int(random.integers(0, height - h + 1)), w, h))
    return boxes


def penstock():
    crop, full = ps.image.random_resized_crop(SIZE) | ps.image.channels_last(), ps.image.channels_last()
    # penstock draws its own crops, from the same distribution.
    return (lambda photo, box: ps.decode(photo, crop)), (lambda photo: ps.decode(photo, full))


def pillow():
    def crop(photo, box):
        x, y, w, h = box
        image = Image.open(io.BytesIO(photo)).convert("RGB")
        return np.asarray(image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=(x, y, x + w, y + h)))

    return crop, lambda photo: np.asarray(Image.open(io.BytesIO(photo)).convert("RGB"))


def resized_by_opencv(full):
    """A crop function for a decoder of whole images."""
    import cv2

    cv2.setNumThreads(1)

    def crop(photo, box):
        x, y, w, h = box
        method = cv2.INTER_AREA if w > SIZE or h > SIZE else cv2.INTER_LINEAR
        return cv2.resize(full(photo)[y : y + h, x : x + w], (SIZE, SIZE), interpolation=method)

    return crop


def opencv():
    import cv2

    def full(photo):
        return cv2.imdecode(np.frombuffer(photo, np.uint8), cv2.IMREAD_COLOR_RGB)

    return resized_by_opencv(full), full


def simplejpeg():
    import simplejpeg as library

    def full(photo):
        return library.decode_jpeg(photo, "RGB")

    return resized_by_opencv(full), full


def torchcodec():
    import torch
    from torchcodec.decoders import decode_image

    torch.set_num_threads(1)

    def full(photo):
        return decode_image(torch.frombuffer(bytearray(photo), dtype=torch.uint8))

    def crop(photo, box):
        x, y, w, h = box
        part = full(photo)[None, :, y : y + h, x : x + w]
        return torch.nn.functional.interpolate(part, (SIZE, SIZE), mode="bilinear", antialias=True)[0]

    return crop, full


def kornia():
    import kornia_rs as library

    decode = getattr(library, "decode_image_jpeg", None) or library.image.Image.decode

    def full(photo):
        return np.asarray(decode(photo))

    def crop(photo, box):
        x, y, w, h = box
        part = np.ascontiguousarray(full(photo)[y : y + h, x : x + w])
        return library.imgproc.resize(part, (SIZE, SIZE), interpolation="bilinear")

    return crop, full


def torchvision():
    import torch
    from torchvision.io import decode_image
    from torchvision.transforms.v2 import functional

    torch.set_num_threads(1)

    def full(photo):
        return decode_image(torch.frombuffer(bytearray(photo), dtype=torch.uint8), "RGB")

    def crop(photo, box):
        x, y, w, h = box
        return functional.resized_crop(full(photo), y, x, h, w, [SIZE, SIZE], antialias=True)

    return crop, full


DECODERS = (penstock, pillow, opencv, simplejpeg, torchcodec, torchvision, kornia)


def rate(decode, photos, boxes, seconds):
    count, begin = 0, time.process_time()
    while (took := time.process_time() - begin) < seconds:
        i = count % len(photos)
        decode(photos[i], boxes[i]) if boxes is not None else decode(photos[i])
        count += 1
    return count / took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=200)
    given = parser.parse_args()
    paths = [path for path in sorted(given.photos.rglob("*")) if path.suffix.lower() in (".jpg", ".jpeg")][
        : given.images
    ]
    photos = [path.read_bytes() for path in paths]
    boxes = boxes_of(photos)
    decoders = {}
    for make in DECODERS:
        try:
            decoders[make.__name__] = make()
            decoders[make.__name__][1](photos[0])
        except Exception as error:
            decoders.pop(make.__name__, None)
            print(f"{make.__name__}: left out: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
    print(f"{len(photos)} photos of {np.mean([len(photo) for photo in photos]) / 1000:.0f} kB, one thread")
    for work in ("crop", "full"):
        rates = {name: [] for name in decoders}
        for _ in range(given.rounds):
            for name, (crop, full) in decoders.items():
                rates[name].append(
                    rate(*((crop, photos, boxes) if work == "crop" else (full, photos, None)), given.seconds)
                )
        median = {name: statistics.median(values) for name, values in rates.items()}
        best = max((name for name in median if name != "penstock"), key=median.__getitem__)
        for name, value in sorted(median.items(), key=lambda item: -item[1]):
            print(f"{work}  {name:12} {value:8.0f} images per CPU second")
        ratios = [ours / theirs for ours, theirs in zip(rates["penstock"], rates[best])]
        print(f"{work}  penstock / {best}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
