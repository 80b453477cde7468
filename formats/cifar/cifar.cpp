#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/cifar/cifar.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/index/row_key.hpp>
#include <formats/places/places.hpp>
#include <formats/text/pickle.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 32, kPlanes = 3;
constexpr std::uint64_t kRowBytes = kSide * kSide * kPlanes;

// The member of a dict with one of two names, which are bytes in pickles of Python 2.
std::optional<PickleValue> member(const PickleValue& dict, std::string_view name, std::string_view other) {
  if (dict.kind() != PickleValue::Kind::dict) return std::nullopt;
  for (std::uint64_t i = 0; i < dict.size(); ++i) {
    const std::string_view key = dict.key(i).text();
    if (key == name || key == other) return dict.value(i);
  }
  return std::nullopt;
}

std::vector<std::int64_t> integers(const PickleValue& value) {
  std::vector<std::int64_t> all;
  if (value.kind() == PickleValue::Kind::array) {
    const PickleArray& array = value.array();
    for (std::uint64_t i = 0; array.shape.size() == 1 && i < array.shape[0]; ++i)
      all.push_back(element_at(array, i).integer);
  }
  for (std::uint64_t i = 0; i < value.size() && value.kind() == PickleValue::Kind::list; ++i)
    all.push_back(value.at(i).integer());
  return all;
}

// The file of class names beside a shard. Empty if there is none.
fs::path meta_of(const fs::path& shard) {
  for (const char* name : {"batches.meta", "meta"}) {
    const fs::path meta = shard.parent_path() / name;
    if (is_file(meta)) return meta;
  }
  return {};
}

std::vector<std::string> class_names(const fs::path& meta) {
  std::vector<std::string> names;
  if (meta.empty()) return names;
  try {
    const FileBytes file = read_place(meta);
    const Pickle pickle(file.bytes());
    const auto list = member(pickle.root(), "label_names", "fine_label_names");
    for (std::uint64_t i = 0; list && list->kind() == PickleValue::Kind::list && i < list->size(); ++i)
      names.emplace_back(list->at(i).text());
    file.require_whole();
  } catch (const Error& error) {
    throw error.in({.shard = meta.filename().string()});
  }
  return names;
}

class CifarIndexer {
 public:
  CifarIndexer(const fs::path& shard, const fs::path& root)
      : shard_(shard), name_(indexed_path(shard, root)), file_(read_place(shard)), pickle_(file_.bytes()) {}

