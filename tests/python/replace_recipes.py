"""Loaders in the form of public training scripts, for test_run_replace.py. Each function makes one from a folder of
photographs, or from a folder of icons of 32 x 32 pixels."""

import random

import numpy as np
import torch
import torchvision.transforms as T
from torch.utils import data
from torch.utils.data import DataLoader, Subset
from torchvision.datasets import DatasetFolder, ImageFolder
from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader
from torchvision.transforms import v2
from torchvision.transforms._presets import ImageClassification

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BICUBIC = T.InterpolationMode.BICUBIC
NORMALIZED = [T.ToTensor(), T.Normalize(MEAN, STD)]
EVAL = T.Compose([T.Resize(72), T.CenterCrop(64), *NORMALIZED])
TRAIN = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), *NORMALIZED])


def shuffled(root, transform, **options):
    return DataLoader(ImageFolder(root, transform), **{"batch_size": 8, "shuffle": True, "num_workers": 2, **options})


def distributed(root, transform, **options):
    folder = ImageFolder(root, transform)
    sampler = data.distributed.DistributedSampler(folder, num_replicas=2, rank=1)
    return DataLoader(folder, 4, sampler=sampler, num_workers=2, **options)


# ---- Replaced --------------------------------------------------------------------------------------------------------


def imagenet_example(root):
    return shuffled(root, TRAIN, pin_memory=True)


def imagenet_example_validation(root):
    return shuffled(root, EVAL, shuffle=False, pin_memory=True)


def imagenet_example_distributed(root):
    return distributed(root, TRAIN, drop_last=True)


def transfer_learning_tutorial(root):
    return shuffled(root, TRAIN, batch_size=4, num_workers=3)


def dcgan_tutorial(root):
    return shuffled(
        root, T.Compose([T.Resize(64), T.CenterCrop(64), T.ToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3)])
    )


def torchvision_reference(root):
    transforms = [
        T.RandomResizedCrop(64, interpolation=T.InterpolationMode.BILINEAR, antialias=True),
        T.RandomHorizontalFlip(0.5),
        T.PILToTensor(),
        T.ConvertImageDtype(torch.float),
        T.Normalize(MEAN, STD),
        T.RandomErasing(p=0.1),
    ]
    collate = data.dataloader.default_collate
    return shuffled(root, T.Compose(transforms), collate_fn=collate, pin_memory=True)


def torchvision_reference_v2(root):
    transforms = [
        v2.RandomResizedCrop(64, antialias=True),
        v2.RandomHorizontalFlip(0.5),
        v2.TrivialAugmentWide(),
        v2.PILToTensor(),
        v2.ToDtype(torch.float, scale=True),
        v2.Normalize(MEAN, STD),
        v2.ToPureTensor(),
    ]
    return distributed(root, v2.Compose(transforms))


def torchvision_reference_validation(root):
    transforms = [T.Resize(72), T.CenterCrop(64), T.PILToTensor(), T.ConvertImageDtype(torch.float), NORMALIZED[1]]
    folder = ImageFolder(root, T.Compose(transforms))
    return DataLoader(folder, batch_size=8, sampler=data.SequentialSampler(folder), num_workers=2)


class PresetTrain:
    """A class as in torchvision's references."""

    def __init__(self, size):
        self.augmentations = T.Compose([T.RandomResizedCrop(size), T.RandomHorizontalFlip(), *NORMALIZED])

    def __call__(self, img):
        return self.augmentations(img)


class PresetEval:
    def __init__(self, inner):
        self.transforms = inner

    def __call__(self, img):
        """Applies the transforms."""
        return self.transforms(img)


def torchvision_reference_preset(root):
    return shuffled(root, PresetTrain(64))


def torchvision_reference_preset_validation(root):
    return shuffled(root, PresetEval(PresetEval(EVAL)), shuffle=False)


def preset_without_workers(root):
    return shuffled(root, PresetTrain(64), num_workers=0)


def seed_worker(worker_id):
    """As in PyTorch's notes on reproducibility."""
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def seeded_workers(root):
    return shuffled(root, TRAIN, worker_init_fn=seed_worker, generator=torch.Generator().manual_seed(0))


