// The interface of object stores and web servers: find, list, read by ranges, and write whole objects. The network code
// is a separate library (remote/), which is loaded when an address is first opened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/store_counts.hpp>

namespace penstock {

/// A store's metadata of an object.
struct ObjectInfo {
  std::uint64_t size = 0;  ///< bytes
  /// Distinguishes versions of the object: its ETag as sent, or else its generation. Empty if unknown.
  std::string version = {};
  std::int64_t modified = 0;  ///< nanoseconds since 1970, by the store's clock; 0: unknown

  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

/// The version in the first response, for an object that was not looked up before reading. Thread-safe.
class FirstSeen {
 public:
  FirstSeen() = default;
  FirstSeen(FirstSeen&&) = delete;
  ~FirstSeen() { delete state_.load(std::memory_order_relaxed); }

  /// Null before the first response.
  const ObjectInfo* get() const { return state_.load(std::memory_order_acquire); }
  /// Returns the version of the first response. If this is the first one, stores it.
  const ObjectInfo& see(const ObjectInfo& now) {
    if (const ObjectInfo* const first = get()) return *first;
    auto mine = std::make_unique<const ObjectInfo>(now);
    const ObjectInfo* none = nullptr;
    if (state_.compare_exchange_strong(none, mine.get(), std::memory_order_acq_rel)) return *mine.release();
    return *none;
  }

 private:
  std::atomic<const ObjectInfo*> state_{nullptr};
};

/// An object with the version that was found, or that the first response had. Reads accept only this version.
struct StoredObject {
  std::string address;  ///< "s3://bucket/train/shard-000000.tar"
  ObjectInfo info;
  std::string content = {};              ///< checksum of its bytes according to the dataset; empty: unknown
  std::shared_ptr<FirstSeen> seen = {};  ///< set if `info` has no version because no lookup was made; else null

  /// The version that responses must have, as far as it is known.
  const ObjectInfo& state() const {
    const ObjectInfo* const first = seen != nullptr ? seen->get() : nullptr;
    return first != nullptr ? *first : info;
  }
};

/// An entry of a folder in a store.
struct ListedObject {
  std::string name;  ///< without its folder and without a trailing slash
  bool is_folder = false;
  ObjectInfo info = {};  ///< of an object
};

/// A range of an object, and the memory for its bytes.
struct RangePart {
  std::uint64_t offset;
  std::span<std::byte> into;
};

/// One request: from the first byte of the first part to the end of the last part. Bytes between parts are discarded.
struct RangeRead {
  std::shared_ptr<const StoredObject> object;
  /// One or more parts: not empty, in order, disjoint. Their memory must stay valid until the answer.
  std::vector<RangePart> parts;
  std::uint64_t tag;  ///< returned with the answer
};

/// Called once per read, from a thread of the store: null, or an Error (io: the store does not respond, refuses, or the
/// object changed; corrupt: the object ends inside the range). Must not block and must not throw.
using OnRange = std::function<void(std::uint64_t tag, std::exception_ptr failure)>;

/// The reads of one caller. Any thread may call submit().
class RangeReader {
 public:
  /// Calls stop().
  virtual ~RangeReader() = default;
  /// Never throws, and does not wait for the network. If a read cannot be sent, its answer is the error.
  virtual void submit(std::vector<RangeRead> reads) noexcept = 0;
  /// Cancels the reads in flight. After the return no answer is running, none will follow, and no thread writes to
  /// parts. No submit() may run at the same time or later. Must not be called from an answer.
  virtual void stop() noexcept = 0;
  virtual StoreCounts counts() const = 0;  ///< of this caller's reads
};

/// An object that is being written. The object appears complete with finish(), or not at all. If this is destroyed
/// earlier, or on failure, the sent parts are removed. For use by one thread at a time.
class ObjectUpload {
 public:
  virtual ~ObjectUpload() = default;
  /// Appends. Waits while earlier parts are still being sent. Throws Error: io.
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual ObjectInfo finish() = 0;
};

/// All stores, selected by address: s3://, gs://, az://, http://, https://. Thread-safe. Errors (io; invalid_argument,
/// for an incomplete address) name the address, never a secret.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// Returns the address without its secret parts: user, password and query ("?sig=..."). The store keeps these for
  /// requests to that address and below. All other calls, errors and stored data use the clean address. Throws Error:
  /// invalid_argument, for an incomplete address.
  virtual std::string admit(const std::string& address) { return address; }
  /// Returns nothing if there is no such object.
  virtual std::optional<ObjectInfo> find(const std::string& address) = 0;
  /// Returns the direct entries of a folder, in bytewise order of names. Empty if there are none. Also throws Error:
  /// unsupported, for web servers, which cannot list.
  virtual std::vector<ListedObject> list(const std::string& folder) = 0;
  /// Reads all bytes of a small object in one request. Returns nothing if there is no such object. Sets `info` to the
  /// metadata of the version that was read. Also throws Error: resource, for more than `most` bytes.
  virtual std::optional<std::vector<std::byte>> read_whole(const std::string& address, ObjectInfo& info,
                                                           std::uint64_t most) = 0;
  virtual std::unique_ptr<RangeReader> reader(OnRange on_range) = 0;
  /// With `if_absent`, finish() fails if an object exists by then, as far as the store can check.
  virtual std::unique_ptr<ObjectUpload> upload(const std::string& address, bool if_absent = false) = 0;
  /// Does nothing if there is no such object.
  virtual void remove(const std::string& address) = 0;
  virtual StoreCounts counts() const = 0;  ///< of all callers

  /// Description for users: the HTTP library, and the trusted certificates.
  virtual std::string about() const { return {}; }
  /// Description without secrets of how requests to the address are authenticated ("signed with the keys of the
  /// environment"). Looks up the credentials now. Throws Error, if they are not available.
  virtual std::string access(const std::string& address) {
    static_cast<void>(address);
    return {};
  }
};

/// The store of this process, loaded on first use. Throws Error: unsupported, with the reason, if it is not available.
ObjectStore& object_store();

/// Replaces the store in tests. Null restores the original. Must not be called while a store is in use.
void use_object_store(ObjectStore* store);

}  // namespace penstock
