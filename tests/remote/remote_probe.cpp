// Usage: remote_probe WHAT ADDRESS [FILE] [--reads N] [--size BYTES] [--seed N] [--parts N] [--flight N] [--waves 1]
// One line of JSON for each thing done, for tests against servers that misbehave (server.py).
//   find: what the store tells; whole: read_whole(), compared with FILE; put: upload()
//   ranges: N random ranges of the object, each compared with FILE; "right", "wrong" or the error of each; --flight at
//   a
//     time, all at once or (--waves 1) one flight after the other has been answered
//   all: N / 8 times what the store tells of it and all of it, and N ranges; then what the process holds
//   pinned: as ranges, of the state that {"size", "version", "modified"} in FILE.json tells
//   stop: N ranges, of which the reader is stopped after 100 ms; then memory is looked at for writes
//   fork: one range before fork(), one in the child, one after it
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <formats/places/object_store.hpp>
#include <formats/places/seen_places.hpp>
#include <penstock/error.hpp>

namespace {

using penstock::ObjectInfo;
using Json = nlohmann::json;

struct Asked {
  std::string what, address, file;
  std::uint64_t reads = 20, size = 100'000, seed = 1, parts = 3, flight = 16, waves = 0;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void say(const Json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

Json told(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const penstock::Error& error) {
    return {{"error", error.what()}, {"kind", penstock::name(error.kind())}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}, {"kind", "no Error"}};
  }
}

// A range in parts with gaps, and what came of it.
struct One {
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::uint64_t> offsets;
  std::exception_ptr failure;
  int answers = 0;
};

class Reads {
 public:
  explicit Reads(const Asked& asked, const ObjectInfo& info)
      : asked_(asked), object_(std::make_shared<penstock::StoredObject>(asked.address, info)), all_(asked.reads) {
    std::mt19937_64 random(asked.seed);
    for (One& one : all_) {
      const std::uint64_t length = std::min(1 + random() % asked.size, info.size);
      std::uint64_t at = random() % (info.size - length + 1);
      const std::uint64_t end = at + length;
      for (std::uint64_t part = 0; part < asked.parts && at < end; ++part) {
        const std::uint64_t count = 1 + random() % (end - at);
        one.offsets.push_back(at);
        one.memory.emplace_back(count, std::byte{0xEE});
        at += count + (random() % 2 == 0 ? 0 : random() % 1000);
      }
    }
    reader_ = penstock::object_store().reader([this](std::uint64_t tag, std::exception_ptr failure) {
      const std::scoped_lock lock(mutex_);
      all_[tag].failure = std::move(failure);
      ++all_[tag].answers;
      ++answered_;
    });
  }

  void submit() {
    for (std::uint64_t tag = 0; tag < all_.size(); tag += asked_.flight) {
      std::vector<penstock::RangeRead> reads;
      for (std::uint64_t i = tag; i < std::min<std::uint64_t>(tag + asked_.flight, all_.size()); ++i) {
        std::vector<penstock::RangePart> parts;
        for (std::size_t part = 0; part < all_[i].memory.size(); ++part)
          parts.push_back({all_[i].offsets[part], all_[i].memory[part]});
        reads.push_back({object_, std::move(parts), i});
      }
      reader_->submit(std::move(reads));
      if (asked_.waves != 0) wait_for(std::min<std::uint64_t>(tag + asked_.flight, all_.size()));
    }
  }
  void wait() const { wait_for(all_.size()); }
  void wait_for(std::uint64_t count) const {
    while (answered_ < count) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  void stop() { reader_->stop(); }
  std::uint64_t answered() const { return answered_; }

  void tell(const std::string& expected) {
    for (const One& one : all_) {
      if (one.failure != nullptr) {
        say(told(one.failure));
        continue;
      }
      bool right = one.answers == 1;
      for (std::size_t part = 0; part < one.memory.size(); ++part)
        right = right && one.offsets[part] + one.memory[part].size() <= expected.size() &&
                std::memcmp(one.memory[part].data(), expected.data() + one.offsets[part], one.memory[part].size()) == 0;
      say({{"right", right}});
    }
    const penstock::StoreCounts counts = reader_->counts();
    say({{"requests", counts.requests},
         {"retries", counts.retries},
         {"hedges", counts.hedges},
         {"connections", counts.connections},
         {"bytes", counts.bytes}});
  }
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const One& one : all_)
      for (const auto& memory : one.memory)
        for (const std::byte byte : memory) sum = sum * 31 + static_cast<std::uint64_t>(byte);
    return sum;
  }

 private:
  const Asked& asked_;
  std::shared_ptr<const penstock::StoredObject> object_;
  std::vector<One> all_;
  std::mutex mutex_;  // guards what all_ has of answers
  std::atomic<std::uint64_t> answered_{0};
  std::unique_ptr<penstock::RangeReader> reader_;
};

