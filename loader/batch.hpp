// A batch as the consumer gets it: named tensors in one slab, which goes back to its pool when the last copy dies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/transforms/tensor.hpp>

namespace penstock {

class Slab;
struct BadSample;  // stats.hpp

/// One output of a batch.
struct Field {
  std::string_view name;
  TensorView values;                      ///< (rows, ...); ragged: (items of all rows, ...)
  std::span<const std::int64_t> offsets;  ///< ragged: rows + 1 positions in `values`; else empty
  template <typename T>
  std::span<const T> as() const {  ///< elements of `values`, unchecked dtype
    return {reinterpret_cast<const T*>(values.data), static_cast<std::size_t>(values.bytes() / sizeof(T))};
  }
};

/// Copies share the slab; it is recycled when the last of them is gone. The memory belongs to the loader's pool, which
/// lives on until then.
class Batch {
 public:
  Batch() = default;
  explicit Batch(std::shared_ptr<const Slab> slab);

  std::uint64_t seed() const;
  std::uint64_t epoch() const;
  std::uint64_t number() const;  ///< of this rank's batches of the epoch, from its start position
  std::uint32_t size() const;    ///< rows
  std::span<const Field> fields() const;
  const Field& operator[](std::string_view name) const;  ///< throws Error: invalid_argument
  /// `__valid__`: 1 for rows that count, 0 for padding and for rows marked bad.
  std::span<const std::uint8_t> valid() const;
  std::span<const std::uint64_t> samples() const;  ///< sample number of each row
  std::span<const BadSample> bad() const;          ///< what is wrong with the rows that are marked bad, in row order
  std::span<const std::string_view> keys() const;  ///< `__key__`
  const std::shared_ptr<const Slab>& slab() const { return slab_; }

  /// What LoaderOptions::on_batch made of the batch: kept by it and its copies.
  void attach(std::shared_ptr<void> made) { attached_ = std::move(made); }
  const std::shared_ptr<void>& attached() const { return attached_; }

 private:
  std::shared_ptr<const Slab> slab_;
  std::shared_ptr<void> attached_;
};

}  // namespace penstock
