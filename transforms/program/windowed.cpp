#include <algorithm>
#include <memory>

#include <penstock/error.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/program/windowed.hpp>

namespace penstock {
namespace {

constexpr double kAddressesOfRows = 0x1p47;  // address space of a process

// Never fills a row, because the planner of the steps writes these rows.
class InsideRunner final : public OutputRunner {
 public:
  void fill(const SlotRow&) override {}
};

class InsideProgram final : public OutputProgram {
 public:
  using OutputProgram::OutputProgram;
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<InsideRunner>(); }
};

bool has_draws(const Chain& chain) {
  return std::ranges::any_of(chain.steps,
                             [](const Step& step) { return step.traits().draws && !step.is<step::OwnDecode>(); });
}

}  // namespace

std::unique_ptr<OutputProgram> compile_inside(const OutputRequest& request) {
  if (request.chain.steps.size() != 1) throw request.misuse("window_valid() must be the only step after follow()");
  Output output = request.output(DType::boolean, {});
  output.inside = true;
  return std::make_unique<InsideProgram>(std::move(output));
}

WindowedChains::WindowedChains(std::span<const FieldChain> chains)
    : chains_(chains.begin(), chains.end()), windows_(windows_of(chains)), numbers_(window_numbers(chains)) {}

void WindowedChains::apply(std::span<const std::optional<std::uint32_t>> leaders, std::span<Output> outputs) const {
  for (std::uint32_t i = 0; i < outputs.size(); ++i) apply(i, outputs[i]);
  const auto root = [&](std::uint32_t output) {
    while (leaders[output]) output = *leaders[output];
    return output;
  };
  std::vector<bool> drawn(outputs.size(), false);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (has_draws(chains_[i].second) && !outputs[i].verbatim) drawn[root(i)] = true;
  }
  for (std::uint32_t i = 0; i < outputs.size(); ++i)
    outputs[i].drawn = outputs[i].window != 0 && !outputs[i].inside && drawn[root(i)];
}

void WindowedChains::apply(std::uint32_t number, Output& output) const {
  const auto fail = [&](ErrorKind kind, const std::string& cause) {
    throw Error(kind, "output \"" + output.name + "\" = " + to_string(chains_[number].second) + ": " + cause);
  };
  if (numbers_[number] == 0) {
    if (output.inside)
      fail(ErrorKind::invalid_argument,
           "\"" + *chains_[number].second.followed + "\" has no window(), which window_valid() requires");
    return;
  }
  if (output.ragged)
    fail(ErrorKind::shape,
         "the steps of a window must have one shape, so that a row is (offsets, ...); resize or crop images, or pass a "
         "length to pad()");
  const WindowSpec& spec = *windows_[numbers_[number] - 1].spec;
  output.window = numbers_[number];
  output.steps = static_cast<std::uint32_t>(spec.offsets.size());
  output.shape.insert(output.shape.begin(), static_cast<std::int64_t>(output.steps));
  output.kind = RowKind::other;
  output.has_geometry = false;
  double bytes = static_cast<double>(size_of(output.dtype));
  for (const std::int64_t side : output.shape) bytes *= static_cast<double>(side);
  if (bytes > kAddressesOfRows)
    fail(ErrorKind::shape, "a row of " + to_string(output.shape) + " is larger than any memory");
}

}  // namespace penstock
