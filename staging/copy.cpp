#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/io/crc32c.hpp>
#include <penstock/error.hpp>
#include <staging/copy.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;

// Returns the CRC-32C of the first `length` bytes, or of all bytes if the file is shorter.
std::uint32_t crc32c_of(int fd, std::uint64_t length, const fs::path& path, const std::stop_token& stop) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(length, kReadAtOnce));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < length;) {
    if (stop.stop_requested()) throw Error::resource("interrupted");
    const auto wanted = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), length - done));
    const std::size_t got = read_at(fd, wanted, done, path);
    if (got == 0) break;
    crc = crc32c(wanted.first(got), crc);
    done += got;
  }
  return crc;
}

// Returns the offset of the first difference between the files, or nothing if they are equal.
std::optional<std::uint64_t> first_difference(int a, const fs::path& path_of_a, const fs::path& b) {
  const Descriptor other = Descriptor::open(b, O_RDONLY);
  std::vector<std::byte> ours(kReadAtOnce), theirs(kReadAtOnce);
  for (std::uint64_t at = 0;;) {
    const std::size_t got = read_at(a, ours, at, path_of_a), also = read_at(other.get(), theirs, at, b);
    const auto common = static_cast<std::ptrdiff_t>(std::min(got, also));
    const auto end = std::mismatch(ours.begin(), ours.begin() + common, theirs.begin()).first;
    if (end != ours.begin() + common || got != also) return at + static_cast<std::uint64_t>(end - ours.begin());
    if (got == 0) return std::nullopt;
    at += got;
  }
}

// Returns an error for the first value of a shard that does not match its index, or nothing if all match.
std::optional<Error> first_bad_value(const Dataset& dataset, std::size_t shard) {
  std::vector<Piece> pieces;
  for (std::uint64_t sample = dataset.first_sample(shard); sample < dataset.first_sample(shard + 1); ++sample) {
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      const auto recorded = dataset.crc32c(sample, field);
      if (!recorded || !dataset.locate(sample, field, pieces)) continue;
      ErrorContext where{.dataset = dataset.path().string(),
                         .shard = dataset.shard(shard).name,
                         .key = std::string(dataset.key(sample)),
                         .field = dataset.fields()[field].name};
      if (!pieces.empty() && pieces.front().kind == Piece::Kind::extent) where.offset = pieces.front().extent.offset;
      try {
        if (crc32c(read_field(dataset, sample, field)) == *recorded) continue;
      } catch (const Error& error) {
        return error.in(where);
      }
      return Error::corrupt("the source's bytes do not match their recorded CRC-32C", where);
    }
  }
  return std::nullopt;
}

/// The copy of one file under its temporary name.
class PartialCopy {
 public:
  PartialCopy(StageWork& work, std::uint32_t number, const std::stop_token& stop)
      : work_(&work), file_(&work.list.files[number]), number_(number), path_(work.path_of(*file_)) {
    temporary_ = growing_name(path_);
    guarded([&] { open(stop); });
  }

  void list_rest(std::vector<Extent>& extents) const {
    for (std::uint64_t at = written_; at < file_->size; at += ReadStream::kMostAtOnce)
      extents.push_back({number_, at, std::min(ReadStream::kMostAtOnce, file_->size - at)});
  }

  bool complete() const { return written_ >= file_->size; }

  void take(ReadStream& stream, const std::stop_token& stop) {
    const std::span<const std::byte> bytes = read(stream, stop);
    guarded([&] { write_all(copy_.get(), bytes, temporary_); });
    crc_ = crc32c(bytes, crc_);
    written_ += bytes.size();
    work_->bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    work_->copied.fetch_add(bytes.size(), std::memory_order_relaxed);
    if (written_ - checkpoint_ >= work_->options.checkpoint_bytes && !complete()) mark_checkpoint();
  }

  // Starts the writes that sync() will wait for.
  void begin_sync() const { ::sync_file_range(copy_.get(), 0, 0, SYNC_FILE_RANGE_WRITE); }

  void sync() {
    guarded([&] { penstock::sync(copy_.get(), temporary_); });
  }

  /// Call it after sync().
  void check(const std::stop_token& stop) const {
    require_same_source();
    const StageVerify verify = work_->options.verify;
    const bool known = file_->crc32c.has_value();
    if (verify == StageVerify::never) return;
    if (known && *file_->crc32c != crc_) throw of_bad_source();
    if (known && verify != StageVerify::always) return;
    // Drops the cached pages, so that the check reads the disk instead of memory.
    ::posix_fadvise(copy_.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (crc32c_of(copy_.get(), file_->size, temporary_, stop) != crc_) {
      throw Error::corrupt("the copy differs from the written bytes when it is read again", at_destination());
    }
  }

  // The bytes are durable before the file gets its final name. A crash therefore never leaves an incomplete file under
  // that name.
  void commit() {
    guarded([&] {
      if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        throw Error::io(errno, "cannot rename to " + path_.string());
      work_->journal->add(*file_, {.bytes = file_->size, .crc32c = crc_, .whole = true});
    });
    work_->files.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  ErrorContext at_destination() const {
    return {.dataset = work_->folder.string(), .shard = file_->name, .offset = written_};
  }

  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      // A write may have been partial: the file's position is where it ended.
      ErrorContext where = at_destination();
      if (const off_t at = copy_.get() < 0 ? -1 : ::lseek(copy_.get(), 0, SEEK_CUR); at > 0)
        where.offset = static_cast<std::uint64_t>(at);
      throw error.in(where);
    }
  }

