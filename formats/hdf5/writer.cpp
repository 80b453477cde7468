#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <base/printable.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/hdf5/names.hpp>
#include <formats/hdf5/types.hpp>
#include <formats/hdf5/writer.hpp>
#include <formats/index/index.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/spill_buffer.hpp>
#include <formats/io/writeback.hpp>
#include <formats/plain_integer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::string text_of(const SpillBuffer& values) {
  std::string text;
  values.drain(
      [&text](std::span<const std::byte> run) { text.append(reinterpret_cast<const char*>(run.data()), run.size()); });
  return text;
}

// Values of one field, or the keys, one after the other.
struct Column {
  FieldSchema schema;
  SpillBuffer values;
  std::vector<std::uint64_t> ends = {0};
  std::vector<std::uint8_t> present = {};
  std::vector<std::uint32_t> crcs = {};
  std::vector<std::byte> headers = {};
  std::vector<std::uint64_t> header_ends = {0};
  std::vector<std::uint32_t> range_sums = {};
  std::vector<std::uint64_t> range_ends = {0};
  std::uint64_t offset = 0;  // of the values in the file
  // Labels, if all of the shard are plain integers. The file then has the integers, and the index the texts.
  std::vector<std::int64_t> integers = {};
  std::string texts = {};

  std::uint64_t row_bytes() const { return element_count(schema.shape) * size_of(schema.dtype); }
  bool complete() const { return std::find(present.begin(), present.end(), 0) == present.end(); }

  void add(const FieldValue& value) {
    values.append(value.bytes);
    range_sums.insert(range_sums.end(), value.range_sums.begin(), value.range_sums.end());
    close_sample(1, value.crc32c, value.header);
  }
  void add_absent() {
    const std::vector<std::byte> zeros(schema.fixed ? row_bytes() : 0);
    values.append(zeros);
    close_sample(0, 0, {});
  }
  // Fills `integers` and `texts`, unless some label is not a plain integer.
  void read_integers() {
    if (!codec_traits(schema.codec).label) return;
    texts = text_of(values);
    for (std::size_t sample = 0; sample < present.size(); ++sample) {
      const auto integer = present[sample] == 0 ? std::optional<std::int64_t>(0) : plain_integer(text(sample));
      if (!integer) return integers.clear();
      integers.push_back(*integer);
    }
  }
  std::span<const std::byte> text(std::size_t sample) const {
    return std::as_bytes(std::span(texts)).subspan(ends[sample], ends[sample + 1] - ends[sample]);
  }
  void close_sample(std::uint8_t is_present, std::uint32_t crc, std::span<const std::byte> header) {
    ends.push_back(values.size());
    present.push_back(is_present);
    crcs.push_back(crc);
    headers.insert(headers.end(), header.begin(), header.end());
    header_ends.push_back(headers.size());
    range_ends.push_back(range_sums.size());
  }
};

// libhdf5 creates the structure of the file and reserves each dataset's bytes. The writer then writes the bytes in
// place. No conversion is needed because all types are those of the machine.
class Hdf5Layout {
 public:
  explicit Hdf5Layout(const fs::path& path) : path_(path) {
    const Hdf5Handle access = made(H5Pcreate(H5P_FILE_ACCESS));
    check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST));
    check(H5Pset_file_locking(access.get(), false, true));
    const Hdf5Handle creation = made(H5Pcreate(H5P_FILE_CREATE));
    check(H5Pset_obj_track_times(creation.get(), false));
    file_ = made(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get()));
    space_properties_ = made(H5Pcreate(H5P_DATASET_CREATE));
    check(H5Pset_obj_track_times(space_properties_.get(), false));
    check(H5Pset_layout(space_properties_.get(), H5D_CONTIGUOUS));
    check(H5Pset_alloc_time(space_properties_.get(), H5D_ALLOC_TIME_EARLY));
    check(H5Pset_fill_time(space_properties_.get(), H5D_FILL_TIME_NEVER));
    group_properties_ = made(H5Pcreate(H5P_GROUP_CREATE));
    check(H5Pset_obj_track_times(group_properties_.get(), false));
  }

  hid_t root() const { return file_.get(); }

  Hdf5Handle group(const std::string& name) {
    make_groups_of(name);
    groups_.insert(name);
    return made(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, group_properties_.get(), H5P_DEFAULT));
  }

  struct Reserved {
    Hdf5Handle dataset;
    std::uint64_t offset;  // 0 if there are no bytes
  };
  Reserved dataset(hid_t parent, const std::string& name, DType dtype, const std::vector<hsize_t>& dims) const {
    const Hdf5Handle type = made(hdf5_type_of(dtype));
    const Hdf5Handle space = made(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
    Hdf5Handle dataset = made(
        H5Dcreate2(parent, name.c_str(), type.get(), space.get(), H5P_DEFAULT, space_properties_.get(), H5P_DEFAULT));
    const haddr_t offset = H5Dget_offset(dataset.get());
    const bool empty = std::find(dims.begin(), dims.end(), 0U) != dims.end();
    if (offset == HADDR_UNDEF && !empty) throw failure();
    return {std::move(dataset), offset == HADDR_UNDEF ? 0 : offset};
  }

  /// Creates the groups of the path in the file.
  void make_groups_of(const std::string& path) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string above = path.substr(0, slash);
      if (!groups_.contains(above)) static_cast<void>(group(above));
    }
  }

  void attribute(hid_t object, const char* name, const std::string& value) const {
    const Hdf5Handle type = made(H5Tcopy(H5T_C_S1));
    check(H5Tset_size(type.get(), value.size() + 1));
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8));
    const Hdf5Handle space = made(H5Screate(H5S_SCALAR));
    const Hdf5Handle attribute = made(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    check(H5Awrite(attribute.get(), type.get(), value.c_str()));
  }

  void close() {
    if (!file_.close()) throw failure();
  }

 private:
  Error failure() const {
    return {ErrorKind::io, "cannot write (libhdf5: " + hdf5_message() + ")", {.shard = path_.string()}};
  }
  void check(herr_t status) const {
    if (status < 0) throw failure();
  }
  Hdf5Handle made(hid_t id) const { return made(Hdf5Handle(id)); }
  Hdf5Handle made(Hdf5Handle handle) const {
    if (!handle.valid()) throw failure();
    return handle;
  }

  fs::path path_;
  Hdf5Handle file_;
  Hdf5Handle space_properties_;
  Hdf5Handle group_properties_;
  std::set<std::string> groups_;  // by their paths
};

