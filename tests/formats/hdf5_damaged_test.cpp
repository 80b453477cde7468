// Tests HDF5 files cut short and with changed bytes, each read by a process of its own.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>

#include <formats/hdf5/handle.hpp>
#include <formats/hdf5/hdf5.hpp>

#include "support/hdf5_files.hpp"
#include "support/random_samples.hpp"
#include "support/read_in_child.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::hdf5_damaged_test {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kSeed = 90210;

}  // namespace

TEST_CASE("cut and flipped shards give an error or an index in time") {
  const TemporaryFolder folder;
  auto fields = random_sample_fields();
  fields.push_back({"row", "raw", DType::i32, {2}, true});
  write_samples(*kHdf5.write(folder / "s.h5", {.fields = fields}), fields, random_samples(20, kSeed));
  const std::string good = read_file(folder / "s.h5");
  const fs::path broken = folder / "broken.h5";
  for (std::size_t length = 0; length < good.size(); length += good.size() / 25) {
    write_file(broken, good.substr(0, length));
    CHECK(read_in_child(kHdf5, broken, 10) == kRefused);
  }
  std::mt19937 random(kSeed);
  for (int round = 0; round < 150; ++round) {
    std::string flipped = good;
    flipped[random() % 6000] ^= static_cast<char>(1U << random() % 8);  // metadata comes first
    write_file(broken, flipped);
    const int code = read_in_child(kHdf5, broken, 10);
    CHECK((code == kIndexed || code == kRefused));
  }
}

TEST_CASE("foreign files of every layout, cut anywhere or with any byte changed, give an error or an index") {
  const TemporaryFolder folder;
  const fs::path broken = folder / "broken.h5";
  std::mt19937 random(kSeed);
  for (const bool latest : {false, true}) {
    const fs::path path = folder / "good.h5";
    {
      const Foreign file(path, latest);
      const auto filtered = chunked({4, 3});
      H5Pset_shuffle(filtered.get());
      H5Pset_deflate(filtered.get(), 6);
      H5Pset_fletcher32(filtered.get());
      file.dataset<std::int32_t>("filtered", H5T_STD_I32BE, {30, 3}, filtered);
      const auto packed = chunked({4, 3});
      H5Pset_scaleoffset(packed.get(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
      H5Pset_deflate(packed.get(), 6);
      file.dataset<std::int32_t>("packed", H5T_STD_I32BE, {30, 3}, packed);
      file.dataset<float>("array", H5T_IEEE_F32LE, {30, 2}, chunked({2, 2}), 30, {H5S_UNLIMITED, 2});
      file.dataset<float>("tree", H5T_IEEE_F32LE, {30, 2}, chunked({2, 2}), 30, {H5S_UNLIMITED, H5S_UNLIMITED});
      file.dataset<double>("plain", H5T_IEEE_F64LE, {30}, properties());
      const hsize_t rows = 30;
      const Hdf5Handle space(H5Screate_simple(1, &rows, nullptr));
      const Hdf5Handle text(H5Tcopy(H5T_C_S1));
      H5Tset_size(text.get(), H5T_VARIABLE);
      const Hdf5Handle texts(
          H5Dcreate2(file.id(), "texts", text.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      std::vector<const char*> values(rows, "some text");
      REQUIRE(H5Dwrite(texts.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
      for (int i = 0; i < 20; ++i) {
        const std::string name = "group with a name of some length " + std::to_string(i);
        Hdf5Handle(H5Gcreate2(file.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      }
    }
    REQUIRE(hdf5_index(path).fields().size() == 6);
    const std::string good = read_file(path);
    for (std::size_t length = 0; length < good.size(); length += good.size() / 15) {
      write_file(broken, good.substr(0, length));
      CHECK(read_in_child(kHdf5, broken, 20) == kRefused);
    }
    for (int round = 0; round < 120; ++round) {
      std::string changed = good;
      for (int i = 0; i <= round % 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
      write_file(broken, changed);
      const int code = read_in_child(kHdf5, broken, 20);
      CAPTURE(round);
      CHECK((code == kIndexed || code == kRefused));
    }
  }
}

TEST_CASE("real files give an index or an error, in time") {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr || !fs::exists(fs::path(data) / "hdf5")) {
    penstock::test::skip("PENSTOCK_TEST_DATA has no hdf5 folder");
    return;
  }
  std::map<int, std::size_t> exits;
  for (const char* part : {"hdf5", "hdf5_corrupt"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(data) / part)) {
      if (!entry.is_regular_file()) continue;
      CAPTURE(entry.path());
      const int code = read_in_child(kHdf5, entry.path(), 20);
      CHECK((code == kIndexed || code == kRefused));
      ++exits[code];
    }
  }
  MESSAGE(exits[kIndexed] << " files indexed and read, " << exits[kRefused] << " refused");
  CHECK(exits[kIndexed] > 50);
}

}  // namespace penstock::test::hdf5_damaged_test
