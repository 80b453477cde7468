#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <base/amounts.hpp>
#include <base/printable.hpp>
#include <overview/page/charts.hpp>
#include <overview/page/definitions.hpp>
#include <overview/page/html.hpp>
#include <overview/page/rank.hpp>

namespace penstock::overview::page {
namespace {

// Limits that keep the page below 3 MB for any trace.
constexpr std::size_t kMostDevices = 64, kMostStreams = 64;
constexpr std::size_t kMostPath = 120;  // bytes

constexpr std::string_view kMissing = "not in this trace";

std::string missing() {
  return "<span class=\"missing\">" + std::string(kMissing) + "</span>";
}

std::string device_name(std::int32_t device) {
  return device < 0 ? "host" : "GPU " + std::to_string(device);
}

bool by_time(const std::pair<double, Category>& left, const std::pair<double, Category>& right) {
  return left.first > right.first;
}

std::string of_rows(std::size_t shown, std::size_t all, const std::string& singular) {
  return shown >= all ? count(all, singular) + "."
                      : "The first " + with_commas(shown) + " of " + count(all, singular) + ".";
}

// ---- Steps ----------------------------------------------------------------------------------------------------------

std::string category_table(const RankOverview& rank) {
  const double step = rank.step();
  const int digits = digits_for(step / 1e6);
  const std::vector<Column> columns{{"Category"}, {"Meaning", "what"}, {"Per step"}, {"Share"}};
  std::string rows;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const double time = rank.mean[category];
    const bool unknown =
        !(time > 0) &&
        (is_of_device(category) ? !rank.has_device() : category == Category::dataloader && rank.loader.calls == 0);
    rows += row(columns, {swatch(kind_of(category)) + escaped(overview::name(category)), escaped(meaning(category)),
                          unknown ? missing() : milliseconds(time, digits), unknown ? "" : share(ratio(time, step))});
  }
  rows +=
      row(columns, {"Step", "From its begin to its end", milliseconds(step, digits), step > 0 ? share(1) : "-"}, "sum");
  return table("Categories of a step", columns, rows, "steps");
}

std::string step_section(const RankOverview& rank, const std::string& of_rank) {
  const std::vector<Step>& steps = rank.steps.steps;
  if (steps.empty()) return {};
  const std::string bar = stacked_bar(category_parts(rank.mean, rank.step()),
                                      "Shares of the categories in a step" + largest_shares(rank), BarSize::large);
  std::string content =
      bar + category_table(rank) + paragraph("A moment that several categories cover counts for the first of them.");
  if (steps.size() > 1) content += "<h3>Each step</h3>\n" + category_legend(rank.mean) + step_chart(steps, rank.step());
  return section("steps", "Step time" + of_rank, content);
}

// ---- Devices --------------------------------------------------------------------------------------------------------

std::string device_facts(const RankOverview& rank, std::int32_t device) {
  const auto known = std::ranges::find(rank.devices, device, &Device::id);
  if (known == rank.devices.end()) return {};
  std::string facts = escaped(shortened(known->name, kMostPath));
  const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "" : ", ") + fact; };
  if (known->multiprocessors > 0) add(number(known->multiprocessors, 0) + " multiprocessors");
  if (known->memory_bytes > 0) add(decimal_bytes_text(known->memory_bytes) + " memory");
  return facts;
}

std::string device_card(const RankOverview& rank, const DeviceUse& use) {
  const std::string facts = device_facts(rank, use.device);
  return "<div><h3>" + device_name(use.device) + "</h3>" + paragraph(facts.empty() ? "Model: " + missing() : facts) +
         meter("Busy", use.busy) + meter("Est. SM efficiency", use.sm_efficiency) +
         meter("Est. occupancy", use.occupancy) + meter("Tensor cores", use.tensor_cores) + "</div>\n";
}

