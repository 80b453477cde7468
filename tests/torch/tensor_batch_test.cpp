// Tests batches as tensors: their bytes, their types, and how long they live.
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <ATen/ATen.h>

#include <penstock/torch/batches.hpp>
#include <penstock/torch/tensor_batch.hpp>

#include "doctest_after_torch.hpp"
#include "support/loading.hpp"
#include "torch/long_arrays.hpp"

namespace tensor_batch_test {
namespace {

using namespace penstock::test;
using penstock::DType;
using penstock::Error;
using penstock::field;
using penstock::Loader;
using penstock::array::cast;
using penstock::torch::TensorBatch;

bool same_bytes(const at::Tensor& tensor, const penstock::TensorView& view) {
  return tensor.nbytes() == view.bytes() && std::memcmp(tensor.data_ptr(), view.data, view.bytes()) == 0;
}

TEST_CASE("a tensor of every type has the memory, the shape and the values of its field") {
  const TemporaryFolder folder;
  write_long_arrays(folder / "data", 12);
  const std::vector<std::pair<DType, at::ScalarType>> types{
      {DType::u8, at::kByte},    {DType::i8, at::kChar},     {DType::i16, at::kShort},     {DType::i32, at::kInt},
      {DType::i64, at::kLong},   {DType::f16, at::kHalf},    {DType::bf16, at::kBFloat16}, {DType::f32, at::kFloat},
      {DType::f64, at::kDouble}, {DType::boolean, at::kBool}};
  penstock::LoaderOptions options{.batch_size = 8, .workers = 2};
  for (const auto& [type, expected] : types)
    options.transforms.emplace_back(std::string(penstock::name(type)), field("npy") | cast(type));
  options.transforms.emplace_back("cls", penstock::label());
  Loader loader(penstock::open(folder / "data"), options);
  const penstock::Batch batch = *loader.next();
  const TensorBatch tensors(batch);

  const at::Tensor numbers = at::arange(8, at::kDouble);  // the arrays are number, number squared, -number
  const at::Tensor stored =
      at::cat({at::stack({numbers, numbers * numbers, -numbers}, 1), at::zeros({8, kLongRow - 3}, at::kDouble)}, 1);
  for (const auto& [type, expected] : types) {
    const std::string name(penstock::name(type));
    CAPTURE(name);
    const at::Tensor& tensor = tensors[name];
    CHECK((tensor.scalar_type() == expected));
    CHECK(tensor.sizes() == at::IntArrayRef{8, kLongRow});
    CHECK(tensor.is_contiguous());
    const bool copied = kLongRow * penstock::size_of(type) <= 256;
    CHECK((tensor.data_ptr() != batch[name].values.data) == copied);
    CHECK(same_bytes(tensor, batch[name].values));
    const at::Tensor in_range = type == DType::u8        ? stored.clamp_min(0)
                                : type == DType::boolean ? stored.ne(0)
                                                         : stored;
    CHECK(at::equal(tensor.to(at::kDouble), in_range.to(at::kDouble)));
  }
  CHECK((tensors["cls"].scalar_type() == at::kLong));
  CHECK(at::equal(tensors["cls"], at::arange(8)));
  CHECK(tensors.fields().size() == types.size() + 1);
  CHECK(tensors.fields()[0].name == "uint8");
}

TEST_CASE("unsigned types are tensors of their own where this PyTorch has them, else an error that says so") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  for (const DType type : {DType::u16, DType::u32, DType::u64}) {
    Loader loader(penstock::open(folder / "data"),
                  {.batch_size = 4, .workers = 1, .transforms = {{"npy", cast(type)}}});
    const penstock::Batch batch = *loader.next();
#if TORCH_VERSION_MAJOR >= 2
    CHECK(penstock::torch::TensorBatch(batch)["npy"].element_size() == static_cast<int>(penstock::size_of(type)));
#else
    CHECK_THROWS_WITH_AS(penstock::torch::TensorBatch{batch},
                         doctest::Contains(std::string(penstock::name(type)).c_str()), Error);
#endif
  }
}

TEST_CASE("keys, samples and valid rows are those of the batch, also where a last batch is padded") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 6);
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .workers = 1, .last_batch = penstock::Last::pad});
  const TensorBatch first(*loader.next()), second(*loader.next());
  CHECK((first.valid().scalar_type() == at::kBool));
  CHECK(first.valid().all().item<bool>());
  CHECK(at::equal(second["__valid__"], at::arange(4).lt(2)));
  CHECK(second.size() == 4);
  CHECK(second.number() == 1);
  CHECK(second.epoch() == 0);
  CHECK(second.keys()[1] == number_key(5));
  CHECK(second.samples()[1] == 5);
}

