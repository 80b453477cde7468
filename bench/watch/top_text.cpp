#include <algorithm>
#include <cmath>

#include <base/printable.hpp>
#include <bench/measure/units.hpp>
#include <bench/report/table.hpp>
#include <bench/watch/ranks.hpp>
#include <bench/watch/top.hpp>

namespace penstock {
namespace {

constexpr std::size_t kBar = 10;

std::string percent(double share) {
  return fixed(100 * share, 0) + " %";
}

std::string bar(double share) {
  const auto filled = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kBar));
  return "[" + std::string(filled, '#') + std::string(kBar - filled, ' ') + "]";
}

std::string state_text(const LoaderUse& use) {
  std::string text(use.state);
  if (use.for_s > 0) text += " " + seconds_text(use.for_s);
  return text;
}

std::string loaders_text(const std::vector<LoaderUse>& uses, bool users) {
  std::vector<std::string> headings{"PID",   "program",      "rank",   "samples/s", "MB/s",      "data wait",
                                    "ready", "buffers free", "memory", "state",     "bottleneck"};
  if (users) headings.insert(headings.begin() + 1, "user");
  Table table(headings);
  for (const LoaderUse& use : uses) {
    const WatchedLoader& loader = *use.loader;
    const Figures& figures = loader.view.figures;
    const auto of_buffers = [&](std::string text) { return figures.slabs > 0 ? std::move(text) : std::string("-"); };
    std::vector<std::string> cells{std::to_string(loader.view.page.process.pid) + (loader.here ? "" : "*"),
                                   loader.program,
                                   std::to_string(figures.rank) + "/" + std::to_string(figures.world),
                                   fixed(use.samples_per_s, 1),
                                   of_buffers(fixed(use.stored_per_s / 1e6, 1)),
                                   percent(use.data_wait),
                                   of_buffers(with_commas(figures.ready)),
                                   of_buffers(with_commas(figures.free_slabs) + "/" + with_commas(figures.slabs)),
                                   of_buffers(bytes_text(figures.memory())),
                                   state_text(use),
                                   binds_text(figures)};
    if (users) cells.insert(cells.begin() + 1, std::to_string(loader.user));
    table.add(std::move(cells));
  }
  return table.text();
}

// A line for each loader: how busy each stage is, and the consumer's waits by stage; or the categories of a step.
std::string stages_text(const std::vector<LoaderUse>& uses) {
  std::string text;
  for (const LoaderUse& use : uses) {
    text +=
        "  " + std::to_string(use.loader->view.page.process.pid) + "." + std::to_string(use.loader->view.page.number);
    for (const LoaderUse::Stage& stage : use.stages)
      text += "  " + std::string(name(stage.kind)) + " " + bar(stage.busy) + " " + percent(stage.busy);
    std::string waited;
    for (const LoaderUse::Stage& stage : use.stages)
      if (stage.data_wait >= 0.005)
        waited += (waited.empty() ? "" : ", ") + std::string(name(stage.kind)) + " " + percent(stage.data_wait);
    if (!waited.empty()) text += "  data wait: " + waited;
    for (const auto& [part, taken] : use.step)
      text += "  " + std::string(part) + " " + bar(taken) + " " + percent(taken);
    text += "\n";
  }
  return text;
}

std::string ranks_text(const std::vector<LoaderUse>& uses) {
  std::string text;
  for (const Training& training : trainings_of(uses))
    text += "ranks of " + std::to_string(training.world) + ": " + training.text() + "\n";
  return text;
}

std::string node_text(const Look& before, const Look& after) {
  const NodeUse use = use_between(before.node, after.node);
  std::string text = "cores     " + fixed(use.cores_busy, 1) + " of " + std::to_string(use.cores) + " busy";
  if (use.quota && use.group_busy)
    text += "; this control group " + fixed(*use.group_busy, 1) + " of " + fixed(*use.quota, 1);
  text += "\n";
  for (const NodeUse::Disk& disk : use.disks)
    text += "disk      " + disk.name + " " + bar(disk.busy) + " " + percent(disk.busy) + " busy, reads " +
            fixed(disk.read_per_s / 1e6, 1) + " MB/s (" + fixed(disk.reads_per_s, 0) + "/s), writes " +
            fixed(disk.written_per_s / 1e6, 1) + " MB/s\n";
  for (const NodeUse::Network& network : use.networks)
    text += "network   " + network.name + " receives " + fixed(network.received_per_s / 1e6, 1) + " MB/s, sends " +
            fixed(network.sent_per_s / 1e6, 1) + " MB/s\n";
  std::size_t number = 0;
  for (const GpuUse& gpu : after.gpus)
    text += "GPU " + std::to_string(number++) + "     " + bar(gpu.busy) + " " + percent(gpu.busy) + " busy, memory " +
            bytes_text(gpu.memory_used) + " of " + bytes_text(gpu.memory_total) + ", " + one_line(gpu.name) + "\n";
  return text;
}

std::string cut(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += text.substr(begin, std::min(end - begin, width)) + "\n";
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string top_text(const Look& before, const Look& after, std::size_t width) {
  const std::vector<LoaderUse> uses = uses_between(before, after);
  const bool users =
      std::ranges::any_of(uses, [&](const LoaderUse& use) { return use.loader->user != uses.front().loader->user; });
  std::string text = node_text(before, after) + "\n";
  text +=
      uses.empty() ? "no loader is running\n" : loaders_text(uses, users) + "\n" + stages_text(uses) + ranks_text(uses);
  if (std::ranges::any_of(uses, [](const LoaderUse& use) { return !use.loader->here; }))
    text += "* in another container, with its PID there\n";
  for (const std::string& refused : after.watched.refused) text += "left out: " + refused + "\n";
  return cut(text, width);
}

}  // namespace penstock
