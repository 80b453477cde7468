// Keeps a worker's decoders, one for each codec in use, and memory for decoded values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <penstock/codec.hpp>

namespace penstock {

/// A value that is ready to be decoded.
struct Peeked {
  const Codec* codec;
  Decoder* decoder;
  Layout layout;
  bool in_place;  ///< the field's bytes are the decoded elements
};

class Decoders {
 public:
  /// If `own` is not null, it decodes every value and must outlive this object.
  explicit Decoders(const DecodeOptions& options = {}, const Codec* own = nullptr) : options_(options), own_(own) {}
  Peeked peek(const FieldBytes& field);
  /// Passes `parallel` to all decoders' share(). Must be called before the first peek().
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

/// Memory that grows to the largest requested size. Growing drops the content.
class ScratchMemory {
 public:
  std::byte* get(std::uint64_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t capacity_ = 0;
};

}  // namespace penstock
