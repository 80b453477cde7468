#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>
#include <utility>

#include <base/printable.hpp>
#include <formats/encodings.hpp>
#include <formats/hdf5/fields.hpp>
#include <formats/hdf5/links.hpp>
#include <formats/hdf5/names.hpp>
#include <formats/hdf5/samples.hpp>
#include <formats/hdf5/texts.hpp>
#include <formats/index/inline_piece.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kOfNumber = 2, kOfLocation = 4;  // cost of a row that is kept as one
constexpr std::uint64_t kKeysPerSpent = 4;  // bytes of keys per unit of cost: keys compress, but less than zeros
constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 24;
constexpr std::array<std::string_view, 6> kKeyColumns{"key", "keys", "filename", "filenames", "id", "ids"};

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string shown(const std::string& name) {
  return is_printable(name) ? name : hexadecimal(name);
}

// Reads all values of a one-dimensional dataset as 64-bit numbers.
std::vector<std::uint64_t> numbers_of(const Hdf5File& file, const Hdf5Rows& rows) {
  const Hdf5Type& type = rows.type();
  const bool whole = type.kind == Hdf5Type::Kind::number && type.dtype != DType::f16 && type.dtype != DType::bf16 &&
                     type.dtype != DType::f32 && type.dtype != DType::f64;
  if (!rows.shape().empty() || !whole)
    throw Error::unsupported("offsets and presence must be integers in one dimension");
  std::vector<std::uint64_t> numbers;
  spend_for_rows(file, rows, kOfNumber);
  for_each_row(file, rows, [&](std::span<const std::byte> row) {
    std::uint64_t number = 0;
    std::memcpy(&number, row.data(), row.size());
    numbers.push_back(number);
  });
  return numbers;
}

void check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t length) {
  if (offsets.empty()) throw Error::corrupt("no offsets");
  if (!std::is_sorted(offsets.begin(), offsets.end())) throw Error::corrupt("offsets do not ascend");
  if (offsets.back() > length) throw Error::corrupt("offsets point past the end of the bytes");
}

class Reader {
 public:
  explicit Reader(const Hdf5File& file) : file_(file), heap_(file) {}

  Hdf5Contents read() {
    const Hdf5Object top(file_, file_.root());
    for (const Hdf5Attribute& attribute : attributes_of(file_, top)) note_classes(attribute);
    for (const Hdf5Link& link : links_of(file_, top)) {
      if (link.address == kNoAddress) {
        contents_.left_out[shown(link.name)] = "a soft or external link";
      } else {
        add(link);
      }
    }
    read_nested();
    if (present_) read_presence();
    if (!contents_.keys) use_key_column();
    return std::move(contents_);
  }

 private:
  void add(const Hdf5Link& link) {
    try {
      if (!is_printable(link.name)) throw Error::unsupported("a name that is not printable UTF-8");
      const Hdf5Object object(file_, link.address);
      if (object.is_dataset()) {
        named_.insert(link.address);
        add_dataset(link.name, object, contents_.fields);
      } else if (!object.is_group()) {
        throw Error::unsupported("neither dataset nor group");
      } else if (link.name == kHdf5Key) {
        contents_.keys = read_keys(object);
      } else if (link.name == kHdf5Present) {
        present_ = links_of(file_, object);
      } else if (holds_bytes(object)) {
        contents_.fields.push_back(byte_field(object, link.name));
      } else {
        groups_.push_back(link);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw error.in({.field = shown(link.name)});
      contents_.left_out[shown(link.name)] = error.cause();
    }
  }

  // Reads groups that are not fields. If they contain very many objects, the file has a dataset per sample.
  void read_nested() {
    seen_.insert(file_.root());
    for (const Hdf5Link& group : groups_) list_group(group.name, group.address, 0);
    const bool few = datasets_.size() <= kMostHdf5Columns && seen_.size() <= kMostGroups;
    for (const Hdf5Link& group : groups_) {
      const auto inside = [&](const std::string& path) { return path.starts_with(group.name + "/"); };
      const bool told = std::ranges::any_of(datasets_, inside, &Hdf5Link::name) ||
                        std::ranges::any_of(contents_.left_out, inside, [](const auto& left) { return left.first; });
      if (few && told) continue;
      contents_.left_out[group.name] =
          few ? "a group without datasets" : "a group: the groups contain too many datasets to be columns";
    }
    if (!few) return;
    std::ranges::sort(datasets_, {}, &Hdf5Link::name);
    for (const Hdf5Link& dataset : datasets_) add_nested(dataset);
  }

  void list_group(const std::string& path, std::uint64_t address, unsigned depth) {
    constexpr unsigned kDeepestNested = 32;
    constexpr std::size_t kLongestNested = 1024;
    if (depth > kDeepestNested || path.size() > kLongestNested || !seen_.insert(address).second) return;
    if (datasets_.size() > kMostHdf5Columns || seen_.size() > kMostGroups) return;
    try {
      const Hdf5Object group(file_, address);
      if (depth > 0 && holds_bytes(group)) return datasets_.push_back({path, address});
      for (const Hdf5Link& link : links_of(file_, group)) {
        if (!is_printable(link.name) || datasets_.size() > kMostHdf5Columns) continue;
        const std::string below = path + "/" + link.name;
        if (link.address == kNoAddress) {
          contents_.left_out[below] = "a soft or external link";
          continue;
        }
        if (seen_.contains(link.address)) continue;
        if (named_.contains(link.address)) {
          contents_.left_out[below] = "another name of a dataset";
          continue;
        }
        const Hdf5Object object(file_, link.address);
        if (object.is_dataset()) {
          named_.insert(link.address);
          datasets_.push_back({below, link.address});
        } else if (object.is_group()) {
          list_group(below, link.address, depth + 1);
        }
      }
    } catch (const Error& error) {
      leave_out_nested(path, error);
    }
  }

  void add_nested(const Hdf5Link& dataset) {
    try {
      const Hdf5Object object(file_, dataset.address);
      if (object.is_dataset()) return add_dataset(dataset.name, object, contents_.nested);
      contents_.nested.push_back(byte_field(object, dataset.name));
    } catch (const Error& error) {
      leave_out_nested(dataset.name, error);
    }
  }

  // A corrupt object inside a group must not prevent reading the top level.
  void leave_out_nested(const std::string& path, const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::corrupt) throw error.in({.field = path});
    contents_.left_out[path] = error.cause();
  }