std::string device_section(const RankOverview& rank, const std::string& of_rank) {
  if (rank.uses.empty()) return {};
  std::string cards;
  const std::size_t shown = std::min(rank.uses.size(), kMostDevices);
  for (std::size_t i = 0; i < shown; ++i) cards += device_card(rank, rank.uses[i]);
  std::string content = "<div class=\"cards" + std::string(shown == 1 ? " single" : "") + "\">" + cards + "</div>\n";
  if (shown < rank.uses.size()) content += paragraph(of_rows(shown, rank.uses.size(), "device"));
  const auto per_step = [](double calls) { return number(calls, calls < 100 ? 1 : 0); };
  std::string counts = tile(per_step(rank.kernels_per_step), "kernels per step");
  if (rank.kernels_per_step > 0) counts += tile(time_text(rank.kernel_length / 1e9), "mean length of a kernel");
  counts += tile(per_step(rank.synchronisations.calls), "calls of .item() and the like per step");
  if (rank.synchronisations.calls > 0)
    counts += tile(milliseconds(rank.synchronisations.time), "per step in these calls");
  return section("gpu", "GPU" + of_rank,
                 content + tiles(counts) +
                     paragraph("Busy and SM efficiency are shares of the time of all steps. Occupancy and tensor "
                               "cores are shares of the kernels\u2019 time."));
}

std::vector<StreamIdle> busiest_streams(const RankOverview& rank) {
  std::vector<StreamIdle> streams = rank.idle;
  if (streams.size() > kMostStreams) {
    std::ranges::stable_sort(streams, std::ranges::greater(), &StreamIdle::events);
    streams.resize(kMostStreams);
  }
  return streams;
}

std::string idle_section(const RankOverview& rank, const std::string& of_rank) {
  if (rank.idle.empty()) return {};
  const std::vector<Column> columns{{"Stream"}, {"Events"}, {"Idle"},        {"Host"},       {"of it in DataLoader"},
                                    {"Kernel"}, {"Other"},  {"Queue, mean"}, {"Queue, max"}, {"Parts", "chart"}};
  const std::vector<StreamIdle> streams = busiest_streams(rank);
  double longest = 0;
  for (const StreamIdle& stream : streams) longest = std::max(longest, stream.idle());
  const int digits = digits_for(longest / 1e6);
  std::string rows;
  for (const StreamIdle& stream : streams) {
    const double idle = stream.idle(), loader = std::min(stream.host_in_loader, stream.host);
    const auto time = [&](double part, double whole) {
      return milliseconds(part, digits) + (whole > 0 ? " <small>" + percent_text(ratio(part, whole)) + "</small>" : "");
    };
    const auto part = [&](double of, const char* kind, const char* title) {
      return Part{ratio(of, idle), kind, std::string(title) + " " + milliseconds(of) + ", " + share(ratio(of, idle))};
    };
    const std::string place = device_name(stream.device) + ", stream " + std::to_string(stream.stream);
    rows += row(columns,
                {place, with_commas(stream.events), milliseconds(idle, digits), time(stream.host, idle),
                 time(loader, stream.host), time(stream.kernel, idle), time(stream.other, idle),
                 stream.queue_max > 0 ? number(stream.queue_mean, 1) : missing(),
                 stream.queue_max > 0 ? number(static_cast<double>(stream.queue_max), 0) : "",
                 stacked_bar({part(loader, "k5", "Host, in DataLoader:"), part(stream.host - loader, "k4", "Host:"),
                              part(stream.kernel, "k0", "Kernel:"), part(stream.other, "k7", "Other:")},
                             "Idle time of " + place)});
  }
  std::string content =
      table("Idle time of the streams", columns, rows) +
      legend({{"k5", "host, in DataLoader"}, {"k4", "host, elsewhere"}, {"k0", "kernel"}, {"k7", "other"}}) +
      paragraph(
          "A stream is idle between two of its events. Host: the later event was launched after the earlier one "
          "had ended. Kernel: a launched event begins within 30 us. Other: the stream waits longer, for another "
          "stream. Times are sums over the trace without its last step. The queue holds launched events that "
          "have not begun.");
  if (streams.size() < rank.idle.size())
    content += paragraph("The streams with the most events: " + with_commas(streams.size()) + " of " +
                         with_commas(rank.idle.size()) + ".");
  return section("idle", "Idle time of the streams" + of_rank, content);
}

std::string exposed_part(const char* what, const char* kind, double exposed, double time) {
  if (!(time > 0)) return paragraph("<b>" + std::string(what) + ":</b> " + missing() + ".", "plain");
  // Both are means of the same ranges, so a larger part can only be a rounding error.
  const double part = std::min(exposed, time);
  return paragraph("<b>" + std::string(what) + ":</b> " + milliseconds(part) + " of " + milliseconds(time) +
                       " per step are not hidden by kernels.",
                   "plain") +
         stacked_bar({{ratio(part, time), kind, "Not hidden: " + milliseconds(part)},
                      {1 - ratio(part, time), std::string(kind) + " faint", "Hidden: " + milliseconds(time - part)}},
                     std::string(what) + ": " + share(ratio(part, time)) + " not hidden by kernels");
}

