// Tests bytes of objects where memory is refused, which takes the place of what all of a program uses: so this is a
// program of its own.
#include <algorithm>
#include <cstdint>
#include <new>
#include <support/refused_memory.hpp>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <formats/places/object_store.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

using namespace penstock;

namespace {

constexpr std::int64_t kNever = -1;
thread_local std::int64_t allocations_left = kNever;  // before one fails; negative: none does
constexpr std::uint64_t kSize = 5'000'000;

/// One object, whose bytes tell their place. From the moment that it is asked no memory is refused.
class OneObject final : public ObjectStore {
 public:
  OneObject() { use_object_store(this); }
  ~OneObject() override { use_object_store(nullptr); }
  OneObject(const OneObject&) = delete;
  OneObject& operator=(const OneObject&) = delete;

  static std::byte at(std::uint64_t offset) { return static_cast<std::byte>(offset * 2654435761U >> 13); }

  std::optional<ObjectInfo> find(const std::string&) override { return ObjectInfo{.size = kSize, .version = "v"}; }
  std::vector<ListedObject> list(const std::string&) override { return {}; }
  std::optional<std::vector<std::byte>> read_whole(const std::string&, ObjectInfo&, std::uint64_t) override {
    return std::nullopt;
  }
  std::unique_ptr<RangeReader> reader(OnRange on_range) override {
    return std::make_unique<Reader>(std::move(on_range));
  }
  std::unique_ptr<ObjectUpload> upload(const std::string&, bool) override { return nullptr; }
  void remove(const std::string&) override {}
  StoreCounts counts() const override { return {}; }

 private:
  class Reader final : public RangeReader {
   public:
    explicit Reader(OnRange on_range) : on_range_(std::move(on_range)) {}
    void submit(std::vector<RangeRead> reads) noexcept override {
      allocations_left = kNever;
      threads_.emplace_back([this, reads = std::move(reads)] {
        for (const RangeRead& read : reads) {
          for (const RangePart& part : read.parts)
            for (std::size_t i = 0; i < part.into.size(); ++i) part.into[i] = at(part.offset + i);
          on_range_(read.tag, nullptr);
        }
      });
    }
    void stop() noexcept override { threads_.clear(); }
    StoreCounts counts() const override { return {}; }

   private:
    const OnRange on_range_;
    std::vector<std::jthread> threads_;
  };
};

bool reads(const ByteSource& source, std::uint64_t offset) {
  std::vector<std::byte> bytes(1000);
  if (source.read(offset, bytes) != bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != OneObject::at(offset + i)) return false;
  return true;
}

}  // namespace

bool penstock::test::refuses_allocation() noexcept {
  return allocations_left >= 0 && allocations_left-- == 0;
}

TEST_CASE("a read that memory is refused to ends, and whoever reads there again gets the bytes") {
  OneObject store;
  for (std::int64_t refused = 0; refused < 100; ++refused) {
    const auto source = open_byte_source("s3://bucket/object");
    REQUIRE(reads(*source, 0));
    std::vector<std::byte> bytes(1000);
    bool was_refused = false;
    allocations_left = refused;
    try {
      source->read(3'000'000, bytes);
    } catch (const std::bad_alloc&) {
      was_refused = true;
    }
    allocations_left = kNever;
    CHECK(reads(*source, 3'000'000));
    if (was_refused) continue;
    CHECK(refused > 2);
    return;
  }
  FAIL("memory is refused again and again");
}