  // Continues after the last checkpoint whose bytes are still correct.
  void open(const std::stop_token& stop) {
    copy_ = Descriptor::open(temporary_, O_RDWR | O_CREAT | O_NOFOLLOW);
    const off_t there = ::lseek(copy_.get(), 0, SEEK_END);
    const auto marks = work_->journal->checkpoints(*file_);
    for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
      if (mark->bytes > static_cast<std::uint64_t>(there) || mark->bytes > file_->size) continue;
      if (crc32c_of(copy_.get(), mark->bytes, temporary_, stop) != mark->crc32c) continue;
      written_ = checkpoint_ = mark->bytes;
      crc_ = mark->crc32c;
      work_->bytes.fetch_add(written_, std::memory_order_relaxed);
      break;
    }
    if (::ftruncate(copy_.get(), static_cast<off_t>(written_)) != 0 ||
        ::lseek(copy_.get(), static_cast<off_t>(written_), SEEK_SET) < 0)
      throw Error::io(errno, "cannot write " + temporary_.string());
  }

  std::span<const std::byte> read(ReadStream& stream, const std::stop_token& stop) const {
    try {
      return stream.next(stop);
    } catch (const Error& error) {
      // The file ended early: check whether the source has changed.
      if (error.kind() == ErrorKind::corrupt) require_same_source();
      if (error.kind() == ErrorKind::resource) throw;
      throw error.in({.dataset = work_->dataset.path().string(), .shard = file_->name, .offset = written_});
    }
  }

  void mark_checkpoint() {
    guarded([&] {
      penstock::sync(copy_.get(), temporary_);
      work_->journal->add(*file_, {.bytes = written_, .crc32c = crc_, .whole = false});
    });
    checkpoint_ = written_;
  }

  void require_same_source() const {
    if (file_->object != nullptr) return;  // every range was requested for that version of the object
    std::uint64_t size = 0;
    std::int64_t modified = 0;
    stat_file(file_->source, size, modified);
    if (size == file_->size && modified == file_->modified) return;
    ErrorContext where{.dataset = work_->dataset.path().string(), .shard = file_->name};
    where.offset = std::min(size, file_->size);
    if (size != file_->size) {
      throw Error::corrupt("the source changed while it was copied: it had " + std::to_string(file_->size) +
                               " bytes, and now has " + std::to_string(size),
                           where);
    }
    // The modification time differs. Only different bytes are an error.
    where.offset = first_difference(copy_.get(), temporary_, file_->source);
    if (where.offset) throw Error::corrupt("the source changed while it was copied", where);
  }

  Error of_bad_source() const {
    if (auto bad = first_bad_value(work_->dataset, *file_->shard)) return *bad;
    return Error::corrupt(
        "its bytes are not the packed ones (checksum of the shard), although all its values are valid",
        {.dataset = work_->dataset.path().string(), .shard = file_->name});
  }

  StageWork* work_;
  const StageFile* file_;
  std::uint32_t number_;
  fs::path path_, temporary_;
  Descriptor copy_;
  std::uint64_t written_ = 0, checkpoint_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace

fs::path growing_name(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".staging");
}

bool is_staged(const StageWork& work, const StageFile& file, const std::stop_token& stop) {
  const fs::path path = work.path_of(file);
  std::error_code failure;
  if (!fs::is_regular_file(fs::symlink_status(path, failure)) || fs::file_size(path, failure) != file.size)
    return false;
  const auto mark = work.journal->whole(file);
  if (!mark && !file.crc32c) return false;
  if (work.trusting || work.options.verify == StageVerify::never) return mark.has_value();
  const std::uint32_t wanted = file.crc32c ? *file.crc32c : mark->crc32c;
  return crc32c_of(Descriptor::open(path, O_RDONLY).get(), file.size, path, stop) == wanted;
}

void copy_files(StageWork& work, std::span<const std::uint32_t> files, ReadEngine& engine, ReadStream& stream,
                const std::stop_token& stop) {
  std::vector<PartialCopy> copies;
  copies.reserve(files.size());
  std::vector<Extent> extents;
  for (const std::uint32_t file : files) {
    copies.emplace_back(work, file, stop);
    copies.back().list_rest(extents);
  }
  stream.begin(engine, std::move(extents));
  for (PartialCopy& copy : copies) {
    while (!copy.complete()) copy.take(stream, stop);
    copy.begin_sync();
  }
  for (PartialCopy& copy : copies) copy.sync();
  for (PartialCopy& copy : copies) copy.check(stop);
  for (PartialCopy& copy : copies) copy.commit();
}

}  // namespace penstock
