#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/memory.hpp>
#include <formats/io/hash.hpp>
#include <loader/node_memory/node_memory.hpp>
#include <loader/node_memory/shared_pages.hpp>
#include <penstock/error.hpp>

namespace penstock {

/// The first page of the memory. A change of the layout requires a new version, which is part of the sockets' names.
struct NodeMemory::Header {
  std::uint64_t magic;
  MemoryKey key;
  std::uint64_t bytes, values_at;
  std::atomic<std::uint64_t> last_turn;  // counts the numbers given to members
  alignas(64) std::atomic<std::uint64_t> used;
  std::atomic<std::uint64_t> count, provided;  // provided: bytes of the whole memory; only grows
  // By place: the member's number; 0: none.
  alignas(64) std::array<std::atomic<std::uint64_t>, Meeting::kPlaces> members;
};

namespace {

constexpr std::uint64_t kMemoryMagic = 0x79726F6D656D6E70;  // "pnmemory"
constexpr std::uint64_t kMemoryVersion = 1;
constexpr std::uint64_t kMemoryPage = 4096;
constexpr std::uint64_t kProvidedAtOnce = std::uint64_t{4} << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes cannot share a lock");

std::string reason(int number) {
  return std::generic_category().message(number);
}

// Opens the file again. A received descriptor shares the sender's open file description and thus its locks; a
// description opened here has separate locks.
UnforkedDescriptor opened_here(const UnforkedDescriptor& file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  UnforkedDescriptor own([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); });
  if (!own) throw Error::resource("cannot open shared memory at " + path + ": " + reason(errno));
  return own;
}

// Returns 0 or an errno.
int provide_file(int file, std::uint64_t begin, std::uint64_t end) {
  if (const auto hook = before_memory_is_provided.load(std::memory_order_relaxed))
    if (const int refusal = hook(begin, end); refusal != 0) return refusal;
  return provide_bytes(file, begin, end);
}

struct flock byte_lock(unsigned place) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

}  // namespace

NodeMemory::NodeMemory(const MemoryKey& key, std::uint64_t bytes, std::uint64_t table_words,
                       std::chrono::milliseconds patience)
    : bytes_(bytes / kMemoryPage * kMemoryPage),
      values_at_(rounded_up(sizeof(Header) + table_words * sizeof(std::uint64_t), kMemoryPage)),
      process_(::getpid()) {
  if (bytes_ <= values_at_ + kOverread)
    throw Error::resource(std::to_string(bytes) + " bytes are too few for a shared table");
  join(Meeting(meeting_name(key), patience), key);
}

std::string NodeMemory::meeting_name(const MemoryKey& key) {
  return "penstock-cache" + std::to_string(kMemoryVersion) + "-" + std::to_string(::geteuid()) + "-" +
         hexadecimal(key.first) + hexadecimal(key.second);
}

void NodeMemory::join(const Meeting& meeting, const MemoryKey& key) {
  const UnforkedDescriptor turn = meeting.turn();  // so that two processes that start together do not make two memories
  if (const UnforkedDescriptor handed = meeting.ask()) {
    file_ = opened_here(handed);
    map_handed(key);
  } else {
    make(key);
  }
  take_place(meeting);
}

NodeMemory::~NodeMemory() {
  door_ = {};
  if (number_ == 0 || process_ != ::getpid()) return;
  std::uint64_t mine = number_;
  header().members[number_ % Meeting::kPlaces].compare_exchange_strong(mine, 0, std::memory_order_relaxed);
}

