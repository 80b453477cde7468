// The bodies of the messages that describe a consumer, a position and a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <loader/batch/batch_record.hpp>
#include <loader/node_memory/shared_pages.hpp>
#include <loader/sharing/wire.hpp>
#include <order/position.hpp>
#include <transforms/output.hpp>

namespace penstock::sharing {

/// The first message of a consumer.
struct Hello {
  std::string loads;        ///< everything that the bytes of its batches depend on; equal in all consumers.
  std::uint64_t keeps = 1;  ///< batches that it keeps at a time, at most.
  bool anywhere = false;    ///< it has no position yet, and begins where the others are.

  std::string body() const;
  /// Throws Error: corrupt, for another version, too.
  static Hello of(std::string_view body);
};

void write(WireWriter& to, const Position& position);
Position read_position(WireReader& from);
/// Text that is equal only for equal positions.
std::string key_of(const Position& position);

/// The first part of a message with a batch; the note of the batch follows.
struct Handed {
  std::uint64_t ask, loan;  ///< number of the ask, and number with which the consumer returns the batch
  struct Region {
    std::uint64_t number, bytes;
  };
  std::vector<Region> regions = {};       ///< that the consumer does not know; their descriptors are beside the frame
  std::vector<std::uint64_t> ended = {};  ///< regions that the hub does not use any more
};
void write(WireWriter& to, const Handed& handed);
Handed read_handed(WireReader& from);

/// A value of a batch in the memory of the hub.
struct ValuePlace {
  std::uint64_t region, offset;
};

/// Describes a batch without its values. `place` returns where the values of a field are.
void write(WireWriter& to, const BatchRecord& batch, const std::function<ValuePlace(const Field&)>& place);

/// A batch that a note describes. Its fields have no `data` yet, and it has no keys.
struct NotedBatch : BatchRecord {
  std::vector<std::vector<std::int64_t>> offsets, shapes;  ///< by field
  std::vector<ValuePlace> places;                          ///< by field
};
/// Throws Error: corrupt, if the note does not fit a dataset of that many samples and the outputs. `at` is the position
/// that was asked for.
void read_batch(WireReader& from, std::span<const Output> outputs, std::uint64_t samples, const Position& at,
                NotedBatch& batch);

}  // namespace penstock::sharing
