// Keeps a worker's decoders, one for each codec it has met, and memory for what they decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <penstock/codec.hpp>

namespace penstock {

/// A value ready to be decoded.
struct Peeked {
  const Codec* codec;
  Decoder* decoder;
  Layout layout;
  bool in_place;  ///< the field's bytes are the elements themselves
};

class Decoders {
 public:
  /// `own` decodes every value, where it is not null; it must outlive this.
  explicit Decoders(const DecodeOptions& options = {}, const Codec* own = nullptr) : options_(options), own_(own) {}
  Peeked peek(const FieldBytes& field);
  /// What all decoders are given, as Decoder::share(). Before the first peek().
  void share(Parallel* parallel) { parallel_ = parallel; }

 private:
  struct Entry {
    const Codec* codec;
    std::unique_ptr<Decoder> decoder;
  };
  DecodeOptions options_;
  const Codec* own_;
  Parallel* parallel_ = nullptr;
  std::vector<Entry> entries_;
};

/// Memory that grows to the largest value asked for, and keeps no content when it does.
class ScratchMemory {
 public:
  std::byte* get(std::uint64_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t capacity_ = 0;
};

}  // namespace penstock