  void add_dataset(const std::string& name, const Hdf5Object& object, std::vector<Hdf5Field>& fields) {
    Hdf5Dataset dataset = describe(file_, object);
    const bool scalar = dataset.dims.empty();
    Hdf5Rows rows(file_, std::move(dataset));
    const Hdf5Type::Kind kind = rows.type().kind;
    const bool text = kind == Hdf5Type::Kind::fixed_text || kind == Hdf5Type::Kind::text;
    for (const Hdf5Attribute& attribute : attributes_of(file_, object)) note_classes(attribute);
    if (text && rows.shape().empty() && names_classes(last_part(name)))
      return scalar ? note_scalar_classes(rows) : note_names(name, std::move(rows));
    if (scalar) throw Error::unsupported("a scalar, without rows");
    if (name == kHdf5Key) {
      contents_.keys = checked_keys(read_texts(file_, rows, heap_));
    } else if (kind == Hdf5Type::Kind::number || kind == Hdf5Type::Kind::opaque) {
      fields.push_back(row_field(object, name, std::move(rows)));
    } else if (!rows.shape().empty() && !text) {
      throw Error::unsupported("rows of several sequences");
    } else if (!rows.shape().empty()) {
      std::vector<std::string> lists = json_texts(file_, rows, heap_);
      fields.push_back(Hdf5Field::of_values({.name = name, .codec = "json"}, std::move(rows), std::move(lists)));
    } else {
      fields.push_back(strings_field(name, std::move(rows)));
    }
  }

  Hdf5Field strings_field(const std::string& name, Hdf5Rows rows) {
    return rows.type().kind == Hdf5Type::Kind::fixed_text ? text_field(name, std::move(rows))
                                                          : heap_field(name, std::move(rows));
  }

  void note_scalar_classes(const Hdf5Rows& rows) {
    if (!contents_.classes.empty() || !contents_.names.empty()) throw Error::unsupported("a scalar, without rows");
    std::vector<std::string> names = read_texts(file_, rows, heap_);
    if (!std::ranges::all_of(names, is_printable)) throw Error::unsupported(kUnprintableClasses);
    contents_.classes = std::move(names);
  }

  // The strings are either class names or a text per sample. The number of samples decides later.
  void note_names(const std::string& name, Hdf5Rows rows) {
    std::vector<std::string> texts = read_texts(file_, rows, heap_);
    contents_.names.push_back(
        {.field = strings_field(name, std::move(rows)), .texts = std::move(texts), .first = contents_.classes.empty()});
  }

