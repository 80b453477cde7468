// Fills batches for loaders on other machines: LoaderOptions::servers.
//
//   penstock::BatchServer server({penstock::open("/data/photos")}, {.address = "0.0.0.0:7710"});
//   std::cout << server.address() << '\n';  // serves until it is destroyed
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

struct ServeOptions {
  /// HOST:PORT to listen at. The default accepts loaders of this machine only. Port 0: the system chooses one.
  std::string address = "127.0.0.1:0";
  /// At least 16 characters that loaders must know, too. No message contains them. Empty: PENSTOCK_TOKEN in the
  /// environment.
  std::string token = {};
  unsigned workers = 0;              ///< Threads for each set of transforms; 0: usable cores.
  unsigned most_connections = 1024;  ///< More are closed at once.
  unsigned most_recipes = 8;         ///< Sets of transforms at a time; each has separate workers and memory.
  double patience = 5;               ///< Seconds after which a loader that takes nothing loses its connection.
};

/// Sums since the server began, unless stated otherwise.
struct ServeStats {
  std::uint64_t connections = 0;  ///< now, with those that have not proven the token
  std::uint64_t loaders = 0;      ///< now
  std::uint64_t batches = 0, rows = 0, bytes = 0;
  std::uint64_t failed = 0;   ///< batches with an invalid sample, which their loaders fill themselves
  std::uint64_t refused = 0;  ///< connections with a wrong token, another dataset, or wrong messages
  std::uint64_t dropped = 0;  ///< connections that took nothing for `patience`
};

/// Makes rows of its datasets as a loader describes them, and sends the values with a checksum. A loader describes its
/// rows with steps of penstock; the server runs no code from the network. After the handshake, messages are neither
/// encrypted nor signed: use it inside the network of a job.
///
/// Memory: the batches of a Loader with prefetch=4 for each set of transforms. 1 MiB for each new connection. 32 bytes
/// for each row that a loader has asked for.
class BatchServer {
 public:
  /// Starts to listen. Throws Error: invalid_argument, for options; resource, if the address cannot be used.
  explicit BatchServer(std::vector<Dataset> datasets, const ServeOptions& options = {});
  ~BatchServer();  ///< ends all connections and threads
  BatchServer(BatchServer&&) noexcept;

  const std::string& address() const;  ///< with the port that the system chose
  ServeStats stats() const;            ///< from any thread

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
