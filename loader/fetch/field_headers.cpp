#include <algorithm>
#include <mutex>
#include <utility>

#include <fcntl.h>

#include <penstock/formats/io/descriptor.hpp>
#include <penstock/formats/io/file_identity.hpp>
#include <penstock/loader/fetch/field_headers.hpp>
#include <penstock/transforms/codec.hpp>

namespace penstock {

std::span<const std::byte> FieldHeaders::of(std::uint64_t sample, std::uint32_t field, const Extent& extent,
                                            std::vector<std::byte>& scratch) {
  const std::span<const std::byte> recorded = dataset_.header(sample, field);
  if (!recorded.empty()) return recorded;
  const Codec* codec = codec_named(dataset_.fields()[field].codec);
  if (codec == nullptr || codec->prefix_bytes() == 0) return {};
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
  const std::uint64_t prefix = std::min(codec.prefix_bytes(), extent.length);
  const std::filesystem::path path = dataset_.file(extent.file).path;
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  dataset_.require_unchanged(extent.file, identity_of(file.get(), path));
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);  // or the kernel reads ahead, up to megabytes for each header
  std::vector<std::byte> bytes(prefix);
  bytes.resize(read_at(file.get(), bytes, extent.offset, path));
  return codec.header(bytes);
}

}  // namespace penstock