  Hdf5Field row_field(const Hdf5Object& object, const std::string& name, Hdf5Rows rows) {
    if (rows.pieces_per_row() > 1 && rows.count() > kMostPieces / rows.pieces_per_row()) {
      throw Error::unsupported("its rows are split into more than " + std::to_string(kMostPieces) +
                               " pieces; rewrite the dataset with chunks of whole rows (h5repack -l)");
    }
    DType dtype = rows.type().dtype;
    if (dtype == DType::i64 && rows.shape().empty()) {
      const std::string codec = text_attribute(file_, object, kHdf5Codec, heap_).value_or("");
      if (codec_traits(codec).label) return label_field({.name = name, .codec = codec}, std::move(rows));
    }
    if (dtype == DType::u16 && text_attribute(file_, object, kHdf5DType, heap_) == penstock::name(DType::bf16))
      dtype = DType::bf16;
    FieldSchema schema{.name = name, .codec = "raw", .dtype = dtype, .shape = rows.shape(), .fixed = true};
    return {std::move(schema), std::move(rows)};
  }

  // Labels that the writer stored as integers become texts again.
  Hdf5Field label_field(FieldSchema schema, Hdf5Rows rows) {
    std::vector<std::string> texts;
    for (const std::uint64_t number : numbers_of(file_, rows))
      texts.push_back(std::to_string(static_cast<std::int64_t>(number)));
    return Hdf5Field::of_values(std::move(schema), std::move(rows), std::move(texts));
  }

  static std::string text_codec(const std::string& name) {
    const std::string codec = field_from_extension(last_part(name)).codec;
    return kind_of_codec(codec) == ValueKind::text ? codec : "txt";
  }

  Hdf5Field text_field(const std::string& name, Hdf5Rows rows) {
    std::vector<std::uint64_t> lengths;
    spend_for_texts(file_, rows);
    for_each_row(file_, rows,
                 [&](std::span<const std::byte> row) { lengths.push_back(text_length(rows.type(), row)); });
    return Hdf5Field::of_lengths({.name = name, .codec = text_codec(name)}, std::move(rows), std::move(lengths));
  }

  Hdf5Field heap_field(const std::string& name, Hdf5Rows rows) {
    const Hdf5Type& type = rows.type();
    const std::uint64_t element = type.kind == Hdf5Type::Kind::text ? 1 : size_of(type.dtype);
    std::vector<Hdf5Collections::Location> locations;
    spend_for_rows(file_, rows, kOfLocation);
    for_each_row(file_, rows, [&](std::span<const std::byte> row) {
      locations.push_back(locate(read_reference(file_, row), element, heap_));
    });
    FieldSchema schema{.name = name, .codec = "raw", .dtype = type.dtype};
    if (type.kind == Hdf5Type::Kind::text) schema.codec = text_codec(name);
    // Sequences of bytes are almost always encoded values. The codec comes from the name, else from the bytes.
    if (type.kind == Hdf5Type::Kind::sequence && type.dtype == DType::u8)
      schema.codec = field_from_extension(last_part(name)).codec;
    const bool swapped = type.swapped;
    return Hdf5Field::of_locations(std::move(schema), std::move(rows), std::move(locations), swapped);
  }

  Hdf5Rows member(const std::vector<Hdf5Link>& links, std::string_view name, const char* otherwise) {
    const auto found =
        std::find_if(links.begin(), links.end(), [&](const Hdf5Link& link) { return link.name == name; });
    if (found == links.end() || found->address == kNoAddress) throw Error::unsupported(otherwise);
    const Hdf5Object object(file_, found->address);
    if (!object.is_dataset()) throw Error::unsupported(otherwise);
    return {file_, describe(file_, object)};
  }

