// Chains as users write them: image::random_resized_crop(224) | image::random_flip() | image::normalize(mean, stddev).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <penstock/formats/schema.hpp>
#include <penstock/transforms/chain/image_steps.hpp>
#include <penstock/transforms/chain/points_steps.hpp>

namespace penstock {

class Codec;      // penstock/transforms/codec.hpp
class Transform;  // penstock/transforms/transform.hpp

/// Descriptions of the steps; compiled by Program. Each names its source where it follows one.
namespace step {
struct Decode {
  bool fast = false;
  bool upright = false;
};                   // pixels
struct Elements {};  // of an array, as stored
struct Normalize {
  std::vector<float> mean, stddev;
};
struct Cast {
  DType dtype;
};
struct ChannelsLast {};
struct Label {
  std::int64_t classes = 0;  ///< more than 0: float32 (classes,), 1 at the class
};
struct Raw {};
struct Window {
  std::int64_t rows;
};
struct Boxes {};   // (n, 4) x0 y0 x1 y1 in pixels, moved by the geometry of the followed output
struct Points {};  // (n, 2) x y
struct OwnDecode {
  std::shared_ptr<const Codec> codec;
};
struct OwnTransform {
  std::shared_ptr<const Transform> transform;
};
}  // namespace step

using Step =
    std::variant<step::Decode, step::Elements, step::RandomResizedCrop, step::Resize, step::CenterCrop,
                 step::RandomCrop, step::PadImage, step::RandomFlip, step::RandomVerticalFlip, step::RandomRotation,
                 step::RandomAffine, step::ColorJitter, step::Grayscale, step::RandomColor, step::GaussianBlur,
                 step::RandAugment, step::TrivialAugment, step::RandomErasing, step::Normalize, step::Cast,
                 step::ChannelsLast, step::Label, step::Raw, step::Window, step::Boxes, step::Points, step::OwnDecode,
                 step::OwnTransform, step::CloudDecode, step::Surface, step::Sample, step::Finite, step::Center,
                 step::UnitSphere, step::UnitBox, step::Scale, step::Rotate, step::Jitter, step::RandomScale,
                 step::Shift, step::Dropout, step::ShufflePoints, step::Pad, step::ChannelsFirst, step::Attribute,
                 step::Mask, step::Origin>;

/// What happens to one output, from the stored field to the slot. A value; compiled once per loader.
struct Chain {
  std::vector<std::string> sources;     ///< field("jpg|png"): the first that a sample has; empty: the output's own name
  std::optional<std::string> followed;  ///< follow("jpg"): takes the geometry drawn for that output
  std::vector<Step> steps;
  std::string misuse;  ///< what composing it got wrong; Program throws it with the output's name
  friend Chain operator|(Chain left, const Chain& right);
};

/// As a user would write it, in one spelling whatever the language: "field(jpg|png) | image.resize(256)".
std::string to_string(const Chain& chain);
std::string to_string(const Step& step);
/// The chain that to_string() wrote, or that a person did: names may be quoted, defaults left out, lists written (a, b)
/// or [a, b]. Throws Error: invalid_argument, with the character where it stops making sense.
Chain parse_chain(std::string_view text);

/// One loader output: its name in the batch, and its chain.
using FieldChain = std::pair<std::string, Chain>;

Chain field(const std::string& alternatives);  ///< "jpg" or "jpg|png|webp"
Chain follow(const std::string& output);       ///< masks (nearest), boxes() and key_points() move with their image
/// "cls", "txt" or "json" number, or integer array element -> int64 scalar; with `classes`, float32 (classes,) with 1
/// at the class and 0 elsewhere.
Chain label(std::int64_t classes = 0);
Chain raw();  ///< undecoded bytes, ragged uint8

namespace image {
/// Decoded pixels, uint8. The default layout of image outputs is (C, H, W); see channels_last().
/// `fast`: a JPEG that the chain makes at least twice smaller is decoded at 1/2, 1/4 or 1/8 of its size, and resampled
/// from there. Other pixels than without it: docs/transforms.md tells by how much. `apply_exif_orientation`: an image
/// is turned and mirrored as its EXIF block says, before all other steps, as Pillow's ImageOps.exif_transpose does it.
Chain decode(bool fast = false, bool apply_exif_orientation = false);
/// A random box of `scale` of the area and `ratio` (width / height, log-uniform), resampled to size x size,
/// antialiased. interpolation: "nearest", "area", "bilinear" or "bicubic". Source:
/// torchvision.transforms.v2.RandomResizedCrop.
Chain random_resized_crop(std::int64_t size, std::pair<double, double> scale = {0.08, 1.0},
                          std::pair<double, double> ratio = {3.0 / 4.0, 4.0 / 3.0},
                          const std::string& interpolation = "bilinear");
Chain random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                          std::pair<double, double> ratio, const std::string& interpolation = "bilinear");
/// Keeps the aspect ratio; the long side is truncated to a whole pixel, as torchvision does.
Chain resize(std::int64_t short_side, const std::string& interpolation = "bilinear");
Chain resize(std::int64_t height, std::int64_t width, const std::string& interpolation = "bilinear");
Chain center_crop(std::int64_t size);

struct PadKeywords {
  Fill fill = {0};
  std::string padding_mode = "constant";  ///< or "edge", "reflect", "symmetric"
};
/// Source: torchvision.transforms.v2.Pad.
Chain pad(const Padding& padding, const PadKeywords& keywords = {});

struct CropKeywords {
  Padding padding = {};
  bool pad_if_needed = false;  ///< else an image smaller than the crop is a shape error
  Fill fill = {0};
  std::string padding_mode = "constant";
};
/// At a random place of the image, padded first. Source: torchvision.transforms.v2.RandomCrop.
Chain random_crop(std::int64_t size, const CropKeywords& keywords = {});
Chain random_crop(std::int64_t height, std::int64_t width, const CropKeywords& keywords = {});

Chain random_flip(double probability = 0.5);           ///< left and right
Chain random_vertical_flip(double probability = 0.5);  ///< top and bottom

/// By a uniform angle, counterclockwise about the middle; the size stays. interpolation: "nearest", "bilinear",
/// "bicubic". Source: torchvision.transforms.v2.RandomRotation.
Chain random_rotation(Range degrees, const std::string& interpolation = "nearest", Fill fill = {0});

struct AffineKeywords {
  double translate_x = 0, translate_y = 0;  ///< at most this part of the width and height
  Range scale{1, 1};
  Range shear_x{0, 0}, shear_y{0, 0};  ///< degrees
  std::string interpolation = "nearest";
  Fill fill = {0};
};
/// Clockwise, unlike random_rotation(). Source: torchvision.transforms.v2.RandomAffine.
Chain random_affine(Range degrees, const AffineKeywords& keywords = {});

/// Colors change in the pixels that the steps before give, uint8, with the arithmetic of Pillow: equal to the last bit.
struct JitterKeywords {
  Range brightness{1, 1}, contrast{1, 1}, saturation{1, 1};  ///< factors
  Range hue{0, 0};                                           ///< -0.5 to 0.5 turns
  double probability = 1;
};
/// In a random order. Source: torchvision.transforms.v2.ColorJitter.
Chain color_jitter(const JitterKeywords& keywords);
/// Factors from max(0, 1 - x) to 1 + x; hue from -hue to hue.
Chain color_jitter(double brightness, double contrast = 0, double saturation = 0, double hue = 0,
                   double probability = 1);
Chain grayscale(std::int64_t channels = 1);        ///< 1, or 3 equal ones. Source: ITU-R 601-2, as Pillow's "L"
Chain random_grayscale(double probability = 0.1);  ///< keeps the number of channels
Chain random_invert(double probability = 0.5);     ///< 255 - pixel
Chain random_posterize(std::int64_t bits, double probability = 0.5);  ///< the upper `bits` are kept
Chain random_solarize(double threshold, double probability = 0.5);    ///< pixels not below it are inverted
Chain random_sharpness(double factor, double probability = 0.5);      ///< 0 blurs, 1 leaves alone, 2 sharpens
Chain random_autocontrast(double probability = 0.5);                  ///< each channel is stretched to 0..255
Chain random_equalize(double probability = 0.5);                      ///< each channel's histogram is made flat
/// `kernel` pixels wide and high, odd; mirrored at the edges. Source: torchvision.transforms.v2.GaussianBlur.
Chain gaussian_blur(std::int64_t kernel, Range sigma = {0.1, 2.0}, double probability = 1);
Chain gaussian_blur(std::int64_t kernel_height, std::int64_t kernel_width, Range sigma, double probability = 1);

/// `num_ops` of 14 operations at one of `bins` magnitudes. Source: torchvision.transforms.v2.RandAugment.
Chain rand_augment(std::int64_t num_ops = 2, std::int64_t magnitude = 9, std::int64_t bins = 31,
                   const std::string& interpolation = "nearest", Fill fill = {0});
/// One of 14 operations at a random magnitude. Source: torchvision.transforms.v2.TrivialAugmentWide.
Chain trivial_augment(std::int64_t bins = 31, const std::string& interpolation = "nearest", Fill fill = {0});

/// out[c,y,x] = (in[y,x,c] / 255 - mean[c]) / stddev[c], float32. Source: torchvision ToTensor, then Normalize.
Chain normalize(std::vector<float> mean, std::vector<float> stddev);
Chain cast(DType dtype);  ///< float32, float16, bfloat16 or uint8; of normalized values, or of pixels as they are;
                          ///< masks that follow() an image take any dtype
Chain channels_last();    ///< (H, W, C) in place of (C, H, W)

struct ErasingKeywords {
  double probability = 0.5;
  Range scale{0.02, 0.33};          ///< of the area
  Range ratio{0.3, 3.3};            ///< height / width, log-uniform
  std::vector<double> value = {0};  ///< or one for each channel; empty: normally distributed ones
};
/// A random box of the output is overwritten: after normalize(), in its units. Followers are left alone.
/// Source: torchvision.transforms.v2.RandomErasing.
Chain random_erasing(const ErasingKeywords& keywords = {});
}  // namespace image

