#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

struct CoordinatesPlan {
  std::int64_t columns;  ///< 4: boxes, 2: points
  step::Boxes drop{};
};

// Rejects boxes that are not corners. Boxes x, y, width, height would otherwise be silently misread as corners.
void require_corners(const double* box, std::uint64_t number) {
  if (!(box[2] < box[0] || box[3] < box[1])) return;
  char text[128];
  std::snprintf(text, sizeof text, "[%.7g, %.7g, %.7g, %.7g]", box[0], box[1], box[2], box[3]);
  throw Error::shape("item " + std::to_string(number) + " is " + text +
                     ", not a box x0, y0, x1, y1 with x0 <= x1 and y0 <= y1; convert COCO's x, y, width, height to x, "
                     "y, x + width, y + height when you pack");
}

class CoordinatesRunner final : public OutputRunner {
 public:
  explicit CoordinatesRunner(const CoordinatesPlan& plan) : plan_(plan) {}

  std::uint64_t items(const SlotRow& row) override {
    made_ = false;
    make(row);
    made_ = true;
    return trace_.delivered;
  }

  void fill(const SlotRow& row) override {
    if (!std::exchange(made_, false)) make(row);
    made_ = false;
    const std::uint64_t count = trace_.delivered * columns();
    if (row.slot.size() != count * sizeof(float)) throw Error::shape("has a different number of rows than its slot");
    convert_elements(reinterpret_cast<const std::byte*>(values_), DType::f64, row.slot.data(), DType::f32, count);
    row.watch.lap(row.watch.times.transform);
  }

  void leave_empty(std::span<std::byte>) override { trace_ = {}; }
  const ItemTrace* items_trace() const override { return &trace_; }

 private:
  std::uint64_t columns() const { return static_cast<std::uint64_t>(plan_.columns); }

  void make(const SlotRow& row) {
    const Peeked peeked = decoders_.peek(row.field);
    const std::uint64_t rows = rows_of(peeked.layout), count = rows * columns();
    std::byte* stored = scratch_.get(count * (size_of(peeked.layout.dtype) + sizeof(double)));
    values_ = reinterpret_cast<double*>(stored);
    stored += count * sizeof(double);
    peeked.decoder->decode(row.field, nullptr, {stored, peeked.layout.dtype, peeked.layout.shape});
    convert_elements(stored, peeked.layout.dtype, reinterpret_cast<std::byte*>(values_), DType::f64, count);
    row.watch.lap(row.watch.times.decode);
    if (plan_.columns == 4) {
      for (std::uint64_t i = 0; i < rows; ++i) require_corners(values_ + i * 4, i);
    }
    trace_ = {.stored = rows, .delivered = rows};
    if (plan_.drop.drops()) {
      move_and_drop(*row.leader, rows);
    } else {
      for (double* item = values_; item != values_ + count; item += columns()) move(*row.leader, item);
    }
    row.watch.lap(row.watch.times.transform);
  }

  void move(const Placement& leader, double* item) const {
    if (plan_.columns == 4) {
      leader.map_box(item);
    } else {
      leader.map_point(item[0], item[1]);
    }
  }

  void move_and_drop(const Placement& leader, std::uint64_t boxes) {
    kept_.clear();
    for (std::uint64_t i = 0; i < boxes; ++i) {
      double* box = values_ + i * 4;
      const double whole = plan_.drop.min_visibility > 0 ? leader.unclipped_area(box) : 0;
      leader.map_box(box);
      if (!stays(box, whole)) continue;
      std::copy_n(box, 4, values_ + kept_.size() * 4);
      kept_.push_back(static_cast<std::uint32_t>(i));
    }
    trace_.all = kept_.size() == boxes;
    trace_.kept = kept_;
    trace_.delivered = kept_.size();
  }

  // The conditions are negated, so that boxes with a NaN are dropped.
  bool stays(const double* box, double whole) const {
    const double width = box[2] - box[0], height = box[3] - box[1], area = width * height;
    const step::Boxes& drop = plan_.drop;
    if (!(width >= drop.min_size && height >= drop.min_size)) return false;
    if (!(area >= drop.min_area)) return false;
    return drop.min_visibility <= 0 || (area > 0 && area >= drop.min_visibility * whole);
  }

  std::uint64_t rows_of(const Layout& layout) const {
    const std::uint64_t count = element_count(layout.shape);
    if (count == 0) return 0;
    if (layout.shape.size() == 2 && layout.shape[1] == plan_.columns)
      return static_cast<std::uint64_t>(layout.shape[0]);
    throw Error::shape("is " + array_text(layout.dtype, layout.shape) + ", not (n, " + std::to_string(plan_.columns) +
                       ")");
  }

  const CoordinatesPlan& plan_;
  Decoders decoders_;
  ScratchMemory scratch_;
  double* values_ = nullptr;  ///< of the row, mapped to the output, without dropped items
  std::vector<std::uint32_t> kept_;
  ItemTrace trace_;
  bool made_ = false;  ///< values_ belong to the next row to fill
};

/// Boxes (4 columns) or key points (2 columns) that move with their image.
class CoordinatesProgram final : public OutputProgram {
 public:
  CoordinatesProgram(Output output, const CoordinatesPlan& plan) : OutputProgram(std::move(output)), plan_(plan) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<CoordinatesRunner>(plan_); }
  bool traces_items() const override { return true; }

 private:
  CoordinatesPlan plan_;
};

}  // namespace

std::unique_ptr<OutputProgram> compile_coordinates(const OutputRequest& request, std::int64_t columns) {
  Output output = request.output(DType::f32, {columns});
  output.ragged = true;
  output.kind = RowKind::follower;
  output.may_be_missing = true;
  CoordinatesPlan plan{.columns = columns};
  if (const auto* boxes = find_step<step::Boxes>(request.chain)) plan.drop = *boxes;
  return std::make_unique<CoordinatesProgram>(std::move(output), plan);
}

}  // namespace penstock