def batch_sampler_of_a_reference(root):
    folder = ImageFolder(root, EVAL)
    batches = data.BatchSampler(data.RandomSampler(folder), 6, drop_last=True)
    return DataLoader(folder, batch_sampler=batches, num_workers=1)


def masked_autoencoder(root):
    crop = T.RandomResizedCrop(64, scale=(0.2, 1.0), interpolation=BICUBIC)
    return distributed(root, T.Compose([crop, T.RandomHorizontalFlip(), *NORMALIZED]), drop_last=True)


def contrastive_probe(root):
    transforms = [
        T.RandomResizedCrop(64, scale=(0.2, 1.0)),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        T.RandomGrayscale(p=0.2),
        T.RandomHorizontalFlip(),
        *NORMALIZED,
    ]
    return shuffled(root, T.Compose(transforms), persistent_workers=True)


def weighted_classes(root):
    folder = ImageFolder(root, TRAIN)
    weights = [1.0 + label for label in folder.targets]
    return DataLoader(folder, batch_size=8, sampler=data.WeightedRandomSampler(weights, len(weights)), num_workers=2)


def random_split(root):
    part, _ = data.random_split(ImageFolder(root, EVAL), [0.8, 0.2], torch.Generator().manual_seed(42))
    return DataLoader(part, batch_size=8, shuffle=True, num_workers=2)


def subset_sampler(root):
    folder = ImageFolder(root, EVAL)
    numbers = list(range(len(folder)))
    random.Random(1).shuffle(numbers)
    return DataLoader(folder, batch_size=8, sampler=data.SubsetRandomSampler(numbers[:20]))


def weights_transforms(root):
    return shuffled(root, ImageClassification(crop_size=64, resize_size=72), shuffle=False)


def icons_like_cifar(root):
    return shuffled(root, T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), *NORMALIZED]))


def gray_digits(root):
    return shuffled(root, T.Compose([T.Grayscale(1), T.Resize((28, 28)), T.ToTensor(), T.Normalize((0.5,), (0.5,))]))


def persistent_workers(root):
    return shuffled(root, EVAL, persistent_workers=True, prefetch_factor=3, drop_last=True)


def tensors_of_v2(root):
    transforms = [v2.ToImage(), v2.Resize(72, antialias=True), v2.CenterCrop(64), v2.ToDtype(torch.float32, scale=True)]
    return shuffled(root, v2.Compose([*transforms, v2.Normalize(MEAN, STD)]))


def no_workers(root):
    return shuffled(root, TRAIN, num_workers=0)


def no_workers_and_strides(root):
    return shuffled(root, v2.Compose([v2.Resize((64, 48)), v2.ToImage()]), num_workers=0, shuffle=False)


def plant_diseases(root):
    transforms = [
        T.Resize((64, 64)),
        T.RandomHorizontalFlip(p=0.5),
        T.RandomVerticalFlip(p=0.5),
        T.RandomRotation(30),
        T.ColorJitter(brightness=0.2, contrast=0.2, saturation=0.2, hue=0.1),
    ]
    return shuffled(root, T.Compose([*transforms, *NORMALIZED]), num_workers=0)


def noise_and_affine(root):
    transforms = [T.Resize((64, 64)), T.RandomAffine(10.0), T.GaussianBlur(3), *NORMALIZED, T.RandomErasing(0.5)]
    return shuffled(root, T.Compose(transforms), num_workers=0)


def rand_augment(root):
    return shuffled(root, T.Compose([T.RandomResizedCrop(64), T.RandAugment(), *NORMALIZED]))


def own_generator(root):
    generator = torch.Generator().manual_seed(9)
    return shuffled(root, EVAL, generator=generator, num_workers=2)


def own_generator_without_workers(root):
    return shuffled(root, TRAIN, generator=torch.Generator().manual_seed(9), num_workers=0)


def generic_folder(root):
    return DataLoader(DatasetFolder(root, default_loader, IMG_EXTENSIONS, EVAL), batch_size=7)


def chosen_files(root):
    folder = ImageFolder(root, EVAL, is_valid_file=lambda path: not path.endswith("k.JPEG"))
    folder.samples = folder.samples[::2]
    return DataLoader(Subset(folder, range(3, 11)), batch_size=3)