std::string transfer_section(const RankOverview& rank, const std::string& of_rank) {
  const double copies = rank.copies.time, communication = rank.communication;
  if (!rank.has_device() && !(copies > 0) && !(communication > 0)) return {};
  std::string content = exposed_part("Copies", "k1", rank.mean[Category::memcpy], copies);
  if (copies > 0)
    content += paragraph(rank.copies.from_pageable > 0 ? milliseconds(rank.copies.from_pageable) +
                                                             " per step are copies from pageable host memory."
                                                       : "No copy reads pageable host memory.");
  content += exposed_part("Communication", "k3", rank.mean[Category::communication], communication);
  return section("transfers", "Exposed copies and communication" + of_rank, content);
}

std::string loader_section(const RankOverview& rank, const std::string& of_rank) {
  const LoaderWaits& loader = rank.loader;
  if (loader.calls == 0)
    return section("dataloader", "DataLoader" + of_rank,
                   paragraph("The trace has no call of <code>DataLoader.__next__()</code>. Other loaders leave no "
                             "such events. Their waits count as Other or CPU Exec."));
  const double exposed = rank.mean[Category::dataloader];
  return section(
      "dataloader", "DataLoader" + of_rank,
      tiles(tile(with_commas(loader.calls), loader.calls == 1 ? "call of __next__()" : "calls of __next__()") +
            tile(milliseconds(loader.time), "mean wait per step") +
            tile(milliseconds(exposed), "of it in the category DataLoader") +
            tile(loader.workers ? "yes" : "no", "worker processes")) +
          paragraph(loader.workers ? "Worker processes load the batches. A wait means that no batch is ready."
                                   : "The training process loads each batch itself, inside <code>__next__()</code>."));
}

// ---- Tables ---------------------------------------------------------------------------------------------------------

constexpr std::size_t kMostRows = 50;  // of a table

template <class Row>
std::span<const Row> first_rows(const std::vector<Row>& rows) {
  return std::span(rows).first(std::min(rows.size(), kMostRows));
}

std::string operator_section(const RankOverview& rank, const std::string& of_rank) {
  if (rank.operators.empty()) return {};
  const auto self = [](const OperatorTimes& times) {
    return std::max(0.0, times.host_self) + std::max(0.0, times.device_self);
  };
  double most = 0, longest = 0;
  bool device = false;
  for (const OperatorTimes& times : first_rows(rank.operators)) {
    most = std::max(most, self(times));
    longest = std::max({longest, times.host, times.host_self, times.device_self});
    device = device || times.device_self > 0;
  }
  std::vector<Column> columns{{"Operator", "names"}, {"Calls"}, {"Total on host"}, {"Self on host"}};
  if (device) columns.push_back({"Self on device"});
  columns.insert(columns.end(), {{"Share"}, {"Self time", "chart"}});
  const int digits = digits_for(longest / 1e6);
  std::string rows;
  for (const OperatorTimes& times : first_rows(rank.operators)) {
    std::vector<std::string> cells{name(times.name), with_commas(times.calls), milliseconds(times.host, digits),
                                   milliseconds(times.host_self, digits)};
    if (device) cells.push_back(milliseconds(times.device_self, digits));
    cells.push_back(share(ratio(self(times), rank.operator_time)));
    cells.push_back(stacked_bar({{ratio(times.host_self, most), "k6", "Host: " + milliseconds(times.host_self)},
                                 {ratio(times.device_self, most), "k0", "Device: " + milliseconds(times.device_self)}},
                                "Self time " + milliseconds(self(times))));
    rows += row(columns, cells);
  }
  return section("operators", "Operators by self time" + of_rank,
                 paragraph(of_rows(first_rows(rank.operators).size(), rank.operators.size(), "operator name") +
                           " Times are sums over the trace. Shares are of the self time of all operators.") +
                     (device ? legend({{"k6", "host"}, {"k0", "device"}}) : "") +
                     table("Operators by self time", columns, rows));
}

