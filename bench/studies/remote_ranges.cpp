// Usage: remote_ranges ADDRESS [--size BYTES] [--count N] [--flight N] [--json]
// Reads N ranges of an object, with --flight of them in flight, at places drawn from a fixed seed. If the ranges make
// up the whole object, they are read in sequence. Prints their rate, and this process's CPU time for 1,000 of them.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>

namespace {

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Asked {
  std::string address;
  std::uint64_t size = 64U << 10, count = 1000, flight = 32;
  bool json = false;
};

// Keeps `flight` ranges in flight, each with its own memory.
class Ranges {
 public:
  Ranges(const Asked& asked, const penstock::StoredObject& object)
      : asked_(asked),
        object_(std::make_shared<penstock::StoredObject>(object)),
        memory_(asked.flight, std::vector<std::byte>(asked.size)),
        reader_(penstock::object_store().reader([this](std::uint64_t tag, std::exception_ptr failure) {
          {
            const std::scoped_lock lock(mutex_);
            idle_.push_back(tag);
            if (failure != nullptr) failure_ = std::move(failure);
            if (failure_ == nullptr && idle_.size() < wake_at_) return;
          }
          changed_.notify_one();
        })) {
    for (std::uint64_t slot = 0; slot < asked.flight; ++slot) idle_.push_back(slot);
  }
  ~Ranges() { reader_->stop(); }
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  void run(std::uint64_t count) {
    const std::uint64_t places = object_->info.size / asked_.size;
    std::uniform_int_distribution<std::uint64_t> draw(0, places - 1);
    std::vector<std::uint64_t> slots;
    for (std::uint64_t sent = 0;;) {
      {
        std::unique_lock lock(mutex_);
        // Waits for several idle slots at once, so that this thread does not wake for each.
        wake_at_ = sent < count ? std::max<std::uint64_t>(asked_.flight / 4, 1) : asked_.flight;
        changed_.wait(lock, [&] { return failure_ != nullptr || idle_.size() >= wake_at_; });
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        if (sent == count) return;
        slots.swap(idle_);
      }
      std::vector<penstock::RangeRead> reads;
      for (; !slots.empty() && sent < count; ++sent, slots.pop_back()) {
        const std::uint64_t place = count == places ? sent : draw(random_);
        reads.push_back({object_, {{place * asked_.size, memory_[slots.back()]}}, slots.back()});
      }
      if (!slots.empty()) {
        const std::scoped_lock lock(mutex_);
        idle_.insert(idle_.end(), slots.begin(), slots.end());
        slots.clear();
      }
      reader_->submit(std::move(reads));
    }
  }

 private:
  const Asked& asked_;
  std::shared_ptr<const penstock::StoredObject> object_;
  std::mt19937_64 random_{3};
  std::vector<std::vector<std::byte>> memory_;
  std::mutex mutex_;  // guards wake_at_, idle_ and failure_
  std::condition_variable changed_;
  std::uint64_t wake_at_ = 1;  // number of idle slots that ends a wait
  std::vector<std::uint64_t> idle_;
  std::exception_ptr failure_;
  std::unique_ptr<penstock::RangeReader> reader_;
};

Asked asked_of(int count, char** words) {
  Asked asked;
  for (int at = 1; at < count; ++at) {
    const std::string word = words[at];
    const auto number = [&] { return std::stoull(words[++at]); };
    if (word == "--json") {
      asked.json = true;
    } else if (word.starts_with("--") && at + 1 < count) {
      (word == "--size" ? asked.size : word == "--count" ? asked.count : asked.flight) = number();
    } else {
      asked.address = word;
    }
  }
  return asked;
}

void measure(const Asked& asked) {
  const auto info = penstock::object_store().find(asked.address);
  if (!info || info->size < asked.size)
    throw penstock::Error::invalid_argument("the object does not exist or is smaller than --size");
  Ranges ranges(asked, {asked.address, *info});
  ranges.run(2 * asked.flight);  // warm-up that opens the connections
  const double worked = processor_seconds();
  const auto began = std::chrono::steady_clock::now();
  ranges.run(asked.count);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double used = processor_seconds() - worked;
  const auto count = static_cast<double>(asked.count);
  if (asked.json) {
    std::printf("{\"seconds\": %.6f, \"worked\": %.6f, \"bytes\": %.0f}\n", seconds, used,
                count * static_cast<double>(asked.size));
  } else {
    std::printf("%.0f ranges/s, %.0f MB/s, %.1f ms of processor time for 1,000 ranges\n", count / seconds,
                count * static_cast<double>(asked.size) / seconds / 1e6, used / count * 1e6);
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const Asked asked = asked_of(count, words);
    if (asked.address.empty()) {
      std::fprintf(stderr, "usage: remote_ranges ADDRESS [--size BYTES] [--count N] [--flight N] [--json]\n");
      return 2;
    }
    measure(asked);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "remote_ranges: %s\n", failure.what());
    return 1;
  }
  return 0;
}
