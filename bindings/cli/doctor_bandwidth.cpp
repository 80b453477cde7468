#include "doctor_bandwidth.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <base/amounts.hpp>
#include <base/machine.hpp>
#include <base/printable.hpp>
#include <bench/measure/bandwidth.hpp>
#include <bench/measure/residency.hpp>
#include <bench/measure/task.hpp>
#include <bench/report/bandwidth_report.hpp>
#include <device/cuda/cuda.hpp>
#include <formats/places/address.hpp>
#include <penstock/error.hpp>
#include <storage/uring/uring_refusal.hpp>

#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

using Bytes = BandwidthRow::Bytes;

struct Data {
  std::optional<Dataset> dataset;
  std::vector<std::filesystem::path> files;
  std::vector<std::shared_ptr<const StoredObject>> objects;
  std::optional<SampleBytes> sample;
  std::string about;
  double resident = 0;
};

Data data_at(const std::string& path, const std::string& sample_size) {
  constexpr std::uint32_t kMostFiles = 256;
  Data data;
  if (!sample_size.empty()) {
    const auto bytes = static_cast<double>(parse_size(sample_size, "--sample-size"));
    data.sample = SampleBytes{.stored = bytes, .delivered = bytes};
    data.files = files_to_read(path, 1, kMostFiles);
    data.about = sample_size + " for a sample";
    return data;
  }
  data.dataset = open_with_progress(path);
  const Dataset& dataset = *data.dataset;
  const std::uint32_t count = std::min(dataset.file_count(), kMostFiles);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto file = static_cast<std::uint32_t>(std::uint64_t{i} * dataset.file_count() / count);
    if (const auto& object = dataset.stored_object(file))
      data.objects.push_back(object);
    else
      data.files.push_back(dataset.file(file).path);
  }
  const Task task = guess_task(dataset);
  data.sample = sample_bytes(dataset, task);
  data.resident = data.files.empty() ? 0 : resident_share(dataset);
  data.about = with_commas(dataset.size()) + " samples, " + decimal_bytes_text(data.sample->stored) + " stored and " +
               decimal_bytes_text(data.sample->delivered) + " in a batch for each (task " + task.name + ")";
  if (!data.files.empty()) data.about += ", " + percent_text(data.resident) + " in the page cache";
  return data;
}

Bandwidth gpu_bandwidth(const BandwidthOptions& options) {
  const CudaFacts facts = cuda_facts();
  if (facts.devices.empty()) return {.how = "no GPU: " + facts.problem};
  return device_bandwidth(*open_cuda_device(0), options);
}

// The rest of the table is still of use if one resource cannot be measured.
template <typename Measure>
Bandwidth tried(const Measure& measure) {
  try {
    return measure();
  } catch (const Error& error) {
    if (interrupted()) throw;
    return {.how = "cannot be measured: " + std::string(error.what())};
  }
}

std::vector<BandwidthRow> measured(const Data& data, const BandwidthOptions& options) {
  // Later epochs read cached files from memory.
  const bool cached = data.resident > 0.95;
  const unsigned cores = this_machine(uring_refusal()).cores_usable;
  std::vector<BandwidthRow> rows;
  if (!data.objects.empty())
    rows.push_back({"store", Bytes::stored, tried([&] { return store_bandwidth(data.objects, options); })});
  else
    rows.push_back({"disk", Bytes::stored, tried([&] { return disk_bandwidth(data.files, options); }), !cached});
  if (data.objects.empty())
    rows.push_back({"page cache", Bytes::stored, tried([&] { return page_cache_bandwidth(data.files, options); })});
  rows.push_back({"memory copy", Bytes::delivered, tried([&] { return memory_bandwidth(1, options); })});
  if (cores > 1)
    rows.push_back({"memory copy", Bytes::delivered, tried([&] { return memory_bandwidth(cores, options); }), false});
  rows.push_back({"PCIe", Bytes::delivered, tried([&] { return gpu_bandwidth(options); })});
  rows.push_back({"loopback", Bytes::none, tried([&] { return loopback_bandwidth(options); }), false});
  return rows;
}

}  // namespace

void BandwidthArguments::declare(CLI::App& command) {
  CLI::Option* measured = command.add_flag(
      "--bandwidth", measure,
      "Measure disk or store, page cache, memory, PCIe and loopback for about 4 seconds, next to the needs of the "
      "dataset PATH. Uses 64 MiB of buffers, and 64 MiB of page cache");
  command.add_option("--step", step_ms, "Milliseconds of a training step; shows the bandwidth that it needs")
      ->check(CLI::PositiveNumber)
      ->needs(measured);
  command.add_option("--batch-size", batch_size, "Samples of a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(measured);
  command
      .add_option("--sample-size", sample_size,
                  "Bytes of a sample, such as 110kB; PATH is then any file or folder, and is not opened as a dataset")
      ->needs(measured);
}

int BandwidthArguments::run(const std::string& path) const {
  const Data data = data_at(path, sample_size);
  BandwidthOptions options;
  options.keep_going = [] { return !interrupted(); };
  std::optional<double> samples_per_s;
  if (step_ms) samples_per_s = batch_size / *step_ms * 1e3;
  const std::vector<BandwidthRow> rows = measured(data, options);
  std::string text = shown_place(path) + ": " + data.about + "\n";
  if (samples_per_s) text += "step: " + std::to_string(batch_size) + " samples in " + text_of("%g", *step_ms) + " ms\n";
  text += "\n" + bandwidth_table(rows, data.sample, samples_per_s);
  const std::string limit = bandwidth_limit(rows, data.sample, samples_per_s);
  print(text + (limit.empty() ? "" : "\n" + limit + "\n"));
  return 0;
}

}  // namespace penstock::cli