REPLACED = [
    imagenet_example,
    imagenet_example_validation,
    imagenet_example_distributed,
    transfer_learning_tutorial,
    dcgan_tutorial,
    torchvision_reference,
    torchvision_reference_v2,
    torchvision_reference_validation,
    torchvision_reference_preset,
    torchvision_reference_preset_validation,
    preset_without_workers,
    seeded_workers,
    batch_sampler_of_a_reference,
    masked_autoencoder,
    contrastive_probe,
    weighted_classes,
    random_split,
    subset_sampler,
    weights_transforms,
    icons_like_cifar,
    gray_digits,
    persistent_workers,
    tensors_of_v2,
    no_workers,
    no_workers_and_strides,
    plant_diseases,
    noise_and_affine,
    rand_augment,
    own_generator,
    own_generator_without_workers,
    generic_folder,
    chosen_files,
]

# ---- Not replaced ----------------------------------------------------------------------------------------------------


class HardSampler(data.Sampler):
    """Prefers the samples that the training found hard."""

    def __init__(self, count):
        self.losses = [1.0] * count

    def __iter__(self):
        order = sorted(range(len(self.losses)), key=lambda index: -self.losses[index])
        self.losses[order[0]] /= 2
        return iter(order)

    def __len__(self):
        return len(self.losses)


def sampler_with_state(root):
    folder = ImageFolder(root, EVAL)
    return DataLoader(folder, batch_size=8, sampler=HardSampler(len(folder)))


class Repeated(data.BatchSampler):
    def __iter__(self):
        yield from super().__iter__()


def own_batch_sampler(root):
    folder = ImageFolder(root, EVAL)
    return DataLoader(folder, batch_sampler=Repeated(data.SequentialSampler(folder), 8, False))


def own_lambda(root):
    return shuffled(root, T.Compose([T.Resize((64, 64)), T.ToTensor(), T.Lambda(lambda image: image * 2 - 1)]))


class Counted:
    calls = 0

    def __call__(self, image):
        Counted.calls += 1
        return image


def transform_with_side_effect(root):
    return shuffled(root, T.Compose([T.Resize((64, 64)), Counted(), T.ToTensor()]), num_workers=0)


def own_function(image):
    return T.functional.to_tensor(image.resize((64, 64)))


def transform_is_a_function(root):
    return shuffled(root, own_function)


class FolderWithPaths(ImageFolder):
    def __getitem__(self, index):
        return (*super().__getitem__(index), self.samples[index][0])


def dataset_with_paths(root):
    return DataLoader(FolderWithPaths(root, EVAL), batch_size=8)


class Filtered(ImageFolder):
    """Takes the next photograph instead of a narrow one."""

    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return (image, label) if image.mean() > 0 else super().__getitem__((index + 1) % len(self))


def dataset_that_filters(root):
    return DataLoader(Filtered(root, EVAL), batch_size=8, shuffle=True)