namespace array {
Chain decode();                          ///< npy or raw elements as stored
Chain random_window(std::int64_t rows);  ///< that many consecutive rows at a random place; only those are read
Chain cast(DType dtype);  ///< any dtype; to integers by truncation, and values out of range become the nearest one
}  // namespace array

/// Chains for point clouds (LAS, LAZ, PLY, PCD, OFF, text) and for arrays of points (N, 3 or more columns: npy, rows of
/// HDF5, .bin scans). What they give is float32 (K, C): x, y, z relative to an origin, then the attributes asked for.
/// The origins of the first such output stand in an output of their own, "__origin__": float64 (3,) a row, zero for
/// arrays. Steps run in the order written; sample() at the beginning reads no more of a cloud than the points it takes.
namespace points {
/// First in a chain. `attributes` follow x, y, z as further columns: names as PointAttribute gives them. `columns` says
/// how many float32 numbers a point has in values that do not tell (.bin scans: 4, KITTI's, unless said otherwise).
Chain decode(std::vector<std::string> attributes = {}, std::int64_t columns = 0);
/// `points` of the cloud, a fresh sample for every (seed, epoch, sample). Of a cloud packed in progressive order, the
/// next run of stored points: another one each epoch until all were delivered.
struct SampleKeywords {
  double size = 0;
  std::string voxel = "centroid";
  std::int64_t slices = 16;
  std::int64_t blocks = 0;
  std::string few = "repeat";
};
Chain sample(std::int64_t points, const std::string& method = "random", const SampleKeywords& keywords = {});
Chain voxel(double size, const std::string& mode = "centroid");  ///< one point for each occupied cell: ragged
Chain poisson(double distance);      ///< no two points closer, and none could be added: ragged
Chain surface(std::int64_t points);  ///< of a mesh (OFF): uniform on its triangles
Chain finite();                      ///< drops points with a coordinate that is no number, which otherwise is an error
Chain center();                      ///< the mean of the points moves to (0, 0, 0)
Chain unit_sphere();  ///< divided by the largest distance from (0, 0, 0); after center(): PointNet's normalization
Chain unit_box();     ///< the middle of the bounds moves to (0, 0, 0), their longest side becomes 2
Chain scale(double factor);
/// A random rotation about "z", or any ("free", uniform). Normals (attributes nx, ny, nz) turn with the points.
Chain rotate(const std::string& about = "z");
Chain jitter(double sigma = 0.01, double clip = 0.05);  ///< normal noise on each coordinate, clipped to +-clip
Chain random_scale(double low = 0.8, double high = 1.25);
Chain shift(double range = 0.1);  ///< the cloud, by uniform numbers from -range to range along each axis
/// A ratio is drawn from 0 to `most`, then each point, with that probability, becomes the first one.
/// Source: random_point_dropout of PointNet++.
Chain dropout(double most = 0.875);
Chain shuffle();                 ///< the order of the points
Chain pad(std::int64_t points);  ///< rows of zeros behind the points, up to so many; see mask()
Chain channels_first();          ///< (C, K) in place of (K, C)
Chain cast(DType dtype);         ///< float32, float16, bfloat16 or float64
/// After follow("OUTPUT"), or as a chain of its own: one attribute of each point in its stored dtype: (K,).
Chain attribute(const std::string& name);
Chain mask();    ///< after follow("OUTPUT"): bool (K,), true where the row has a point, false where pad() filled up
Chain origin();  ///< float64 (3,): what coordinates are relative to
}  // namespace points

/// After follow(): boxes as (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; ragged. Boxes that end
/// up empty stay, with zero area, so that rows keep matching labels stored apart.
Chain boxes();
Chain key_points();  ///< (n, 2) float32 x y in output pixels, not clipped; ragged

/// First in a chain: the field's bytes are read by a codec of the user's own, whatever they look like. The steps for
/// images may follow where its layouts say `image`, those for arrays where they do not.
Chain decode(std::shared_ptr<const Codec> codec);
/// Last in a chain, any number of them: transforms of the user's own, of what the steps before them give.
Chain transform(std::shared_ptr<const Transform> transform);

}  // namespace penstock
