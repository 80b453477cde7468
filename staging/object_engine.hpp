// Reads the objects of a dataset that is staged from a store.
#pragma once

#include <memory>
#include <vector>

#include <formats/places/object_store.hpp>
#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Each in the state in which it was listed; neighbours of one submit() come in one request of kLongestStoreRange at
/// most. Extents number the objects as `objects` does.
class ObjectEngine : public ReadEngine {
 public:
  /// Throws Error: unsupported, where stores cannot be read here.
  ObjectEngine(std::vector<std::shared_ptr<const StoredObject>> objects, OnRead on_read);
  ~ObjectEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  EngineKind kind() const override { return EngineKind::store; }
  bool synchronous() const override { return false; }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return {}; }  ///< nobody asks for those of staging

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace penstock
