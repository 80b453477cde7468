#include <cstring>

#include <penstock/base/error.hpp>
#include <penstock/transforms/decoders.hpp>
#include <penstock/transforms/elements.hpp>
#include <penstock/transforms/program/compile.hpp>

namespace penstock {
namespace {

class CoordinatesRunner final : public OutputRunner {
 public:
  explicit CoordinatesRunner(std::int64_t columns) : columns_(columns) {}

  std::uint64_t items(const SlotRow& row) override { return rows_of(decoders_.peek(row.field).layout); }

  void fill(const SlotRow& row) override {
    const Peeked peeked = decoders_.peek(row.field);
    const std::uint64_t count = rows_of(peeked.layout) * static_cast<std::uint64_t>(columns_);
    if (row.slot.size() != count * sizeof(float)) throw Error::shape("has another number of rows than its slot");
    std::byte* stored = scratch_.get(count * (size_of(peeked.layout.dtype) + sizeof(double)));
    auto* values = reinterpret_cast<double*>(stored);
    stored += count * sizeof(double);
    peeked.decoder->decode(row.field, nullptr, {stored, peeked.layout.dtype, peeked.layout.shape});
    convert_elements(stored, peeked.layout.dtype, reinterpret_cast<std::byte*>(values), DType::f64, count);
    row.watch.lap(row.watch.times.decode);
    for (double* item = values; item != values + count; item += columns_) {
      if (columns_ == 4) {
        row.leader->map_box(item);
      } else {
        row.leader->map_point(item[0], item[1]);
      }
    }
    convert_elements(reinterpret_cast<const std::byte*>(values), DType::f64, row.slot.data(), DType::f32, count);
    row.watch.lap(row.watch.times.transform);
  }

 private:
  std::uint64_t rows_of(const Layout& layout) const {
    const std::uint64_t count = element_count(layout.shape);
    if (count == 0) return 0;
    if (layout.shape.size() == 2 && layout.shape[1] == columns_) return static_cast<std::uint64_t>(layout.shape[0]);
    throw Error::shape("is " + std::string(name(layout.dtype)) + " " + to_string(layout.shape) + ", not (n, " +
                       std::to_string(columns_) + ")");
  }

  std::int64_t columns_;
  Decoders decoders_;
  ScratchMemory scratch_;
};

/// Boxes (4 columns) or key points (2 columns) that move with their image.
class CoordinatesProgram final : public OutputProgram {
 public:
  CoordinatesProgram(Output output, std::int64_t columns) : OutputProgram(std::move(output)), columns_(columns) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<CoordinatesRunner>(columns_); }

 private:
  std::int64_t columns_;
};

}  // namespace

std::unique_ptr<OutputProgram> compile_coordinates(const OutputRequest& request, std::int64_t columns) {
  Output output = request.output(DType::f32, {columns});
  output.ragged = true;
  output.kind = RowKind::follower;
  return std::make_unique<CoordinatesProgram>(std::move(output), columns);
}

}  // namespace penstock
