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
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>

namespace penstock::sharing {

/// The first message of a consumer.
struct Hello {
  std::string loads;        ///< everything that the bytes of its batches depend on; equal in all consumers.
  std::uint64_t keeps = 1;  ///< batches that it keeps at a time, at most.
  bool anywhere = false;    ///< it has no position yet, and begins where the others are.
  std::string about = {};   ///< for people: "process 123"

  std::string body() const;
  /// Throws Error: corrupt, for another version, too.
  static Hello of(std::string_view body);
};

void write(WireWriter& to, const Position& position);
Position read_position(WireReader& from);
/// Text that is equal only for equal positions.
std::string key_of(const Position& position);

/// A value of a batch in the memory of the hub.
struct ValuePlace {
  std::uint64_t region, offset;
};

/// Describes a batch without its values. `place` returns where the values of a field are.
void write(WireWriter& to, const BatchRecord& batch, const std::function<ValuePlace(const Field&)>& place);

/// A batch that a note describes. Its fields have no `data` yet.
struct NotedBatch : BatchRecord {
  explicit NotedBatch(Dataset from) : dataset(std::move(from)) {}
  const Dataset dataset;                                   ///< owns the keys
  std::vector<std::vector<std::int64_t>> offsets, shapes;  ///< by field
  std::vector<ValuePlace> places;                          ///< by field
};
/// Throws Error: corrupt, if the note does not fit the dataset and the outputs. `at` is the position that was asked
/// for.
void read_batch(WireReader& from, std::span<const Output> outputs, const Position& at, NotedBatch& batch);

}  // namespace penstock::sharing