// Checks RLIMIT_FSIZE first, because exceeding it ends the process with SIGXFSZ.
void NodeMemory::make(const MemoryKey& key) {
  rlimit longest{};
  if (::getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur != RLIM_INFINITY && longest.rlim_cur < bytes_)
    throw Error::resource("this process may not write files of " + std::to_string(bytes_) + " bytes (ulimit -f)");
  const UnforkedDescriptor made = file_in_memory("penstock-cache");
  if (!made) throw Error::resource("cannot make shared memory: " + reason(errno));
  if (::ftruncate(made.get(), static_cast<off_t>(bytes_)) != 0 ||
      ::fcntl(made.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0)
    throw Error::resource("cannot make " + std::to_string(bytes_) + " bytes of shared memory: " + reason(errno));
  file_ = opened_here(made);
  if (const int refusal = provide_file(file_.get(), 0, values_at_); refusal != 0)
    throw Error::resource("the system refuses shared memory: " + reason(refusal));
  mapping_ = UnforkedMapping(file_.get(), bytes_);
  Header& made_header = header();
  made_header.magic = kMemoryMagic;
  made_header.key = key;
  made_header.bytes = bytes_;
  made_header.values_at = values_at_;
  made_header.provided = values_at_;
}

// Validates the received memory: its seals forbid truncation, and its size and header match the key.
void NodeMemory::map_handed(const MemoryKey& key) {
  struct stat status {};
  const int seals = ::fcntl(file_.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(file_.get(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) != bytes_)
    throw Error::resource("the received memory is not the memory of the cache");
  mapping_ = UnforkedMapping(file_.get(), bytes_);
  const Header& found = header();
  const std::uint64_t provided = found.provided.load(std::memory_order_relaxed);
  if (found.magic != kMemoryMagic || found.key != key || found.bytes != bytes_ || found.values_at != values_at_ ||
      provided < values_at_ || provided > bytes_)
    throw Error::resource("the received memory is damaged");
}

// Takes a free place and locks its byte. The lock shows that the member lives, because the system releases it when
// the process ends, even if it is killed.
void NodeMemory::take_place(const Meeting& meeting) {
  members();  // removes dead members, so that others may claim their entries
  for (unsigned place = 0; place < Meeting::kPlaces; ++place) {
    struct flock lock = byte_lock(place);
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
      if (errno != EAGAIN && errno != EACCES) throw Error::resource("cannot lock shared memory: " + reason(errno));
      continue;
    }
    UnforkedDescriptor socket = meeting.place(place);
    if (!socket) {  // another process has the socket's name
      lock.l_type = F_UNLCK;
      ::fcntl(file_.get(), F_OFD_SETLK, &lock);
      continue;
    }
    door_ = Doorkeeper(std::move(socket), file_.get());
    number_ = (header().last_turn.fetch_add(1, std::memory_order_relaxed) + 1) * Meeting::kPlaces + place;
    header().members[place].store(number_, std::memory_order_relaxed);
    return;
  }
  throw Error::resource("all of its " + std::to_string(Meeting::kPlaces) + " places are in use");
}

NodeMemory::Header& NodeMemory::header() const {
  return *reinterpret_cast<Header*>(mapping_.data());
}

std::atomic<std::uint64_t>& NodeMemory::used() const {
  return header().used;
}

std::atomic<std::uint64_t>& NodeMemory::count() const {
  return header().count;
}

std::uint64_t* NodeMemory::table() const {
  return reinterpret_cast<std::uint64_t*>(mapping_.data() + sizeof(Header));
}

std::byte* NodeMemory::values() const {
  return mapping_.data() + values_at_;
}

std::uint64_t NodeMemory::provided() const {
  const std::uint64_t all = header().provided.load(std::memory_order_relaxed);
  return all <= values_at_ ? 0 : std::min(all, bytes_) - values_at_;
}

bool NodeMemory::provide(std::uint64_t end) {
  if (end <= provided()) return true;
  if (refused()) return false;
  const std::lock_guard lock(providing_);
  const std::uint64_t begin = provided();
  if (end <= begin) return true;
  const std::uint64_t upto = std::min(rounded_up(end, kProvidedAtOnce), capacity());
  if (const int refusal = provide_file(file_.get(), values_at_ + begin, values_at_ + upto); refusal != 0) {
    refused_.store(refusal, std::memory_order_relaxed);
    return false;
  }
  std::uint64_t known = values_at_ + begin;
  while (known < values_at_ + upto &&
         !header().provided.compare_exchange_weak(known, values_at_ + upto, std::memory_order_relaxed)) {
  }
  return true;
}

bool NodeMemory::is_member(std::uint64_t number) const {
  return header().members[number % Meeting::kPlaces].load(std::memory_order_relaxed) == number;
}

bool NodeMemory::lives(unsigned place) const {
  struct flock lock = byte_lock(place);
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

unsigned NodeMemory::members() const {
  if (process_ != ::getpid()) return 0;
  unsigned living = 0;
  for (unsigned place = 0; place < Meeting::kPlaces; ++place) {
    std::uint64_t number = header().members[place].load(std::memory_order_relaxed);
    if (number == 0) continue;
    if (number == number_ || lives(place)) {
      ++living;
    } else {  // unless another member has taken the place
      header().members[place].compare_exchange_strong(number, 0, std::memory_order_relaxed);
    }
  }
  return living;
}

std::string NodeMemory::note() const {
  const int refusal = refused_.load(std::memory_order_relaxed);
  if (refusal == 0) return {};
  return "the system refuses memory for the sample cache (" + reason(refusal) +
         "), so this process adds no more values to the cache";
}

}  // namespace penstock
