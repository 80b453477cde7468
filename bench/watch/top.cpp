#include <algorithm>
#include <span>

#include <bench/watch/top.hpp>

namespace penstock {
namespace {

constexpr double kSilent = 2;  // seconds after the expected update, after which a loader counts as not running

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
  for (const StepPart& part : kStepParts) done.step.*part.time = since(before.step.*part.time, after.step.*part.time);
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

}  // namespace penstock
