// What penstock asks of object stores and web servers: objects found, listed, read by ranges, and written whole. The
// part that speaks to them is a library of its own (remote/), loaded when an address is first opened.
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

/// What a store tells of an object.
struct ObjectInfo {
  std::uint64_t size = 0;  ///< bytes
  std::string version =
      {};  ///< tells this state of it from others: its ETag as sent, or else its generation; empty: none
  std::int64_t modified = 0;  ///< nanoseconds since 1970, by the store's clock; 0: not told

  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

/// The state that the first answer tells of an object which was not looked for before it was read. Any thread may use
/// it.
class FirstSeen {
 public:
  FirstSeen() = default;
  FirstSeen(FirstSeen&&) = delete;
  ~FirstSeen() { delete state_.load(std::memory_order_relaxed); }

  /// Null before the first answer.
  const ObjectInfo* get() const { return state_.load(std::memory_order_acquire); }
  /// What the first answer told: this one's, where it is the first.
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

/// An object in the state in which it was found, or first answered. Reads are of that state alone.
struct StoredObject {
  std::string address;  ///< "s3://bucket/train/shard-000000.tar"
  ObjectInfo info;
  std::string content = {};              ///< what its dataset says of its bytes (a checksum); empty: nothing
  std::shared_ptr<FirstSeen> seen = {};  ///< where `info` tells no version since nobody asked; else null

  /// The state that answers have to have, as far as it is known by now.
  const ObjectInfo& state() const {
    const ObjectInfo* const first = seen != nullptr ? seen->get() : nullptr;
    return first != nullptr ? *first : info;
  }
};

/// What lies in a folder of a store.
struct ListedObject {
  std::string name;  ///< without its folder, and without a slash behind it
  bool is_folder = false;
  ObjectInfo info = {};  ///< of an object
};

/// Bytes of an object, and where they go.
struct RangePart {
  std::uint64_t offset;
  std::span<std::byte> into;
};

/// One request: from the first part's first byte to the last one's end. What lies between parts is thrown away.
struct RangeRead {
  std::shared_ptr<const StoredObject> object;
  std::vector<RangePart> parts;  ///< one or more, not empty, in order, disjoint; memory that lives until the answer
  std::uint64_t tag;             ///< given back with the answer
};

/// Called once per read, from a thread of the store's: null, or an Error (io: the store does not answer, refuses, or
/// the object changed; corrupt: it ends inside the range). Must not block and must not throw.
using OnRange = std::function<void(std::uint64_t tag, std::exception_ptr failure)>;

/// The reads of one caller. Any thread may submit.
class RangeReader {
 public:
  /// As stop().
  virtual ~RangeReader() = default;
  /// Never throws, and does not wait for the network: what keeps a read from being sent is its answer.
  virtual void submit(std::vector<RangeRead> reads) noexcept = 0;
  /// Cancels what is in flight: when it returns no answer is being given and none will be, and nobody writes to parts.
  /// No submit() may run at the same time or follow. Not to be called from an answer.
  virtual void stop() noexcept = 0;
  virtual StoreCounts counts() const = 0;  ///< of this caller's reads
};

/// An object being written. It appears whole with finish(), or not at all: destroying it before, or a failure, removes
/// what was sent. Used by one thread at a time.
class ObjectUpload {
 public:
  virtual ~ObjectUpload() = default;
  /// Appends. Waits while parts that were sent are not taken yet. Throws Error: io.
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual ObjectInfo finish() = 0;
};

/// All stores, told apart by their addresses: s3://, gs://, az://, http://, https://. Any number of threads may use it.
/// Errors (io; invalid_argument, of an address that names nothing one can ask for) name the address, never a secret.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// The address without what may not be shown of it: user and password, and a query ("?sig=..."). It remembers these
  /// for requests of that address and of those below it; all other calls, errors, and what is kept of datasets have the
  /// clean one. Throws Error: invalid_argument, of an address that names nothing one can ask for.
  virtual std::string admit(const std::string& address) { return address; }
  /// None where there is no such object.
  virtual std::optional<ObjectInfo> find(const std::string& address) = 0;
  /// What lies directly in a folder, in bytewise order of names; nothing where nothing lies there. Throws Error also:
  /// unsupported, of web servers, which list nothing.
  virtual std::vector<ListedObject> list(const std::string& folder) = 0;
  /// All bytes of a small object, in one request; none where there is no such object. `info` becomes what it was.
  /// Throws Error also: resource, for more than `most` bytes.
  virtual std::optional<std::vector<std::byte>> read_whole(const std::string& address, ObjectInfo& info,
                                                           std::uint64_t most) = 0;
  virtual std::unique_ptr<RangeReader> reader(OnRange on_range) = 0;
  /// Fails at finish() where `if_absent` and an object is there by then, as far as the store can tell.
  virtual std::unique_ptr<ObjectUpload> upload(const std::string& address, bool if_absent = false) = 0;
  /// Nothing where there is no such object.
  virtual void remove(const std::string& address) = 0;
  virtual StoreCounts counts() const = 0;  ///< of all callers

  /// In words, for people: what speaks to stores, and which certificates it trusts.
  virtual std::string about() const { return {}; }
  /// In words without secrets: what requests of the address are sent with ("signed with the keys of the environment"),
  /// which is looked for now. Throws Error, where it cannot be had.
  virtual std::string access(const std::string& address) {
    static_cast<void>(address);
    return {};
  }
};

/// The one of this process, loaded when it is first asked for. Throws Error: unsupported, saying why it cannot be had.
ObjectStore& object_store();

/// Another one in its place, for tests; null: that one again. Not while any is in use.
void use_object_store(ObjectStore* store);

}  // namespace penstock
