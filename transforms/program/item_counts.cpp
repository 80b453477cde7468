// Compiles what tells of a row's items how many they are: mask() and lengths().
#include <cstring>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/transforms/program/compile.hpp>

namespace penstock {
namespace {

class MaskOfItemsRunner final : public OutputRunner {
 public:
  std::uint64_t items(const SlotRow& row) override { return row.items->delivered; }
  void fill(const SlotRow& row) override {
    if (row.slot.empty()) return;
    const std::size_t items = std::min<std::size_t>(row.items->delivered, row.slot.size());
    std::memset(row.slot.data(), 1, items);
    std::memset(row.slot.data() + items, 0, row.slot.size() - items);
    row.watch.lap(row.watch.times.transform);
  }
  void leave_empty(std::span<std::byte> slot) override {
    if (!slot.empty()) std::memset(slot.data(), 0, slot.size());
  }
};

class LengthsRunner final : public OutputRunner {
 public:
  void fill(const SlotRow& row) override {
    const auto items = static_cast<std::int64_t>(row.items->delivered);
    std::memcpy(row.slot.data(), &items, sizeof(items));
    row.watch.lap(row.watch.times.transform);
  }
  void leave_empty(std::span<std::byte> slot) override { std::memset(slot.data(), 0, slot.size()); }
};

template <typename Runner>
class CountsProgram final : public OutputProgram {
 public:
  using OutputProgram::OutputProgram;
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<Runner>(); }
};

}  // namespace

std::unique_ptr<OutputProgram> compile_item_counts(const OutputRequest& request) {
  if (request.chain.steps.size() != 1)
    throw request.misuse(to_string(request.chain.steps.back()) + " stands alone after follow()");
  const Output& leader = request.leader->output();
  if (request.chain.steps[0].is<step::Lengths>()) {
    Output output = request.output(DType::i64, {});
    output.may_be_missing = leader.may_be_missing;
    return std::make_unique<CountsProgram<LengthsRunner>>(std::move(output));
  }
  if (!leader.padding) {
    throw request.misuse("mask() tells what pad() filled up, but \"" + leader.name +
                         "\" does not end in it; a mask of pixels that moves with its image is follow() alone");
  }
  Output output = request.output(DType::boolean, leader.ragged ? Shape{} : Shape{leader.shape.front()});
  output.ragged = leader.ragged;
  output.may_be_missing = leader.may_be_missing;
  output.padding = RowPadding{.multiple = leader.padding->multiple};
  return std::make_unique<CountsProgram<MaskOfItemsRunner>>(std::move(output));
}

}  // namespace penstock
