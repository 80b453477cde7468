// Makes the values of LoaderOptions::sampler and LoaderOptions::batching, and mixtures that a file describes.
//
//   const auto photos = penstock::open("photos");
//   penstock::LoaderOptions options{.shuffle = true};
//   options.sampler = std::make_shared<penstock::Draws>(penstock::balanced_by(photos, "cls"));
//   penstock::Loader loader(photos, options);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>
#include <penstock/mixture.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// Draws of kind weighted, `once` or `repeated`, from one number per sample. The numbers are checked when a loader is
/// made.
Draws drawn_by(Draws::Kind kind, std::span<const double> numbers, std::uint64_t samples = 0);
/// The same, with numbers from a field, "weight", or from a member of a JSON field, "json:weight". Throws Error:
/// invalid_argument if the field or a sample's value is missing; corrupt, with the sample's name, if a value is not a
/// finite number; also the errors of reading and of `tick`.
Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column, std::uint64_t samples = 0,
               const std::function<void()>& tick = {});
/// The same, with one number for each value of a field; for "cls", names of classes are accepted too. Throws the same
/// errors; also Error: invalid_argument, naming the first sample whose value has no number, and for an unknown class
/// name.
Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column,
               const std::map<std::string, double>& number_of_value, std::uint64_t samples = 0,
               const std::function<void()>& tick = {});
/// Draws of kind balanced. The values of the field are the classes, sorted by length, then by bytes. Throws the same
/// errors.
Draws balanced_by(const Dataset& dataset, std::string_view column, std::uint64_t samples = 0,
                  const std::function<void()>& tick = {});

/// The options of bucket_by().
struct BucketOptions {
  std::uint64_t window = LengthBuckets{}.window;
  double budget = 0;  ///< 0: none
};

/// For LoaderOptions::batching. `by` defines the length of a sample:
/// - "tokens", a field. If it is an array, the number of its elements, from the index for raw arrays, or from the
///   header of .npy files. If it is a number of a fixed dtype, that number. Otherwise, its length in bytes, from the
///   index.
/// - "bytes:jpg": the bytes of a field.
/// - "pixels:jpg", "height:jpg", "width:jpg": size of a stored image, from its header.
/// - "shape:jpg": shape of an image, height first, so that images of one shape are together. A budget is not allowed.
/// - "json:length", a member of a JSON field: the number in it.
///
/// Headers are read on all cores, members by a loader. A sample may lack the field as long as no loader delivers it.
/// Calls `tick` now and then, and passes on its exceptions. Throws Error: invalid_argument, if there is no such field;
/// invalid_argument for a length below 0, corrupt and unsupported, all of which name the sample; io.
std::shared_ptr<const LengthBuckets> bucket_by(const Dataset& dataset, std::string_view by,
                                               const BucketOptions& options = {},
                                               const std::function<void()>& tick = {});
/// The same, with lengths of the program: one for each sample of the loader's dataset. Throws Error: invalid_argument,
/// for a length that is negative, infinite or not a number.
std::shared_ptr<const LengthBuckets> bucket_by(std::span<const double> lengths, const BucketOptions& options = {});

/// Whether the path is a JSON file that describes a mixture: its name ends in ".json", and it is not a folder.
bool is_mixture_file(const std::filesystem::path& path);

/// Opens the mixture that a JSON file describes. Its members; all except "sources" are optional:
///
///   {"sources": {name: path, ...}, "weights": {name: number}, "temperature": number,
///    "stop": "first_exhausted" | "all_exhausted" | number, "sampling": "shares" | "random",
///    "on_change": "raise" | "carry", "schedule": [[position, {name: number}], ...]}
///
/// A source may also be {"path": path} with the options of its open() ("format", "split", ...). Paths are relative to
/// the file's folder. Sources are sorted by the bytes of their names. Throws Error: io; invalid_argument, naming the
/// file, for any other content; also the errors of open() and Mixture.
Mixture read_mixture(const std::filesystem::path& path);

}  // namespace penstock
