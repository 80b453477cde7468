#include <loader/fetch/sample_keeper.hpp>
#include <penstock/error.hpp>

namespace penstock {

SampleKeeper::SampleKeeper(const Program& program, SampleCache& cache, Parallel* parallel)
    : program_(program), cache_(cache) {
  schema_ = {.name = {}, .codec = "raw", .dtype = DType::u8, .shape = {0, 0, 0}, .fixed = true};
  rgb_.share(parallel);
  stored_.share(parallel);
}

FieldBytes SampleKeeper::value(std::uint64_t sample, std::uint32_t output, const FieldFetch& fetch,
                               const FieldBytes& read) {
  if (!cache_.on()) return read;
  if (fetch.kept)
    return fetch.pixels ? as_pixels(*read.schema, *fetch.kept) : FieldBytes{read.schema, fetch.kept->bytes};
  const SampleCache::Column column = cache_.value_of(output, fetch.field);
  if (column == SampleCache::kNone || !read.ranges.empty() || !cache_.wants(sample, column)) return read;
  if (cache_.holds_pixels(column)) return decoded(sample, column, program_.outputs()[output].pixels, read);
  cache_.keep(sample, column, {read.bytes, 0, 0, 0});
  return read;
}

void SampleKeeper::row(std::uint64_t sample, std::uint32_t output, std::uint32_t field,
                       std::span<const std::byte> row) {
  if (!cache_.on() || row.data() == nullptr) return;
  SampleCache::Column column = cache_.row_of(output);
  if (column == SampleCache::kNone && program_.outputs()[output].verbatim) column = cache_.value_of(output, field);
  if (column != SampleCache::kNone && cache_.wants(sample, column)) cache_.keep(sample, column, {row, 0, 0, 0});
}

// If the image cannot be decoded as a whole, the output decodes from the bytes. A crop of a broken image may be
// valid, and the result must not depend on the cache.
FieldBytes SampleKeeper::decoded(std::uint64_t sample, SampleCache::Column column, Pixels pixels,
                                 const FieldBytes& read) {
  Stopwatch watch;
  try {
    const Peeked peeked = (pixels == Pixels::rgb ? rgb_ : stored_).peek(read);
    const Layout& layout = peeked.layout;
    SampleCache::Value value{read.bytes, 0, 0, 0};  // the bytes of arrays are their pixels
    if (layout.image && layout.dtype == DType::u8) {
      const std::uint64_t bytes = element_count(layout.shape);
      std::byte* memory = pixels_.get(bytes);
      peeked.decoder->decode(read, nullptr, {memory, DType::u8, layout.shape});
      value = {{memory, static_cast<std::size_t>(bytes)},
               static_cast<std::uint32_t>(layout.shape[0]),
               static_cast<std::uint32_t>(layout.shape[1]),
               static_cast<std::uint32_t>(layout.shape[2])};
    }
    cache_.keep(sample, column, value);
    decode_time_ += watch.lap();
    return as_pixels(*read.schema, value);
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    cache_.give_up(sample, column);
    return read;
  }
}

FieldBytes SampleKeeper::as_pixels(const FieldSchema& schema, const SampleCache::Value& value) {
  if (value.channels == 0) return {&schema, value.bytes};
  schema_.name = schema.name;
  schema_.shape[0] = value.height;
  schema_.shape[1] = value.width;
  schema_.shape[2] = value.channels;
  return {&schema_, value.bytes};
}

}  // namespace penstock
