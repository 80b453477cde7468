#include <algorithm>
#include <cstring>
#include <utility>

#include <penstock/formats/error.hpp>
#include <penstock/formats/hdf5_fields.hpp>
#include <penstock/formats/hdf5_names.hpp>
#include <penstock/formats/printable.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostObjects = 100'000;
constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 24;
constexpr std::size_t kLongestCodec = 64;

struct Link {
  std::string name;
  H5L_type_t type;
};

struct Listing {
  std::vector<Link> links;
  bool too_many = false;
};

std::vector<Link> links_of(const Hdf5File& file) {
  Listing listing;
  auto note = [](hid_t, const char* name, const H5L_info_t* info, void* data) -> herr_t {
    auto& found = *static_cast<Listing*>(data);
    found.too_many = found.links.size() == kMostObjects;
    if (!found.too_many) found.links.push_back({name, info->type});
    return found.too_many ? 1 : 0;
  };
  file.check(H5Literate(file.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &listing), "cannot list the top level");
  if (listing.too_many)
    throw Error::unsupported("more than " + std::to_string(kMostObjects) + " objects at the top level");
  return std::move(listing.links);
}

// A string attribute of any kind, or nothing.
std::optional<std::string> text_attribute(const Hdf5File& file, hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return std::nullopt;
  const Hdf5Handle attribute = file.handle(H5Aopen(object, name, H5P_DEFAULT), "cannot open an attribute");
  const Hdf5Handle type = file.handle(H5Aget_type(attribute.get()), "cannot read an attribute");
  const Hdf5Handle space = file.handle(H5Aget_space(attribute.get()), "cannot read an attribute");
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  std::string text;
  if (H5Tis_variable_str(type.get()) > 0) {
    char* value = nullptr;
    file.check(H5Aread(attribute.get(), type.get(), &value), "cannot read an attribute");
    if (value != nullptr) text.assign(value, ::strnlen(value, kLongestCodec));
    H5free_memory(value);
  } else {
    const std::size_t length = H5Tget_size(type.get());
    if (length > kLongestCodec) return std::nullopt;
    text.resize(length);
    file.check(H5Aread(attribute.get(), type.get(), text.data()), "cannot read an attribute");
    text.resize(::strnlen(text.data(), length));
  }
  return text;
}

// The dataset of that name; invalid when there is none. Links to elsewhere are not followed.
Hdf5Handle member(const Hdf5File& file, hid_t group, const char* name) {
  H5L_info_t link{};
  if (H5Lget_info(group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) return {};
  Hdf5Handle object = file.handle(H5Oopen(group, name, H5P_DEFAULT), std::string("cannot open ") + name);
  return H5Iget_type(object.get()) == H5I_DATASET ? std::move(object) : Hdf5Handle();
}

// All values of a one-dimensional dataset whose place in the file Hdf5Rows has checked.
template <typename T>
std::vector<T> values_of(const Hdf5File& file, hid_t dataset, hid_t memory_type) {
  const Hdf5Rows rows(file, dataset);
  if (!rows.shape().empty()) throw Error::unsupported("offsets, keys and presence must have one dimension");
  std::vector<T> values(rows.count());
  if (values.empty()) return values;
  file.check(H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "cannot read a dataset");
  return values;
}

std::vector<std::uint64_t> offsets_of(const Hdf5File& file, hid_t dataset) {
  return values_of<std::uint64_t>(file, dataset, H5T_NATIVE_UINT64);
}

void check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t length) {
  if (offsets.empty()) throw Error::corrupt("no offsets");
  if (!std::is_sorted(offsets.begin(), offsets.end())) throw Error::corrupt("offsets do not ascend");
  if (offsets.back() > length) throw Error::corrupt("offsets lead behind the bytes");
}

std::vector<std::string> read_keys(const Hdf5File& file, hid_t group) {
  const Hdf5Handle bytes = member(file, group, kHdf5Bytes);
  const Hdf5Handle offsets = member(file, group, kHdf5Offsets);
  if (!bytes.valid() || !offsets.valid()) throw Error::corrupt("keys without bytes and offsets");
  const std::vector<char> text = values_of<char>(file, bytes.get(), H5T_NATIVE_UINT8);
  const std::vector<std::uint64_t> ends = offsets_of(file, offsets.get());
  check_offsets(ends, text.size());
  std::vector<std::string> keys;
  keys.reserve(ends.size() - 1);
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    keys.emplace_back(text.data() + ends[i], ends[i + 1] - ends[i]);
    if (!is_printable(keys.back()))
      throw Error::corrupt("a key that is not printable UTF-8", {.key = hexadecimal(keys.back())});
  }
  return keys;
}

