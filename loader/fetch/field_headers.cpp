#include <mutex>

#include <formats/extent_reader.hpp>
#include <loader/fetch/field_headers.hpp>

namespace penstock {
namespace {

// Below this size, one request for a store's whole value is faster than one for its header and another for the rest.
constexpr std::uint64_t kCheapFromStore = std::uint64_t{4} << 20;

}  // namespace

std::span<const std::byte> FieldHeaders::of(std::uint64_t sample, std::uint32_t field, const Extent& extent,
                                            std::vector<std::byte>& scratch) {
  const std::span<const std::byte> recorded = dataset_.header(sample, field);
  if (!recorded.empty()) return recorded;
  const Codec* codec = codec_named(dataset_.fields()[field].codec);
  if (codec == nullptr || codec->prefix_bytes() == 0) return {};
  if (extent.length <= kCheapFromStore && dataset_.stored_object(extent.file) != nullptr) return {};
  const std::uint64_t number = sample * dataset_.fields().size() + field;
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = kept_.find(number); found != kept_.end()) return found->second;
  }
  scratch = read(*codec, extent);
  const std::unique_lock lock(mutex_);
  if (bytes_ + scratch.size() > most_bytes_) return scratch;
  const auto [kept, added] = kept_.try_emplace(number, scratch);
  if (added) bytes_ += scratch.size();
  return kept->second;
}

std::vector<std::byte> FieldHeaders::read(const Codec& codec, const Extent& extent) const {
  return codec.header(ExtentReader(dataset_).beginning(extent, codec.prefix_bytes()));
}

}  // namespace penstock
