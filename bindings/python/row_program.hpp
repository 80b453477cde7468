// The steps of a chain behind a function of Python's, compiled for the arrays that the function gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include <penstock/transforms/program/program.hpp>

namespace penstock::python {

/// One dtype and shape goes in, one comes out. Any thread may run it; they take turns.
class RowProgram {
 public:
  /// What the arrays are, also where no step says so.
  enum class Kind : std::uint8_t {
    any,
    image,  ///< uint8 (H, W, C)
    items,  ///< (n, ...), of another length in each row
  };
  /// `place`: of the chain's first step in the whole chain, by which it draws. Throws Error: invalid_argument or shape,
  /// naming `output`.
  RowProgram(const std::string& output, const Chain& chain, std::size_t place, DType dtype, const Shape& shape,
             Kind kind);
  RowProgram(const RowProgram&) = delete;
  RowProgram& operator=(const RowProgram&) = delete;

  const Output& output() const { return program_.outputs()[0]; }
  /// Of the row that comes out: of ragged ones with its items.
  Shape row_shape() const;
  /// All of `row`, whose elements are `value`'s. Throws as SlotFiller::fill() does.
  void run(std::span<const std::byte> value, std::span<std::byte> row, const SampleContext& sample);

 private:
  const FieldSchema schema_;
  const Chain chain_;
  const Program program_;
  std::mutex mutex_;  // guards filler_; never waited for with the interpreter held
  SlotFiller filler_;
};

}  // namespace penstock::python
