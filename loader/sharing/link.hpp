// A consumer's connection to a hub.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include <loader/node_memory/local_socket.hpp>
#include <loader/sharing/notes.hpp>
#include <loader/sharing/private_view.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/batch.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>

namespace penstock::sharing {

/// The answer of a hub to an ask.
enum class Answer : std::uint8_t {
  batch,
  elsewhere,  ///< the consumer builds the batch itself
  late,       ///< nothing within the time; the hub may have been stopped
  cancelled,
  gone,  ///< the hub has ended
};

/// One thread asks. Any thread may destroy batches.
class Link : public std::enable_shared_from_this<Link> {
 public:
  /// Joins the hub of that name. Returns null if there is none, or if it has just ended. A hub that does not answer
  /// within `patience`, or until cancelled, may answer later. Throws Error: invalid_argument, if the hub's loader has
  /// other batches; resource, if the name belongs to another user.
  static std::shared_ptr<Link> join(const std::string& name, const Hello& hello, Dataset dataset,
                                    std::span<const Output> outputs, std::chrono::milliseconds patience,
                                    const std::function<bool()>& cancelled);

  /// The position at which a consumer with Hello::anywhere begins: the first one of the hub's window, or nothing
  /// without a window.
  const std::optional<Position>& suggested() const { return suggested_; }
  bool answered() const { return answered_; }  ///< whether the hub did in time

  /// Asks for a batch, and waits at most `patience` for each sign of the hub. `result` is set for Answer::batch. Throws
  /// Error: invalid_argument, if the hub refuses this consumer only now. `cancelled` is called from time to time, and
  /// after each wake().
  Answer ask(const Position& at, std::chrono::milliseconds patience, const std::function<bool()>& cancelled,
             Batch& result);
  void more(std::uint64_t batches);  ///< this consumer keeps more batches at a time
  void wake() const { wake_.ring(); }

 private:
  struct Lent;
  Link(UnforkedDescriptor socket, Dataset dataset, std::span<const Output> outputs);
  void send(const Frame& frame);
  std::optional<Frame> await(std::chrono::steady_clock::time_point until, const std::function<bool()>& cancelled);
  std::optional<Batch> received(Frame& frame, std::uint64_t number, const Position& at);
  void release(std::uint64_t loan);
  void require_welcome(const Frame& frame) const;
  bool gone() const;
  bool waits_to_send() const;

  const Dataset dataset_;
  const std::vector<Output> outputs_;  // batches refer to their names
  WakeEvent wake_;
  const pid_t made_in_ = ::getpid();
  std::optional<Position> suggested_;
  bool answered_ = false;
  std::uint64_t asks_ = 0;
  std::string loads_;
  std::map<std::uint64_t, std::shared_ptr<const PrivateView>> views_;  // by region; only the asking thread uses it
  mutable std::mutex mutex_;                                           // guards the connection
  Connection connection_;
};

/// Returns SharingOptions::recipe of the hub of that name, or nothing without a hub. Throws like Link::join().
std::optional<std::string> recipe_of(const std::string& name, std::chrono::milliseconds patience);
/// Name of the socket for SharingOptions::name.
std::string socket_name(const std::string& name);

}  // namespace penstock::sharing
