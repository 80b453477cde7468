#include <formats/error_location.hpp>
#include <formats/extent.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/work/row_account.hpp>
#include <order/serving_field.hpp>
#include <order/windows/windows.hpp>

namespace penstock {
namespace {

// Returns nothing for a row without the sample's value.
std::optional<OutputOrigin> origin_of(const Dataset& dataset, const Program& program, std::uint32_t output,
                                      const SampleContext& sample) {
  std::vector<Piece> pieces;
  const auto field = filling_field(dataset, program.outputs(), output, sample.sample, pieces);
  if (!field) return std::nullopt;
  const ErrorContext where = error_location(dataset, sample.sample, *field);
  try {
    const std::vector<std::byte> bytes = read_field(dataset, sample.sample, *field);
    return OutputOrigin{
        .account = program.explain(output, {.schema = &dataset.fields()[*field], .bytes = bytes}, sample),
        .file = where.shard,
        .offset = where.offset,
        .length = bytes.size()};
  } catch (const Error& error) {
    throw error.in(where);
  }
}

void add_steps(RowAccount& row, const Dataset& dataset, const Program& program, std::uint32_t output,
               const SampleContext& of_row, const WindowTable& table) {
  std::vector<WindowStep> steps;
  table.steps(of_row.sample, steps);
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    SampleContext sample = of_row;
    sample.row_of = of_row.sample;
    sample.sample = steps[i].sample;
    sample.key = dataset.key(sample.sample);
    auto origin = origin_of(dataset, program, output, sample);
    if (!origin) continue;
    origin->key = std::string(sample.key);
    origin->step = i;
    origin->inside = steps[i].inside;
    row.outputs.push_back(*std::move(origin));
  }
}

}  // namespace

RowAccount account_for(const Dataset& dataset, const Program& program, const SampleContext& sample,
                       const Windows* windows) {
  RowAccount row{.key = std::string(dataset.key(sample.sample)),
                 .sample = sample.sample,
                 .seed = sample.seed,
                 .epoch = sample.epoch,
                 .occurrence = sample.occurrence,
                 .outputs = {}};
  for (std::uint32_t output = 0; output < program.outputs().size(); ++output) {
    const Output& described = program.outputs()[output];
    if (described.inside) continue;
    if (described.window != 0) {
      add_steps(row, dataset, program, output, sample, *windows->tables[described.window - 1]);
    } else if (auto origin = origin_of(dataset, program, output, sample)) {
      row.outputs.push_back(*std::move(origin));
    }
  }
  return row;
}

}  // namespace penstock
