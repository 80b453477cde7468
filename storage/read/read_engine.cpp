#include <array>

#include <base/names/hints.hpp>
#include <penstock/error.hpp>
#include <penstock/storage.hpp>

namespace penstock {
namespace {
constexpr std::array<std::string_view, 6> kNames{"auto", "io_uring", "inline", "pread", "mmap", "store"};
}

std::string_view name(EngineKind kind) {
  return kNames.at(static_cast<std::size_t>(kind));
}

EngineKind engine_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name && kNames[i] != "store") return static_cast<EngineKind>(i);
  const std::string hint = hint_for("engine", name);
  throw Error::invalid_argument("unknown read engine \"" + std::string(name) + "\"" +
                                (hint.empty() ? "; expected auto, io_uring, inline, pread or mmap" : hint));
}

EngineStats& EngineStats::operator+=(const EngineStats& other) {
  requests += other.requests;
  bytes += other.bytes;
  reads += other.reads;
  read_bytes += other.read_bytes;
  opens += other.opens;
  opening += other.opening;
  retries += other.retries;
  busy += other.busy;
  store += other.store;
  return *this;
}

}  // namespace penstock