std::string kernel_section(const RankOverview& rank, const std::string& of_rank) {
  if (rank.kernels.empty()) return {};
  const std::vector<Column> columns{{"Kernel", "names"}, {"Calls"}, {"Total"},        {"Mean"},
                                    {"Tensor cores"},    {"Share"}, {"Time", "chart"}};
  double most = 0;
  for (const KernelTimes& times : first_rows(rank.kernels)) most = std::max(most, times.time);
  const int digits = digits_for(most / 1e6);
  const bool nvidia = std::ranges::any_of(rank.uses, [](const DeviceUse& use) { return use.tensor_cores.has_value(); });
  std::string rows;
  for (const KernelTimes& times : first_rows(rank.kernels))
    rows += row(columns,
                {name(times.name), with_commas(times.calls), milliseconds(times.time, digits),
                 time_text(ratio(times.time, static_cast<double>(times.calls)) / 1e9),
                 nvidia ? (times.tensor_cores ? "yes" : "no") : "-", share(ratio(times.time, rank.kernel_time)),
                 stacked_bar({{ratio(times.time, most), "k0", milliseconds(times.time)}}, milliseconds(times.time))});
  return section("kernels", "Kernels by time" + of_rank,
                 paragraph(of_rows(first_rows(rank.kernels).size(), rank.kernels.size(), "kernel name") +
                           " Times are sums over the trace. Shares are of the time of all kernels.") +
                     table("Kernels by time", columns, rows));
}

std::string memory_section(const RankOverview& rank, const std::string& of_rank) {
  if (rank.memory.empty()) return {};
  double most = 0;
  for (const MemoryPeak& peak : rank.memory)
    most = std::max({most, static_cast<double>(peak.allocated), static_cast<double>(peak.reserved)});
  const std::vector<Column> columns{{"Device"}, {"Peak allocated"}, {"Peak reserved"}, {"Allocated, reserved", "wide"}};
  std::string rows;
  const std::size_t shown = std::min(rank.memory.size(), kMostDevices);
  for (std::size_t i = 0; i < shown; ++i) {
    const MemoryPeak& peak = rank.memory[i];
    const auto allocated = static_cast<double>(peak.allocated), reserved = static_cast<double>(peak.reserved);
    const std::string label = "Allocated: " + decimal_bytes_text(allocated);
    rows += row(columns, {device_name(peak.device), decimal_bytes_text(allocated),
                          reserved > 0 ? decimal_bytes_text(reserved) : missing(),
                          stacked_bar({{ratio(allocated, most), "k0", label},
                                       {ratio(reserved - allocated, most), "k0 faint", "Reserved in addition"}},
                                      label)});
  }
  return section("memory", "Memory" + of_rank,
                 table("Memory", columns, rows) +
                     (shown < rank.memory.size() ? paragraph(of_rows(shown, rank.memory.size(), "device")) : ""));
}

}  // namespace

std::string file_name(const RankOverview& rank) {
  return shortened(std::filesystem::path(rank.path).filename().string(), kMostPath);
}

std::string rank_name(const RankOverview& rank) {
  return rank.rank ? "rank " + std::to_string(*rank.rank) : file_name(rank);
}

std::string count(std::uint64_t number, const std::string& singular) {
  return with_commas(number) + " " + singular + (number == 1 ? "" : "s");
}

std::string largest_shares(const RankOverview& rank) {
  constexpr std::size_t kMost = 4;
  constexpr double kVisible = 0.005;
  std::vector<std::pair<double, Category>> shares;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    shares.emplace_back(ratio(rank.mean[category], rank.step()), category);
  }
  std::ranges::stable_sort(shares, by_time);
  std::string out;
  for (std::size_t i = 0; i < kMost && shares[i].first >= kVisible; ++i)
    out += (out.empty() ? ": " : ", ") + percent_text(shares[i].first) + " " +
           std::string(overview::name(shares[i].second));
  return out;
}

std::string rank_sections(const RankOverview& rank, const std::string& of_rank) {
  return step_section(rank, of_rank) + device_section(rank, of_rank) + idle_section(rank, of_rank) +
         transfer_section(rank, of_rank) + loader_section(rank, of_rank) + operator_section(rank, of_rank) +
         kernel_section(rank, of_rank) + memory_section(rank, of_rank);
}

}  // namespace penstock::overview::page
