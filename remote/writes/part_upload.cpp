#include <algorithm>
#include <chrono>
#include <utility>

#include <base/caught.hpp>
#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>
#include <remote/writes/part_upload.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFirstPart = 8 << 20;
constexpr unsigned kPartsOfOneSize = 1000;
constexpr unsigned kMostParts = 10'000;

}  // namespace

std::size_t part_bytes(unsigned number) {
  return kFirstPart << std::min((number - 1) / kPartsOfOneSize, 9U);
}

PartUpload::PartUpload(std::unique_ptr<PartStore> store) : store_(std::move(store)) {}

PartUpload::~PartUpload() {
  abandon();
}

void PartUpload::write(std::span<const std::byte> bytes) {
  if (over_) throw Error::invalid_argument("the object is already finished or aborted");
  while (!bytes.empty()) {
    // Sends a full buffer only when more bytes follow, so that finish() can detect a single part.
    if (buffer_.size() == part_bytes(parts_ + 1)) send();
    const std::size_t most = part_bytes(parts_ + 1);
    const std::size_t taken = std::min(bytes.size(), most - buffer_.size());
    if (buffer_.capacity() < buffer_.size() + taken)
      buffer_.reserve(std::min(most, std::max(buffer_.size() + taken, 2 * buffer_.capacity())));
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    size_ += taken;
    bytes = bytes.subspan(taken);
  }
}

ObjectInfo PartUpload::finish() {
  if (over_) throw Error::invalid_argument("the object is already finished or aborted");
  ObjectInfo info;
  if (!begun_) {
    over_ = true;
    return store_->put_whole(buffer_);
  }
  const std::exception_ptr failure = caught([&] {
    if (!buffer_.empty()) send();
    queue_.close();
    await([this] { return under_way_ == 0; });
    throw_failure();
    end_threads();
    info = store_->complete(names_, size_);
    over_ = true;
  });
  if (failure) {
    abandon();
    std::rethrow_exception(failure);
  }
  return info;
}

void PartUpload::send() {
  const std::exception_ptr failure = caught([&] {
    if (!begun_) {
      store_->begin();
      begun_ = true;
      start_threads(threads_, "upload", kPartsUnderWay,
                    [this](unsigned, const std::stop_token& stop) { send_parts(stop); });
    }
    if (parts_ == kMostParts) throw Error::unsupported("the object is too large to be written in parts");
    await([this] { return under_way_ < kPartsUnderWay; });
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) {
        names_.resize(parts_ + 1);
        ++under_way_;
      }
    }
    throw_failure();
    std::vector<std::byte> next;
    next.reserve(std::min(buffer_.size(), part_bytes(parts_ + 2)));
    queue_.push({parts_ + 1, std::move(buffer_)});
    buffer_ = std::move(next);
    ++parts_;
  });
  if (failure) {
    abandon();
    std::rethrow_exception(failure);
  }
}

// Waits for `condition` or a failure.
template <typename Condition>
void PartUpload::await(const Condition& condition) {
  std::unique_lock lock(mutex_);
  wait_interruptibly(answered_, lock, [&] { return condition() || failure_; });
}

void PartUpload::send_parts(const std::stop_token& stop) {
  const Interruptible waits([&stop] { return stop.stop_requested(); });
  while (std::optional<Part> part = queue_.pop(stop)) {
    const unsigned number = part->number;
    std::string name;
    std::exception_ptr failure = caught([&] { name = store_->put_part(number, part->bytes); });
    part.reset();
    bool failed = false;
    {
      const std::lock_guard lock(mutex_);
      if (failure && !failure_) failure_ = std::move(failure);
      failed = failure_ != nullptr;
      if (!failed) names_[number - 1] = std::move(name);
      --under_way_;
    }
    answered_.notify_one();
    if (failed) return;  // the remaining parts are not needed
  }
}

void PartUpload::end_threads() {
  queue_.close();
  for (Thread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void PartUpload::abandon() noexcept {
  if (std::exchange(over_, true)) return;
  end_threads();
  if (!begun_) return;
  constexpr std::chrono::seconds kPatience{30};
  const Interruptible tidying(when_patience_ends(kPatience));
  store_->abandon();
}

void PartUpload::throw_failure() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace penstock
