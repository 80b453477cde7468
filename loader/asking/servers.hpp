// Has batches filled by servers, from the client's side.
//
// The scheduler names the rows of a batch in its slab. Then this class asks the server with the fewest open asks, and
// receives the values into the slab. If the server ends, is silent, or sends a wrong checksum, another one is asked. If
// there is none, the workers of this loader fill the batch. In each case the reorder buffer restores the order.
//
//   scheduler -> ask() -> thread "penstock-ask" -> servers -> slab -> ReorderBuffer
//                                              \-> workers /
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <base/thread.hpp>
#include <loader/asking/handshake.hpp>
#include <loader/asking/request.hpp>
#include <loader/asking/tcp.hpp>
#include <loader/batch/batch_builder.hpp>
#include <loader/fetch/worker_context.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/sharing/notes.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/options.hpp>
#include <penstock/stats.hpp>

namespace penstock::asking {

class Servers {
 public:
  /// Connects later. `context` must outlive the thread. Throws Error: invalid_argument, for an address, a token or
  /// options that do not fit.
  Servers(const WorkerContext& context, const ServersOptions& options, const Recipe& recipe);

  /// Throws Error: resource.
  void start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed);
  /// Has a batch filled that has begun and whose rows are named. Called by the scheduler's thread.
  void ask(BatchBuilder& builder);
  void close();  ///< ends the thread. Batches that are not filled remain so.
  bool join(std::chrono::milliseconds grace) { return thread_ == nullptr || thread_->join_for(grace); }
  std::vector<ServerStats> report() const;
  ServedStats counts() const;  ///< since it was made

 private:
  using Clock = std::chrono::steady_clock;
  /// An ask that a server has not answered.
  struct Open {
    std::uint64_t number;
    BatchBuilder* builder;
    Clock::time_point sent;
  };
  /// A batch whose frame has arrived, and its values in part.
  struct Arriving {
    Open open;
    std::unique_ptr<sharing::NotedBatch> note;
    std::vector<std::span<std::byte>> places;  // of the values that are still to come, in order
    std::size_t place = 0;
    std::uint32_t wanted = 0, crc = 0;
  };
  enum class State : std::uint8_t {
    away,        // waits until it may connect again
    connecting,  // until the system has connected
    unproven,    // until the server has proven the token
    ready,
    refused,  // for good
  };
  struct Server {
    explicit Server(Address of) : address(std::move(of)) {}
    Address address;
    std::vector<Endpoint> endpoints;  // empty: not resolved yet
    std::size_t endpoint = 0;         // to connect to next
    State state = State::away;
    std::optional<sharing::Connection> connection;
    std::string proof;  // that it must send
    std::deque<Open> open;
    std::optional<Arriving> arriving;
    Clock::time_point again{}, heard{};
    unsigned most_open = 1;
    bool failed_once = false;  // batches do not wait for it any more
    unsigned silent = 0;       // connections that it lost with asks, since its last batch
    double pace = 0;           // seconds for a batch, smoothed; 0: unknown
    Clock::time_point answered{};
  };

  void run(const std::stop_token& stop);
  void connect(Server& server, Clock::time_point now);
  void connected(Server& server);
  void talk(Server& server, short events, Clock::time_point now);
  void hear(Server& server);
  void hear(Server& server, const sharing::Frame& frame);
  void begin_values(Server& server, const sharing::Frame& frame);
  bool receive_values(Server& server);
  void finish(Arriving arrived);
  /// Ends the connection. Its asks go to others.
  void lose(Server& server, const std::string& why, bool for_good = false);
  void hand_out(Clock::time_point now);
  void send(Server& server, BatchBuilder& builder, Clock::time_point now);
  void fill_here(BatchBuilder& builder);
  std::size_t most_open(const Server& server) const { return server.silent != 0 ? 1 : server.most_open; }
  bool awaited(Clock::time_point now) const;  ///< whether a server may soon be ready
  void tell(const Server& server, const std::string& problem = {});

  const WorkerContext& context_;
  const std::string token_, recipe_;
  const std::chrono::milliseconds patience_;
  std::vector<Server> servers_;  // of the thread, like all without a lock
  std::deque<BatchBuilder*> waiting_;
  std::uint64_t asks_ = 0;
  Clock::time_point began_ = Clock::now();
  bool more_ = false;  // a server has sent more than one look takes
  WakeEvent wake_;
  std::unique_ptr<Thread> thread_;

  mutable std::mutex mutex_;  // guards the rest
  std::deque<BatchBuilder*> inbox_;
  std::vector<ServerStats> told_;
  std::uint64_t filled_here_ = 0;
};

}  // namespace penstock::asking
