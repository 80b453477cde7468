// Tests which reads are planned for a sample.
#include <vector>

#include <doctest/doctest.h>

#include <base/memory.hpp>
#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <loader/batch/row_slots.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/prepare.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/kind_of_failure.hpp"
#include "support/loading.hpp"

namespace penstock::test::fetch_test {

TEST_CASE("a value that is stored as its row must fill the slot: no shorter one, and no longer one, is taken") {
  const Arrays arrays(2);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  LoaderOptions options;
  options.transforms = {{"npy", raw()}};
  const Program program = compiled(dataset, options);
  FieldHeaders headers(dataset);
  const FetchFrom from{.dataset = dataset, .program = program, .headers = headers};
  const std::uint32_t field = program.outputs().front().sources.front();
  const std::uint64_t length = dataset.length(0, field);
  std::vector<std::byte> memory(length + 64);
  Fetch fetch;
  const auto plan_for = [&](std::uint64_t bytes) {
    const std::vector<std::span<std::byte>> slots{std::span(memory).first(bytes)};
    fetch.plan(from, {0, 0, 0, dataset.key(0)}, {.places = slots, .buffered = {}, .verbatim = slots});
  };
  plan_for(length);
  REQUIRE(fetch.reads().size() == 1);
  CHECK(fetch.reads()[0].place.slot == memory.data());
  CHECK(fetch.reads()[0].extent.length == length);
  for (const std::uint64_t bytes : {length - 1, length + 1, length - 64, length + 64, std::uint64_t{1}}) {
    CAPTURE(bytes);
    CHECK(kind_of_failure([&] { plan_for(bytes); }) == ErrorKind::shape);
  }
}

TEST_CASE("a stored row that a device takes over is not read, and is not checked on the host") {
  struct TakesRowOne final : Offload {
    void clear_row(std::uint32_t) noexcept override { taken = {}; }
    bool take_stored(std::uint32_t, std::uint32_t row, const Extent& stored) override {
      if (row == 1) taken = stored;
      return row == 1;
    }
    bool take_value(std::uint32_t, std::uint32_t, const SampleContext&, const FieldBytes&, SlotFiller&) override {
      return false;
    }
    std::uint64_t seal(std::uint32_t) override { return 0; }
    std::uint64_t bytes_to_read(std::uint32_t) const override { return taken.length; }
    Extent taken{};
  } device;
  const Arrays arrays(2);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  LoaderOptions options;
  options.transforms = {{"npy", raw()}};
  const Program program = compiled(dataset, options);
  FieldHeaders headers(dataset);
  ValueChecks checks(dataset, program, Checksums::always);
  const FetchFrom from{.dataset = dataset, .program = program, .headers = headers, .checks = &checks};
  std::vector<std::byte> memory(dataset.length(0, program.outputs().front().sources.front()));
  const std::vector<std::span<std::byte>> slots{memory};
  Fetch fetch;
  for (const std::uint32_t row : {1U, 0U}) {
    CAPTURE(row);
    const RowSlots with{.places = slots, .buffered = {}, .verbatim = slots, .offload = &device, .row = row};
    fetch.plan(from, {0, 0, 0, dataset.key(0)}, with);
    CHECK(fetch.reads().size() == (row == 1 ? 0 : 1));
    CHECK(device.taken.length == (row == 1 ? memory.size() : 0));
    REQUIRE(fetch.in_slots().size() == 1);
    CHECK((fetch.in_slots()[0].read == Fetch::kOffloaded) == (row == 1));
  }
}

TEST_CASE("values of a sample that this machine's memory cannot hold together are refused before any is taken") {
  const std::uint64_t third = physical_memory() / 3 + (1 << 20);
  const std::vector<std::byte> zero(1);
  IndexBuilder builder;
  builder.add_file({.path = "none", .size = 0, .stamp = 0});
  builder.add_sample("one");
  LoaderOptions options;
  for (const char* name : {"a", "b", "c"}) {
    const std::uint32_t field = builder.field(
        {.name = name, .codec = "raw", .dtype = DType::u8, .shape = {static_cast<std::int64_t>(third)}, .fixed = true});
    const Piece fill{.kind = Piece::Kind::fill, .length = third, .inline_bytes = zero};
    builder.set(field, std::span(&fill, 1));
    options.transforms.emplace_back(name, raw());
  }
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(builder).finish(), .root = "/", .name = "none"});
  const Dataset dataset("/none", "hdf5", std::move(shards), {}, false);
  FieldHeaders headers(dataset);
  Fetch fetch;
  const auto plan_of = [&](std::size_t count) {
    LoaderOptions some = options;
    some.transforms.resize(count);
    const Program program = compiled(dataset, some);
    const std::vector<std::span<std::byte>> nowhere(count);
    fetch.plan({.dataset = dataset, .program = program, .headers = headers}, {0, 0, 0, "one"},
               {.places = nowhere, .buffered = {}, .verbatim = nowhere});
  };
  plan_of(1);
  plan_of(2);
  CHECK(kind_of_failure([&] { plan_of(3); }) == ErrorKind::resource);
}

}  // namespace penstock::test::fetch_test
