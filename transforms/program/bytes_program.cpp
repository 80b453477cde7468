#include <cstring>

#include <penstock/error.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

class BytesRunner final : public OutputRunner {
 public:
  std::uint64_t items(const SlotRow& row) override { return row.field.bytes.size(); }
  void fill(const SlotRow& row) override {
    if (row.slot.size() != row.field.bytes.size()) {
      throw Error::shape("holds " + std::to_string(row.field.bytes.size()) + " bytes, but its row has " +
                         std::to_string(row.slot.size()));
    }
    if (!row.slot.empty()) std::memcpy(row.slot.data(), row.field.bytes.data(), row.slot.size());
    trace_ = {.stored = row.slot.size(), .delivered = row.slot.size()};
    row.watch.lap(row.watch.times.decode);
  }
  void leave_empty(std::span<std::byte>) override { trace_ = {}; }
  const ItemTrace* items_trace() const override { return &trace_; }

 private:
  ItemTrace trace_;
};

/// Delivers the stored bytes unchanged.
class BytesProgram final : public OutputProgram {
 public:
  using OutputProgram::OutputProgram;
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<BytesRunner>(); }
  bool traces_items() const override { return true; }
  bool takes_bytes() const override { return true; }
};

}  // namespace

std::unique_ptr<OutputProgram> compile_bytes(const OutputRequest& request) {
  Output output = request.output(DType::u8, {});
  output.ragged = true;
  output.verbatim = true;
  output.may_be_missing = true;
  return std::make_unique<BytesProgram>(std::move(output));
}

}  // namespace penstock
