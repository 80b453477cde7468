// What a block shuffle spares, tried on the blocks of a small HDF5 file.
#include <numeric>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>

#include <bench/tryout/advice.hpp>
#include <bench/tryout/blocks.hpp>
#include <formats/hdf5/handle.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <loader/prepare.hpp>
#include <pack/recoding.hpp>

#include "support/loading.hpp"

namespace penstock::test::block_tryout_test {
namespace {

// 480 rows of 50 numbers, 16 of them in a chunk; deflated or not.
Dataset chunks(const std::filesystem::path& path, bool deflated) {
  const std::vector<hsize_t> dims{480, 50}, chunk{16, 50};
  std::vector<std::int32_t> values(480 * 50);
  std::iota(values.begin(), values.end(), 0);
  {
    const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const Hdf5Handle space(H5Screate_simple(2, dims.data(), nullptr));
    const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(properties.get(), 2, chunk.data());
    if (deflated) H5Pset_deflate(properties.get(), 1);
    const Hdf5Handle dataset(
        H5Dcreate2(file.get(), "x", H5T_STD_I32LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
    REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
  }
  return open(path);
}

std::optional<BlockTryout> tried(const Dataset& dataset, std::uint64_t undone) {
  LoaderOptions options;
  options.transforms = {{"x", array::decode()}};
  Stats stats;
  stats.samples = 480;
  stats.blocks_undone = undone;
  return tried_blocks(dataset, compiled(dataset, resolved(dataset, options)), stats, 0,
                      {.samples = 32, .seconds = 0.5});
}

}  // namespace

TEST_CASE("a block shuffle undoes each block once") {
  const TemporaryFolder folder;
  const auto blocks = tried(chunks(folder / "a.h5", true), 400);
  REQUIRE(blocks.has_value());
  CHECK(blocks->shuffle_block == 16);
  CHECK(blocks->undone == doctest::Approx(400.0 / 480));
  CHECK(blocks->wanted == doctest::Approx(1.0 / 16));
  CHECK(blocks->seconds > 0);
}

TEST_CASE("a block shuffle is not tried where it spares nothing") {
  const TemporaryFolder folder;
  CHECK_FALSE(tried(chunks(folder / "a.h5", true), 35).has_value());
  CHECK_FALSE(tried(chunks(folder / "b.h5", true), 0).has_value());
}

TEST_CASE("what blocks take is spared of rows, and is a gain") {
  Demands demands;
  demands.rows.assign(1000, {.computes = 10e-3, .bytes = 1000, .bringing = 0.4, .filling = 0.1});
  demands.samples_per_s = 100;
  LoaderOptions options;
  options.workers = 1;
  const Forecast forecast(demands, {.cores = 1}, options);
  const BlockTryout blocks{.shuffle_block = 16, .undone = 1, .wanted = 0.1, .seconds = 5e-3};
  const std::vector<Gain> gains = gains_of(forecast, Tryouts{.pixels = {}, .packings = {}, .blocks = blocks});
  REQUIRE(gains.size() == 1);
  CHECK(gains[0].options.shuffle_block == 16U);
  CHECK(gains[0].ratio == doctest::Approx(10 / 5.5).epsilon(0.02));
  CHECK(gains[0].text.find("shuffle_block=16: +82 %") == 0);
  for (RowDemand& row : demands.rows) row.bringing = 0.9;  // more than was timed
  CHECK(blocks.of(demands).rows[0].computes == doctest::Approx(10e-3 * (1 - 0.9 * 0.9)));
}

}  // namespace penstock::test::block_tryout_test
