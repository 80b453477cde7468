#include <formats/encodings.hpp>
#include <transforms/decoders.hpp>

namespace penstock {

Peeked Decoders::peek(const FieldBytes& field) {
  // Selected ranges need not begin with the magic bytes.
  const Codec& codec =
      own_ != nullptr ? *own_
                      : codec_for(*field.schema, field.ranges.empty() ? field.bytes : std::span<const std::byte>{});
  Decoder* decoder = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.codec == &codec) decoder = entry.decoder.get();
  }
  if (decoder == nullptr) {
    entries_.push_back({&codec, codec.decoder(*field.schema, options_)});
    decoder = entries_.back().decoder.get();
    decoder->share(parallel_);
  }
  return {&codec, decoder, decoder->peek(field), own_ == nullptr && codec_traits(codec.name()).in_place};
}

std::byte* ScratchMemory::get(std::uint64_t bytes) {
  if (bytes > capacity_) {
    // The capacity is 0 first, in case the allocation throws.
    capacity_ = 0;
    memory_.reset();
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity_ = bytes;
  }
  return memory_.get();
}

}  // namespace penstock
