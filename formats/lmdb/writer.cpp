#include <algorithm>
#include <cerrno>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <lmdb.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/writeback.hpp>
#include <formats/lmdb/pages.hpp>
#include <formats/lmdb/writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFirstMap = std::size_t{4} << 20;
// Pages for copies and splits along the path to a leaf, and their share of the free list.
constexpr std::size_t kPagesPerPut = 17;
constexpr std::size_t kPagesPerCommit = 64;                           // for the tree of the free list
constexpr std::uint64_t kTransactionBytes = std::uint64_t{16} << 20;  // held in memory until committed
constexpr std::size_t kOverflowHeader = 16;

struct CloseEnvironment {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};
struct AbortTransaction {
  void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
};

class LmdbWriter final : public ShardWriter {
 public:
  LmdbWriter(const fs::path& path, const ShardOptions& options) : path_(path), fields_(options.fields) {
    std::error_code failure;
    fs::create_directory(path, failure);
    if (failure) throw Error::io(failure.value(), "cannot create " + path.string());
    MDB_env* environment = nullptr;
    check(mdb_env_create(&environment), "mdb_env_create");
    environment_.reset(environment);
    check(mdb_env_set_mapsize(environment, map_bytes_), "mdb_env_set_mapsize");
    // There is one writer and no reader, and finish() syncs. Therefore no lock file and no sync per transaction are
    // needed.
    check(mdb_env_open(environment, path.c_str(), MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD, 0666), "cannot open");
    MDB_stat status{};
    check(mdb_env_stat(environment, &status), "mdb_env_stat");
    page_bytes_ = status.ms_psize;
  }

  void add(std::string_view key, std::span<const FieldValue> fields) override {
    std::vector<FieldValue> ordered(fields.begin(), fields.end());
    std::sort(ordered.begin(), ordered.end(), [this](const FieldValue& a, const FieldValue& b) {
      return fields_.at(a.field).name < fields_.at(b.field).name;
    });
    samples_.push_back({std::string(key), {}});
    for (const FieldValue& value : ordered) {
      put(name_of(key, value.field), value.bytes);
      samples_.back().values.push_back({.field = value.field,
                                        .crc32c = value.crc32c,
                                        .header = {value.header.begin(), value.header.end()},
                                        .range_sums = {value.range_sums.begin(), value.range_sums.end()}});
    }
  }

  std::uint64_t bytes() const override { return bytes_; }

  Index finish() override {
    commit();
    check(mdb_env_sync(environment_.get(), 1), "cannot sync");
    environment_.reset();
    const fs::path file = path_ / "data.mdb";
    sync(Descriptor::open(file, O_RDONLY).get(), file);
    sync(Descriptor::open(path_, O_RDONLY | O_DIRECTORY).get(), path_);
    return index(file);
  }

 private:
  struct Value {
    std::uint32_t field;
    std::uint32_t crc32c;
    std::vector<std::byte> header;
    std::vector<std::uint32_t> range_sums;
  };
  struct Sample {
    std::string key;
    std::vector<Value> values;
  };

  void check(int code, const std::string& what) const {
    if (code == MDB_SUCCESS) return;
    if (code > 0) throw Error::io(code, what, {.shard = path_.string()});
    throw Error(ErrorKind::io, what + ": " + mdb_strerror(code), {.shard = path_.string()});
  }

  std::string name_of(std::string_view key, std::uint32_t field) const {
    return std::string(key) + "." + fields_.at(field).name;
  }

  void put(const std::string& name, std::span<const std::byte> value) {
    const auto longest = static_cast<std::size_t>(mdb_env_get_maxkeysize(environment_.get()));
    if (name.size() > longest) {
      throw Error::unsupported("LMDB names have at most " + std::to_string(longest) + " bytes: " + name,
                               {.shard = path_.string()});
    }
    if (value.size() > 0xFFFFFFFF - page_bytes_) {
      throw Error::unsupported("LMDB values have less than 4 GiB: " + name, {.shard = path_.string()});
    }
    const std::size_t value_pages = value.size() / page_bytes_ + 1;
    make_room((value_pages + kPagesPerPut) * page_bytes_);
    MDB_val stored_name{name.size(), const_cast<char*>(name.data())};
    MDB_val stored_value{value.size(), const_cast<std::byte*>(value.data())};
    // Sorted keys usually go to the end. MDB_APPEND fills the pages there, while a split leaves them half empty.
    const bool last = largest_.empty() || name > largest_;
    const unsigned flags = MDB_NOOVERWRITE | (last ? unsigned{MDB_APPEND} : 0U);
    const int code = mdb_put(transaction_.get(), database_, &stored_name, &stored_value, flags);
    if (code == MDB_KEYEXIST) throw Error::invalid_argument("written twice: " + name, {.shard = path_.string()});
    check(code, "cannot write " + name);
    if (last) largest_ = name;
    const bool overflows = value.size() + name.size() > page_bytes_ / 2;
    bytes_ += overflows ? (value.size() + kOverflowHeader + page_bytes_ - 1) / page_bytes_ * page_bytes_ : value.size();
    bytes_ += name.size() + kOverflowHeader;
    transaction_bytes_ += value.size();
  }

