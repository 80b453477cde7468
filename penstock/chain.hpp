// Chains of transforms, as users write them: image::random_resized_crop(224) | image::random_horizontal_flip() |
// image::normalize(mean, std). A transform of a chain is called a step here.
//
// Steps in namespace image change uint8 pixels, with the arithmetic of Pillow. The output is (C, H, W).
//
// Steps in namespace points are for point clouds (LAS, LAZ, PLY, PCD, OFF, text) and for arrays of points (N, 3 or more
// columns: npy, rows of HDF5, .bin scans). They produce float32 (K, C): x, y, z relative to an origin, then the
// requested attributes. The batch contains the origins of the first such output as an extra output "__origin__":
// float64 (3,) per row, zero for arrays. The steps run in the order written. If a chain begins with sample(), only the
// sampled points of a cloud are read.
//
// Steps in namespace array are for other arrays (npy, rows of HDF5).
//
// Every function that makes a step throws Error: invalid_argument, naming the step, for parameters that are invalid for
// every input. If a step does not fit its output, Loader's constructor throws.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <penstock/image.hpp>
#include <penstock/points.hpp>
#include <penstock/step.hpp>
#include <penstock/steps.hpp>

namespace penstock {

/// A list of kinds of steps, without a value.
template <typename... Kinds>
struct StepList {};

/// Every step that can be written as text, in the order of the documentation.
using AllSteps =
    StepList<step::Decode, step::RandomResizedCrop, step::Resize, step::CenterCrop, step::RandomCrop, step::PadImage,
             step::RandomHorizontalFlip, step::RandomVerticalFlip, step::RandomRotation, step::RandomAffine,
             step::ColorJitter, step::Grayscale, step::RandomGrayscale, step::RandomInvert, step::RandomPosterize,
             step::RandomSolarize, step::RandomSharpness, step::RandomAutocontrast, step::RandomEqualize,
             step::GaussianBlur, step::RandAugment, step::TrivialAugment, step::Normalize, step::CastOf<Domain::image>,
             step::ChannelsLast, step::RandomErasing, step::CloudDecode, step::Sample, step::Voxel, step::Poisson,
             step::Surface, step::DropNonfinite, step::Center, step::UnitSphere, step::UnitBox, step::Scale,
             step::RandomScale, step::RandomRotate, step::RandomJitter, step::RandomShift, step::RandomDropout,
             step::RandomShuffle, step::Pad, step::ChannelsFirst, step::CastOf<Domain::points>, step::Attribute,
             step::PointsValidMask, step::Origin, step::Elements, step::Window, step::CastOf<Domain::array>, step::Cast,
             step::PadItems, step::ValidMask, step::Lengths, step::WindowValid, step::Label, step::Raw, step::Boxes,
             step::Keypoints>;

/// Parses the text of a chain, as to_string() or a person writes it: names may be quoted, defaults omitted, and lists
/// written (a, b) or [a, b]. Throws Error: invalid_argument, with the position of the first invalid character.
Chain parse_chain(std::string_view text);

/// One loader output: its name in the batch, and its chain.
using FieldChain = std::pair<std::string, Chain>;

/// Selects the field to read, "jpg", or the first of several that a sample has, "jpg|png|webp". "json:weather" is the
/// member "weather" of the objects in a JSON field. Must come first in a chain. Without it, a chain reads the field
/// with the name of its output.
Chain field(const std::string& alternatives);
/// Applies the geometry drawn for the output `output` to this one too. Masks (by nearest neighbour), boxes() and
/// keypoints() move with their image. attribute(), points::valid_mask() and arrays with one row per point follow the
/// points of their cloud. array::decode({.ragged = true}), valid_mask() and lengths() follow the items of a ragged
/// output.
Chain follow(const std::string& output);

}  // namespace penstock
