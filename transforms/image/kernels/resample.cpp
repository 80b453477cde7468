#include <algorithm>
#include <cstring>

#include <penstock/error.hpp>
#include <transforms/image/kernels/pixel_rows.hpp>
#include <transforms/image/kernels/resample.hpp>
#include <transforms/image/kernels/resample_axes.hpp>
#include <transforms/pieces.hpp>

namespace penstock {
namespace {

using pixel_rows::kBlock;
using pixel_rows::kPad;

// From this amount of work on, counted in weighted channels of pixels, other threads help: one thread takes 4 ms or
// more, at 0.03 ns per channel. A piece has at least a quarter of this. Copying a channel, possibly as a float, takes
// as long as weighing several.
constexpr std::size_t kSharedWork = std::size_t{1} << 27;
constexpr std::size_t kPieceWork = kSharedWork / 4;
constexpr std::size_t kWorkOfCopy = 4, kWorkOfNearest = 16;

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

/// Scratch memory only grows, so that a loader allocates nothing in steady state.
template <class T>
T* grown(std::vector<T>& scratch, std::size_t count) {
  if (scratch.size() < count) scratch.resize(count);
  return scratch.data();
}

const std::uint8_t* pixel_at(const PixelSource& source, std::int64_t x, std::int64_t y) {
  return source.data + (y - source.region.y) * source.stride + (x - source.region.x) * source.channels;
}

bool contains(const Region& outer, const Region& inner) {
  return inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width &&
         inner.y + inner.height <= outer.y + outer.height;
}

}  // namespace

void Resampler::run(const PixelSource& source, const Geometry& geometry, Interpolation interpolation,
                    const PixelSink& sink) {
  if (source.channels < 1 || source.channels > 4) throw Error::invalid_argument("an image has 1 to 4 channels");
  if (sink.dtype != DType::u8 && sink.dtype != DType::f32 && sink.dtype != DType::f16 && sink.dtype != DType::bf16) {
    throw Error::invalid_argument("pixels cannot be delivered as " + std::string(name(sink.dtype)));
  }
  if (!contains(source.region, geometry.needed(support(interpolation)))) {
    throw Error::invalid_argument("the decoded region is smaller than the output needs");
  }
  if (sink.channels_last && sink.dtype != DType::u8) prepare_interleaved(geometry.window.width, source.channels, sink);
  if (!geometry.resamples()) return copy(source, geometry, sink);
  if (interpolation == Interpolation::nearest) return nearest(source, geometry, sink);
  weigh(source, geometry, interpolation, sink);
}

template <class Body>
void Resampler::in_bands(std::int64_t count, std::size_t work, const Body& body) {
  if (parallel_ == nullptr || size(count) < kSharedWork / work) return body(own_, 0, count);
  PieceScratch<Rows> scratch(own_);
  // A multiple of 16 rows, so that only the last band has an incomplete block.
  const std::size_t rows = kPieceWork / work / kBlock * kBlock + kBlock;
  run_bands(parallel_, size(count), rows, [&](std::uint64_t begin, std::uint64_t end) {
    scratch.lend(std::make_unique<Rows>,
                 [&](Rows& mine) { body(mine, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)); });
  });
}

void Resampler::weigh(const PixelSource& source, const Geometry& geometry, Interpolation filter,
                      const PixelSink& sink) {
  horizontal_.prepare(horizontal_axis(geometry), filter);
  vertical_.prepare(vertical_axis(geometry), filter);
  if (vertical_first(geometry)) return down_then_across(source, geometry, filter, sink);
  across_then_down(source, geometry, sink);
}

/// Runs the horizontal pass over the source rows that the vertical pass needs, then the vertical pass row by row.
void Resampler::across_then_down(const PixelSource& source, const Geometry& geometry, const PixelSink& sink) {
  const std::int64_t first = vertical_.taps_begin(), end = vertical_.taps_end();
  const std::size_t elements = size(geometry.window.width * source.channels);
  const std::size_t stride = elements + kPad;
  std::uint8_t* between = grown(between_, size(end - first) * stride);
  in_bands(end - first, work_across(source.channels, geometry), [&](Rows& rows, std::int64_t from, std::int64_t to) {
    for (std::int64_t y = from; y < to; y += static_cast<std::int64_t>(kBlock)) {
      const std::size_t count = size(std::min(static_cast<std::int64_t>(kBlock), to - y));
      across(pixel_at(source, geometry.visible.x + horizontal_.taps_begin(), geometry.visible.y + first + y),
             source.stride, count, source.channels, geometry, sink, rows, between + size(y) * stride);
    }
  });
  const std::size_t work = (vertical_.most_taps() + 1) * elements;
  in_bands(geometry.window.height, work, [&](Rows& rows, std::int64_t from, std::int64_t to) {
    std::uint8_t* line = grown(rows.line, stride);
    for (std::int64_t y = from; y < to; ++y) {
      const auto weights = vertical_.weights(y);
      pixel_rows::weigh_rows(between + size(vertical_.begin(y) - first) * stride, static_cast<std::ptrdiff_t>(stride),
                             weights.data(), weights.size(), elements, line);
      write_row(line, y, source.channels, geometry, sink);
    }
  });
}

