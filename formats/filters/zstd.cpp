#include <memory>
#include <string>

#include <zstd.h>

#include <formats/filters/zstd.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

bool zstd_is_linked() {
  return true;
}

void zstd_decompress(std::span<const std::byte> stored, std::span<std::byte> plain) {
  // One per thread, so that a block needs no allocation. The context carries no state between calls.
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> kept{ZSTD_createDCtx()};
  if (!kept) throw Error::resource("no memory for a zstd decompressor");
  const std::size_t made = ZSTD_decompressDCtx(kept.get(), plain.data(), plain.size(), stored.data(), stored.size());
  if (ZSTD_isError(made)) throw Error::corrupt(std::string("zstd block is broken: ") + ZSTD_getErrorName(made));
  if (made != plain.size()) {
    throw Error::corrupt("zstd block does not hold " + std::to_string(plain.size()) + " bytes");
  }
}

}  // namespace penstock
