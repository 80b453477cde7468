#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include <base/printable.hpp>
#include <bench/measure/units.hpp>
#include <bench/report/table.hpp>
#include <bench/watch/top.hpp>
#include <record/watch/slow_rank.hpp>

namespace penstock {
namespace {

constexpr double kSilent = 2;  // seconds after the expected update, after which a loader counts as not running
constexpr std::size_t kBar = 10;

double share(std::uint64_t part, std::chrono::nanoseconds whole) {
  return whole.count() == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole.count());
}

// Difference of two counts. If they were reset in between, the current count.
std::uint64_t since(std::uint64_t before, std::uint64_t after) {
  return after >= before ? after - before : after;
}

// The work of a loader between two snapshots.
Figures done_between(const Figures& before, const Figures& after) {
  Figures done = after;
  for (const Counter& counter : counters())
    if (counter.rule == Counter::Rule::counts) counter.set(done, since(counter.get(before), counter.get(after)));
  for (std::size_t i = 0; i < std::min(before.stage_count, after.stage_count); ++i) {
    done.stages[i].busy = since(before.stages[i].busy, after.stages[i].busy);
    done.stages[i].data_wait = since(before.stages[i].data_wait, after.stages[i].data_wait);
  }
  done.step = {.load = since(before.step.load, after.step.load),
               .copy = since(before.step.copy, after.step.copy),
               .compute = since(before.step.compute, after.step.compute),
               .optimizer = since(before.step.optimizer, after.step.optimizer),
               .other = since(before.step.other, after.step.other)};
  return done;
}

void tell_state(const LiveView& view, std::chrono::steady_clock::time_point now, LoaderUse& use) {
  const auto seconds_since = [&](std::chrono::nanoseconds then) {
    return std::chrono::duration<double>(now.time_since_epoch() - then).count();
  };
  if (use.loader->stopped) {
    use.state = "stopped";
  } else if (view.waits_since && seconds_since(*view.waits_since) > kSilent) {
    use.state = "waiting";
    use.for_s = seconds_since(*view.waits_since);
  } else if (seconds_since(view.next) > kSilent) {
    use.state = "idle";
    use.for_s = seconds_since(view.shown);
  } else {
    use.state = view.figures.batches_taken == 0 ? "starting" : "running";
  }
}

LoaderUse use_of(const WatchedLoader& loader, const WatchedLoader* earlier, const Look& look) {
  LoaderUse use;
  use.loader = &loader;
  const LiveView& view = loader.view;
  tell_state(view, look.at, use);
  const bool moved = earlier != nullptr && earlier->view.shown < view.shown;
  const Figures done = moved ? done_between(earlier->view.figures, view.figures) : view.figures;
  const double seconds = std::chrono::duration<double>(done.wall).count();
  const bool runs = use.state == "running" || use.state == "starting";
  if (runs && seconds > 0) {
    use.samples_per_s = static_cast<double>(done.samples) / seconds;
    use.stored_per_s = static_cast<double>(done.stored_bytes) / seconds;
  }
  use.data_wait = done.data_wait_share();
  use.step = step_shares(done.step);
  for (const StageFigures& stage : std::span(done.stages).first(done.stage_count))
    use.stages.push_back(
        {.kind = stage.kind,
         .busy = std::min(1.0, share(stage.busy, done.wall) / std::max(1.0, static_cast<double>(stage.threads))),
         .data_wait = std::min(1.0, share(stage.data_wait, done.wall))});
  return use;
}

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
    std::vector<std::string> cells{std::to_string(loader.view.page.process.pid) + (loader.here ? "" : "*"),
                                   loader.program,
                                   std::to_string(figures.rank) + "/" + std::to_string(figures.world),
                                   fixed(use.samples_per_s, 1),
                                   fixed(use.stored_per_s / 1e6, 1),
                                   percent(use.data_wait),
                                   with_commas(figures.ready),
                                   with_commas(figures.free_slabs) + "/" + with_commas(figures.slabs),
                                   bytes_text(figures.memory()),
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

// For trainings with several ranks on this machine: the slow rank and its bottleneck. Loaders with the same age within
// their processes belong together.
std::string ranks_text(const std::vector<LoaderUse>& uses) {
  std::map<std::tuple<uid_t, std::uint64_t, std::uint64_t>, std::vector<const LoaderUse*>> trainings;
  for (const LoaderUse& use : uses) {
    const LiveView& view = use.loader->view;
    if (view.figures.world > 1) trainings[{use.loader->user, view.figures.world, view.page.number}].push_back(&use);
  }
  std::string text;
  for (const auto& [training, ranks] : trainings) {
    std::set<std::uint64_t> numbers;
    std::vector<RankWait> waits;
    for (const LoaderUse* use : ranks) {
      waits.push_back({.rank = use->loader->view.figures.rank, .data_wait = use->data_wait});
      numbers.insert(waits.back().rank);
    }
    // several trainings with the same number of ranks
    if (ranks.size() < 2 || numbers.size() != ranks.size()) continue;
    const SlowRank slow = slow_rank(waits);
    text += "ranks of " + std::to_string(std::get<1>(training)) + ": " + slow.text;
    if (slow.which) text += "; " + binds_text(ranks[*slow.which]->loader->view.figures);
    text += "\n";
  }
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

Look look_around(const WatchOptions& options) {
  Look look;
  look.watched = watched_loaders(options);
  look.node = count_node();
  look.gpus = gpu_use();
  look.at = std::chrono::steady_clock::now();
  return look;
}

std::vector<LoaderUse> uses_between(const Look& before, const Look& after) {
  std::vector<LoaderUse> uses;
  for (const WatchedLoader& loader : after.watched.loaders) {
    const std::string name = live_name(loader.view.page);
    const auto earlier = std::ranges::find_if(before.watched.loaders, [&](const WatchedLoader& known) {
      return known.user == loader.user && live_name(known.view.page) == name;
    });
    uses.push_back(use_of(loader, earlier == before.watched.loaders.end() ? nullptr : &*earlier, after));
  }
  return uses;
}

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
