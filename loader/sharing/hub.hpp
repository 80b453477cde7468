// Builds each batch of a stream once, and hands it to every consumer that asks for it.
//
// Consumers are loaders of this user on this machine, also the loader whose process has the hub. Each has its own
// position. The hub keeps a window of consecutive batches: those that the slowest consumer still needs, up to `lag`
// ahead of it. A batch in the window is in the memory of a slab, which consumers map. The slab is recycled when neither
// the window nor a consumer has the batch.
//
//   builder (scheduler, workers) -> feeder thread -> window -> server thread -> sockets -> consumers.
//
// A hub never waits for a consumer without a limit. One that takes nothing for `patience` while others wait for it is
// left behind. A consumer whose batch is not in the window, and will not be soon, builds it itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <base/thread.hpp>
#include <loader/batch/stage.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/node_memory/shared_pages.hpp>
#include <loader/sharing/notes.hpp>
#include <loader/sharing/wire.hpp>
#include <order/position_walk.hpp>
#include <penstock/options.hpp>

namespace penstock::sharing {

/// The part of a loader that fills batches.
struct Builder {
  /// Begins a run of batches at this position, and returns its generation.
  std::function<std::uint64_t(const Position& at)> begin;
  /// Waits for the next batch of that generation. Returns nothing once another one has begun, or at the end.
  std::function<std::optional<BatchResult>(std::uint64_t generation)> take;
  /// Adds memory for this many batches. Throws Error: resource.
  std::function<void(std::uint64_t batches)> grow;
  PlanOptions order;
  std::shared_ptr<const SharedRegions> memory;  ///< contains the values of all its batches
};

std::chrono::milliseconds patience_of(const SharingOptions& options);

/// Numbers for the stats. Sums over all consumers that the hub had.
struct HubCounts {
  std::uint64_t consumers = 0;  ///< now, including its own
  std::uint64_t built = 0, left_behind = 0;
};

class Hub {
 public:
  /// Takes the name, and starts the threads. Returns null if another process has the name. `loads`: Hello::loads.
  /// `first`: the group begins now, so SharingOptions::consumers applies. Throws Error: resource.
  static std::unique_ptr<Hub> open(const std::string& name, const SharingOptions& options, Builder builder,
                                   std::string loads, bool first);
  /// Ends the threads, after the builder's take() has returned nothing. Consumers keep the batches that they hold.
  ~Hub();
  Hub(Hub&&) = delete;

  void close();  ///< wakes the threads; take() of the builder must return nothing from then on
  HubCounts counts() const;
  /// Returns when the last rows of a batch passed from stage to stage; nothing if it was built long ago.
  std::optional<Journey> journey_of(const Position& at) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Consumer {
    explicit Consumer(UnforkedDescriptor socket) : connection(std::move(socket)) {}
    Connection connection;
    std::optional<Hello> hello;
    struct Ask {
      std::uint64_t number;
      Position at;
      std::string key;
      Clock::time_point since, signed_at;  ///< signed_at: when the hub last gave a sign of life
    };
    std::optional<Ask> ask;
    bool asked = false;        ///< at least once
    bool with_others = false;  ///< its next batch is in the window, or will be.
    std::uint64_t next = 0;    ///< with_others: place in the run of the batch that it needs next.
    bool apart = false;        ///< it waited in vain for a batch that the others do not need
    Clock::time_point heard{};
    struct Loan {
      std::uint64_t run, place;  ///< place in the run
      Batch batch;
    };
    std::map<std::uint64_t, Loan> holds;  ///< by number of the loan
    std::set<std::uint64_t> knows;        ///< regions
    std::uint64_t saw_ended = 0;          ///< SharedRegions::ended() at the last look
    std::uint64_t keeps = 0;
  };
  struct Built {
    Position at;
    std::string key;
    BatchResult result;
  };

  Hub(UnforkedDescriptor socket, const SharingOptions& options, Builder builder, std::string loads);
  void start();

  // The feeder's thread. All functions below require the lock, except feed() and serve().
  void feed();
  bool may_build() const;

  // The server's thread.
  void serve();
  bool accept();
  void hear(Consumer& consumer);
  void hear(Consumer& consumer, const Frame& frame);
  void greet(Consumer& consumer, const Frame& frame);
  void welcome(Consumer& consumer);
  void make_room();
  void answer_all();
  bool answer(Consumer& consumer);
  void find(Consumer& consumer) const;
  void begin(const Position& at);
  void hand(Consumer& consumer, const Built& built);
  void send_elsewhere(Consumer& consumer);
  void ask_for_patience(Clock::time_point now);
  void leave_behind(Clock::time_point now);
  void trim();
  std::uint64_t frontier() const { return first_ + window_.size(); }  ///< place of the next batch to build
  /// Places in the run of the batches that the slowest and the fastest consumer need next; nothing if none follows.
  struct Needed {
    std::uint64_t slowest, fastest;
  };
  std::optional<Needed> needed_next() const;
  std::uint64_t oldest_held() const;
  bool gathering(Clock::time_point now) const;
  bool followed_by_others(const Consumer& than, Clock::time_point now) const;

  const SharingOptions options_;
  const std::chrono::milliseconds patience_;
  const Builder builder_;
  const std::string loads_;
  UnforkedDescriptor socket_;
  WakeEvent wake_;            // the server's thread waits for it, too
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::optional<PositionWalk> walk_;  // at the batch after the last built one; unset: no run has begun
  std::deque<Built> window_;
  std::deque<std::pair<std::string, Journey>> journeys_;  // of the last built batches
  std::uint64_t first_ = 0;                               // place in the run of the window's first batch
  std::uint64_t run_ = 0;                                 // generation of the builder
  Clock::time_point opened_ = Clock::now();
  std::uint64_t loans_ = 0;
  std::uint64_t awaited_ = 0;  // consumers that have not asked yet
  bool takes_over_ = false;    // from a hub that has ended
  std::uint64_t granted_ = 0;  // batches that the builder has memory for, beyond its own
  HubCounts counts_;
  bool closed_ = false;
  Thread feeder_, server_;
};

}  // namespace penstock::sharing