TEST_CASE("ragged rows are values and offsets, and a row is a view of them") {
  const TemporaryFolder folder;
  for (std::uint64_t i = 0; i < 8; ++i)
    write_file(folder / "data" / (number_key(i) + ".txt"), std::string(i < 4 ? 0 : i, static_cast<char>('a' + i)));
  Loader loader(penstock::open(folder / "data"),
                {.batch_size = 4, .workers = 1, .transforms = {{"txt", penstock::raw()}}});
  const TensorBatch empty(*loader.next());
  CHECK(empty["txt"].sizes() == at::IntArrayRef{0});
  CHECK(at::equal(empty.offsets("txt"), at::zeros({5}, at::kLong)));
  CHECK(empty.row("txt", 3).numel() == 0);

  const TensorBatch batch(*loader.next());
  CHECK((batch["txt"].scalar_type() == at::kByte));
  CHECK(at::equal(batch.offsets("txt"), at::tensor({0, 4, 9, 15, 22}, at::kLong)));
  CHECK(at::equal(batch.row("txt", 2), at::full({6}, 'a' + 6, at::kByte)));
  CHECK(batch.row("txt", 2).data_ptr() == batch["txt"].data_ptr<std::uint8_t>() + 9);
  const std::vector<at::Tensor> rows = batch.rows("txt");
  REQUIRE(rows.size() == 4);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(at::equal(rows[i], batch.row("txt", i)));
}

TEST_CASE("images with sizes of their own are views of these sizes") {
  const TemporaryFolder folder;
  for (std::int64_t i = 0; i < 3; ++i) {
    std::string file = npy_file({}, "(" + std::to_string(4 + i) + ", " + std::to_string(9 - i) + ")");
    file.replace(file.find("<f4"), 3, "|u1");
    file.append(static_cast<std::size_t>((4 + i) * (9 - i)), static_cast<char>(i));
    write_file(folder / "data" / (number_key(static_cast<std::uint64_t>(i)) + ".npy"), file);
  }
  Loader loader(penstock::open(folder / "data"),
                {.batch_size = 3, .workers = 1, .transforms = {{"npy", penstock::image::decode(false, false, true)}}});
  const TensorBatch batch(*loader.next());
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(at::equal(batch.row("npy", static_cast<std::uint32_t>(i)), at::full({1, 4 + i, 9 - i}, i, at::kByte)));
    CHECK(at::equal(batch.fields()[0].shapes[i], at::tensor({std::int64_t{1}, 4 + i, 9 - i}, at::kLong)));
  }
}

TEST_CASE("a name that is not there, a row too many and offsets of what is not ragged are errors") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .workers = 1});
  const TensorBatch batch(*loader.next());
  CHECK_THROWS_WITH_AS(batch["jpg"], doctest::Contains("no output 'jpg'; it has"), Error);
  CHECK_THROWS_WITH_AS(batch.offsets("npy"), doctest::Contains("'npy'"), Error);
  CHECK_THROWS_WITH_AS(batch.row("npy", 4), doctest::Contains("row 4 is out of range"), Error);
  CHECK(at::equal(batch.row("npy", 3), batch["npy"][3]));
}

TEST_CASE("tensors outlive their batch, their loader and their files") {
  at::Tensor values, labels, valid, view;
  {
    const TemporaryFolder folder;
    write_arrays(folder / "data", 8);
    Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .workers = 2});
    const TensorBatch batch(*loader.next());
    values = batch["npy"];
    labels = batch["cls"];
    valid = batch.valid();
    view = batch.row("npy", 3).slice(0, 1, 2);
  }
  CHECK(values[2][1].item<float>() == 4.0F);
  CHECK(at::equal(labels, at::arange(4)));
  CHECK(valid.sum().item<int>() == 4);
  for (at::Tensor* tensor : {&values, &labels, &valid}) tensor->reset();
  CHECK(view.item<float>() == 9.0F);
}

