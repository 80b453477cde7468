#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <base/printable.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/hdf5/links.hpp>
#include <formats/hdf5/rows.hpp>
#include <formats/hdf5/samples.hpp>
#include <formats/hdf5/texts.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/text/json_texts.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr unsigned kDeepestGroup = 32;
constexpr std::size_t kLongestPath = 1024;   // every dataset below a group has a copy of the group's path
constexpr std::uint64_t kMostTexts = 65536;  // of one value, because they are stored in the index
constexpr const char* kOnlyField = "value";
constexpr const char* kClassField = "cls";

struct Found {
  std::string group, name;  // path of the group without outer slashes; name of the dataset in the group
  std::uint64_t address;
};

// Collects all datasets reached through hard links, in bytewise order of group and name.
class Walk {
 public:
  Walk(const Hdf5File& file, std::map<std::string, std::string>& left_out) : file_(file), left_out_(left_out) {
    visit("", file.root(), 0);
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return std::tie(a.group, a.name) < std::tie(b.group, b.name); });
  }
  std::vector<Found> found;
  std::unordered_map<std::string, std::uint64_t> groups;

 private:
  void visit(const std::string& path, std::uint64_t address, unsigned depth) {
    if (depth > kDeepestGroup || !seen_.insert(address).second) return;
    const Hdf5Object group(file_, address);
    groups.emplace(path, address);
    for (const Hdf5Link& link : links_of(file_, group)) {
      const std::string below = path.empty() ? link.name : path + "/" + link.name;
      if (!is_printable(link.name)) {
        left_out_[hexadecimal(link.name)] = "a name that is not printable UTF-8";
      } else if (below.size() > kLongestPath) {
        left_out_[below.substr(0, below.find('/'))] = "paths of more than 1,024 bytes";
      } else if (link.address == kNoAddress) {
        left_out_[below] = "a soft or external link";
      } else {
        try {
          const Hdf5Object object(file_, link.address);
          if (object.is_dataset()) found.push_back({path, link.name, link.address});
          if (!object.is_dataset() && object.is_group()) visit(below, link.address, depth + 1);
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::unsupported) throw;
          left_out_[below] = error.cause();
        }
      }
    }
  }

  const Hdf5File& file_;
  std::map<std::string, std::string>& left_out_;
  std::unordered_set<std::uint64_t> seen_;
};

// Decides which part of a dataset's path is the sample, and which is the field.
enum class Roles : std::uint8_t {
  groups_are_samples,  // key: the group; field: the dataset's name
  groups_are_fields,   // key: the dataset's name; field: the group
  groups_are_classes,  // key: the whole path; one field
};

Roles roles_of(const std::vector<Found>& found) {
  std::set<std::string_view> groups, names;
  for (const Found& dataset : found) {
    groups.insert(dataset.group);
    names.insert(dataset.name);
  }
  if (groups.size() == 1) return Roles::groups_are_fields;
  if (names.size() <= groups.size()) return Roles::groups_are_samples;
  return names.size() == found.size() ? Roles::groups_are_classes : Roles::groups_are_fields;
}

// The type of one value. The first value of a field decides whether uint8 arrays of one dimension are encoded bytes.
enum class ValueType : std::uint8_t { text, texts, bytes, sequence, numbers };

struct Value {
  ValueType type;
  DType dtype = DType::u8;
  Shape shape = {};       // of numbers
  bool fixed = true;      // true if all values of the field have the shape
  bool one_text = false;  // true if the text is a list of one
};

std::string text_of(const Value& value) {
  switch (value.type) {
    case ValueType::text:
      return "text";
    case ValueType::texts:
      return "a list of texts";
    case ValueType::bytes:
      return "bytes";
    case ValueType::sequence:
      return "a sequence of " + std::string(name(value.dtype));
    case ValueType::numbers:
      break;
  }
  return array_text(value.dtype, value.shape);
}

