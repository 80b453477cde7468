// Finds the lengths of samples, by which batches are composed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <penstock/formats/dataset.hpp>
#include <penstock/order/buckets/length_buckets.hpp>

namespace penstock {

struct BucketOptions {
  std::uint64_t window = LengthBuckets{}.window;
  double budget = 0;  ///< 0: none
};

/// For LoaderOptions::buckets. `by` names whose lengths are meant:
/// - "tokens", a field: its elements, where it is an array (raw ones as the index has them, .npy by their headers); the
///   number, where it holds one of a fixed dtype; else its bytes, as the index has them.
/// - "bytes:jpg": bytes of a field, whatever it holds.
/// - "pixels:jpg", "height:jpg", "width:jpg": of images, as they are stored, by their headers.
/// - "shape:jpg": of images, height first, so that those of one shape stand together; takes no budget.
/// - "json:length", a member of a field: the number that it holds (Column).
/// Headers are read on all cores, members by a loader. A sample may lack the field as long as no loader delivers it.
/// Throws Error: invalid_argument, for no such field, and naming the sample, for a length below 0; corrupt,
/// unsupported, naming the sample; io; what `tick` throws, which is called now and then.
std::shared_ptr<const LengthBuckets> bucket_by(const Dataset& dataset, std::string_view by,
                                               const BucketOptions& options = {},
                                               const std::function<void()>& tick = {});
/// Of the program's own: one for each sample of the dataset that the loader is made with. Throws Error:
/// invalid_argument, for one that is below 0, infinite or no number.
std::shared_ptr<const LengthBuckets> bucket_by(std::span<const double> lengths, const BucketOptions& options = {});

}  // namespace penstock