void write_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset, const fs::path& path) {
  if (::lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0) throw Error::io(errno, "cannot seek in " + path.string());
  write_all(fd, bytes, path);
}

class Hdf5Writer final : public ShardWriter {
 public:
  Hdf5Writer(const fs::path& path, const ShardOptions& options)
      : path_(path), keys_{.schema = {.name = kHdf5Key, .codec = ""}, .values = SpillBuffer(temporary_name(kHdf5Key))} {
    std::error_code ignored;
    if (fs::exists(path, ignored)) throw Error::io(EEXIST, "cannot create " + path.string());
    std::set<std::string> taken{kHdf5Key, kHdf5Present};
    for (const FieldSchema& field : options.fields) {
      if (!can_be_path(field.name) || !taken.insert(field.name).second) {
        throw Error::unsupported("HDF5 cannot hold a field of this name here",
                                 {.shard = path.string(), .field = field.name});
      }
      columns_.push_back({.schema = field, .values = SpillBuffer(temporary_name(std::to_string(columns_.size())))});
    }
    for (const std::string& name : taken) require_no_object_above(name, taken);
  }

  void add(std::string_view key, std::span<const FieldValue> fields) override {
    std::vector<const FieldValue*> values(columns_.size(), nullptr);
    for (const FieldValue& value : fields) values.at(value.field) = &value;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const FieldSchema& schema = columns_[i].schema;
      if (values[i] == nullptr || !schema.fixed || values[i]->bytes.size() == columns_[i].row_bytes()) continue;
      throw Error::shape(std::to_string(values[i]->bytes.size()) + " bytes cannot be " + to_string(schema.shape) +
                             " of " + std::string(name(schema.dtype)),
                         {.shard = path_.string(), .key = std::string(key), .field = schema.name});
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      values[i] != nullptr ? columns_[i].add(*values[i]) : columns_[i].add_absent();
    }
    keys_.add({.field = 0, .bytes = std::as_bytes(std::span(key)), .crc32c = 0, .header = {}});
  }

  std::uint64_t bytes() const override {
    std::uint64_t sum = keys_.values.size() + samples() * sizeof(std::uint64_t);
    for (const Column& column : columns_) {
      sum += column.values.size() + (column.schema.fixed ? 0 : samples() * sizeof(std::uint64_t));
    }
    return sum;
  }

  Index finish() override {
    // Shards are finished on several threads, and libhdf5 may be built without thread safety.
    static std::mutex library;
    for (Column& column : columns_) column.read_integers();
    {
      const std::lock_guard lock(library);
      const Hdf5Silence silence;
      lay_out();
    }
    write_values();
    sync(Descriptor::open(path_, O_RDONLY).get(), path_);
    return index();
  }

 private:
  std::uint64_t samples() const { return keys_.present.size(); }

  // Returns whether the name can be a path of groups, and of the dataset or group that is the field.
  static bool can_be_path(const std::string& name) {
    if (name.empty() || name.find('\0') != std::string::npos) return false;
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      if (end == begin || name.substr(begin, end - begin) == ".") return false;
      begin = end + 1;
    }
    return true;
  }

  void require_no_object_above(const std::string& name, const std::set<std::string>& taken) const {
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      if (taken.contains(name.substr(0, slash)))
        throw Error::unsupported("HDF5 cannot hold a field of this name beside " + double_quoted(name.substr(0, slash)),
                                 {.shard = path_.string(), .field = name});
    }
  }

  fs::path temporary_name(const std::string& column) const {
    fs::path name = path_;
    return name += "." + column + ".spool";
  }

  void lay_out() {
    Hdf5Layout layout(path_);
    lay_out_bytes(layout, keys_, layout.group(kHdf5Key));
    bool all_complete = true;
    for (Column& column : columns_) {
      all_complete = all_complete && column.complete();
      if (column.schema.fixed) {
        lay_out_rows(layout, column);
      } else if (!column.integers.empty()) {
        lay_out_integers(layout, column);
      } else {
        lay_out_bytes(layout, column, layout.group(column.schema.name));
      }
    }
    if (!all_complete) {
      const Hdf5Handle present = layout.group(kHdf5Present);
      for (const Column& column : columns_) {
        if (column.complete()) continue;
        layout.make_groups_of(std::string(kHdf5Present) + "/" + column.schema.name);
        const auto place = layout.dataset(present.get(), column.schema.name, DType::u8, {samples()});
        later(place.offset, std::as_bytes(std::span(column.present)));
      }
    }
    layout.close();
  }

  void lay_out_bytes(const Hdf5Layout& layout, Column& column, const Hdf5Handle& group) {
    if (!column.schema.codec.empty()) layout.attribute(group.get(), kHdf5Codec, column.schema.codec);
    column.offset = layout.dataset(group.get(), kHdf5Bytes, DType::u8, {column.values.size()}).offset;
    const auto place = layout.dataset(group.get(), kHdf5Offsets, DType::u64, {samples() + 1});
    later(place.offset, std::as_bytes(std::span(column.ends)));
  }

  void lay_out_rows(Hdf5Layout& layout, Column& column) {
    layout.make_groups_of(column.schema.name);
    std::vector<hsize_t> dims{samples()};
    for (const std::int64_t extent : column.schema.shape) dims.push_back(static_cast<hsize_t>(extent));
    const auto place = layout.dataset(layout.root(), column.schema.name, column.schema.dtype, dims);
    if (column.schema.dtype == DType::bf16) {
      layout.attribute(place.dataset.get(), kHdf5DType, std::string(name(DType::bf16)));
    }
    column.offset = place.offset;
  }

  void lay_out_integers(Hdf5Layout& layout, const Column& column) {
    layout.make_groups_of(column.schema.name);
    const auto place = layout.dataset(layout.root(), column.schema.name, DType::i64, {samples()});
    layout.attribute(place.dataset.get(), kHdf5Codec, column.schema.codec);
    later(place.offset, std::as_bytes(std::span(column.integers)));
  }

  // Registers data to write after the file's structure is complete. The bytes must be members of this writer.
  void later(std::uint64_t offset, std::span<const std::byte> bytes) { tables_.emplace_back(offset, bytes); }

  void write_values() {
    const Descriptor file = Descriptor::open(path_, O_WRONLY);
    Writeback writeback;
    for (const auto& [offset, bytes] : tables_) write_at(file.get(), bytes, offset, path_);
    keys_.values.copy_to(file.get(), keys_.offset, path_, writeback);
    for (const Column& column : columns_)
      if (column.integers.empty()) column.values.copy_to(file.get(), column.offset, path_, writeback);
    sync(file.get(), path_);
  }

  Index index() const {
    IndexBuilder builder;
    builder.add_file({path_.filename().string(), fs::file_size(path_), hdf5_stamp(path_)});
    for (const Column& column : columns_) builder.field(column.schema);
    const std::string keys = text_of(keys_.values);
    for (std::uint64_t sample = 0; sample < samples(); ++sample) {
      builder.add_sample(
          std::string_view(keys).substr(keys_.ends[sample], keys_.ends[sample + 1] - keys_.ends[sample]));
      for (std::uint32_t field = 0; field < columns_.size(); ++field) {
        const Column& column = columns_[field];
        if (column.present[sample] == 0) continue;
        if (!column.integers.empty()) {
          const Piece piece = inline_piece(column.text(sample));
          builder.set(field, std::span(&piece, 1), column.crcs[sample]);
          continue;
        }
        const std::uint64_t begin = column.ends[sample];
        builder.set(field, Extent{0, column.offset + begin, column.ends[sample + 1] - begin}, column.crcs[sample]);
        const std::uint64_t header = column.header_ends[sample];
        const std::uint64_t header_length = column.header_ends[sample + 1] - header;
        if (header_length != 0) builder.set_header(field, std::span(column.headers).subspan(header, header_length));
        const std::uint64_t ranges = column.range_ends[sample + 1] - column.range_ends[sample];
        if (ranges != 0)
          builder.set_range_sums(field, std::span(column.range_sums).subspan(column.range_ends[sample], ranges));
      }
    }
    return std::move(builder).finish();
  }

  fs::path path_;
  Column keys_;
  std::vector<Column> columns_;
  std::vector<std::pair<std::uint64_t, std::span<const std::byte>>> tables_;
};

}  // namespace

std::unique_ptr<ShardWriter> write_hdf5(const fs::path& path, const ShardOptions& options) {
  return std::make_unique<Hdf5Writer>(path, options);
}

std::uint64_t hdf5_room(std::string_view key, std::string_view /*field*/, std::uint64_t length) {
  return length + key.size() + 2 * sizeof(std::uint64_t);
}

}  // namespace penstock
