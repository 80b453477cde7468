// Shared memory in which processes of a campaign tell which trial is under way, and how those that ended came out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::campaign {

/// How a trial ended.
enum class Outcome : std::uint8_t {
  right,    ///< everything was delivered, as it was written
  refused,  ///< one clear error, or a sample marked bad
  wrong,    ///< bytes other than written, an exception of another kind, threads or descriptors left behind
  aborted,  ///< the process ended
  hung,     ///< no end within the time allowed
};
inline constexpr std::size_t kOutcomes = 5;
std::string_view name(Outcome outcome);

/// Lies in memory that parent and children share, so it survives the end of any child.
struct Ledger {
  static constexpr std::size_t kText = 1024;
  static constexpr std::size_t kFindings = 256;
  using Text = std::array<char, kText>;

  std::atomic<std::uint64_t> trial{0};    ///< the one under way, or the next
  std::atomic<std::int64_t> began_ns{0};  ///< steady clock; 0 while none is under way
  std::array<std::atomic<std::uint64_t>, kOutcomes> ended{};
  Text doing{};  ///< what the trial under way does, for the parent to tell when the child ends in it
  std::atomic<std::uint64_t> found{0};
  std::array<Text, kFindings> findings{};

  void tell(std::string_view text);  ///< sets `doing`
  void finding(std::uint64_t trial_number, Outcome outcome, std::string_view text);
};

/// A Ledger in anonymous shared memory, for as long as this lives.
class SharedLedger {
 public:
  SharedLedger();
  ~SharedLedger();
  SharedLedger(const SharedLedger&) = delete;
  SharedLedger& operator=(const SharedLedger&) = delete;
  Ledger* operator->() const { return ledger_; }
  Ledger& operator*() const { return *ledger_; }

 private:
  Ledger* ledger_;
};

}  // namespace penstock::campaign