ObjectInfo found(const Asked& asked) {
  const auto info = penstock::object_store().find(asked.address);
  if (!info) throw penstock::Error::invalid_argument("there is no such object", {.dataset = asked.address});
  return *info;
}

void read_ranges(const Asked& asked, const ObjectInfo& info) {
  Reads reads(asked, info);
  reads.submit();
  reads.wait();
  reads.tell(bytes_of(asked.file));
}

// What the process has open and runs, but for connections.
Json held() {
  std::uint64_t files = 0, sockets = 0, threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone) ++(target.starts_with("socket:") ? sockets : files);
  }
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++threads;
  return {{"files", files}, {"sockets", sockets}, {"threads", threads}};
}

void read_all_ways(const Asked& asked) {
  penstock::ObjectStore& store = penstock::object_store();
  try {
    static_cast<void>(store.find("http://127.0.0.1:1/"));  // nobody's: what the store keeps is there from now on
  } catch (const penstock::Error&) {
  }
  const Json before = held();
  const std::string expected = bytes_of(asked.file);
  for (std::uint64_t i = 0; i < asked.reads / 8; ++i) {
    try {
      // As datasets are opened: what is read has to be what was found.
      penstock::SeenPlaces seen;
      const auto object = seen.find(asked.address);
      const auto bytes = object != nullptr ? seen.read_whole(asked.address, 2 * expected.size()) : std::nullopt;
      if (!bytes) {
        say({{"absent", true}});
        continue;
      }
      say({{"size", object->info.size}});
      say({{"right", std::ranges::equal(*bytes, std::as_bytes(std::span(expected)))}});
    } catch (...) {
      say(told(std::current_exception()));
    }
  }
  try {
    read_ranges(asked, found(asked));
  } catch (...) {
    say(told(std::current_exception()));
  }
  say({{"before", before}, {"after", held()}});
}

void stop_early(const Asked& asked) {
  Reads reads(asked, found(asked));
  reads.submit();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto began = std::chrono::steady_clock::now();
  reads.stop();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::uint64_t answered = reads.answered(), sum = reads.sum();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  say({{"took", took}, {"answered", answered}, {"quiet", reads.answered() == answered && reads.sum() == sum}});
}

void read_beside_a_fork(const Asked& asked) {
  const ObjectInfo info = found(asked);
  read_ranges(asked, info);
  const ::pid_t child = ::fork();
  if (child == 0) {
    try {
      read_ranges(asked, found(asked));
    } catch (...) {
      say(told(std::current_exception()));
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  read_ranges(asked, info);
  say({{"child", status}});
}

void run(const Asked& asked) {
  penstock::ObjectStore& store = penstock::object_store();
  if (asked.what == "find") {
    const auto info = store.find(asked.address);
    if (!info) return say({{"absent", true}});
    say({{"size", info->size}, {"version", info->version}, {"modified", info->modified}});
  } else if (asked.what == "admit") {
    say({{"clean", store.admit(asked.address)}});
  } else if (asked.what == "whole") {
    ObjectInfo info;
    const auto bytes = store.read_whole(asked.address, info, asked.size);
    if (!bytes) return say({{"absent", true}});
    const std::string expected = bytes_of(asked.file);
    const bool right = std::ranges::equal(*bytes, std::as_bytes(std::span(expected)));
    say({{"right", right}, {"size", info.size}, {"version", info.version}});
  } else if (asked.what == "put") {
    store.upload(asked.address)->finish();
  } else if (asked.what == "list") {
    store.list(asked.address);
  } else if (asked.what == "all") {
    read_all_ways(asked);
  } else if (asked.what == "ranges") {
    read_ranges(asked, found(asked));
  } else if (asked.what == "pinned") {
    const Json state = Json::parse(bytes_of(asked.file + ".json"));
    read_ranges(asked, {state.at("size"), state.at("version"), state.at("modified")});
  } else if (asked.what == "stop") {
    stop_early(asked);
  } else if (asked.what == "fork") {
    read_beside_a_fork(asked);
  }
}

}  // namespace

int main(int count, char** words) {
  Asked asked;
  std::vector<std::string*> places{&asked.what, &asked.address, &asked.file};
  for (int at = 1; at < count; ++at) {
    const std::string word = words[at];
    if (word.starts_with("--")) {
      (word == "--reads"   ? asked.reads
       : word == "--size"  ? asked.size
       : word == "--seed"  ? asked.seed
       : word == "--parts" ? asked.parts
       : word == "--waves" ? asked.waves
                           : asked.flight) = std::stoull(words[++at]);
    } else if (!places.empty()) {
      *places.front() = word;
      places.erase(places.begin());
    }
  }
  try {
    run(asked);
  } catch (...) {
    say(told(std::current_exception()));
  }
  return 0;
}
