#include <algorithm>

#include <fcntl.h>

#include <penstock/formats/error.hpp>
#include <penstock/formats/spool.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMemory = std::size_t{256} << 10;
constexpr std::size_t kRun = std::size_t{1} << 20;

}  // namespace

void Spool::append(std::span<const std::byte> bytes) {
  if (memory_.size() + bytes.size() > kMemory) spill();
  if (bytes.size() > kMemory) {
    write_all(file_.get(), bytes, name_);
    spilled_ += bytes.size();
  } else {
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
  }
}

void Spool::spill() {
  if (file_.get() < 0) {
    file_ = Descriptor::open(name_, O_RDWR | O_CREAT | O_EXCL, 0600);
    std::filesystem::remove(name_);
  }
  write_all(file_.get(), memory_, name_);
  spilled_ += memory_.size();
  memory_.clear();
}

void Spool::drain(const std::function<void(std::span<const std::byte>)>& take) const {
  std::vector<std::byte> run(std::min<std::uint64_t>(kRun, spilled_));
  for (std::uint64_t done = 0; done < spilled_;) {
    const std::span<std::byte> wanted = std::span(run).first(std::min<std::uint64_t>(kRun, spilled_ - done));
    if (read_at(file_.get(), wanted, done, name_) != wanted.size()) {
      throw Error::corrupt("temporary file became shorter", {.shard = name_.string()});
    }
    take(wanted);
    done += wanted.size();
  }
  take(memory_);
}

}  // namespace penstock
