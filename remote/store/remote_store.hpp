// The object store of this process.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>
#include <remote/http/dialect.hpp>
#include <remote/http/transport.hpp>

namespace penstock {

/// Makes threads and connections when they are first needed. The child of a fork() makes its own, and must make its own
/// readers.
class RemoteStore final : public ObjectStore {
 public:
  RemoteStore();
  RemoteStore(RemoteStore&&) = delete;
  ~RemoteStore() override;

  std::string admit(const std::string& address) override;
  std::optional<ObjectInfo> find(const std::string& address) override;
  std::vector<ListedObject> list(const std::string& folder) override;
  std::optional<std::vector<std::byte>> read_whole(const std::string& address, ObjectInfo& info,
                                                   std::uint64_t most) override;
  std::unique_ptr<RangeReader> reader(OnRange on_range) override;
  std::unique_ptr<ObjectUpload> upload(const std::string& address, bool if_absent) override;
  void remove(const std::string& address) override;
  StoreCounts counts() const override;
  std::string about() const override;
  std::string access(const std::string& address) override;

  void end() noexcept;            ///< for the end of the process
  void begin_child() noexcept;    ///< after a fork(), in the child
  void hold_for_fork() noexcept;  ///< before a fork(): blocks admit()
  void let_go() noexcept;         ///< after it, in parent and child

 private:
  struct Made;
  Made& made();
  Dialect& dialect_of(const std::string& address);

  std::mutex mutex_;                   // guards admitted_
  std::vector<std::string> admitted_;  // with their secrets, for the dialects of a child
  std::atomic<Made*> made_{nullptr};   // once set, only a child replaces it
};

}  // namespace penstock
