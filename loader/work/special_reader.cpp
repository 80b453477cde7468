#include <algorithm>
#include <cstring>

#include <base/caught.hpp>
#include <formats/filters/filters.hpp>
#include <loader/work/insist.hpp>
#include <loader/work/read_now.hpp>
#include <loader/work/special_reader.hpp>
#include <penstock/error.hpp>
#include <transforms/pieces.hpp>

namespace penstock {
namespace {

// Decompressed bytes from which on other threads help: at 0.5 to 2 ns per byte, one thread needs 2 to 8 ms. A piece
// has at least a quarter of that.
constexpr std::uint64_t kSharedBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kPieceBytes = kSharedBytes / 4;
// Limit of stored bytes held at a time for other threads, plus one block. Only the worker reads, so it must hold
// these bytes.
constexpr std::uint64_t kWaveBytes = std::uint64_t{8} << 20;

/// Buffers to decompress a block: at most twice its decompressed size.
struct Undoing {
  std::vector<std::byte> filters, tile;
};

void fill(const Piece& piece, std::byte* destination) {
  if (piece.inline_bytes.empty()) {
    std::memset(destination, 0, piece.length);
    return;
  }
  std::uint64_t done = std::min<std::uint64_t>(piece.inline_bytes.size(), piece.length);
  std::memcpy(destination, piece.inline_bytes.data(), done);
  while (done < piece.length) {  // the destination begins with whole patterns: double them until it is full
    const std::uint64_t length = std::min(done, piece.length - done);
    std::memcpy(destination + done, destination, length);
    done += length;
  }
}

void copy_slice(const Piece& piece, const std::vector<std::byte>& block, std::byte* destination) {
  if (piece.offset > block.size() || piece.length > block.size() - piece.offset)
    throw Error::corrupt("a value is outside its block of " + std::to_string(block.size()) + " bytes");
  std::memcpy(destination, block.data() + piece.offset, piece.length);
}

}  // namespace

void SpecialReader::read(const Fetch& fetch, std::byte* buffer, const RowTask* ahead) {
  const std::span<const Fetch::Special> specials = fetch.specials();
  done_.clear();
  std::size_t looked = parallel_ == nullptr ? specials.size() : 0;  // below this number, shared work is already decided
  for (std::size_t i = 0; i < specials.size(); ++i) {
    const Piece& piece = specials[i].piece;
    std::byte* destination = specials[i].place.in(buffer);
    if (piece.kind != Piece::Kind::block) {
      fill(piece, destination);
      continue;
    }
    if (i >= looked && i + 1 < specials.size() && !blocks_.holds(piece.block))
      looked = undo_together(specials, i, buffer, ahead);
    if (i < done_.size() && done_[i] != 0) continue;
    copy(piece, destination, ahead);
  }
}

// Decompresses and copies blocks from `from` on that are not in the cache, if they are enough work for several
// threads. Returns up to which special it looked. A block that fails is skipped: read() goes through all specials in
// order, meets it again, and throws.
std::size_t SpecialReader::undo_together(std::span<const Fetch::Special> specials, std::size_t from, std::byte* buffer,
                                         const RowTask* ahead) {
  wave_.clear();
  std::uint64_t held = 0;
  std::size_t next = from;
  for (; next < specials.size() && held < kWaveBytes; ++next) {
    const Piece& piece = specials[next].piece;
    const auto same = [&](const Stored& stored) { return specials[stored.number].piece.block == piece.block; };
    if (piece.kind != Piece::Kind::block || std::ranges::any_of(wave_, same) || blocks_.holds(piece.block)) continue;
    if (caught([&] { wave_.push_back({next, dataset_.block(piece.block), {}}); }) != nullptr) break;
    Stored& last = wave_.back();
    if (last.block.mosaic) {  // consists of many blocks
      wave_.pop_back();
      continue;
    }
    const auto brought = ahead != nullptr ? ahead->stored(piece.block) : std::nullopt;
    if (brought) last.bytes = *brought;
    if (!brought) held += last.block.extent.length;
  }
  if (wave_.size() < 2 || decoded_bytes() < kSharedBytes) return std::max(next, from + 1);
  done_.resize(specials.size());
  static_cast<void>(read_wave());
  PieceScratch<Filters> scratch(filters_);
  share_wave([&](const Stored& stored) {
    const Fetch::Special& special = specials[stored.number];
    const auto undo = [&](Filters& mine) {
      const BlockCache::Bytes bytes = blocks_.get(special.piece.block, [&](std::vector<std::byte>& undone) {
        undo_filters(stored.block, stored.bytes, undone, mine);
      });
      copy_slice(special.piece, *bytes, special.place.in(buffer));
      done_[stored.number] = 1;
    };
    static_cast<void>(caught([&] { scratch.lend(std::make_unique<Filters>, undo); }));
  });
  return std::max(next, from + 1);
}

void SpecialReader::copy(const Piece& piece, std::byte* destination, const RowTask* ahead) {
  const BlockCache::Bytes bytes = blocks_.get(piece.block, [&](std::vector<std::byte>& undone) {
    const Block block = dataset_.block(piece.block);
    if (block.mosaic) return put_together(*block.mosaic, undone);
    const auto brought = ahead != nullptr ? ahead->stored(piece.block) : std::nullopt;
    undo_filters(block, brought ? *brought : read_stored(block, stored_.get(block.extent.length)), undone, filters_);
  });
  copy_slice(piece, *bytes, destination);
}

void SpecialReader::put_together(const Mosaic& mosaic, std::vector<std::byte>& whole) {
  Assembly assembly(mosaic, whole);
  const std::uint64_t tiles = mosaic.tiles();
  Undoing own;
  std::exception_ptr failure;  // of the tile after the last one of the wave
  for (std::uint64_t next = 0; next < tiles && failure == nullptr;) {
    wave_.clear();
    for (std::uint64_t held = 0; next < tiles && held < kWaveBytes && failure == nullptr; ++next) {
      failure = caught([&] {
        Block block = dataset_.block(mosaic.first_block + static_cast<std::uint32_t>(next));
        if (block.decoded_length == 0) return assembly.place(next, {});
        held += block.extent.length;
        wave_.push_back({next, std::move(block), {}});
      });
    }
    if (auto unread = read_wave()) failure = std::move(unread);
    PieceScratch<Undoing> scratch(own);
    share_wave([&](const Stored& stored) {
      scratch.lend(std::make_unique<Undoing>, [&](Undoing& mine) {
        undo_filters(stored.block, stored.bytes, mine.tile, mine.filters);
        assembly.place(stored.number, mine.tile);
      });
    });
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::uint64_t SpecialReader::decoded_bytes() const {
  std::uint64_t bytes = 0;
  for (const Stored& stored : wave_) bytes += stored.block.decoded_length;
  return bytes;
}

// If a block cannot be read, the wave ends before it, and its failure is returned.
std::exception_ptr SpecialReader::read_wave() {
  std::size_t read = 0;
  auto failure = caught([&] {
    std::uint64_t held = 0;
    for (const Stored& stored : wave_) held += stored.bytes.data() == nullptr ? stored.block.extent.length : 0;
    std::byte* memory = stored_.get(held);
    for (; read < wave_.size(); ++read) {
      Stored& stored = wave_[read];
      if (stored.bytes.data() != nullptr) continue;
      stored.bytes = read_stored(stored.block, memory);
      memory += stored.block.extent.length;
    }
  });
  wave_.erase(wave_.begin() + static_cast<std::ptrdiff_t>(read), wave_.end());
  return failure;
}

// Calls undo(stored) for the whole wave. A piece has neighbouring blocks.
template <class Undo>
void SpecialReader::share_wave(const Undo& undo) {
  starts_.clear();
  std::uint64_t bytes = kPieceBytes;
  for (std::size_t i = 0; i < wave_.size(); ++i) {
    if (bytes >= kPieceBytes) starts_.push_back(i), bytes = 0;
    bytes += wave_[i].block.decoded_length;
  }
  run_pieces(parallel_, static_cast<std::uint32_t>(starts_.size()), [&](std::uint32_t piece) {
    const std::size_t end = piece + 1 < starts_.size() ? starts_[piece + 1] : wave_.size();
    for (std::size_t i = starts_[piece]; i < end; ++i) undo(wave_[i]);
  });
}

std::span<const std::byte> SpecialReader::read_stored(const Block& block, std::byte* memory) {
  asked_ += block.extent.length;
  const auto read = [&] {
    PendingRead pending;
    const ReadRequest request{block.extent, memory, PendingRead::tag(pending)};
    read_now(direct_, {&request, 1}, block.extent.length, reads_);
    if (pending.failure != nullptr) std::rethrow_exception(pending.failure);
  };
  insist(read, [&] { return dataset_.stored_object(block.extent.file) == nullptr; });
  return {memory, static_cast<std::size_t>(block.extent.length)};
}

}  // namespace penstock
