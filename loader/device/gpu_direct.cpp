#include <algorithm>
#include <optional>

#include <device/device.hpp>
#include <formats/extent.hpp>
#include <loader/device/gpu_direct.hpp>
#include <order/serving_field.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kSmallestRow = 4096;  // storage moves whole pages, so a smaller row is not worth a read
constexpr std::uint64_t kProbes = 64;

/// Returns the file of the rows if all probed rows are plain extents.
std::optional<std::uint32_t> file_of_plain_rows(const Dataset& dataset, const Output& output) {
  if (output.ragged || !output.verbatim || output.window != 0 || output.row_bytes() < kSmallestRow) return std::nullopt;
  std::optional<std::uint32_t> file;
  std::vector<Piece> pieces;
  const std::uint64_t probes = std::min(kProbes, dataset.size());
  for (std::uint64_t i = 0; i < probes; ++i) {
    if (!serving_field(dataset, output, i * (dataset.size() / probes), pieces)) continue;
    if (pieces.size() != 1 || pieces.front().kind != Piece::Kind::extent) return std::nullopt;
    if (!file) file = pieces.front().extent.file;
  }
  return file;
}

}  // namespace

std::string names_of(std::span<const Output> outputs, std::span<const std::uint8_t> chosen) {
  std::string names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (chosen[i] != 0) names += (names.empty() ? "" : ", ") + outputs[i].name;
  }
  return names;
}

GpuDirect gpu_direct_of(const Dataset& dataset, const LoaderOptions& options, std::span<const Output> outputs) {
  if (!options.device_options.gpu_direct) return {};
  std::optional<std::uint32_t> file;
  std::vector<std::uint8_t> chosen(outputs.size(), 0);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto found = file_of_plain_rows(dataset, outputs[i]);
    if (!found || dataset.stored_object(*found) != nullptr) continue;
    file = found;
    chosen[i] = 1;
  }
  const std::string not_used = "not used: ";
  if (!file)
    return {.said = not_used + "no output's rows are stored as they are, each in one piece of 4096 bytes or more"};
  try {
    auto reads = std::make_shared<DeviceReads>(dataset, options.device_options.opened->file_reads(),
                                               options.read_options.threads);
    const std::string bounced = reads->bounced(*file);
    std::string said = (bounced.empty() ? "direct" : "bounce buffer, " + bounced) + ": " + names_of(outputs, chosen);
    return {.reads = std::move(reads), .outputs = std::move(chosen), .said = std::move(said)};
  } catch (const Error& error) {
    return {.said = not_used + error.cause()};
  }
}

}  // namespace penstock