TEST_CASE("batches that went by a device in a processor's place are tensors of the CPU, complete") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 64);
  const auto dataset = penstock::open(folder / "data");
  Loader plain(dataset, {.batch_size = 4, .shuffle = true, .workers = 2});
  Loader loader(dataset, {.batch_size = 4, .shuffle = true, .workers = 2, .device = "host"});
  for (int i = 0; i < 16; ++i) {
    const TensorBatch expected(*plain.next()), batch(*loader.next());
    CHECK(batch["npy"].device().is_cpu());
    CHECK(at::equal(batch["npy"], expected["npy"]));
    CHECK(at::equal(batch["cls"], expected["cls"]));
    batch.record_stream(penstock::kDefaultStream);
  }
}

TEST_CASE("a slab goes back to its pool when the last tensor of its batch dies, in whatever thread") {
  const TemporaryFolder folder;
  write_long_arrays(folder / "data", 64);
  Loader loader(penstock::open(folder / "data"),
                {.batch_size = 4, .workers = 1, .memory_options = {.reserved_batches = 2}});
  std::weak_ptr<const penstock::BatchRecord> slab;
  at::Tensor view;
  {
    const penstock::Batch batch = *loader.next();
    slab = batch.slab();
    view = TensorBatch(batch)["npy"].transpose(0, 1)[2];
  }
  CHECK_FALSE(slab.expired());
  at::Tensor other = TensorBatch(*loader.next())["npy"];
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("clone()"), Error);
  CHECK(view[3].item<float>() == -3.0F);
  std::thread([last = std::move(view)]() mutable { last.reset(); }).join();
  CHECK(slab.expired());
  CHECK(TensorBatch(*loader.next())["cls"][0].item<int>() == 8);
  CHECK(at::equal(other.select(1, 0), at::arange(4, 8, at::kFloat)));
}

TEST_CASE("labels, offsets and __valid__ that a program keeps hold no slab") {
  const TemporaryFolder folder;
  write_long_arrays(folder / "data", 64);
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4,
                                                  .workers = 2,
                                                  .transforms = {{"npy", penstock::array::decode()},
                                                                 {"cls", penstock::label()},
                                                                 {"txt", field("cls") | penstock::raw()}},
                                                  .memory_options = {.reserved_batches = 1}});
  std::vector<at::Tensor> labels, valid, offsets;
  for (const TensorBatch& batch : penstock::torch::batches(loader)) {
    labels.push_back(batch["cls"]);
    valid.push_back(batch["__valid__"]);
    offsets.push_back(batch.offsets("txt"));
  }
  CHECK(at::equal(at::cat(labels), at::arange(64).remainder(10)));
  CHECK(at::cat(valid).sum().item<int>() == 64);
  CHECK(at::equal(at::cat(offsets), at::arange(5).repeat({16})));
}

TEST_CASE("present() tells which rows a number filled") {
  const TemporaryFolder folder;
  write_long_arrays(folder / "data", 4);
  std::filesystem::remove(folder / "data" / (number_key(2) + ".cls"));
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .missing_by_output = {{"cls", -100}}});
  const TensorBatch batch(*loader.next());
  CHECK(batch["cls"][2].item<int>() == -100);
  CHECK(at::equal(batch.present("cls"), at::arange(4).ne(2)));
  CHECK_FALSE(batch.present("npy").defined());
}

TEST_CASE("memory stays as it was reserved, however many batches become tensors") {
  const TemporaryFolder folder;
  write_long_arrays(folder / "data", 64);
  Loader loader(penstock::open(folder / "data"), {.batch_size = 4, .workers = 2});
  const std::uint64_t reserved = loader.stats().slab_bytes;
  std::vector<void*> places;
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (const TensorBatch& batch : penstock::torch::batches(loader)) places.push_back(batch["npy"].data_ptr());
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  CHECK(loader.stats().slab_bytes == reserved);
  CHECK(places.size() <= loader.stats().slabs);
}

}  // namespace

}  // namespace tensor_batch_test