Hdf5Field row_field(const Hdf5File& file, hid_t dataset, const std::string& name) {
  Hdf5Rows rows(file, dataset);
  if (rows.pieces_per_row() > 1 && rows.count() > kMostPieces / rows.pieces_per_row()) {
    throw Error::unsupported("its rows lie in more than " + std::to_string(kMostPieces) +
                             " pieces of chunks; rewrite it with chunks of whole rows (h5repack -l)");
  }
  DType dtype = rows.dtype();
  const std::optional<std::string> other = text_attribute(file, dataset, kHdf5DType);
  if (other == penstock::name(DType::bf16) && dtype == DType::u16) dtype = DType::bf16;
  FieldSchema schema{.name = name, .codec = "raw", .dtype = dtype, .shape = rows.shape(), .fixed = true};
  return {std::move(schema), std::move(rows)};
}

Hdf5Field byte_field(const Hdf5File& file, hid_t group, const std::string& name) {
  const Hdf5Handle bytes = member(file, group, kHdf5Bytes);
  const Hdf5Handle offsets = member(file, group, kHdf5Offsets);
  if (!bytes.valid() || !offsets.valid()) throw Error::unsupported("a group without bytes and offsets");
  Hdf5Rows rows(file, bytes.get());
  if (!rows.shape().empty() || rows.row_bytes() != 1)
    throw Error::unsupported("its bytes are not uint8 in one dimension");
  const std::string codec = text_attribute(file, group, kHdf5Codec).value_or(field_from_extension(name).codec);
  return {{.name = name, .codec = codec}, std::move(rows), offsets_of(file, offsets.get())};
}

class Reader {
 public:
  explicit Reader(const Hdf5File& file) : file_(file) {}

  Hdf5Contents read() {
    for (const Link& link : links_of(file_)) {
      if (link.type == H5L_TYPE_HARD) {
        object(link.name);
      } else {
        contents_.left_out[shown(link.name)] = "a soft or external link";
      }
    }
    if (present_.valid()) read_presence();
    return std::move(contents_);
  }

 private:
  static std::string shown(const std::string& name) { return is_printable(name) ? name : hexadecimal(name); }

  void object(const std::string& name) {
    try {
      Hdf5Handle opened = file_.handle(H5Oopen(file_.id(), name.c_str(), H5P_DEFAULT), "cannot open");
      const H5I_type_t type = H5Iget_type(opened.get());
      if (!is_printable(name)) throw Error::unsupported("a name that is not printable UTF-8");
      if (name == kHdf5Key && type == H5I_GROUP) {
        contents_.keys = read_keys(file_, opened.get());
      } else if (name == kHdf5Present && type == H5I_GROUP) {
        present_ = std::move(opened);
      } else if (type == H5I_DATASET) {
        contents_.fields.push_back(row_field(file_, opened.get(), name));
      } else if (type == H5I_GROUP) {
        contents_.fields.push_back(byte_field(file_, opened.get(), name));
      } else {
        throw Error::unsupported("neither dataset nor group");
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw error.in({.field = shown(name)});
      contents_.left_out[shown(name)] = error.cause();
    }
  }

  void read_presence() {
    for (Hdf5Field& field : contents_.fields) {
      const Hdf5Handle dataset = member(file_, present_.get(), field.name().c_str());
      if (!dataset.valid()) continue;
      field.set_present(values_of<std::uint8_t>(file_, dataset.get(), H5T_NATIVE_UINT8));
    }
  }

  const Hdf5File& file_;
  Hdf5Contents contents_;
  Hdf5Handle present_;
};

}  // namespace

Hdf5Field::Hdf5Field(FieldSchema schema, Hdf5Rows rows) : schema_(std::move(schema)), rows_(std::move(rows)) {}

Hdf5Field::Hdf5Field(FieldSchema schema, Hdf5Rows bytes, std::vector<std::uint64_t> offsets)
    : schema_(std::move(schema)), rows_(std::move(bytes)), offsets_(std::move(offsets)) {
  check_offsets(offsets_, rows_.count());
}

std::uint64_t Hdf5Field::count() const {
  return offsets_.empty() ? rows_.count() : offsets_.size() - 1;
}

void Hdf5Field::set_present(std::vector<std::uint8_t> present) {
  if (present.size() != count()) throw Error::corrupt("presence of another length than the field", {.field = name()});
  present_ = std::move(present);
}

bool Hdf5Field::locate(std::uint64_t sample, std::vector<Piece>& pieces) const {
  pieces.clear();
  if (!present_.empty() && present_[sample] == 0) return false;
  if (offsets_.empty()) {
    rows_.append(sample, 1, pieces);
  } else {
    rows_.append(offsets_[sample], offsets_[sample + 1] - offsets_[sample], pieces);
  }
  return true;
}

Hdf5Contents read_hdf5_contents(const Hdf5File& file) {
  return Reader(file).read();
}

}  // namespace penstock