def dark(path):
    return default_loader(path).point(lambda level: level // 2)


def own_loader(root):
    return DataLoader(ImageFolder(root, EVAL, loader=dark), batch_size=8)


def target_transform(root):
    return DataLoader(ImageFolder(root, EVAL, target_transform=lambda label: 3 - label), batch_size=8)


def mixed(samples):
    images, labels = data.default_collate(samples)
    return v2.MixUp(num_classes=4)(images, labels)


def collate_that_mixes(root):
    return DataLoader(ImageFolder(root, TRAIN), batch_size=8, shuffle=True, num_workers=2, collate_fn=mixed)


def narrowing(worker):
    random.seed(worker)
    data.get_worker_info().dataset.samples.reverse()


def worker_init(root):
    return shuffled(root, TRAIN, worker_init_fn=narrowing)


class TwoCrops:
    def __init__(self, base):
        self.base = base

    def __call__(self, image):
        return [self.base(image), self.base(image)]


class Brighter(PresetEval):
    def __call__(self, img):
        return self.transforms(img) + 1


class CountedPreset(PresetEval):
    calls = 0

    def __getattribute__(self, name):
        CountedPreset.calls += 1
        return super().__getattribute__(name)


class ChosenPreset(PresetEval):
    @property
    def transforms(self):
        return random.choice([EVAL, TRAIN])

    @transforms.setter
    def transforms(self, inner):
        self.__dict__["transforms"] = inner


def preset_that_does_more(root):
    return shuffled(root, Brighter(EVAL))


def preset_with_side_effect(root):
    return shuffled(root, CountedPreset(EVAL))


def preset_with_a_property(root):
    return shuffled(root, ChosenPreset(EVAL))


def two_crops(root):
    return shuffled(root, TwoCrops(TRAIN))


def single_samples(root):
    return DataLoader(ImageFolder(root, EVAL), batch_size=None)


def two_folders(root):
    return DataLoader(data.ConcatDataset([ImageFolder(root, EVAL), ImageFolder(root, EVAL)]), batch_size=8)


class Streamed(data.IterableDataset):
    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        return iter(self.folder)


def iterable(root):
    return DataLoader(Streamed(ImageFolder(root, EVAL)), batch_size=8)


class Wrapped(data.Dataset):
    def __init__(self, subset, transform):
        self.subset, self.transform = subset, transform

    def __len__(self):
        return len(self.subset)

    def __getitem__(self, index):
        image, label = self.subset[index]
        return self.transform(image), label


def wrapper_dataset(root):
    return DataLoader(Wrapped(ImageFolder(root), EVAL), batch_size=8)


def auto_augment(root):
    return shuffled(root, T.Compose([T.RandomResizedCrop(64), T.AutoAugment(), *NORMALIZED]))


def hooked_transform(root):
    crop = T.CenterCrop(64)
    crop.register_forward_hook(lambda module, arguments, result: result)
    return shuffled(root, T.Compose([T.Resize(72), crop, T.ToTensor()]))


def replaced_method(root):
    folder = ImageFolder(root, EVAL)
    folder.__getitem__ = folder.__len__
    return DataLoader(folder, batch_size=8)


class EndlessLoader(DataLoader):
    pass


def subclass_of_the_loader(root):
    return EndlessLoader(ImageFolder(root, EVAL), batch_size=8)


def pictures_without_tensors(root):
    return DataLoader(ImageFolder(root, T.Resize((64, 64))), batch_size=8, collate_fn=list)


def any_order(root):
    return shuffled(root, EVAL, in_order=False)


def images_of_different_sizes(root):
    return DataLoader(ImageFolder(root, T.ToTensor()), batch_size=1)


NOT_REPLACED = {
    sampler_with_state: "HardSampler: is a sampler of your own, which may have a state",
    own_batch_sampler: "Repeated: is a batch_sampler of your own",
    own_lambda: "Lambda(): calls a function of your own",
    transform_with_side_effect: "Counted",
    transform_is_a_function: "own_function()",
    dataset_with_paths: "FolderWithPaths: is a subclass of ImageFolder",
    dataset_that_filters: "Filtered: is a subclass of ImageFolder",
    own_loader: "ImageFolder(loader=dark): is a loader of your own",
    target_transform: "ImageFolder(target_transform=<lambda>): changes labels",
    collate_that_mixes: "DataLoader(collate_fn=mixed): may change the batches",
    worker_init: "DataLoader(worker_init_fn=narrowing): ",
    two_crops: "TwoCrops",
    preset_that_does_more: "Brighter: is a class of your own",
    preset_with_side_effect: "CountedPreset: is a class of your own",
    preset_with_a_property: "ChosenPreset: is a class of your own",
    single_samples: "DataLoader(batch_size=None): ",
    two_folders: "ConcatDataset: is not an ImageFolder",
    iterable: "Streamed: is not an ImageFolder",
    wrapper_dataset: "Wrapped: is not an ImageFolder",
    auto_augment: "AutoAugment",
    hooked_transform: "CenterCrop(size=(64, 64)): has hooks",
    replaced_method: "ImageFolder.__getitem__: is replaced",
    subclass_of_the_loader: "EndlessLoader: is a subclass of DataLoader",
    pictures_without_tensors: "DataLoader(collate_fn=list)",
    any_order: "DataLoader(in_order=False)",
    images_of_different_sizes: "",
}
"""The begin of the reason."""
