// Tests HDF5 files that others wrote: whatever their layout, the index finds the bytes that libhdf5 reads.
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>

#include <formats/hdf5/handle.hpp>
#include <formats/hdf5/hdf5.hpp>
#include <formats/index/index.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/hdf5_files.hpp"
#include "support/kind_of_failure.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::hdf5_test {

namespace fs = std::filesystem;

namespace {

std::string field_of_all(const Index& index, const fs::path& root, const std::string& name) {
  std::string all;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      if (index.fields()[field].name == name) all += field_bytes(index, root, sample, field).value();
    }
  }
  return all;
}

}  // namespace

TEST_CASE("every layout, filter and chunk shape gives the bytes that libhdf5 reads") {
  const TemporaryFolder folder;
  for (const bool latest : {false, true}) {
    for (const hsize_t user_block : {hsize_t{0}, hsize_t{1024}}) {
      const fs::path path = folder / "f.h5";
      std::map<std::string, std::string> expected;
      {
        const Foreign file(path, latest, user_block);
        const hid_t f32 = H5T_IEEE_F32LE;
        const Dims dims{37, 6, 5};
        auto compact = properties();
        H5Pset_layout(compact.get(), H5D_COMPACT);
        expected["compact"] = file.dataset<std::uint16_t>("compact", H5T_STD_U16LE, {37, 3}, compact);
        expected["contiguous"] = file.dataset<float>("contiguous", f32, dims, properties());
        expected["vector"] = file.dataset<std::int64_t>("vector", H5T_STD_I64LE, {37}, properties());
        const std::vector<Dims> shapes{{1, 6, 5}, {8, 6, 5}, {8, 3, 5}, {5, 4, 5}, {5, 6, 2}, {4, 4, 3}, {37, 6, 5}};
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          const std::string number = std::to_string(i);
          expected["plain" + number] = file.dataset<float>("plain" + number, f32, dims, chunked(shapes[i]));
          const auto deflated = chunked(shapes[i]);
          H5Pset_deflate(deflated.get(), 4);
          expected["deflate" + number] = file.dataset<float>("deflate" + number, f32, dims, deflated);
          const auto all = chunked(shapes[i]);
          const float fill = -2.5F;
          H5Pset_fill_value(all.get(), H5T_NATIVE_FLOAT, &fill);
          H5Pset_shuffle(all.get());
          H5Pset_deflate(all.get(), 9);
          H5Pset_fletcher32(all.get());
          if (latest) H5Pset_chunk_opts(all.get(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
          expected["all" + number] = file.dataset<float>("all" + number, f32, dims, all, 11);
          expected["big" + number] = file.dataset<float>("big" + number, H5T_IEEE_F32BE, dims, all, 11);
          expected["bigplain" + number] =
              file.dataset<std::int64_t>("bigplain" + number, H5T_STD_I64BE, dims, chunked(shapes[i]));
          const Dims one{H5S_UNLIMITED, 6, 5}, other{40, 6, H5S_UNLIMITED}, two{H5S_UNLIMITED, 6, H5S_UNLIMITED};
          for (const auto& [kind, most] : std::map<std::string, Dims>{{"one", one}, {"other", other}, {"two", two}}) {
            const std::string grows = "grows_" + kind + number;
            expected[grows] = file.dataset<float>(grows, f32, dims, chunked(shapes[i]), 21, most);
            expected[grows + "f"] = file.dataset<float>(grows + "f", f32, dims, deflated, 21, most);
          }
          const auto early = chunked(shapes[i]);
          H5Pset_alloc_time(early.get(), H5D_ALLOC_TIME_EARLY);
          expected["early" + number] = file.dataset<float>("early" + number, f32, dims, early, 30);
        }
        auto big_compact = properties();
        H5Pset_layout(big_compact.get(), H5D_COMPACT);
        expected["bigcompact"] = file.dataset<std::int16_t>("bigcompact", H5T_STD_I16BE, {37, 3}, big_compact);
        expected["bigcontiguous"] = file.dataset<double>("bigcontiguous", H5T_IEEE_F64BE, dims, properties());
        const auto filled = properties();
        const std::int32_t fill_value = 77;
        H5Pset_fill_value(filled.get(), H5T_NATIVE_INT32, &fill_value);
        expected["bigfill"] = file.dataset<std::int32_t>("bigfill", H5T_STD_I32BE, {37}, filled, 0);
        expected["unwritten"] = file.dataset<float>("unwritten", f32, dims, properties(), 0);
      }
      CAPTURE(latest);
      CAPTURE(user_block);
      const Index index = hdf5_index(path);
      REQUIRE(index.size() == 37);
      CHECK(index.attributes() == "{}");
      CHECK(index.key(3) == "03");
      CHECK(index.fields().size() == expected.size());
      for (const auto& [name, bytes] : expected) {
        CAPTURE(name);
        CHECK(field_of_all(index, folder.path(), name) == bytes);
      }
    }
  }
}

TEST_CASE("rows that were never written have one fill value in common in the index, however long an element is") {
  const TemporaryFolder folder;
  constexpr hsize_t kRows = 5000;
  {
    const Foreign file(folder / "f.h5");
    const hsize_t sides[] = {100, 100};
    const Hdf5Handle type(H5Tarray_create2(H5T_IEEE_F32LE, 2, sides));
    const Hdf5Handle space(H5Screate_simple(1, &kRows, nullptr));
    const Hdf5Handle dataset(
        H5Dcreate2(file.id(), "x", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(dataset.valid());
    auto filled = properties();
    const double fill = -2.5;
    H5Pset_fill_value(filled.get(), H5T_NATIVE_DOUBLE, &fill);
    file.dataset<double>("y", H5T_IEEE_F64LE, {kRows}, filled, 0);
  }
  const Index index = hdf5_index(folder / "f.h5");
  CHECK(index.bytes().size() < 1 << 20);
  CHECK(field_bytes(index, folder.path(), 4999, 0) == std::string(40'000, '\0'));
  const double fill = -2.5;
  CHECK(field_bytes(index, folder.path(), 17, 1) == text_of(std::as_bytes(std::span(&fill, 1))));
}

TEST_CASE("chunks by the hundred thousand are listed in one pass, whatever index the file keeps of them") {
  const TemporaryFolder folder;
  constexpr hsize_t kRows = 140'000;  // more than any page of an index holds
  struct Kind {
    bool latest;
    Dims dims, chunk, most;
  };
  const std::vector<Kind> kinds{{false, {kRows}, {1}, {}},
                                {true, {kRows}, {1}, {}},
                                {true, {kRows}, {1}, {H5S_UNLIMITED}},
                                {true, {kRows, 2}, {1, 2}, {H5S_UNLIMITED, H5S_UNLIMITED}}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CAPTURE(i);
    const Kind& kind = kinds[i];
    const fs::path path = folder / "many.h5";
    std::string expected;
    {
      const Foreign file(path, kind.latest);
      expected =
          file.dataset<std::uint16_t>("x", H5T_STD_U16LE, kind.dims, chunked(kind.chunk), ~std::uint64_t{0}, kind.most);
    }
    const auto begin = std::chrono::steady_clock::now();
    const Index index = hdf5_index(path);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    MESSAGE("kind " << i << ": " << kRows << " chunks in " << took.count() << " s");
    CHECK(took.count() < 20);  // quadratic listing takes hours
    REQUIRE(index.size() == kRows);
    CHECK(field_of_all(index, folder.path(), "x") == expected);
  }
}

TEST_CASE("bytes and offsets may be chunked, filtered and of any integer type") {
  const TemporaryFolder folder;
  const fs::path path = folder / "f.h5";
  std::string bytes;
  {
    const Foreign file(path);
    const Hdf5Handle group(H5Gcreate2(file.id(), "png", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const auto compressed = chunked({100});
    H5Pset_deflate(compressed.get(), 1);
    bytes = file.dataset<std::uint8_t>("png/bytes", H5T_STD_U8LE, {1234}, compressed);
    const std::array<std::int32_t, 5> offsets{0, 0, 99, 550, 1234};
    const hsize_t count = offsets.size();
    const Hdf5Handle space(H5Screate_simple(1, &count, nullptr));
    const Hdf5Handle dataset(
        H5Dcreate2(group.get(), "offsets", H5T_STD_I32LE, space.get(), H5P_DEFAULT, chunked({2}).get(), H5P_DEFAULT));
    REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, offsets.data()) >= 0);
  }
  const Index index = hdf5_index(path);
  REQUIRE(index.size() == 4);
  CHECK(index.fields()[0].codec == "png");
  CHECK(field_bytes(index, folder.path(), 0, 0) == "");
  CHECK(field_bytes(index, folder.path(), 1, 0) == bytes.substr(0, 99));
  CHECK(field_bytes(index, folder.path(), 2, 0) == bytes.substr(99, 451));
  CHECK(field_bytes(index, folder.path(), 3, 0) == bytes.substr(550));
}

TEST_CASE("what cannot be read is left out with its reason, and named when nothing else is there") {
  const TemporaryFolder folder;
  const fs::path path = folder / "f.h5";
  {
    const Foreign file(path);
    file.dataset<long double>("above", H5T_NATIVE_LDOUBLE, {9}, properties());
    const auto packed = chunked({9});
    H5Pset_nbit(packed.get());
    file.dataset<std::int32_t>("packed", H5T_STD_I32LE, {9}, packed);
    H5Lcreate_external("other.h5", "/x", file.id(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/above", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
  }
  try {
    hdf5_index(path);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(error.cause().find("above: floating point numbers of an unusual kind") != std::string::npos);
  }
  {
    const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    for (const char* name : {"x", "y"}) {
      const hsize_t rows = 8;
      const Hdf5Handle space(H5Screate_simple(1, &rows, nullptr));
      const auto early = properties();
      H5Pset_alloc_time(early.get(), H5D_ALLOC_TIME_EARLY);
      const Hdf5Handle dataset(
          H5Dcreate2(file.get(), name, H5T_STD_U8LE, space.get(), H5P_DEFAULT, early.get(), H5P_DEFAULT));
      REQUIRE(dataset.valid());
    }
  }
  const Index index = hdf5_index(path);
  CHECK(index.size() == 8);
  CHECK(index.fields().size() == 2);
  for (const char* part : {"\"above\"", "\"packed\"", "filter 5 (nbit)", "\"elsewhere\"", "\"soft\""}) {
    CHECK(std::string(index.attributes()).find(part) != std::string::npos);
  }
}

TEST_CASE("a file that a writer holds open is refused") {
  const TemporaryFolder folder;
  const fs::path path = folder / "f.h5";
  Foreign file(path, true);
  file.dataset<float>("x", H5T_IEEE_F32LE, {9}, properties());
  H5Fflush(file.id(), H5F_SCOPE_GLOBAL);
  fs::copy(path, folder / "copy.h5");
  CHECK(kind_of_failure([&] { hdf5_index(folder / "copy.h5"); }) == ErrorKind::unsupported);
}

TEST_CASE("shards are found by signature and by name; the stamp follows the content") {
  const TemporaryFolder folder;
  {
    const Foreign plain(folder / "b.h5");
    const Foreign behind(folder / "a.dat", false, 2048);
  }
  write_file(folder / "c.hdf5", "not one");
  write_file(folder / "d.txt", "not one");
  using Paths = std::vector<fs::path>;
  CHECK(kHdf5.find_shards(folder / "a.dat") == Paths{folder / "a.dat"});
  CHECK(kHdf5.find_shards(folder / "d.txt").empty());
  CHECK(kHdf5.find_shards(folder.path()) == Paths{folder / "b.h5", folder / "c.hdf5"});
  CHECK(kind_of_failure([&] { hdf5_index(folder / "c.hdf5"); }) == ErrorKind::corrupt);
  const auto stamp = kHdf5.stamp(folder / "b.h5");
  fs::copy(folder / "b.h5", folder / "copy.h5");
  CHECK(kHdf5.stamp(folder / "copy.h5") == stamp);
  const Foreign other(folder / "b.h5");
  other.dataset<float>("x", H5T_IEEE_F32LE, {9}, properties());
  H5Fflush(other.id(), H5F_SCOPE_GLOBAL);
  CHECK(kHdf5.stamp(folder / "b.h5") != stamp);
}

}  // namespace penstock::test::hdf5_test
