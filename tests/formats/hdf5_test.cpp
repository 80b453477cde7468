#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <support/field_bytes.hpp>
#include <support/file_size_limit.hpp>
#include <support/random_samples.hpp>
#include <support/read_in_child.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>

#include <penstock/formats/error.hpp>
#include <penstock/formats/hdf5.hpp>
#include <penstock/formats/hdf5_handle.hpp>

namespace fs = std::filesystem;
using namespace penstock;
using namespace penstock::test;
using Dims = std::vector<hsize_t>;

namespace {

constexpr unsigned kSeed = 90210;

ErrorKind kind_of_failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::io;
}

Index index_of(const fs::path& shard) {
  return kHdf5.index(shard, shard.parent_path(), {});
}

// libhdf5 itself, as writer of foreign files; its own reading is the oracle.
class Foreign {
 public:
  explicit Foreign(const fs::path& path, bool latest = false, hsize_t user_block = 0) {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
    if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE));
    H5Pset_userblock(creation.get(), user_block);
    file_ = Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    REQUIRE(file_.valid());
  }
  hid_t id() const { return file_.get(); }

  // A dataset of consecutive numbers, of which only the first `written` rows are written; returns what libhdf5 reads
  // as numbers of this machine.
  template <typename T>
  std::string dataset(const std::string& name, hid_t type, const Dims& dims, const Hdf5Handle& properties,
                      std::uint64_t written = ~std::uint64_t{0}, const Dims& most = {}) const {
    const Hdf5Handle native(H5Tget_native_type(type, H5T_DIR_ASCEND));
    const Hdf5Handle space(
        H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.empty() ? nullptr : most.data()));
    const Hdf5Handle dataset(
        H5Dcreate2(id(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
    REQUIRE(dataset.valid());
    std::vector<T> values(std::accumulate(dims.begin(), dims.end(), hsize_t{1}, std::multiplies<>()));
    std::iota(values.begin(), values.end(), T{});
    Dims block = dims;
    block[0] = std::min<hsize_t>(dims[0], written);
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(block.size()), block.data(), nullptr));
    const Hdf5Handle target(H5Scopy(space.get()));
    const Dims start(dims.size(), 0);
    if (block[0] != 0) {
      REQUIRE(H5Sselect_hyperslab(target.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr) >= 0);
      REQUIRE(H5Dwrite(dataset.get(), native.get(), memory.get(), target.get(), H5P_DEFAULT, values.data()) >= 0);
    }
    REQUIRE(H5Dread(dataset.get(), native.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    return text_of(std::as_bytes(std::span(values)));
  }

 private:
  Hdf5Handle file_;
};

Hdf5Handle properties() {
  return Hdf5Handle(H5Pcreate(H5P_DATASET_CREATE));
}

Hdf5Handle chunked(const Dims& chunk) {
  Hdf5Handle made = properties();
  H5Pset_chunk(made.get(), static_cast<int>(chunk.size()), chunk.data());
  return made;
}

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

TEST_CASE("a packed shard reads back byte for byte, in the order given, with and without its index") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  const auto samples = random_samples(400, kSeed);
  const fs::path shard = folder / "shard-000000.h5";
  const Index written = write_samples(*kHdf5.write(shard, {.fields = fields}), fields, samples);
  REQUIRE(written.size() == samples.size());
  std::map<std::string, std::map<std::string, std::string>> expected;
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    CHECK(written.key(i) == samples[i].key);
    expected[samples[i].key] = samples[i].fields;
    CHECK(written.header(i, 0).size() == 3);
    CHECK(written.crc32c(i, 0) == crc32c(bytes_of(samples[i].fields.at("jpg"))));
  }
  CHECK(all_fields(written, folder.path()) == expected);
  const Index again = index_of(shard);
  CHECK(all_fields(again, folder.path()) == expected);
  CHECK(again.attributes() == "{}");
  for (const FieldSchema& field : again.fields()) {
    CHECK(field.codec == (field.name == "jpg" ? "jpeg" : field.name == "cls" ? "cls" : "png"));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // no temporary file stays
}

TEST_CASE("fixed fields become datasets of their own type, and come back with it") {
  const TemporaryFolder folder;
  std::vector<FieldSchema> fields;
  for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64,
                            DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64, DType::boolean}) {
    fields.push_back({std::string(name(dtype)), "raw", dtype, {3, 2}, true});
  }
  fields.push_back({"scalar", "raw", DType::i64, {}, true});
  fields.push_back({"none", "raw", DType::f32, {0, 4}, true});
  std::mt19937 random(kSeed);
  std::vector<MadeSample> samples;
  for (int i = 0; i < 30; ++i) {
    MadeSample sample{"s" + std::to_string(100 + i), {}};
    for (const FieldSchema& field : fields) {
      if (i == 7 && field.name == "float16") continue;
      sample.fields[field.name] = random_bytes(random, element_count(field.shape) * size_of(field.dtype));
    }
    samples.push_back(sample);
  }
  const fs::path shard = folder / "s.h5";
  const Index written = write_samples(*kHdf5.write(shard, {.fields = fields}), fields, samples);
  const Index again = index_of(shard);
  for (const MadeSample& sample : samples) {
    CHECK(all_fields(written, folder.path()).at(sample.key) == sample.fields);
    CHECK(all_fields(again, folder.path()).at(sample.key) == sample.fields);
  }
  for (const FieldSchema& field : again.fields()) CHECK(std::find(fields.begin(), fields.end(), field) != fields.end());

  const auto writer = kHdf5.write(folder / "t.h5", {.fields = fields});
  const std::vector<FieldValue> wrong{{0, bytes_of("12345"), 0, {}}};
  CHECK(kind_of_failure([&] { writer->add("k", wrong); }) == ErrorKind::shape);
}

