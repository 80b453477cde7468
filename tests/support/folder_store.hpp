// A folder in a store's place: "s3://bucket/key" is its file bucket/key. It answers from a thread of its own, as stores
// do.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <base/caught.hpp>
#include <base/thread.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>

namespace penstock::test {

class FolderStore final : public ObjectStore {
 public:
  explicit FolderStore(std::filesystem::path folder) : folder_(std::move(folder)) { use_object_store(this); }
  ~FolderStore() override { use_object_store(nullptr); }
  FolderStore(const FolderStore&) = delete;
  FolderStore& operator=(const FolderStore&) = delete;

  /// Called before each request is answered, with its verb ("find", "list", "get", "range", "put", "delete") and
  /// address; what it throws is the answer. From any thread.
  std::function<void(const std::string& verb, const std::string& address)> before = {};
  std::atomic<std::uint64_t> requests{0}, ranges{0}, bytes{0};
  std::chrono::milliseconds delay{0};  ///< of each range
  bool lists = true;                   ///< false: as a web server

  std::filesystem::path file_of(const std::string& address) const {
    const std::size_t end_of_scheme = address.find("://");
    return folder_ / address.substr(end_of_scheme + 3);
  }

  std::optional<ObjectInfo> find(const std::string& address) override {
    asked("find", address);
    return info_of(file_of(address));
  }
  std::vector<ListedObject> list(const std::string& folder) override {
    asked("list", folder);
    if (!lists) throw Error::unsupported("a web server lists nothing", {.dataset = folder});
    std::vector<ListedObject> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(file_of(folder), none)) {
      ListedObject one{.name = entry.path().filename().string(), .is_folder = entry.is_directory()};
      if (!one.is_folder) one.info = *info_of(entry.path());
      found.push_back(std::move(one));
    }
    std::ranges::sort(found, {}, &ListedObject::name);
    return found;
  }
  std::optional<std::vector<std::byte>> read_whole(const std::string& address, ObjectInfo& info,
                                                   std::uint64_t most) override {
    asked("get", address);
    const auto found = info_of(file_of(address));
    if (!found) return std::nullopt;
    if (found->size > most) throw Error::resource("is too long", {.dataset = address});
    info = *found;
    std::vector<std::byte> whole(found->size);
    std::ifstream(file_of(address), std::ios::binary)
        .read(reinterpret_cast<char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
    bytes += whole.size();
    return whole;
  }
  std::unique_ptr<RangeReader> reader(OnRange on_range) override {
    return std::make_unique<Reader>(*this, std::move(on_range));
  }
  std::unique_ptr<ObjectUpload> upload(const std::string& address, bool if_absent = false) override {
    return std::make_unique<Upload>(*this, address, if_absent);
  }
  void remove(const std::string& address) override {
    asked("delete", address);
    std::filesystem::remove(file_of(address));
  }
  StoreCounts counts() const override { return {.requests = requests, .bytes = bytes}; }

 private:
  class Reader final : public RangeReader {
   public:
    Reader(FolderStore& store, OnRange on_range) : store_(store), on_range_(std::move(on_range)) {
      thread_ = Thread("folder-store", [this](const std::stop_token& stop) { run(stop); });
    }
    ~Reader() override { stop(); }
    void submit(std::vector<RangeRead> reads) noexcept override {
      {
        const std::scoped_lock lock(mutex_);
        const auto due = std::chrono::steady_clock::now() + store_.delay;
        for (RangeRead& read : reads) waiting_.emplace_back(due, std::move(read));
        counts_.requests += reads.size();
      }
      changed_.notify_one();
    }
    void stop() noexcept override {
      thread_.join();
      waiting_.clear();
    }
    StoreCounts counts() const override {
      const std::scoped_lock lock(mutex_);
      return counts_;
    }

   private:
    void run(const std::stop_token& stop) {
      while (true) {
        std::pair<std::chrono::steady_clock::time_point, RangeRead> next;
        {
          std::unique_lock lock(mutex_);
          if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
          next = std::move(waiting_.front());
          waiting_.pop_front();
          if (changed_.wait_until(lock, stop, next.first, [] { return false; }) || stop.stop_requested()) return;
        }
        const auto failure = caught([&] { answer(next.second); });
        count(next.second, next.first - store_.delay);
        on_range_(next.second.tag, failure);
      }
    }
    void count(const RangeRead& read, std::chrono::steady_clock::time_point sent) {
      const std::uint64_t length = read.parts.back().offset + read.parts.back().into.size() - read.parts.front().offset;
      const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - sent;
      const std::scoped_lock lock(mutex_);
      counts_.bytes += length;
      counts_.waited += took;
      counts_.answers.add(static_cast<double>(length), std::chrono::duration<double>(took).count());
    }
    void answer(const RangeRead& read) {
      store_.asked("range", read.object->address);
      ++store_.ranges;
      const auto now = info_of(store_.file_of(read.object->address));
      if (!now) throw Error::io(ENOENT, "is gone", {.shard = read.object->address});
      if (!read.object->info.version.empty() && now->version != read.object->info.version)
        throw Error::io(ESTALE, "changed while it was read", {.shard = read.object->address});
      std::ifstream file(store_.file_of(read.object->address), std::ios::binary);
      for (const RangePart& part : read.parts) {
        file.seekg(static_cast<std::streamoff>(part.offset));
        file.read(reinterpret_cast<char*>(part.into.data()), static_cast<std::streamsize>(part.into.size()));
        if (static_cast<std::size_t>(file.gcount()) != part.into.size())
          throw Error::corrupt("ends inside the range", {.shard = read.object->address, .offset = part.offset});
      }
      store_.bytes += read.parts.back().offset + read.parts.back().into.size() - read.parts.front().offset;
    }

    FolderStore& store_;
    const OnRange on_range_;
    mutable std::mutex mutex_;  // guards what follows
    StoreCounts counts_ = {.connections = 1};
    std::condition_variable_any changed_;
    std::deque<std::pair<std::chrono::steady_clock::time_point, RangeRead>> waiting_;
    Thread thread_;
  };

  class Upload final : public ObjectUpload {
   public:
    Upload(FolderStore& store, std::string address, bool if_absent)
        : store_(store), address_(std::move(address)), if_absent_(if_absent) {}
    void write(std::span<const std::byte> more) override {
      store_.asked("put", address_);
      sent_.insert(sent_.end(), more.begin(), more.end());
    }
    ObjectInfo finish() override {
      store_.asked("put", address_);
      const std::filesystem::path file = store_.file_of(address_);
      if (if_absent_ && std::filesystem::exists(file)) throw Error::io(EEXIST, "is there", {.dataset = address_});
      std::filesystem::create_directories(file.parent_path());
      const std::filesystem::path growing = file.string() + ".growing";
      std::ofstream(growing, std::ios::binary)
          .write(reinterpret_cast<const char*>(sent_.data()), static_cast<std::streamsize>(sent_.size()));
      std::filesystem::rename(growing, file);
      return *info_of(file);
    }

   private:
    FolderStore& store_;
    const std::string address_;
    const bool if_absent_;
    std::vector<std::byte> sent_;
  };

  static std::optional<ObjectInfo> info_of(const std::filesystem::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    const std::int64_t modified = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    return ObjectInfo{.size = static_cast<std::uint64_t>(status.st_size),
                      .version = "\"" + std::to_string(status.st_ino) + "-" + std::to_string(modified) + "\"",
                      .modified = modified};
  }
  void asked(const std::string& verb, const std::string& address) {
    ++requests;
    if (before) before(verb, address);
  }

  const std::filesystem::path folder_;
};

}  // namespace penstock::test
