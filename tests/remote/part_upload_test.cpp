// An object written in parts appears whole or not at all, whatever fails, and holds few parts at a time.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <base/thread.hpp>
#include <penstock/error.hpp>
#include <remote/writes/part_upload.hpp>

using namespace penstock;

namespace {

constexpr std::size_t kMiB = 1 << 20;

struct Seen {
  std::mutex mutex;  // guards parts
  std::map<unsigned, std::vector<std::byte>> parts;
  std::vector<std::byte> object;
  std::vector<std::string> names;
  std::atomic<int> begun = 0, whole = 0, completed = 0, abandoned = 0, under_way = 0, most = 0;
  int fail_at = 0;  // part; -1: begin, -2: complete, -3: the whole
};

class SeenStore : public PartStore {
 public:
  explicit SeenStore(Seen& seen) : seen_(seen) {}
  ObjectInfo put_whole(std::span<const std::byte> bytes) override {
    ++seen_.whole;
    fail(-3);
    seen_.object.assign(bytes.begin(), bytes.end());
    return {.size = bytes.size()};
  }
  void begin() override {
    ++seen_.begun;
    fail(-1);
  }
  std::string put_part(unsigned number, std::span<const std::byte> bytes) override {
    const int now = ++seen_.under_way;
    int most = seen_.most;
    while (most < now && !seen_.most.compare_exchange_weak(most, now)) {
    }
    {
      const std::lock_guard lock(seen_.mutex);
      seen_.parts[number].assign(bytes.begin(), bytes.end());
    }
    --seen_.under_way;
    fail(static_cast<int>(number));
    return "part" + std::to_string(number);
  }
  ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) override {
    ++seen_.completed;
    fail(-2);
    seen_.names = names;
    for (const auto& [number, bytes] : seen_.parts) seen_.object.insert(seen_.object.end(), bytes.begin(), bytes.end());
    return {.size = size};
  }
  void abandon() noexcept override {
    CHECK(seen_.under_way == 0);
    ++seen_.abandoned;
  }

 private:
  void fail(int at) const {
    if (seen_.fail_at == at) throw Error(ErrorKind::io, "refused at " + std::to_string(at));
  }
  Seen& seen_;
};

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

void write_in(PartUpload& upload, std::span<const std::byte> bytes, std::size_t piece) {
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    upload.write(bytes.subspan(at, std::min(piece, bytes.size() - at)));
}

}  // namespace

TEST_CASE("ten thousand parts hold the largest object of S3, and usual parts are alike") {
  std::uint64_t all = 0;
  for (unsigned number = 1; number <= 10'000; ++number) all += part_bytes(number);
  CHECK(all >= 5ULL << 40);
  CHECK(part_bytes(1) == 8 * kMiB);
  CHECK(part_bytes(1000) == 8 * kMiB);
  CHECK(part_bytes(10'000) <= 5ULL << 30);
}

TEST_CASE("bytes arrive in order, whatever pieces they are written in") {
  for (const std::size_t count : {0 * kMiB, kMiB, 8 * kMiB, 8 * kMiB + 1, 16 * kMiB, 45 * kMiB + 3}) {
    for (const std::size_t piece : {count + 1, 3'000'000UL, 9 * kMiB}) {
      CAPTURE(count);
      CAPTURE(piece);
      const auto bytes = numbered(count);
      Seen seen;
      {
        PartUpload upload(std::make_unique<SeenStore>(seen));
        write_in(upload, bytes, piece);
        CHECK(upload.finish().size == count);
        CHECK_THROWS_AS(upload.write(bytes.empty() ? numbered(1) : bytes), Error);
      }
      CHECK(seen.object == bytes);
      CHECK(seen.abandoned == 0);
      CHECK(seen.whole == (count <= 8 * kMiB ? 1 : 0));
      CHECK(seen.most <= static_cast<int>(kPartsUnderWay));
      for (std::size_t i = 0; i < seen.names.size(); ++i) CHECK(seen.names[i] == "part" + std::to_string(i + 1));
    }
  }
}

TEST_CASE("whatever fails, the error comes out once, and what was sent is thrown away") {
  const auto bytes = numbered(60 * kMiB);
  for (const int fail_at : {-1, -2, 1, 2, 4, 8}) {
    CAPTURE(fail_at);
    Seen seen;
    seen.fail_at = fail_at;
    {
      PartUpload upload(std::make_unique<SeenStore>(seen));
      bool failed = false;
      try {
        write_in(upload, bytes, 5'000'000);
        upload.finish();
      } catch (const Error& error) {
        failed = true;
        CHECK(error.cause() == "refused at " + std::to_string(fail_at));
      }
      CHECK(failed);
      CHECK_THROWS_AS(upload.finish(), Error);
    }
    CHECK(seen.object.empty());
    CHECK(seen.abandoned == (fail_at == -1 ? 0 : 1));
    CHECK(seen.completed == (fail_at == -2 ? 1 : 0));
  }
}

TEST_CASE("an upload that is left is thrown away, and a thread that is refused is an error") {
  const auto bytes = numbered(20 * kMiB);
  Seen seen;
  {
    PartUpload upload(std::make_unique<SeenStore>(seen));
    upload.write(bytes);
  }
  CHECK(seen.abandoned == 1);
  CHECK(seen.completed == 0);
  Seen none;
  {
    PartUpload upload(std::make_unique<SeenStore>(none));
    before_thread = [](const std::string& name) {
      if (name == "upload2") throw Error::resource("no thread");
    };
    CHECK_THROWS_AS(upload.write(bytes), Error);
    before_thread = nullptr;
  }
  CHECK(none.abandoned == 1);
  CHECK(none.object.empty());
}
