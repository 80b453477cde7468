// Makes what LoaderOptions::sampler and LoaderOptions::batching take, and mixtures that a file describes.
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

/// Draws::Kind::weighted, `once` or `repeated` of one number for each sample. The numbers are looked at when a loader
/// is made.
Draws drawn_by(Draws::Kind kind, std::span<const double> numbers, std::uint64_t samples = 0);
/// The same for numbers in a field ("weight", "json:weight"; see Column). Throws Error: invalid_argument if the field
/// or a sample's value is missing; corrupt, with the sample's name, if a value is not a finite number. Throws also what
/// reading and `tick` throw.
Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column, std::uint64_t samples = 0,
               const std::function<void()>& tick = {});
/// The same of a number for each value of a field; "cls" also by the names of classes. Throws the same; Error:
/// invalid_argument, naming the first sample whose value has none, and for a name that is no class.
Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column,
               const std::map<std::string, double>& number_of_value, std::uint64_t samples = 0,
               const std::function<void()>& tick = {});
/// Draws::Kind::balanced: the values of the field are the classes, in the order of their lengths, and of equally long
/// ones of their bytes. Throws the same.
Draws balanced_by(const Dataset& dataset, std::string_view column, std::uint64_t samples = 0,
                  const std::function<void()>& tick = {});

struct BucketOptions {
  std::uint64_t window = LengthBuckets{}.window;
  double budget = 0;  ///< 0: none
};

/// For LoaderOptions::batching. `by` says what the length of a sample is:
/// - "tokens", a field. If it is an array, the number of its elements: the index knows it of raw arrays, and the header
///   of .npy files. If it is a number of a fixed dtype, that number. Otherwise, its bytes, which the index knows.
/// - "bytes:jpg": the bytes of a field.
/// - "pixels:jpg", "height:jpg", "width:jpg": size of a stored image, from its header.
/// - "shape:jpg": shape of an image, height first, so that images of one shape are together. It allows no budget.
/// - "json:length", a member of a JSON field: the number in it (Column).
/// Headers are read on all cores, members by a loader. A sample may lack the field as long as no loader delivers it.
/// Calls `tick` now and then, and passes on its exceptions. Throws Error: invalid_argument, if there is no such field;
/// invalid_argument for a length below 0, corrupt and unsupported, all of which name the sample; io.
std::shared_ptr<const LengthBuckets> bucket_by(const Dataset& dataset, std::string_view by,
                                               const BucketOptions& options = {},
                                               const std::function<void()>& tick = {});
/// Of the program's own: one for each sample of the dataset that the loader is made with. Throws Error:
/// invalid_argument, for one that is below 0, infinite or no number.
std::shared_ptr<const LengthBuckets> bucket_by(std::span<const double> lengths, const BucketOptions& options = {});

/// A file of JSON that describes a mixture: its name ends in ".json", and it is no folder.
bool is_mixture_file(const std::filesystem::path& path);

/// {"sources": {name: path, ...}, "weights": {name: number}, "temperature": number, "stop": "first_exhausted" |
/// "all_exhausted" | number, "sampling": "shares" | "random", "on_change": "raise" | "carry", "schedule": [[position,
/// {name: number}], ...]}; all but "sources" may be left out. A source may also be
/// {"path": path} with the options of its open() ("format", "split", ...). Paths are relative to the file's folder;
/// sources stand in the order of their names' bytes. Opens the datasets. Throws Error: io; invalid_argument, naming the
/// file, for anything else than that; what opening and Mixture throw.
Mixture read_mixture(const std::filesystem::path& path);

}  // namespace penstock
