// Tests steps at the end of a chain that a device does in passes over a batch: the bytes are those of the host.
#include <atomic>
#include <filesystem>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <bench/synth/workload.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>

#include "support/device_loading.hpp"

namespace penstock::test::passes_test {
namespace {

/// Clouds of `points` points with normals and an intensity, arrays (60, 3) and scans of x, y, z, reflectance.
void write_points(const std::filesystem::path& folder, std::uint64_t count) {
  std::minstd_rand random(17);
  const auto number = [&] { return static_cast<float>(random() % 20001) / 1000 - 10; };
  const auto numbers = [&](std::size_t wanted) {
    std::vector<float> values(wanted);
    for (float& value : values) value = number();
    return values;
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t points = i == 3 ? 0 : 20 + random() % 60;
    const auto coordinates = numbers(points * 3), nx = numbers(points), ny = numbers(points), nz = numbers(points);
    std::vector<std::byte> bytes;
    encode_cloud(
        {.points = points,
         .origin = {1000.0, 0, 0},
         .attributes = {{"nx", DType::f32}, {"ny", DType::f32}, {"nz", DType::f32}}},
        {.coordinates = coordinates,
         .attributes = {std::as_bytes(std::span(nx)), std::as_bytes(std::span(ny)), std::as_bytes(std::span(nz))}},
        bytes);
    write_file(folder / (number_key(i) + ".scan"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    write_file(folder / (number_key(i) + ".npy"), npy_file(numbers(180), "(60, 3)"));
    const auto scan = numbers(4 * (1 + random() % 30));
    write_file(folder / (number_key(i) + ".bin"),
               {reinterpret_cast<const char*>(scan.data()), scan.size() * sizeof(float)});
  }
}

}  // namespace

TEST_CASE("normalizing on the device gives the bytes of the host, and uint8 is what crosses") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 40, .seed = 3, .workers = 1, .classes = 2});
  const Dataset dataset = open(folder / "icons");
  const std::vector<float> mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  const Chain pixels = field("png") | image::random_resized_crop(24) | image::random_horizontal_flip();
  std::vector<FieldChain> fields{{"planes", pixels | image::normalize(mean, deviation)},
                                 {"last", pixels | image::channels_last() | image::normalize(mean, deviation)},
                                 {"half", pixels | image::normalize(mean, deviation) | image::cast(DType::f16)},
                                 {"brain", pixels | image::cast(DType::bf16) | image::channels_last()},
                                 {"bytes", pixels},
                                 {"cls", label()}};
  LoaderOptions options{.batch_size = 7, .shuffle = true, .workers = 2, .transforms = fields};
  Loader plain(dataset, options);
  std::atomic<std::uint64_t> crossed{0}, passes{0};
  const auto device = device_with([&](const HostWork& work) {
    if (work.kind == HostWork::Kind::copy_in) crossed += work.bytes;
    if (work.kind == HostWork::Kind::image) ++passes;
  });
  options.device_options.opened = device;
  const std::uint64_t of_bytes = 24 * 24 * 3 * 40;
  {
    Loader loader(dataset, options);
    CHECK(digests_of(loader) == digests_of(plain));
    CHECK(loader.state().transforms == plain.state().transforms);
    const auto batch = loader.next();
    const auto same = plain.next();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      CHECK(batch->fields()[i].name == fields[i].first);
      CHECK(batch->fields()[i].values.dtype == same->fields()[i].values.dtype);
      CHECK(batch->fields()[i].values.shape == same->fields()[i].values.shape);
    }
    const auto account = loader.explain(*batch, 3);
    CHECK(account.outputs[0].account.chain == plain.explain(*same, 3).outputs[0].account.chain);
    CHECK(digest_of(loader.at(0, 2)) == digest_of(plain.at(0, 2)));
  }
  CHECK(passes >= 4 * 6);
  CHECK(crossed < 3 * 5 * of_bytes);  // of two epochs and a bit; float32 alone would be eight times one output's

  options.device_options.finish_on = FinishOn::host;
  passes = 0;
  {
    Loader loader(dataset, options);
    plain.set_epoch(0);
    CHECK(digests_of(loader) == digests_of(plain));
  }
  CHECK(passes == 0);

  options.device_options.finish_on = FinishOn::device;
  options.transforms = {{"bytes", pixels}, {"cls", label()}};
  CHECK_THROWS_WITH((Loader{dataset, options}), doctest::Contains("finish_on is \"device\""));
}

