#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <base/amounts.hpp>
#include <overview/overview.hpp>

namespace penstock::overview {
namespace {

// A cause below this share of the step is not worth a change. torch-tb-profiler 0.4.3 names a DataLoader from 5 % on.
constexpr double kWorthwhile = 0.05;
// The remedies of these causes are less certain.
constexpr double kWorthwhileElsewhere = 0.1;
// A kernel that is shorter than its launch keeps the host busier than the device.
constexpr double kShortKernel = 10'000;  // nanoseconds

// Fitted to seven trainings of bench/studies/overview_predictions.py. The training process receives each batch of a
// worker in 1 to 3 ms. The process computes at 0.9 to 1.25 times the speed, because loading no longer shares its
// caches.
constexpr double kReceive = 1e6, kReceiveHigh = 3e6;  // nanoseconds
constexpr double kComputeLow = 0.8, kComputeHigh = 1.1;
// Workers share cores and memory, so each is slower than a single one. `penstock run` uses the same factor (causes.py).
// `penstock run` also limits the number by the cores, which a trace does not contain.
constexpr double kSpareWorkers = 1.3;
// Few nodes have cores for more workers.
constexpr double kMostWorkers = 64;

std::string milliseconds(double nanoseconds) {
  const double value = nanoseconds / 1e6;
  return text_of(value < 10 ? "%.1f ms" : "%.0f ms", value);
}

std::string of_step(const RankOverview& rank, double time) {
  return milliseconds(time) + " of the " + milliseconds(rank.step()) + " of a step";
}

/// An expected step time, with the range in which it should be.
std::string predicted(double likely, double low, double high) {
  return text_of("%s (%s to %s) [predicted]", milliseconds(likely).c_str(), milliseconds(low).c_str(),
                 milliseconds(high).c_str());
}

struct Candidate {
  Cause cause;
  double time;       ///< of a step that a remedy could save
  const char* name;  ///< in "Not the cause: ..."
};

/// The time of the host in which the device has nothing to do, apart from loading.
double host_time(const RankOverview& rank) {
  return rank.has_device() ? rank.mean[Category::runtime] + rank.mean[Category::cpu] : 0;
}

std::array<Candidate, 6> candidates(const RankOverview& rank) {
  // In .item(), the host waits for the device and does not work.
  const double waiting = std::min(rank.synchronisations.time, host_time(rank));
  return {Candidate{Cause::loading, rank.mean[Category::dataloader], "DataLoader"},
          {Cause::copies, rank.mean[Category::memcpy], "copies"},
          {Cause::communication, rank.mean[Category::communication], "communication"},
          {Cause::synchronisation, waiting, ".item()"},
          {Cause::host, host_time(rank) - waiting, "the host"},
          {Cause::other, rank.mean[Category::other], "other code"}};
}

void explain_loading(const RankOverview& rank, Diagnosis& out) {
  const double wait = rank.mean[Category::dataloader], rest = rank.step() - wait;
  out.why = "DataLoader.__next__ takes " + of_step(rank, wait);
  if (rank.loader.replaced) {
    out.why += ". penstock makes its batches (penstock run --replace).";
    out.remedies.emplace_back("`penstock tune DATASET` compares settings of penstock's own Loader on the same data.");
    return;
  }
  if (!rank.loader.workers) {
    out.why += ". The training process loads each batch itself (num_workers=0).";
    const double workers = std::ceil(kSpareWorkers * rank.loader.time / std::max(rest, 1.0));
    if (workers <= kMostWorkers) {
      // Workers that run at half of the training process's speed, because they share cores and memory.
      const double slow = 2 * rank.loader.time / workers;
      const double high = std::max(slow, kComputeHigh * rest + kReceiveHigh);
      if (rest + kReceive < rank.step())
        out.remedies.push_back(text_of("num_workers 0 -> %.0f: ", workers) +
                               predicted(rest + kReceive, kComputeLow * rest, high) +
                               ", if there are as many idle cores.");
    }
  } else {
    const double factor = std::ceil(10 * kSpareWorkers * rank.step() / std::max(rest, 1.0)) / 10;
    out.why += ". Its worker processes make fewer batches per second than the training could use.";
    if (factor <= kMostWorkers) {
      out.remedies.push_back(text_of("num_workers x %.1f, if there are as many idle cores: ", factor) +
                             predicted(rest, rest, std::max(rank.step() - wait / 2, kComputeHigh * rest)) + ".");
    }
  }
  out.remedies.emplace_back(
      "`penstock tune DATASET` measures how fast penstock loads the same data on the same cores.");
}

void explain_copies(const RankOverview& rank, Diagnosis& out) {
  const double exposed = rank.mean[Category::memcpy];
  out.why = "Copies take " + of_step(rank, exposed) + " while no kernel runs.";
  if (rank.copies.from_pageable > rank.copies.time / 2) {
    out.why += " Most of them read pageable memory, from which the device cannot copy directly.";
    out.remedies.push_back("pin_memory=True and .to(device, non_blocking=True): " +
                           predicted(rank.step() - exposed / 2, rank.step() - exposed, rank.step()) + ".");
  } else {
    out.remedies.emplace_back("Copy the next batch with non_blocking=True on another stream while the kernels run.");
  }
}

void explain_host(const RankOverview& rank, double time, Diagnosis& out) {
  out.why = "The host works for " + of_step(rank, time) + " while the device waits.";
  if (rank.kernels_per_step > 0 && rank.kernel_length < kShortKernel) {
    out.why += text_of(" A step has %.0f kernels of %.1f us on average, and launching one takes about as long.",
                       rank.kernels_per_step, rank.kernel_length / 1e3);
    out.remedies.emplace_back("Larger batches, torch.compile(), or CUDA graphs: fewer launches for the same work.");
  } else if (!rank.operators.empty()) {
    const auto longest = std::ranges::max_element(rank.operators, {}, &OperatorTimes::host_self);
    out.remedies.push_back("Start with the operator that takes the host longest: " + longest->name + ".");
  }
}

void explain(const RankOverview& rank, const Candidate& main, Diagnosis& out) {
  switch (main.cause) {
    case Cause::loading:
      return explain_loading(rank, out);
    case Cause::copies:
      return explain_copies(rank, out);
    case Cause::communication:
      out.why = "Collectives take " + of_step(rank, main.time) + " while no kernel runs.";
      out.remedies.emplace_back(
          "Compare the ranks: a slow one lets all others wait. Otherwise communicate less often (gradient "
          "accumulation) or less data (gradient compression).");
      return;
    case Cause::synchronisation:
      out.why = text_of("The host waits for the device in %.1f calls of .item() per step, for %s.",
                        rank.synchronisations.calls, of_step(rank, main.time).c_str());
      out.remedies.emplace_back(
          "Keep the values on the device, and read them every 100 steps (losses and metrics are the usual places).");
      return;
    case Cause::host:
      return explain_host(rank, main.time, out);
    case Cause::other:
      out.why = "For " + of_step(rank, main.time) +
                ", the trace shows no activity. This can be Python code outside of operators, or waiting.";
      out.remedies.emplace_back("Record once with with_stack=True to see the Python functions.");
      return;
    case Cause::none:
      return;
  }
}

}  // namespace

Diagnosis diagnose(const RankOverview& rank) {
  auto sorted = candidates(rank);
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Candidate::time);
  const double step = std::max(rank.step(), 1.0);
  const auto matters = [&](const Candidate& candidate) {
    return candidate.time / step >= (candidate.cause == Cause::loading ? kWorthwhile : kWorthwhileElsewhere);
  };
  const auto found = std::ranges::find_if(sorted, matters);
  const Candidate& main = found == sorted.end() ? sorted.front() : *found;
  Diagnosis out;
  const std::string work = rank.has_device() ? "kernels" : "operators on the CPU";
  const double work_share = rank.share(rank.has_device() ? Category::kernel : Category::cpu);
  if (found == sorted.end()) {
    out.why = "The model computes: " + work + " take " + percent_text(work_share) + " of a step.";
    out.remedies.emplace_back(rank.has_device()
                                  ? "A faster model: lower precision, torch.compile(), or fewer operations."
                                  : "A faster model, or a device.");
  } else {
    out.cause = main.cause;
    out.share = main.time / step;
    explain(rank, main, out);
    if (work_share > out.share) out.why += " The " + work + " take more: " + percent_text(work_share) + ".";
  }
  for (const Candidate& candidate : sorted) {
    if (&candidate == &main && out.cause != Cause::none) continue;
    if (matters(candidate) || (candidate.time == 0 && candidate.cause != Cause::loading)) continue;
    out.not_the_cause += (out.not_the_cause.empty() ? "" : ", ") + std::string(candidate.name) + " " +
                         percent_text(candidate.time / step);
  }
  return out;
}

}  // namespace penstock::overview
