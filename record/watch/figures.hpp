// The figures of a loader as plain numbers: what others are shown of its Stats.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <penstock/stats.hpp>

namespace penstock {

/// A stage. `custom_transform` stands for every stage that has a name of the program's.
enum class StageKind : std::uint64_t { plan, read, decode, transform, deliver, custom_transform, copy };
std::string_view name(
    StageKind kind);  ///< as in StageStats; "custom_transform" for stages with a name of the program's
StageKind stage_kind(std::string_view stage);

/// Times are in nanoseconds.
struct StageFigures {
  StageKind kind{};
  std::uint64_t threads = 0, busy = 0, input_wait = 0, room_wait = 0;
  std::uint64_t data_wait = 0;  ///< time that the training loop waited for this stage
  friend bool operator==(const StageFigures&, const StageFigures&) = default;
};

/// Stats without names, keys and texts. All members have 64 bits: they are
/// the words of a live page, so whoever changes them raises kLiveLayout (live_page.hpp).
struct Figures : Counts {
  static constexpr std::size_t kStages = 8;
  static constexpr std::uint64_t kNoStage = ~std::uint64_t{0};

  std::uint64_t stage_count = 0;
  std::array<StageFigures, kStages> stages{};
  std::uint64_t ready = 0, free_slabs = 0, tasks = 0, reading = 0;  ///< the last of Stats::levels
  std::uint64_t binds = 0;                                          ///< a Binds: Verdict::binds
  std::uint64_t binds_stage = kNoStage;  ///< a StageKind: Verdict::stage; kNoStage where that is empty
  std::uint64_t memory() const;          ///< bytes of the host that are reserved, and those that the cache has
  double data_wait_share() const;        ///< share, 0 to 1, of its time in which the training loop waited
  friend bool operator==(const Figures&, const Figures&) = default;
};

Figures figures_of(const Stats& stats);
/// The same for numbers that another process wrote: no more stages than there may be, and of kinds that exist.
bool make_sense(const Figures& figures);
/// The verdict's words, of numbers that make sense: "cores: decode", "consumer".
std::string binds_text(const Figures& figures);

}  // namespace penstock