/// Returns the work of the horizontal pass for one row.
std::size_t Resampler::work_across(std::int64_t channels, const Geometry& geometry) const {
  const std::int64_t columns = horizontal_.taps_end() - horizontal_.taps_begin();
  return size(channels) * (size(columns) + horizontal_.most_taps() * size(geometry.window.width));
}

/// Runs the vertical pass over the source columns that the horizontal pass needs, for 16 output rows at a time, then
/// the horizontal pass over them.
void Resampler::down_then_across(const PixelSource& source, const Geometry& geometry, Interpolation filter,
                                 const PixelSink& sink) {
  const std::int64_t first = horizontal_.taps_begin();
  const std::size_t elements = size((horizontal_.taps_end() - first) * source.channels);
  const std::size_t between_stride = elements + kPad;
  const std::size_t line_stride = size(geometry.window.width * source.channels) + kPad;
  // weigh_rows() may read kPad bytes of a row, which a narrow source does not have.
  const PixelSource from = elements < kPad ? padded(source, geometry.needed(support(filter))) : source;
  const std::size_t work = vertical_.most_taps() * elements + work_across(source.channels, geometry);
  in_bands(geometry.window.height, work, [&](Rows& rows, std::int64_t begin, std::int64_t end) {
    std::uint8_t* between = grown(rows.between, kBlock * between_stride);
    std::uint8_t* lines = grown(rows.line, kBlock * line_stride);
    for (std::int64_t y = begin; y < end; y += static_cast<std::int64_t>(kBlock)) {
      const std::size_t count = size(std::min(static_cast<std::int64_t>(kBlock), end - y));
      for (std::size_t r = 0; r < count; ++r) {
        const std::int64_t row = y + static_cast<std::int64_t>(r);
        const auto weights = vertical_.weights(row);
        pixel_rows::weigh_rows(pixel_at(from, geometry.visible.x + first, geometry.visible.y + vertical_.begin(row)),
                               from.stride, weights.data(), weights.size(), elements, between + r * between_stride);
      }
      across(between, static_cast<std::ptrdiff_t>(between_stride), count, source.channels, geometry, sink, rows, lines);
      for (std::size_t r = 0; r < count; ++r) {
        write_row(lines + r * line_stride, y + static_cast<std::int64_t>(r), source.channels, geometry, sink);
      }
    }
  });
}

/// Copies a narrow source, so that its rows have kPad spare bytes.
PixelSource Resampler::padded(const PixelSource& source, const Region& needed) {
  const std::size_t bytes = size(needed.width * source.channels);
  std::uint8_t* copy = grown(padded_, size(needed.height) * (bytes + kPad));
  for (std::int64_t y = 0; y < needed.height; ++y) {
    std::memcpy(copy + size(y) * (bytes + kPad), pixel_at(source, needed.x, needed.y + y), bytes);
  }
  return {copy, static_cast<std::int64_t>(bytes + kPad), source.channels, needed};
}

/// The horizontal pass over up to 16 rows, which begin at the first column that the pass needs. The rows are
/// transposed, weighed and transposed back. In a transposed block, SIMD lanes are rows and share the weights of an
/// output pixel. The results are stored in the output's order (planes or interleaved, mirrored or not), so that all
/// later work follows rows.
void Resampler::across(const std::uint8_t* rows, std::ptrdiff_t stride, std::size_t count, std::int64_t channels,
                       const Geometry& geometry, const PixelSink& sink, Rows& scratch, std::uint8_t* out) const {
  const std::size_t samples = size(channels);
  const std::size_t width = size(geometry.window.width);
  const std::int64_t begin = horizontal_.taps_begin();
  const std::size_t columns = size(horizontal_.taps_end() - begin);
  const std::size_t out_stride = width * samples + kPad;
  const std::uint8_t* from[kBlock];
  std::uint8_t* to[kBlock];
  for (std::size_t r = 0; r < kBlock; ++r) {
    // An incomplete block repeats its last row.
    from[r] = rows + static_cast<std::ptrdiff_t>(std::min(r, count - 1)) * stride;
    to[r] = out + std::min(r, count - 1) * out_stride;
  }
  std::uint8_t* turned = grown(scratch.turned, columns * samples * kBlock);
  std::uint8_t* squeezed = grown(scratch.squeezed, (width * samples + kPad) * kBlock);
  pixel_rows::turn_in(from, columns * samples, turned);
  const auto pixel_step = static_cast<std::ptrdiff_t>((sink.channels_last ? samples : 1) * kBlock);
  const auto channel_step = static_cast<std::ptrdiff_t>((sink.channels_last ? 1 : width) * kBlock);
  pixel_rows::weigh_block(turned, samples, horizontal_,
                          geometry.flip ? squeezed + static_cast<std::ptrdiff_t>(width - 1) * pixel_step : squeezed,
                          geometry.flip ? -pixel_step : pixel_step, channel_step);
  pixel_rows::turn_out(squeezed, width * samples, to, count);
}