  Index index() {
    const std::vector<std::string> classes = class_names(meta_of(shard_));
    const std::uint64_t begin = first_pixel();
    builder_.add_file({.path = name_, .size = file_.bytes().size(), .stamp = probe_stamp(shard_)});
    const std::uint32_t image = builder_.field(
        {.name = "image", .codec = "raw", .dtype = DType::u8, .shape = Shape{kSide, kSide, kPlanes}, .fixed = true});
    if (!add_labels(field_from_extension("cls"), "labels", "fine_labels", classes.size()))
      throw Error::corrupt("has no labels or fine_labels");
    add_labels(field_from_extension("coarse.cls"), "coarse_labels", "coarse_labels", 0);
    for (std::uint64_t row = 0; row < rows_; ++row) {
      builder_.add_sample(shard_.filename().string() + "/" + row_key(row, rows_));
      // The inverse of HDF5's shuffle turns three planes into pixels.
      const std::uint32_t block =
          builder_.add_block({.extent = {.file = 0, .offset = begin + row * kRowBytes, .length = kRowBytes},
                              .filters = {{Filter::Id::shuffle, kPlanes}},
                              .decoded_length = kRowBytes});
      const Piece pixels{.kind = Piece::Kind::block, .block = block, .length = kRowBytes, .inline_bytes = {}};
      builder_.set(image, std::span(&pixels, 1));
      for (const LabelColumn& label : labels_) {
        const std::string text = std::to_string(label.values[row]);
        const Piece piece = inline_piece(std::as_bytes(std::span(text)));
        builder_.set(builder_.field(label.field), std::span(&piece, 1));
      }
    }
    nlohmann::json attributes = left_out();
    if (!classes.empty()) attributes["classes"] = classes;
    builder_.set_attributes(attributes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    file_.require_whole();
    return std::move(builder_).finish();
  }

 private:
  struct LabelColumn {
    FieldSchema field;
    std::vector<std::int64_t> values;
  };

  // Sets the number of rows, and returns the offset of the first one.
  std::uint64_t first_pixel() {
    const auto data = member(pickle_.root(), "data", "data");
    if (!data || data->kind() != PickleValue::Kind::array)
      throw Error::unsupported("is a pickle without an array `data`, so it is not a batch of CIFAR");
    const PickleArray& array = data->array();
    if (array.kind != 'u' || array.item_bytes != 1 || array.shape.size() != 2 || array.shape[1] != kRowBytes)
      throw Error::corrupt("`data` is not an array of uint8 (N, " + std::to_string(kRowBytes) + ")");
    rows_ = array.shape[0];
    const std::byte* const begin = file_.bytes().data();
    const bool inside = array.bytes.data() >= begin && array.bytes.data() < begin + file_.bytes().size();
    if (array.fortran || !inside)
      throw Error::unsupported(
          "the rows of `data` are not stored one after the other; save the dict again with "
          "np.ascontiguousarray(data) and protocol=4");
    return static_cast<std::uint64_t>(array.bytes.data() - begin);
  }

  // Returns false if the batch has no such labels.
  bool add_labels(FieldSchema field, std::string_view name, std::string_view other, std::size_t classes) {
    const auto value = member(pickle_.root(), name, other);
    if (!value) return false;
    LabelColumn column{.field = std::move(field), .values = integers(*value)};
    if (column.values.size() != rows_)
      throw Error::corrupt("`" + std::string(name) + "` has " + with_commas(column.values.size()) +
                           " integers, but `data` has " + with_commas(rows_) + " rows");
    for (const std::int64_t label : column.values) {
      if (label < 0 || (classes != 0 && static_cast<std::uint64_t>(label) >= classes))
        throw Error::corrupt("`" + std::string(name) + "` contains " + std::to_string(label) + ", but there are " +
                             std::to_string(classes) + " classes");
    }
    labels_.push_back(std::move(column));
    return true;
  }

  nlohmann::json left_out() const {
    static constexpr std::array<std::string_view, 4> kRead{"data", "labels", "fine_labels", "coarse_labels"};
    nlohmann::json attributes = nlohmann::json::object();
    const PickleValue root = pickle_.root();
    for (std::uint64_t i = 0; i < root.size(); ++i) {
      const std::string_view name = root.key(i).text();
      if (std::ranges::find(kRead, name) == kRead.end())
        attributes["left_out"][std::string(name)] = "not pixels or labels";
    }
    return attributes;
  }

  const fs::path& shard_;
  const std::string name_;
  const FileBytes file_;
  const Pickle pickle_;
  std::uint64_t rows_ = 0;
  std::vector<LabelColumn> labels_;
  IndexBuilder builder_;
};

Index index_cifar(const fs::path& shard, const fs::path& root, const OpenProgress&) {
  try {
    return CifarIndexer(shard, root).index();
  } catch (const Error& error) {
    throw error.in({.shard = indexed_path(shard, root)});
  }
}

// A pickle of protocol 2 to 5.
bool begins_as_pickle(const fs::path& path) {
  if (path.has_extension() || !is_file(path)) return false;
  const std::vector<std::byte> first = first_bytes(path, 2);
  return first.size() == 2 && first[0] == std::byte{0x80} && first[1] >= std::byte{2} && first[1] <= std::byte{5};
}

bool is_batch_name(std::string_view name) {
  return name.starts_with("data_batch_") || name == "test_batch" || name == "train" || name == "test";
}

std::vector<fs::path> find_cifar(const fs::path& path) {
  if (is_address(path)) return {};
  if (!is_folder(path)) return begins_as_pickle(path) ? std::vector{path} : std::vector<fs::path>();
  std::vector<fs::path> shards;
  visit_place(path, [&](const char* name) {
    if (is_batch_name(name) && begins_as_pickle(path / name)) shards.push_back(path / name);
    return true;
  });
  std::ranges::sort(shards);
  return shards;
}

std::vector<fs::path> watched_cifar(const fs::path& shard) {
  std::vector<fs::path> files{shard};
  if (fs::path meta = meta_of(shard); !meta.empty()) files.push_back(std::move(meta));
  return files;
}

}  // namespace

constinit const Format kCifar{.name = "cifar",
                              .extension = "",
                              .find_shards = find_cifar,
                              .index = index_cifar,
                              .stamp = probe_stamp,
                              .write = nullptr,
                              .watched = watched_cifar,
                              .in_stores = false};

}  // namespace penstock