  bool holds_bytes(const Hdf5Object& group) const {
    const std::vector<Hdf5Link> links = links_of(file_, group);
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(links, [&](const Hdf5Link& link) { return link.name == name; });
    };
    return has(kHdf5Bytes) && has(kHdf5Offsets);
  }

  Hdf5Field byte_field(const Hdf5Object& group, const std::string& name) {
    constexpr const char* kOther = "a group without bytes and offsets";
    const std::vector<Hdf5Link> links = links_of(file_, group);
    Hdf5Rows bytes = member(links, kHdf5Bytes, kOther);
    const Hdf5Rows offsets = member(links, kHdf5Offsets, kOther);
    if (bytes.type().kind != Hdf5Type::Kind::number || !bytes.shape().empty() || bytes.row_bytes() != 1)
      throw Error::unsupported("its bytes are not uint8 in one dimension");
    const std::string codec =
        text_attribute(file_, group, kHdf5Codec, heap_).value_or(field_from_extension(last_part(name)).codec);
    return Hdf5Field::of_offsets({.name = name, .codec = codec}, std::move(bytes), numbers_of(file_, offsets));
  }

  std::vector<std::string> read_keys(const Hdf5Object& group) {
    constexpr const char* kOther = "keys without bytes and offsets";
    const std::vector<Hdf5Link> links = links_of(file_, group);
    const Hdf5Rows rows = member(links, kHdf5Bytes, kOther);
    if (!rows.shape().empty() || rows.row_bytes() != 1) throw Error::corrupt("keys that are not uint8");
    std::vector<std::byte> text;
    file_.spend(rows.count() / kKeysPerSpent);
    Hdf5RowReader(file_, rows).read(0, rows.count(), text);
    const std::vector<std::uint64_t> ends = numbers_of(file_, member(links, kHdf5Offsets, kOther));
    check_offsets(ends, text.size());
    std::vector<std::string> keys;
    keys.reserve(ends.size() - 1);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      keys.emplace_back(reinterpret_cast<const char*>(text.data()) + ends[i], ends[i + 1] - ends[i]);
    }
    return checked_keys(std::move(keys));
  }

  static std::vector<std::string> checked_keys(std::vector<std::string> keys) {
    for (const std::string& key : keys) {
      if (!is_printable(key)) throw Error::corrupt("a key that is not printable UTF-8", {.key = hexadecimal(key)});
    }
    return keys;
  }

  // A column of different, printable strings with a usual name for keys becomes the keys. It also remains a field.
  void use_key_column() {
    for (const std::string_view name : kKeyColumns) {
      for (const Hdf5Field& field : contents_.fields.empty() ? contents_.nested : contents_.fields) {
        const Hdf5Type::Kind kind = field.rows().type().kind;
        const bool text = kind == Hdf5Type::Kind::fixed_text || kind == Hdf5Type::Kind::text;
        if (last_part(field.name()) != name || !text || !field.rows().shape().empty()) continue;
        std::vector<std::string> keys = read_texts(file_, field.rows(), heap_);
        std::unordered_set<std::string_view> different;
        const bool good = std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
          return !key.empty() && is_printable(key) && different.insert(key).second;
        });
        if (!good || keys.empty()) continue;
        contents_.keys = std::move(keys);
        contents_.keys_are_field = true;
        return;
      }
    }
  }

  void note_classes(const Hdf5Attribute& attribute) {
    if (!contents_.classes.empty() || !names_classes(attribute.name)) return;
    try {
      const auto texts = texts_of(file_, attribute, heap_);
      const bool good = texts && std::all_of(texts->begin(), texts->end(), is_printable);
      if (good) contents_.classes = *texts;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }

  void read_presence() {
    for (std::vector<Hdf5Field>* fields : {&contents_.fields, &contents_.nested})
      for (Hdf5Field& field : *fields) read_presence_of(field);
  }

  void read_presence_of(Hdf5Field& field) {
    std::vector<Hdf5Link> links = *present_;
    for (std::size_t begin = 0; begin <= field.name().size();) {
      const std::size_t end = std::min(field.name().find('/', begin), field.name().size());
      const std::string name = field.name().substr(begin, end - begin);
      const auto found = std::ranges::find(links, name, &Hdf5Link::name);
      if (found == links.end() || found->address == kNoAddress) return;
      const Hdf5Object object(file_, found->address);
      begin = end + 1;
      if (begin <= field.name().size()) {
        if (object.is_dataset()) return;
        links = links_of(file_, object);
        continue;
      }
      const Hdf5Rows rows(file_, describe(file_, object));
      const std::vector<std::uint64_t> numbers = numbers_of(file_, rows);
      field.set_present(std::vector<std::uint8_t>(numbers.begin(), numbers.end()));
    }
  }

  const Hdf5File& file_;
  Hdf5Collections heap_;
  Hdf5Contents contents_;
  std::optional<std::vector<Hdf5Link>> present_;
  static constexpr std::size_t kMostGroups = 1024;
  std::vector<Hdf5Link> groups_;             // at the top level, except fields
  std::vector<Hdf5Link> datasets_;           // in groups_, by path, including groups of bytes
  std::unordered_set<std::uint64_t> seen_;   // addresses of groups
  std::unordered_set<std::uint64_t> named_;  // addresses of datasets
};

}  // namespace

Hdf5Field::Hdf5Field(FieldSchema schema, Hdf5Rows rows) : schema_(std::move(schema)), rows_(std::move(rows)) {}

Hdf5Field Hdf5Field::of_offsets(FieldSchema schema, Hdf5Rows bytes, std::vector<std::uint64_t> offsets) {
  check_offsets(offsets, bytes.count());
  Hdf5Field field(std::move(schema), std::move(bytes));
  field.kind_ = Kind::offsets;
  field.numbers_ = std::move(offsets);
  return field;
}

