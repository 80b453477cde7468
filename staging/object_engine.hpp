// Reads the objects of a dataset that is staged from a store.
#pragma once

#include <memory>
#include <vector>

#include <formats/places/object_store.hpp>
#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Reads each object in its state when listed. Adjacent extents of one submit() are merged into requests of at most
/// kLongestStoreRange. Extents number the objects by their index in `objects`.
class ObjectEngine : public ReadEngine {
 public:
  /// Throws Error: unsupported, if this build or machine cannot read stores.
  ObjectEngine(std::vector<std::shared_ptr<const StoredObject>> objects, OnRead on_read);
  ~ObjectEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  EngineKind kind() const override { return EngineKind::store; }
  bool synchronous() const override { return false; }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return {}; }  ///< staging reports none

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace penstock