TEST_CASE("points that are moved on the device have the bytes of the host, whatever the steps and their order") {
  const TemporaryFolder folder;
  write_points(folder / "points", 40);
  const Dataset dataset = packed(open(folder / "points"), folder / "tar", "tar");
  const Chain taken = field("npy") | points::sample(33);
  const std::vector<FieldChain> fields{
      {"npy", points::center() | points::unit_sphere() | points::random_rotate() | points::random_jitter()},
      {"backwards", taken | points::random_jitter(0.1, 0.15) | points::random_rotate("free") | points::unit_sphere() |
                        points::center() | points::random_scale() | points::random_shift() | points::scale(0.5)},
      {"planes", taken | points::random_rotate() | points::random_jitter() | points::channels_first()},
      {"wide", taken | points::cast(DType::f64)},
      {"wide planes", taken | points::random_rotate("free") | points::channels_first() | points::cast(DType::f64)},
      {"long", taken | points::center() | points::random_jitter() | points::center() | points::random_jitter() |
                   points::center() | points::random_jitter() | points::center() | points::random_jitter() |
                   points::center() | points::random_jitter() | points::center() | points::random_jitter() |
                   points::center() | points::random_rotate()},
      {"interrupted", taken | points::random_jitter() | points::unit_box() | points::random_rotate()},
      {"normals",
       field("scan") | points::decode({"nx", "ny", "nz"}) | points::random_rotate("free") | points::random_jitter()},
      {"ragged wide", field("scan") | points::center() | points::cast(DType::f64)},
      {"numbers", field("scan") | follow("normals") | points::attribute("nx")},
      {"bin", points::decode({}, 4) | points::center() | points::unit_sphere() | points::random_jitter(0.02, 0.03)},
      {"half", taken | points::center() | points::cast(DType::f16)},
      {"brain", taken | points::random_rotate() | points::channels_first() | points::cast(DType::bf16)}};
  LoaderOptions options{.batch_size = 7, .shuffle = true, .seed = 5, .workers = 2, .transforms = fields};
  Loader plain(dataset, options);
  std::atomic<std::uint64_t> passes{0}, copies{0};
  const auto device = device_with([&](const HostWork& work) {
    passes += work.kind == HostWork::Kind::points;
    copies += work.kind == HostWork::Kind::copy_in;
  });
  options.device_options.opened = device;
  constexpr std::uint64_t kCopies = 1 + 4;  // of a batch: what is of fixed size, and what is ragged
  for (const FinishOn where : {FinishOn::automatic, FinishOn::device}) {
    options.device_options.finish_on = where;
    passes = copies = 0;
    plain.set_epoch(0);
    {
      Loader loader(dataset, options);
      for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
      CHECK(loader.state().transforms == plain.state().transforms);
      const auto batch = loader.next(), same = plain.next();
      for (std::size_t i = 0; i < batch->fields().size(); ++i) {
        CHECK(batch->fields()[i].name == same->fields()[i].name);
        CHECK(batch->fields()[i].values.dtype == same->fields()[i].values.dtype);
        CHECK(batch->fields()[i].values.shape == same->fields()[i].values.shape);
      }
      CHECK(digest_of(loader.at(1, 2)) == digest_of(plain.at(1, 2)));
    }
    CHECK(copies >= 2 * 6 * kCopies);  // and those of batches ahead of the consumer; all are over with the loader
    CHECK(passes * kCopies == copies * (where == FinishOn::device ? 12 : 10));
  }
  options.device_options.finish_on = FinishOn::host;
  options.memory_options.max_items = 100;
  passes = 0;
  plain.set_epoch(0);
  Loader on_host(dataset, options);
  CHECK(digests_of(on_host) == digests_of(plain));
  CHECK(passes == 0);

  options.device_options.finish_on = FinishOn::device;
  options.transforms = {{"npy", points::sample(10) | points::channels_first()}};
  CHECK_THROWS_WITH((Loader{dataset, options}), doctest::Contains("finish_on is \"device\""));
}

TEST_CASE(
    "points moved on the device are drawn for the samples that are there: replacements, and memory that is full") {
  const TemporaryFolder folder;
  write_points(folder / "points", 30);
  for (const std::uint64_t bad : {4U, 9U, 20U}) write_file(folder / "points" / (number_key(bad) + ".npy"), "no array");
  const Dataset dataset = open(folder / "points");
  LoaderOptions options{.batch_size = 4, .shuffle = true, .workers = 2, .on_error = OnError::replace};
  options.max_error_rate = 0.5;
  options.memory_options.max_items = 90;
  options.transforms = {{"npy", points::random_rotate() | points::random_jitter()},
                    {"scan", points::random_rotate("free") | points::random_jitter() | points::cast(DType::f64)}};
  Loader plain(dataset, options);
  const auto device = device_with();
  options.device_options.opened = device;
  Loader loader(dataset, options);
  const std::uint64_t reserved = device->allocated();
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
  CHECK(device->allocated() == reserved);
  CHECK(loader.stats().bad_samples == plain.stats().bad_samples);
}

TEST_CASE("what on_batch sees, and rows that are marked, are the same with a device") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 24, .seed = 3, .workers = 1, .classes = 2});
  std::filesystem::path broken;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "icons")) {
    if (entry.path().extension() == ".png" && (broken.empty() || entry.path() < broken)) broken = entry.path();
  }
  write_file(broken, "no image");
  LoaderOptions options{.batch_size = 8, .workers = 2};
  options.transforms = {{"png", image::resize(16, 16) | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})}};
  options.on_error = OnError::mark;
  options.max_error_rate = 0.5;
  Loader plain(open(folder / "icons"), options);
  options.device_options.opened = device_with();
  Loader marking(open(folder / "icons"), options);
  CHECK(digests_of(marking) == digests_of(plain));
  options.on_error = OnError::replace;
  options.batch_transform = [](Batch& batch) { CHECK(batch["png"].values.dtype == DType::f32); };
  Loader stepping(open(folder / "icons"), options);
  CHECK(stepping.next()->number() == 0);
}

}  // namespace penstock::test::passes_test
