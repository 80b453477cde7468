// Which engine suits a dataset on this machine, and why.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <penstock/loader/direct_engine.hpp>
#include <penstock/loader/gather_engine.hpp>
#include <penstock/loader/pread_engine.hpp>
#include <penstock/loader/read_engine.hpp>
#include <penstock/loader/residency.hpp>
#include <penstock/loader/uring_engine.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kProbes = 64;

// The largest stored extent of samples spread evenly over the dataset.
std::vector<Extent> sampled_extents(const Dataset& dataset) {
  std::vector<Extent> extents;
  std::vector<Piece> pieces;
  const std::uint64_t probes = std::min(kProbes, dataset.size());
  for (std::uint64_t i = 0; i < probes; ++i) {
    const std::uint64_t sample = i * (dataset.size() / probes);
    Extent largest{0, 0, 0};
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      dataset.locate(sample, field, pieces);
      for (const Piece& piece : pieces) {
        Extent extent{0, 0, 0};
        if (piece.kind == Piece::Kind::extent) extent = piece.extent;
        if (piece.kind == Piece::Kind::block) extent = dataset.block(piece.block).extent;
        if (extent.length > largest.length) largest = extent;
      }
    }
    if (largest.length != 0) extents.push_back(largest);
  }
  return extents;
}

std::shared_ptr<ReadDesk> make_desk(const Dataset& dataset, EngineKind kind, const EngineOptions& options,
                                    OnRead on_read) {
  const bool waits_for_storage = kind == EngineKind::io_uring || kind == EngineKind::pread;
  const FileTableOptions files{.root = dataset.path(),
                               .direct_io = options.direct_io && kind == EngineKind::io_uring,
                               .random_access = waits_for_storage};
  // A copy of the dataset shares its indexes, and keeps them for a thread that outlives the engine.
  return std::make_shared<ReadDesk>(
      dataset.file_count(), [dataset](std::uint32_t file) { return dataset.file(file); }, files, std::move(on_read));
}

std::unique_ptr<ReadEngine> make(EngineKind kind, const Dataset& dataset, const EngineOptions& options,
                                 const OnRead& on_read) {
  auto desk = make_desk(dataset, kind, options, on_read);
  switch (kind) {
    case EngineKind::io_uring:
      return std::make_unique<UringEngine>(std::move(desk), options);
    case EngineKind::pread:
      return std::make_unique<PreadEngine>(std::move(desk), options);
    case EngineKind::gather:
      return std::make_unique<GatherEngine>(std::move(desk));
    case EngineKind::direct:
    case EngineKind::automatic:
      break;
  }
  return std::make_unique<DirectEngine>(std::move(desk));
}

std::string refusal_text(int errnum) {
  const char* symbol = strerrorname_np(errnum);
  return "io_uring refused: " + (symbol != nullptr ? std::string(symbol) : std::to_string(errnum));
}

std::string direct_io_note(EngineKind kind, const EngineOptions& options) {
  return options.direct_io && kind != EngineKind::io_uring ? "; O_DIRECT is not used, only io_uring does" : "";
}

ChosenEngine named(EngineKind kind, const std::string& who, const Dataset& dataset, const EngineOptions& options,
                   const OnRead& on_read) {
  try {
    return {make(kind, dataset, options, on_read), who + direct_io_note(kind, options)};
  } catch (const Error& error) {
    throw Error::invalid_argument("the engine " + std::string(name(kind)) + " (" + who +
                                  ") cannot be had: " + error.what());
  }
}

}  // namespace

ChosenEngine choose_engine(const Dataset& dataset, const EngineOptions& options, OnRead on_read) {
  if (options.kind != EngineKind::automatic) return named(options.kind, "as asked", dataset, options, on_read);
  const char* environment = std::getenv("PENSTOCK_ENGINE");
  if (environment != nullptr && *environment != '\0') {
    const EngineKind kind = engine_named(environment);
    if (kind != EngineKind::automatic) return named(kind, "PENSTOCK_ENGINE", dataset, options, on_read);
  }

  FileTable probed(dataset.file_count(), [&](std::uint32_t file) { return dataset.file(file); },
                   {.random_access = true, .keep_open = 8});
  const Residency residency = probe_residency(probed, sampled_extents(dataset));
  const std::string found = to_string(residency);
  if (residency.resident() && !options.direct_io && options.scattered)
    return {make(EngineKind::gather, dataset, options, on_read), "records here and there, resident: " + found};
  if (residency.resident() && !options.direct_io)
    return {make(EngineKind::direct, dataset, options, on_read), "resident: " + found};

  std::string refused;
  if (const int errnum = uring_refusal(); errnum != 0) {
    refused = refusal_text(errnum);
  } else {
    try {
      return {make(EngineKind::io_uring, dataset, options, on_read), "storage: " + found};
    } catch (const Error& error) {  // a small ring could be had, this one not: the limit on locked memory
      refused = "io_uring refused: " + error.cause();
    }
  }
  return {make(EngineKind::pread, dataset, options, on_read),
          refused + "; " + found + direct_io_note(EngineKind::pread, options)};
}

}  // namespace penstock
