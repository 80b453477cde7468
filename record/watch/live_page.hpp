// The page of shared memory in which a loader shows its figures to `penstock top`, and how others read it.
//
//   word  0  magic "penstock"          7  sequence: odd while the words behind it are being written
//         1  live_layout()             8  when they were written     steady clock, nanoseconds; so are the next two
//         2  words of Figures          9  when they are written next at the earliest
//         3  process                  10  since when next() waits, 0 where it does not: by itself, outside sequence
//         4  when it started, ticks   11  1: the loader is gone
//         5  boot id, 2 words         12  Figures, as it lies in memory
//
// All words are the machine's own, 64 bits. A file of a page's size is named NAMESPACE.PID.START.NUMBER.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>
#include <record/watch/figures.hpp>

namespace penstock {

inline constexpr std::uint64_t kLiveLayout = 2;
/// An FNV-1a hash of kLiveLayout and of the names of all counters. A reader rejects pages of a build with other
/// counters.
std::uint64_t live_layout();

/// A process that was not mistaken for a later one with its number.
struct ProcessIdentity {
  std::uint64_t pid_namespace = 0;  ///< in which `pid` counts
  std::uint64_t pid = 0;
  std::uint64_t start = 0;  ///< ticks since the machine started: /proc/PID/stat, field 22 (proc(5))
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};
/// Throws Error: io, where /proc cannot be read.
ProcessIdentity this_process();
/// False for one that has ended, is a zombie, or had its number taken by another. True for one of another namespace,
/// of which nothing can be said.
bool lives(const ProcessIdentity& process);

/// "/dev/shm/penstock-UID"
std::filesystem::path live_folder(uid_t user);

struct LivePageName {
  ProcessIdentity process;
  std::uint64_t number = 0;  ///< of the loader in its process, from 1 on
};
std::optional<LivePageName> parse_live_name(std::string_view name);  ///< nothing: it is no page's
std::string live_name(const LivePageName& page);

/// A loader's own page. One thread at a time uses it; a process that fork() makes has no part in it.
class LivePage {
 public:
  /// Makes the folder, mode 0700, where there is none, and the page in it, mode 0600; and removes pages of processes
  /// that have ended. Throws Error, where the folder is not this user's own, or memory cannot be had.
  explicit LivePage(const std::filesystem::path& folder);
  ~LivePage();  ///< marks the page as finished, and removes it
  LivePage(LivePage&&) = delete;

  using Time = std::chrono::steady_clock::time_point;
  void show(const Figures& figures, Time now, Time next) noexcept;
  /// next() waits since then; nothing: it has returned.
  void waits_since(std::optional<Time> since) noexcept;
  const std::string& name() const { return name_; }

 private:
  friend std::optional<struct LiveView> read_live_page(const Descriptor& folder, const std::string& name, uid_t user);
  struct Words;
  bool ours() const noexcept;

  Descriptor folder_;
  std::string name_;
  std::uint64_t pid_ = 0;
  Words* words_ = nullptr;
  std::uint64_t sequence_ = 0;
};

/// What one look at a page saw.
struct LiveView {
  LivePageName page;
  Figures figures;
  std::chrono::nanoseconds shown{}, next{};  ///< of the steady clock
  std::optional<std::chrono::nanoseconds> waits_since;
  bool of_this_boot = true;  ///< else the process ended when the machine did
  bool finished = false;
};

/// Of a file in an open folder that belongs to `user`. Nothing where it is gone, or is written to throughout. Throws
/// Error: unsupported, for the page of another version of penstock; corrupt, for what is no page; io.
std::optional<LiveView> read_live_page(const Descriptor& folder, const std::string& name, uid_t user);

}  // namespace penstock