bool looks_encoded(std::span<const std::byte> bytes) {
  constexpr std::array<std::string_view, 3> kMagics{"\xFF\xD8\xFF", "\x89PNG\r\n\x1A\n", "\x93NUMPY"};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::any_of(kMagics.begin(), kMagics.end(),
                     [text](std::string_view magic) { return text.starts_with(magic); });
}

Shape whole_shape(const Hdf5Dataset& dataset) {
  Shape shape;
  for (const std::uint64_t dim : dataset.dims) shape.push_back(static_cast<std::int64_t>(dim));
  for (const std::uint64_t dim : dataset.type.dims) shape.push_back(static_cast<std::int64_t>(dim));
  return shape;
}

class Indexer {
 public:
  Indexer(const Hdf5File& file, IndexBuilder& builder, std::vector<std::string>& classes,
          std::map<std::string, std::string>& left_out)
      : file_(file), builder_(builder), classes_(classes), left_out_(left_out), heap_(file), walk_(file, left_out) {}

  void run(const OpenProgress& progress) {
    std::vector<Found>& found = walk_.found;
    roles_ = roles_of(found);
    name_fields();
    std::sort(found.begin(), found.end(), [this](const Found& a, const Found& b) {
      return std::pair(key_of(a), field_of(a)) < std::pair(key_of(b), field_of(b));
    });
    for (const Found& dataset : found) learn(dataset);
    refuse_lists();
    std::string last;
    bool any = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto field = schemas_.find(field_of(found[i]));
      if (field == schemas_.end() || field->second.refused) continue;
      const std::string key = key_of(found[i]);
      if (!any || key != last) begin_sample(found[i], key);
      any = true;
      last = key;
      set(found[i], field->second);
      if (progress && i % 4096 == 0) progress(i, found.size());
    }
    if (progress) progress(found.size(), found.size());
  }

 private:
  struct Field {
    Value value;               // a type that describes all values
    std::string first, where;  // type and sample of the first value, for messages
    FieldSchema schema = {};
    bool refused = false;
    std::string not_json = {};  // why a list of texts is impossible
  };

  // The last part of each group's path names its field if that is unambiguous.
  void name_fields() {
    std::map<std::string, std::set<std::string>> by_last;
    for (const Found& dataset : walk_.found) by_last[last_part(dataset.group)].insert(dataset.group);
    for (const auto& [last, groups] : by_last) {
      for (const std::string& group : groups) {
        std::string name = groups.size() == 1 ? last : group;
        std::replace(name.begin(), name.end(), '/', '.');
        field_of_group_[group] = name.empty() ? kOnlyField : name;
      }
    }
  }

  static std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  std::string key_of(const Found& dataset) const {
    if (roles_ == Roles::groups_are_fields) return dataset.name;
    if (roles_ == Roles::groups_are_samples) return dataset.group.empty() ? "/" : dataset.group;
    return dataset.group.empty() ? dataset.name : dataset.group + "/" + dataset.name;
  }
  std::string field_of(const Found& dataset) const {
    if (roles_ == Roles::groups_are_fields) return field_of_group_.at(dataset.group);
    return roles_ == Roles::groups_are_samples ? dataset.name : kOnlyField;
  }

  // Returns the rows of a scalar or whole dataset. If it is unreadable, returns nothing and adds an entry to left_out.
  std::optional<Hdf5Rows> rows_of(const Found& dataset, Shape& shape) {
    try {
      Hdf5Dataset described = describe(file_, Hdf5Object(file_, dataset.address));
      shape = whole_shape(described);
      const bool sequence = described.type.kind == Hdf5Type::Kind::sequence;
      const bool text = is_text(described.type);
      const std::uint64_t elements = described.elements();
      Hdf5Rows rows(file_, std::move(described));
      if (sequence && elements != 1) throw Error::unsupported("several sequences in one value");
      if (text && elements > kMostTexts) throw Error::unsupported(std::to_string(elements) + " strings in one value");
      return rows;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw error.in({.key = key_of(dataset), .field = field_of(dataset)});
      left_out_[dataset.group.empty() ? dataset.name : dataset.group + "/" + dataset.name] = error.cause();
      return std::nullopt;
    }
  }

  static Value value_of(const Hdf5Rows& rows, const Shape& shape) {
    const Hdf5Type& type = rows.type();
    if (is_text(type)) {
      const bool several = rows.count() * rows.row_bytes() != type.size;
      return {.type = several ? ValueType::texts : ValueType::text, .one_text = !several && !shape.empty()};
    }
    if (type.kind == Hdf5Type::Kind::sequence) return {.type = ValueType::sequence, .dtype = type.dtype};
    if (type.kind == Hdf5Type::Kind::opaque) return {.type = ValueType::bytes};
    return {.type = ValueType::numbers, .dtype = type.dtype, .shape = shape};
  }

  static bool may_be_bytes(const Value& value) {
    const bool list = value.type == ValueType::sequence || value.shape.size() == 1;
    return value.type == ValueType::bytes || (list && value.dtype == DType::u8);
  }

  bool starts_encoded(const Hdf5Rows& rows) const {
    constexpr std::uint64_t kMagic = 8;
    std::vector<std::byte> first;
    Hdf5RowReader(file_, rows).read(0, std::min(kMagic, rows.count()), first);
    return looks_encoded(first);
  }

  // All values of a field must have a common type (see join()). Otherwise the field is left out.
  void learn(const Found& dataset) {
    const std::string name = field_of(dataset);
    auto known = schemas_.find(name);
    if (known != schemas_.end() && known->second.refused) return;
    Shape shape;
    const std::optional<Hdf5Rows> rows = rows_of(dataset, shape);
    if (!rows) return;
    Value value = value_of(*rows, shape);
    if (known == schemas_.end()) {
      const bool encoded = !field_from_extension(name).codec.empty();
      const bool list = value.type == ValueType::numbers && may_be_bytes(value);
      if (list && (encoded || starts_encoded(*rows))) value.type = ValueType::bytes;
      if (value.type == ValueType::sequence && may_be_bytes(value)) value.type = ValueType::bytes;
      known = schemas_.emplace(name, Field{value, text_of(value), key_of(dataset)}).first;
    } else if (!join(known->second.value, value)) {
      left_out_[name] = "values of different types: " + known->second.first + " in " + known->second.where + ", " +
                        text_of(value) + " in " + key_of(dataset);
      known->second.refused = true;
    }
    known->second.schema = schema_of(name, known->second.value);
    const bool list = value.type == ValueType::texts || (value.type == ValueType::text && value.one_text);
    if (list && known->second.not_json.empty()) known->second.not_json = why_not_json(*rows, key_of(dataset));
  }

  std::string why_not_json(const Hdf5Rows& rows, const std::string& key) {
    try {
      json_texts(file_, rows, heap_);
      return {};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw error.in({.key = key});
      return error.cause() + " (in " + key + ")";
    }
  }

  // A text of one value stays bytes. Whether it is a list of one is known after all values.
  void refuse_lists() {
    for (auto& [name, field] : schemas_) {
      if (field.refused || field.value.type != ValueType::texts || field.not_json.empty()) continue;
      left_out_[name] = field.not_json;
      field.refused = true;
    }
  }

  // Widens `all` so that it describes `other` too. Returns false if no type describes both.
  static bool join(Value& all, const Value& other) {
    const auto both = [&](ValueType a, ValueType b) {
      return (all.type == a && other.type == b) || (all.type == b && other.type == a);
    };
    if (both(ValueType::text, ValueType::texts)) {
      if ((all.type == ValueType::text ? all : other).one_text) all = {.type = ValueType::texts};
      return all.type == ValueType::texts && (other.type == ValueType::texts || other.one_text);
    }
    if (all.type == ValueType::bytes) return may_be_bytes(other);
    if (all.dtype != other.dtype) return false;
    if (both(ValueType::sequence, ValueType::numbers)) {
      const Shape& shape = all.type == ValueType::numbers ? all.shape : other.shape;
      all.type = ValueType::sequence;
      return shape.size() == 1;
    }
    if (all.type != other.type) return false;
    all.one_text = all.one_text && other.one_text;
    if (all.type != ValueType::numbers || all.shape == other.shape) return true;
    const bool same_tail = all.shape.size() == other.shape.size() && !all.shape.empty() &&
                           std::equal(all.shape.begin() + 1, all.shape.end(), other.shape.begin() + 1);
    all.fixed = false;
    all.shape = same_tail ? all.shape : Shape();
    if (same_tail) all.shape.front() = 0;
    return true;
  }

  static FieldSchema schema_of(const std::string& name, const Value& value) {
    FieldSchema schema{.name = name, .codec = field_from_extension(name).codec};
    if (value.type == ValueType::text && kind_of_codec(schema.codec) != ValueKind::text) schema.codec = "txt";
    if (value.type == ValueType::texts) schema.codec = "json";
    if (value.type == ValueType::sequence || value.type == ValueType::numbers) {
      schema.codec = "raw";
      schema.dtype = value.dtype;
    }
    if (value.type == ValueType::numbers) {
      schema.shape = value.shape;
      schema.fixed = value.fixed;
    }
    return schema;
  }

  void begin_sample(const Found& dataset, const std::string& key) {
    builder_.add_sample(key);
    if (roles_ == Roles::groups_are_classes) {
      if (classes_.empty() || classes_.back() != dataset.group) classes_.push_back(dataset.group);
      set_inline({.name = kClassField, .codec = "cls"}, as_bytes(std::to_string(classes_.size() - 1)));
    }
    if (roles_ == Roles::groups_are_samples) set_attributes(walk_.groups.at(dataset.group));
  }

  void set(const Found& dataset, const Field& field) {
    Shape shape;
    std::optional<Hdf5Rows> rows = rows_of(dataset, shape);
    if (!rows) return;
    std::vector<Piece> pieces;
    std::vector<std::byte> json;
    const Hdf5Type& type = rows->type();
    if (field.value.type == ValueType::texts) {
      json = as_bytes(json_list(json_texts(file_, *rows, heap_)));
      pieces.push_back(inline_piece(json));
    } else if (type.kind == Hdf5Type::Kind::text || type.kind == Hdf5Type::Kind::sequence) {
      append_reference(*rows, pieces);
    } else {
      if (rows->pieces_per_row() > 1) file_.spend(rows->count() * rows->pieces_per_row());
      const bool padded = type.kind == Hdf5Type::Kind::fixed_text;
      const std::size_t length = padded ? length_of_text(*rows) : 0;
      rows->add_blocks(builder_);  // the rows are not read after this
      rows->append(0, rows->count(), pieces);
      if (padded) cut_to(length, pieces);
    }
    const std::uint32_t number = builder_.field(field.schema);
    if (builder_.has(number)) throw Error::corrupt("two values for one field", {.key = key_of(dataset)});
    builder_.set(number, pieces);
    if (roles_ != Roles::groups_are_samples) set_attributes(dataset.address);
  }

  void append_reference(const Hdf5Rows& rows, std::vector<Piece>& pieces) {
    const Hdf5Type& type = rows.type();
    std::vector<std::byte> bytes;
    Hdf5RowReader(file_, rows).read(0, 1, bytes);
    const std::uint64_t element = type.kind == Hdf5Type::Kind::text ? 1 : size_of(type.dtype);
    const Hdf5Collections::Location place = locate(read_reference(file_, bytes), element, heap_);
    if (place.length == 0) return;
    Piece piece{.extent = {0, place.offset, place.length}, .length = place.length, .inline_bytes = {}};
    if (type.swapped) {
      piece.kind = Piece::Kind::block;
      piece.block = builder_.add_block(
          {piece.extent, {{Filter::Id::byte_swap, static_cast<std::uint32_t>(element)}}, place.length});
    }
    pieces.push_back(piece);
  }

  std::size_t length_of_text(const Hdf5Rows& rows) const {
    std::vector<std::byte> bytes;
    Hdf5RowReader(file_, rows).read(0, 1, bytes);
    return text_length(rows.type(), bytes);
  }

  static void cut_to(std::size_t length, std::vector<Piece>& pieces) {
    if (length == 0) pieces.clear();
    if (pieces.empty()) return;
    pieces.front().length = pieces.front().extent.length = length;
    if (pieces.front().kind == Piece::Kind::bytes)
      pieces.front().inline_bytes = pieces.front().inline_bytes.first(length);
  }

  static std::vector<std::byte> as_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  void set_inline(const FieldSchema& schema, const std::vector<std::byte>& bytes) {
    const std::uint32_t number = builder_.field(schema);
    if (builder_.has(number)) return;
    const Piece piece = inline_piece(bytes);
    builder_.set(number, std::span(&piece, bytes.empty() ? 0 : 1));
  }

  // Attributes of a sample that are numbers and strings are fields too. Names in capitals belong to conventions of
  // other programs (CLASS, IMAGE_VERSION, DIMENSION_LIST).
  void set_attributes(std::uint64_t address) {
    const Hdf5Object object(file_, address);
    for (const Hdf5Attribute& attribute : attributes_of(file_, object)) {
      const bool capitals =
          std::none_of(attribute.name.begin(), attribute.name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
      if (capitals || !is_printable(attribute.name) || schemas_.contains(attribute.name)) continue;
      try {
        set_attribute(attribute);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
      }
    }
  }

  void set_attribute(const Hdf5Attribute& attribute) {
    if (const auto texts = texts_of(file_, attribute, heap_)) {
      if (texts->size() == 1 && is_as_before(attribute.name, "text"))
        set_inline({.name = attribute.name, .codec = "txt"}, as_bytes(texts->front()));
      return;
    }
    const Hdf5Type type = read_type(file_, attribute.type);
    if (type.kind != Hdf5Type::Kind::number || !type.dims.empty() || !read_dims(file_, attribute.space).empty()) return;
    if (attribute.value.size() < type.size) throw Error::corrupt("an attribute longer than its message");
    std::vector<std::byte> bytes(attribute.value.begin(),
                                 attribute.value.begin() + static_cast<std::ptrdiff_t>(type.size));
    if (type.swapped) std::reverse(bytes.begin(), bytes.end());
    if (is_as_before(attribute.name, std::string(name(type.dtype))))
      set_inline({.name = attribute.name, .codec = "raw", .dtype = type.dtype, .fixed = true}, bytes);
  }

  // A sample lacks an attribute whose type differs from the first sample that has it.
  bool is_as_before(const std::string& attribute, const std::string& type) {
    const std::string key(builder_.key(builder_.size() - 1));
    const auto [known, added] = attribute_types_.try_emplace(attribute, type, key);
    if (known->second.first == type) return true;
    left_out_.try_emplace(attribute, "in some samples, as an attribute of another type: " + known->second.first +
                                         " in " + known->second.second + ", " + type + " in " + key);
    return false;
  }

  const Hdf5File& file_;
  IndexBuilder& builder_;
  std::vector<std::string>& classes_;
  std::map<std::string, std::string>& left_out_;
  Hdf5Collections heap_;
  Walk walk_;
  Roles roles_ = Roles::groups_are_fields;
  std::map<std::string, std::string> field_of_group_;
  std::map<std::string, Field> schemas_;
  // By attribute: the type, and the first sample with it.
  std::map<std::string, std::pair<std::string, std::string>> attribute_types_;
};

}  // namespace

void index_hdf5_samples(const Hdf5File& file, IndexBuilder& builder, std::vector<std::string>& classes,
                        std::map<std::string, std::string>& left_out, const OpenProgress& progress) {
  Indexer(file, builder, classes, left_out).run(progress);
}

}  // namespace penstock
