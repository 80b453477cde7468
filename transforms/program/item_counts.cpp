// Compiles outputs with the number of a row's items: valid_mask() and lengths().
#include <cstring>
#include <utility>

#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

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
  CountsProgram(Output output, const OutputProgram& leader) : OutputProgram(std::move(output)), leader_(leader) {}
  // A count reads nothing itself, so it selects the same parts of the leader's field as the leader.
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    return leader_.select(field, sample, ranges);
  }
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<Runner>(); }
  std::optional<Layout> read_as(const FieldBytes& field) const override { return leader_.read_as(field); }
  bool takes_bytes() const override { return leader_.takes_bytes(); }

 private:
  const OutputProgram& leader_;
};

Output counts_of(const OutputRequest& request, DType dtype, Shape shape) {
  const Output& leader = request.leader->output();
  Output output = request.output(dtype, std::move(shape));
  output.may_be_missing = leader.may_be_missing;
  output.describes = true;
  const bool reads_alike = output.sources == leader.sources;
  output.partial = reads_alike && leader.partial;
  output.scattered = reads_alike && leader.scattered;
  return output;
}

}  // namespace

std::unique_ptr<OutputProgram> compile_item_counts(const OutputRequest& request) {
  if (request.chain.steps.size() != 1)
    throw request.misuse(to_string(request.chain.steps.back()) + " must be the only step after follow()");
  const Output& leader = request.leader->output();
  if (request.chain.steps[0].is<step::Lengths>()) {
    Output output = counts_of(request, DType::i64, {});
    return std::make_unique<CountsProgram<LengthsRunner>>(std::move(output), *request.leader);
  }
  if (!leader.padding) {
    throw request.misuse(
        "valid_mask() marks the items that pad() added, but \"" + leader.name +
        "\" does not end with pad(); for a mask of pixels that moves with its image, use only follow()");
  }
  Output output = counts_of(request, DType::boolean, leader.ragged ? Shape{} : Shape{leader.shape.front()});
  output.ragged = leader.ragged;
  output.padding = RowPadding{.multiple = leader.padding->multiple};
  return std::make_unique<CountsProgram<MaskOfItemsRunner>>(std::move(output), *request.leader);
}

}  // namespace penstock