TEST_CASE("a shard of no samples is valid") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  const Index written = kHdf5.write(folder / "s.h5", {.fields = fields})->finish();
  CHECK(written.size() == 0);
  CHECK(index_of(folder / "s.h5").size() == 0);
}

TEST_CASE("two packs of the same samples are the same bytes") {
  const TemporaryFolder folder;
  auto fields = random_sample_fields();
  fields.push_back({"row", "raw", DType::f16, {4}, true});
  auto samples = random_samples(300, kSeed);
  samples[5].fields["row"] = "12345678";
  std::vector<std::string> contents;
  for (const char* name : {"one.h5", "two.h5"}) {
    const std::vector<char> litter(100'000, name[0]);
    write_samples(*kHdf5.write(folder / name, {.fields = fields}), fields, samples);
    contents.push_back(read_file(folder / name));
    if (contents.size() == 1) ::sleep(1);  // times in seconds would differ
  }
  CHECK(contents[0].size() > 1'000'000);
  CHECK(contents[0] == contents[1]);
}

TEST_CASE("field names that HDF5 cannot hold are refused, as is a place that cannot be written") {
  const TemporaryFolder folder;
  for (const char* name : {"", ".", "a/b", "__key__", "__present__"}) {
    const std::vector<FieldSchema> fields{{.name = name, .codec = ""}};
    CHECK(kind_of_failure([&] { kHdf5.write(folder / "s.h5", {.fields = fields}); }) == ErrorKind::unsupported);
  }
  const auto writer = kHdf5.write(folder / "absent" / "s.h5", {.fields = random_sample_fields()});
  CHECK(kind_of_failure([&] { writer->finish(); }) == ErrorKind::io);
}

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
      const Index index = index_of(path);
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
  const Index index = index_of(folder / "f.h5");
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
    const Index index = index_of(path);
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
  const Index index = index_of(path);
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
  const auto narrow = chunked({4, 64, 1});
  {
    const Foreign file(path);
    file.dataset<long double>("above", H5T_NATIVE_LDOUBLE, {9}, properties());
    const auto packed = chunked({9});
    H5Pset_scaleoffset(packed.get(), H5Z_SO_INT, 0);
    file.dataset<std::int32_t>("scaled", H5T_STD_I32LE, {9}, packed);
    file.dataset<std::uint8_t>("pieces", H5T_STD_U8LE, {9, 64, 64}, narrow);
    H5Lcreate_external("other.h5", "/x", file.id(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/above", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
  }
  try {
    index_of(path);
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
  const Index index = index_of(path);
  CHECK(index.size() == 8);
  CHECK(index.fields().size() == 2);
  for (const char* part : {"\"above\"", "\"scaled\"", "filter 6", "h5repack", "\"elsewhere\"", "\"soft\""}) {
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
  CHECK(kind_of_failure([&] { index_of(folder / "copy.h5"); }) == ErrorKind::unsupported);
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
  CHECK(kind_of_failure([&] { index_of(folder / "c.hdf5"); }) == ErrorKind::corrupt);
  const auto stamp = kHdf5.stamp(folder / "b.h5");
  fs::copy(folder / "b.h5", folder / "copy.h5");
  CHECK(kHdf5.stamp(folder / "copy.h5") == stamp);
  const Foreign other(folder / "b.h5");
  other.dataset<float>("x", H5T_IEEE_F32LE, {9}, properties());
  H5Fflush(other.id(), H5F_SCOPE_GLOBAL);
  CHECK(kHdf5.stamp(folder / "b.h5") != stamp);
}

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
    REQUIRE(index_of(path).fields().size() == 5);
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
    MESSAGE("skipped: PENSTOCK_TEST_DATA has no hdf5 folder");
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

TEST_CASE("a full disk is an i/o error that names the shard, wherever the disk fills up") {
  const auto fields = random_sample_fields();
  const auto samples = random_samples(200, kSeed);
  for (const rlim_t limit : {1'000U, 10'000U, 100'000U, 500'000U, 1'000'000U}) {
    const TemporaryFolder folder;
    const FileSizeLimit full(limit);
    CAPTURE(limit);
    try {
      write_samples(*kHdf5.write(folder / "s.h5", {.fields = fields}), fields, samples);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(std::string(error.what()).find("s.h5") != std::string::npos);
    }
  }
}
