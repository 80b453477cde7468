#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <bench/measure/units.hpp>
#include <bench/report/bandwidth_report.hpp>
#include <bench/report/table.hpp>

namespace penstock {
namespace {

double bytes_of(const BandwidthRow& row, const SampleBytes& sample) {
  switch (row.bytes) {
    case BandwidthRow::Bytes::stored:
      return sample.stored;
    case BandwidthRow::Bytes::delivered:
      return sample.delivered;
    case BandwidthRow::Bytes::none:
      break;
  }
  return 0;
}

// Samples per second that the row's resource delivers; 0 if it is not measured, or no bytes of a sample pass it.
double rate_of(const BandwidthRow& row, const SampleBytes& sample) {
  const double bytes = bytes_of(row, sample);
  return bytes > 0 ? row.measured.bytes_per_s / bytes : 0;
}

const BandwidthRow* slowest(std::span<const BandwidthRow> rows, const SampleBytes& sample) {
  const BandwidthRow* found = nullptr;
  for (const BandwidthRow& row : rows) {
    if (!row.limits || rate_of(row, sample) == 0) continue;
    if (found == nullptr || rate_of(row, sample) < rate_of(*found, sample)) found = &row;
  }
  return found;
}

std::string mega(double bytes_per_s) {
  return fixed(bytes_per_s / 1e6, bytes_per_s < 1e8 ? 1 : 0);
}

std::string whole(double number) {
  return with_commas(static_cast<std::uint64_t>(number));
}

}  // namespace

std::string bandwidth_table(std::span<const BandwidthRow> rows, const std::optional<SampleBytes>& sample,
                            const std::optional<double>& samples_per_s) {
  const bool with_need = sample && samples_per_s;
  std::vector<std::string> headings{"resource", "MB/s"};
  if (sample) headings.emplace_back("samples/s");
  if (with_need) headings.insert(headings.end(), {"needed MB/s", "use %"});
  headings.emplace_back("");
  Table table(headings);
  for (const BandwidthRow& row : rows) {
    const double measured = row.measured.bytes_per_s;
    const double rate = sample ? rate_of(row, *sample) : 0;
    const double needed = with_need ? bytes_of(row, *sample) * *samples_per_s : 0;
    std::vector<std::string> cells{row.resource, measured > 0 ? mega(measured) : "-"};
    if (sample) cells.push_back(rate > 0 ? whole(rate) : "-");
    if (with_need) {
      cells.push_back(needed > 0 ? mega(needed) : "-");
      cells.push_back(rate > 0 ? fixed(100 * *samples_per_s / rate, 0) : "-");
    }
    cells.push_back(row.measured.how);
    table.add(std::move(cells));
  }
  return table.text();
}

std::string bandwidth_limit(std::span<const BandwidthRow> rows, const std::optional<SampleBytes>& sample,
                            const std::optional<double>& samples_per_s) {
  if (!sample) return {};
  const BandwidthRow* row = slowest(rows, *sample);
  if (row == nullptr) return {};
  const double rate = rate_of(*row, *sample);
  const std::string speed = row->resource + ": " + mega(row->measured.bytes_per_s) + " MB/s are " + whole(rate) +
                            " samples/s of " + whole(bytes_of(*row, *sample)) + " bytes";
  const bool cached =
      std::ranges::any_of(rows, [](const BandwidthRow& other) { return other.resource == "disk" && !other.limits; });
  const std::string end = cached ? ". The disk does not count: the files are in the page cache." : ".";
  if (!samples_per_s) return "The slowest is the " + speed + end;
  const std::string needs = ", and the step needs " + whole(*samples_per_s) + " samples/s" + end;
  if (rate < *samples_per_s) return "The limit is the " + speed + needs;
  return "No resource is the limit. The slowest is the " + speed + needs;
}

}  // namespace penstock