Hdf5Field Hdf5Field::of_lengths(FieldSchema schema, Hdf5Rows rows, std::vector<std::uint64_t> lengths) {
  Hdf5Field field(std::move(schema), std::move(rows));
  field.kind_ = Kind::lengths;
  field.numbers_ = std::move(lengths);
  return field;
}

Hdf5Field Hdf5Field::of_locations(FieldSchema schema, Hdf5Rows rows, std::vector<Hdf5Collections::Location> locations,
                                  bool swapped) {
  Hdf5Field field(std::move(schema), std::move(rows));
  field.kind_ = swapped ? Kind::swapped_locations : Kind::locations;
  field.locations_ = std::move(locations);
  return field;
}

Hdf5Field Hdf5Field::of_values(FieldSchema schema, Hdf5Rows rows, std::vector<std::string> values) {
  Hdf5Field field(std::move(schema), std::move(rows));
  field.kind_ = Kind::values;
  field.values_ = std::move(values);
  return field;
}

std::uint64_t Hdf5Field::count() const {
  return kind_ == Kind::offsets ? numbers_.size() - 1 : rows_.count();
}

ColumnSize Hdf5Field::size() const {
  std::uint64_t bytes = rows_.count() * rows_.row_bytes();
  if (kind_ == Kind::offsets) bytes = numbers_.back();
  if (kind_ == Kind::locations || kind_ == Kind::swapped_locations) bytes = 0;
  for (const Hdf5Collections::Location& location : locations_) bytes += location.length;
  return {.name = name(),
          .rows = count(),
          .row = schema_.fixed ? schema_.shape : Shape(),
          .bytes = bytes,
          .numbers = kind_ == Kind::rows && rows_.type().kind == Hdf5Type::Kind::number};
}

bool Hdf5Field::is_whole_number() const {
  const DType dtype = schema_.dtype;
  return kind_ == Kind::rows && rows_.type().kind == Hdf5Type::Kind::number && schema_.shape.empty() &&
         dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
}

void Hdf5Field::set_present(std::vector<std::uint8_t> present) {
  if (present.size() != count()) throw Error::corrupt("presence of another length than the field", {.field = name()});
  present_ = std::move(present);
}

void Hdf5Field::add_blocks(IndexBuilder& builder) {
  if (kind_ == Kind::locations || kind_ == Kind::values) return;
  if (kind_ != Kind::swapped_locations) return rows_.add_blocks(builder);
  const auto element = static_cast<std::uint32_t>(size_of(schema_.dtype));
  for (const Hdf5Collections::Location& location : locations_) {
    const Block block{{0, location.offset, location.length}, {{Filter::Id::byte_swap, element}}, location.length};
    blocks_.push_back(location.length == 0 ? 0 : builder.add_block(block));
  }
}

void Hdf5Field::append_location(std::uint64_t sample, std::vector<Piece>& pieces) const {
  const Hdf5Collections::Location& location = locations_[sample];
  if (location.length == 0) return;
  Piece piece{.length = location.length, .inline_bytes = {}};
  if (kind_ == Kind::locations) {
    piece.extent = {0, location.offset, location.length};
  } else {
    piece.kind = Piece::Kind::block;
    piece.block = blocks_[sample];
  }
  pieces.push_back(piece);
}

bool Hdf5Field::locate(std::uint64_t sample, std::vector<Piece>& pieces) const {
  pieces.clear();
  if (!present_.empty() && present_[sample] == 0) return false;
  switch (kind_) {
    case Kind::rows:
      rows_.append(sample, 1, pieces);
      break;
    case Kind::offsets:
      rows_.append(numbers_[sample], numbers_[sample + 1] - numbers_[sample], pieces);
      break;
    case Kind::lengths:
      rows_.append(sample, 1, pieces);  // one piece, because the dataset has one dimension
      if (numbers_[sample] == 0) pieces.clear();
      if (!pieces.empty()) {
        Piece& piece = pieces.front();
        piece.length = piece.extent.length = numbers_[sample];
        if (piece.kind == Piece::Kind::bytes) piece.inline_bytes = piece.inline_bytes.first(piece.length);
      }
      break;
    case Kind::values:
      pieces.push_back(inline_piece(std::as_bytes(std::span(values_[sample]))));
      break;
    case Kind::locations:
    case Kind::swapped_locations:
      append_location(sample, pieces);
      break;
  }
  return true;
}

bool names_classes(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"classes", "class_names", "list_classes", "label_names",
                                                   "categories"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Hdf5Contents read_hdf5_contents(const Hdf5File& file) {
  return Reader(file).read();
}

}  // namespace penstock
