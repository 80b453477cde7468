// A loader's statistics as plain numbers, for display by other processes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/stats.hpp>

namespace penstock {

/// A stage. `custom_transform` represents every stage that the program has named.
enum class StageKind : std::uint64_t { plan, read, decode, transform, deliver, custom_transform, copy, share };
std::string_view name(
    StageKind kind);  ///< as in StageStats; "custom_transform" for every stage that the program has named
StageKind stage_kind(std::string_view stage);

/// Times are in nanoseconds.
struct StageFigures {
  StageKind kind{};
  std::uint64_t threads = 0, busy = 0, input_wait = 0, room_wait = 0;
  std::uint64_t data_wait = 0;  ///< time that the training loop waited for this stage
  friend bool operator==(const StageFigures&, const StageFigures&) = default;
};

/// The time of the training loop by category. Only `penstock run` measures it; otherwise all are 0.
struct StepFigures {
  std::uint64_t load = 0, copy = 0, compute = 0, optimizer = 0, other = 0;
  friend bool operator==(const StepFigures&, const StepFigures&) = default;
};
struct StepPart {
  std::string_view name;
  std::uint64_t StepFigures::*time;
};
inline constexpr std::array<StepPart, 5> kStepParts{{{"load", &StepFigures::load},
                                                     {"copy", &StepFigures::copy},
                                                     {"compute", &StepFigures::compute},
                                                     {"optimizer", &StepFigures::optimizer},
                                                     {"other", &StepFigures::other}}};

/// Stats without names, keys and texts. All members have 64 bits, because they are the words of a live page. A change
/// of them requires a higher kLiveLayout (live_page.hpp).
struct Figures : Counts {
  static constexpr std::size_t kStages = 8;
  static constexpr std::uint64_t kNoStage = ~std::uint64_t{0};

  std::uint64_t stage_count = 0;
  std::array<StageFigures, kStages> stages{};
  std::uint64_t ready = 0, free_slabs = 0, tasks = 0, reading = 0;  ///< the last of Stats::levels
  std::uint64_t binds = 0;                                          ///< a Binds: Verdict::binds
  std::uint64_t binds_stage = kNoStage;  ///< a StageKind: Verdict::stage; kNoStage if that is empty
  StepFigures step{};
  std::uint64_t memory() const;    ///< bytes reserved on the host, including the cache
  double data_wait_share() const;  ///< share, 0 to 1, of the training loop's time that it waited
  friend bool operator==(const Figures&, const Figures&) = default;
};

/// Names and shares, 0 to 1, of the categories of a step that are not 0. Empty if nothing measures them.
std::vector<std::pair<std::string_view, double>> step_shares(const StepFigures& step);

Figures figures_of(const Stats& stats);
/// Validates numbers that another process wrote: the number of stages is within its limit, and all kinds exist.
bool make_sense(const Figures& figures);
/// Returns the diagnosis as text: "cores: decode", "consumer". `figures` must be valid.
std::string binds_text(const Figures& figures);

}  // namespace penstock
