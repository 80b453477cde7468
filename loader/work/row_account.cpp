#include <penstock/loader/fetch/fetch.hpp>
#include <penstock/loader/plan/serving_field.hpp>
#include <penstock/loader/work/error_location.hpp>
#include <penstock/loader/work/row_account.hpp>

namespace penstock {

RowAccount account_for(const Dataset& dataset, const Program& program, const SampleContext& sample) {
  RowAccount row{.key = std::string(dataset.key(sample.sample)),
                 .sample = sample.sample,
                 .seed = sample.seed,
                 .epoch = sample.epoch,
                 .occurrence = sample.occurrence,
                 .outputs = {}};
  std::vector<Piece> pieces;
  for (std::uint32_t output = 0; output < program.outputs().size(); ++output) {
    const auto field = serving_field(dataset, program.outputs()[output], sample.sample, pieces);
    if (!field) continue;
    const ErrorContext where = error_location(dataset, sample.sample, *field);
    try {
      const std::vector<std::byte> bytes = read_field(dataset, sample.sample, *field);
      row.outputs.push_back(
          {.account = program.explain(output, {.schema = &dataset.fields()[*field], .bytes = bytes}, sample),
           .file = where.shard,
           .offset = where.offset,
           .length = bytes.size()});
    } catch (const Error& error) {
      throw error.in(where);
    }
  }
  return row;
}

}  // namespace penstock
