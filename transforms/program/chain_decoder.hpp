// Runs chains on single values in memory, without a dataset or a loader.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/schema.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// A field of a sample in memory.
struct NamedBytes {
  std::string name;
  std::string extension;  ///< in lower case, without a dot; for formats that first bytes do not identify, such as "txt"
  std::span<const std::byte> bytes;
};

/// Decodes samples with the chains of one or several outputs. The result depends only on the bytes, the chains and the
/// SampleContext, not on other samples. Thread-safe: concurrent calls do not wait for each other.
///
/// A chain is compiled for a kind of value, for example colour JPEGs, when the first one arrives.
class ChainDecoder {
 public:
  /// Returns memory for an output with this dtype and shape. May be called again for the same output.
  using Memory = std::function<std::span<std::byte>(std::size_t output, DType dtype, const Shape& shape)>;

  explicit ChainDecoder(std::vector<FieldChain> chains);
  ~ChainDecoder();
  ChainDecoder(ChainDecoder&&) = delete;

  std::span<const FieldChain> chains() const { return chains_; }
  /// Fills the outputs, in the order of the chains. Rows of different lengths or sizes have their own shape. Throws
  /// Error: invalid_argument, corrupt, unsupported, shape.
  void decode(std::span<const NamedBytes> values, const SampleContext& sample, const Memory& memory);

 private:
  struct Compiled;
  struct Worker;
  struct Peeker;

  template <class Idle, class Fits, class Make>
  std::unique_ptr<Idle> take(std::vector<std::unique_ptr<Idle>>& from, const Fits& fits, const Make& make);
  template <class Idle>
  void give(std::vector<std::unique_ptr<Idle>>& to, std::unique_ptr<Idle> idle);
  std::vector<const FieldSchema*> schemas_of(std::span<const NamedBytes> values);
  bool is_sized(const std::string& kind);
  void add_sized(const std::string& kind);

  const std::vector<FieldChain> chains_;
  std::mutex mutex_;  // guards all members below
  std::deque<FieldSchema> schemas_;
  std::vector<std::unique_ptr<Worker>> workers_;  // idle; the most recently used one is the last
  std::vector<std::unique_ptr<Peeker>> peekers_;  // likewise
  std::vector<std::string> sized_;                // kinds of values whose rows differ in size
};

}  // namespace penstock