  // Every reader reserves address space of the map's size, so the map grows with the file. It can grow only between
  // transactions. The limit per put ensures that no put meets MDB_MAP_FULL.
  void make_room(std::size_t wanted) {
    if (transaction_ && room_ >= wanted && transaction_bytes_ < kTransactionBytes) {
      room_ -= wanted;
      return;
    }
    commit();
    MDB_envinfo info{};
    check(mdb_env_info(environment_.get(), &info), "mdb_env_info");
    const std::size_t used = (info.me_last_pgno + 1 + kPagesPerCommit) * page_bytes_;
    while (map_bytes_ < used + wanted || map_bytes_ - used < map_bytes_ / 2) map_bytes_ *= 2;
    if (map_bytes_ != info.me_mapsize)
      check(mdb_env_set_mapsize(environment_.get(), map_bytes_), "cannot grow the map");
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(environment_.get(), nullptr, 0, &transaction), "mdb_txn_begin");
    transaction_.reset(transaction);
    check(mdb_dbi_open(transaction, nullptr, 0, &database_), "mdb_dbi_open");
    transaction_bytes_ = 0;
    room_ = map_bytes_ - used - wanted;
  }

  void commit() {
    if (!transaction_) return;
    const int code = mdb_txn_commit(transaction_.release());
    // LMDB reports a short write as EIO, without the errno that a second attempt would have returned.
    check(code, code == EIO ? "cannot write all of it; is the disk full?" : "cannot write");
    mdb_filehandle_t file = -1;
    MDB_envinfo info{};
    check(mdb_env_get_fd(environment_.get(), &file), "mdb_env_get_fd");
    check(mdb_env_info(environment_.get(), &info), "mdb_env_info");
    writeback_.advance(file, (info.me_last_pgno + 1) * page_bytes_);
  }

  Index index(const fs::path& file) const {
    const LmdbPages pages(file);
    std::unordered_map<std::string, Extent> places;
    places.reserve(pages.meta().main.entries);
    pages.walk(pages.meta().main, [&places](const LmdbEntry& entry) {
      places.emplace(entry.name, Extent{0, entry.offset, entry.length});
    });
    IndexBuilder builder;
    builder.add_file({(path_.filename() / "data.mdb").string(), pages.file_size(), pages.stamp()});
    for (const FieldSchema& field : fields_) builder.field(field);
    for (const Sample& sample : samples_) {
      builder.add_sample(sample.key);
      for (const Value& value : sample.values) {
        const auto place = places.find(name_of(sample.key, value.field));
        if (place == places.end()) throw Error::corrupt("a value is missing after writing", {.shard = path_.string()});
        builder.set(value.field, place->second, value.crc32c);
        if (!value.header.empty()) builder.set_header(value.field, value.header);
        if (!value.range_sums.empty()) builder.set_range_sums(value.field, value.range_sums);
      }
    }
    return std::move(builder).finish();
  }

  fs::path path_;
  std::vector<FieldSchema> fields_;
  std::size_t map_bytes_ = kFirstMap;
  std::size_t page_bytes_ = 0;
  std::unique_ptr<MDB_env, CloseEnvironment> environment_;
  std::unique_ptr<MDB_txn, AbortTransaction> transaction_;  // destroyed before its environment
  MDB_dbi database_ = 0;
  std::size_t room_ = 0;  // remaining bytes of the map for the transaction
  std::uint64_t transaction_bytes_ = 0;
  Writeback writeback_;
  std::uint64_t bytes_ = 0;
  std::string largest_;
  std::vector<Sample> samples_;
};

}  // namespace

std::unique_ptr<ShardWriter> write_lmdb(const fs::path& path, const ShardOptions& options) {
  return std::make_unique<LmdbWriter>(path, options);
}

std::uint64_t lmdb_room(std::string_view key, std::string_view field, std::uint64_t length) {
  constexpr std::uint64_t kPage = 4096;  // the usual size: a plan must not depend on the machine
  const std::uint64_t name = key.size() + 1 + field.size() + kOverflowHeader;
  const bool overflows = length + name > kPage / 2;
  return name + (overflows ? (length + kOverflowHeader + kPage - 1) / kPage * kPage : length);
}

}  // namespace penstock