void Resampler::nearest(const PixelSource& source, const Geometry& geometry, const PixelSink& sink) {
  nearest_pixels(horizontal_axis(geometry), columns_);
  nearest_pixels(vertical_axis(geometry), rows_);
  const std::size_t channels = size(source.channels);
  const std::size_t width = columns_.size();
  const std::size_t pixel_step = sink.channels_last ? channels : 1;
  const std::size_t channel_step = sink.channels_last ? 1 : width;
  in_bands(geometry.window.height, kWorkOfNearest * width * channels,
           [&](Rows& rows, std::int64_t begin, std::int64_t end) {
             std::uint8_t* line = grown(rows.line, width * channels + kPad);
             for (std::int64_t y = begin; y < end; ++y) {
               const std::uint8_t* row = pixel_at(source, geometry.visible.x, geometry.visible.y + rows_[size(y)]);
               for (std::size_t x = 0; x < width; ++x) {
                 const std::uint8_t* pixel = row + columns_[x] * source.channels;
                 std::uint8_t* to = line + (geometry.flip ? width - 1 - x : x) * pixel_step;
                 for (std::size_t c = 0; c < channels; ++c) to[c * channel_step] = pixel[c];
               }
               write_row(line, y, source.channels, geometry, sink);
             }
           });
}

void Resampler::copy(const PixelSource& source, const Geometry& geometry, const PixelSink& sink) {
  const std::size_t channels = size(source.channels);
  const std::size_t width = size(geometry.window.width);
  const Region from = geometry.needed(0);
  in_bands(geometry.window.height, kWorkOfCopy * width * channels,
           [&](Rows& rows, std::int64_t begin, std::int64_t end) {
             std::uint8_t* line = grown(rows.line, width * channels + kPad);
             for (std::int64_t y = begin; y < end; ++y) {
               const std::uint8_t* row = pixel_at(source, from.x, from.y + y);
               if (!sink.channels_last && (channels > 1 || geometry.flip)) {
                 pixel_rows::separate(row, channels, width, geometry.flip, line, width);
                 row = line;
               } else if (geometry.flip) {
                 pixel_rows::mirror(row, channels, width, line);
                 row = line;
               }
               write_row(row, y, source.channels, geometry, sink);
             }
           });
}

void Resampler::prepare_interleaved(std::int64_t width, std::int64_t channels, const PixelSink& sink) {
  const std::size_t elements = size(width * channels);
  grown(scales_, elements + kPad);
  grown(biases_, elements + kPad);
  for (std::size_t i = 0; i < elements; ++i) {
    scales_[i] = sink.scale[i % size(channels)];
    biases_[i] = sink.bias[i % size(channels)];
  }
}

/// Writes output row y. `row` contains its elements in the output's order: consecutive planes, or interleaved.
void Resampler::write_row(const std::uint8_t* row, std::int64_t y, std::int64_t channels, const Geometry& geometry,
                          const PixelSink& sink) const {
  const Size output = geometry.output();
  const std::size_t width = size(output.width);
  if (geometry.flip_vertical) y = output.height - 1 - y;
  const std::size_t bytes = size_of(sink.dtype);
  if (sink.channels_last) {
    const std::size_t elements = width * size(channels);
    std::byte* to = sink.data + size(y) * elements * bytes;
    if (sink.dtype == DType::u8) {
      std::memcpy(to, row, elements);
    } else {
      pixel_rows::convert_each(row, elements, sink.dtype, scales_.data(), biases_.data(), to);
    }
    return;
  }
  for (std::size_t c = 0; c < size(channels); ++c) {
    std::byte* to = sink.data + (c * size(output.height) + size(y)) * width * bytes;
    if (sink.dtype == DType::u8) {
      std::memcpy(to, row + c * width, width);
    } else {
      pixel_rows::convert(row + c * width, width, sink.dtype, sink.scale[c], sink.bias[c], to);
    }
  }
}

}  // namespace penstock
