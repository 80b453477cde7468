#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <formats/text/npy_header.hpp>
#include <formats/text/numpy_codes.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

[[noreturn]] void malformed(const std::string& why) {
  throw Error::corrupt("npy: " + why);
}

/// Parses the few forms of Python literals that NumPy writes: 'text', True, False, (1, 2L,).
class Literals {
 public:
  explicit Literals(std::string_view text) : rest_(text) {}

  bool accept(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) malformed(std::string("the header lacks a '") + wanted + "'");
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_.front();
  }
  std::string_view text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("the header lacks a string");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) malformed("a string in the header does not end");
    const std::string_view value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (peek() != word.front() || !rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    malformed("fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(integer());
      if (shape.size() > 64) malformed("more than 64 dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

 private:
  std::int64_t integer() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) malformed("a dimension is not a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    accept('L');  // suffix of Python 2
    return value;
  }
  void skip_blanks() {
    const std::size_t begin = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }

  std::string_view rest_;
};

DType dtype_of(std::string_view descr) {
  const auto known = descr.empty() ? std::nullopt : dtype_of_numpy(descr.substr(1));
  if (known) return *known;
  throw Error::unsupported("npy: elements of type '" + std::string(descr.substr(0, 40)) + "'");
}

std::string_view dictionary_text(std::span<const std::byte> bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() < 10 || std::memcmp(at, "\x93NUMPY", 6) != 0) malformed("no NumPy magic");
  const unsigned version = at[6];
  if (version < 1 || version > 3) throw Error::unsupported("npy: version " + std::to_string(version));
  const std::size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) malformed("ends inside the header");
  std::size_t length = at[8] | std::size_t{at[9]} << 8;
  if (version > 1) length |= std::size_t{at[10]} << 16 | std::size_t{at[11]} << 24;
  if (length > bytes.size() - begin) malformed("ends inside the header");
  return {reinterpret_cast<const char*>(at) + begin, length};
}

// Copies out[i, j] = in[j, i], where in has rows of `in_row` bytes and out has rows of `out_row` bytes. Tiles keep the
// lines of both sides in the first-level cache.
template <std::size_t Bytes>
void transpose(const std::byte* in, std::size_t in_row, std::byte* out, std::size_t out_row, std::size_t rows,
               std::size_t columns) {
  constexpr std::size_t kTile = 32;
  for (std::size_t top = 0; top < rows; top += kTile) {
    for (std::size_t left = 0; left < columns; left += kTile) {
      for (std::size_t i = top; i < std::min(rows, top + kTile); ++i) {
        for (std::size_t j = left; j < std::min(columns, left + kTile); ++j) {
          std::memcpy(out + i * out_row + j * Bytes, in + j * in_row + i * Bytes, Bytes);
        }
      }
    }
  }
}

template <std::size_t Bytes>
void to_c_order(const std::byte* fortran, std::byte* c, const Shape& shape) {
  const std::size_t dims = shape.size();
  std::vector<std::size_t> from(dims, Bytes), to(dims, Bytes);  // bytes between neighbours along each axis
  for (std::size_t d = 1; d < dims; ++d) from[d] = from[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  for (std::size_t d = dims - 1; d > 0; --d) to[d - 1] = to[d] * static_cast<std::size_t>(shape[d]);
  // The first and the last axis form matrices. `at` counts through the axes between them.
  std::vector<std::int64_t> at(dims, 0);
  for (std::size_t axis = 1; axis != 0;) {
    std::size_t in = 0, out = 0;
    for (std::size_t d = 1; d + 1 < dims; ++d) {
      in += static_cast<std::size_t>(at[d]) * from[d];
      out += static_cast<std::size_t>(at[d]) * to[d];
    }
    transpose<Bytes>(fortran + in, from[dims - 1], c + out, to[0], static_cast<std::size_t>(shape[0]),
                     static_cast<std::size_t>(shape[dims - 1]));
    for (axis = dims - 2; axis != 0 && ++at[axis] == shape[axis]; --axis) at[axis] = 0;
  }
}

}  // namespace

void to_c_order(const std::byte* fortran, std::byte* c, const Shape& shape, std::size_t element_bytes) {
  const std::uint64_t count = element_count(shape);
  if (count == 0) return;
  if (shape.size() < 2) {
    std::memcpy(c, fortran, count * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      return to_c_order<1>(fortran, c, shape);
    case 2:
      return to_c_order<2>(fortran, c, shape);
    case 4:
      return to_c_order<4>(fortran, c, shape);
    default:
      return to_c_order<8>(fortran, c, shape);
  }
}

std::uint64_t NpyHeader::row_bytes() const {
  return (shape.empty() ? 1 : element_count(Shape(shape.begin() + 1, shape.end()))) * size_of(dtype);
}

NpyHeader read_npy_header(std::span<const std::byte> bytes) {
  const std::string_view text = dictionary_text(bytes);
  Literals literals(text);
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
  literals.expect('{');
  while (!literals.accept('}')) {
    const std::string_view key = literals.text();
    literals.expect(':');
    if (key == "descr" && !descr) {
      if (literals.peek() == '[') throw Error::unsupported("npy: structured elements");
      descr = literals.text();
    } else if (key == "fortran_order" && !fortran_order) {
      fortran_order = literals.boolean();
    } else if (key == "shape" && !shape) {
      shape = literals.tuple();
    } else {
      malformed("the header has a key '" + std::string(key.substr(0, 40)) + "', which is unknown or repeated");
    }
    if (!literals.accept(',')) {
      literals.expect('}');
      break;
    }
  }
  if (!literals.at_end() || !descr || !fortran_order || !shape) malformed("the header is not a whole dictionary");
  const bool fortran = *fortran_order && shape->size() > 1;
  NpyHeader header{.dtype = dtype_of(*descr),
                   .shape = std::move(*shape),
                   .swapped = descr->front() == '>',
                   .fortran = fortran,
                   .data_begin = 0};
  header.data_begin = static_cast<std::size_t>(text.data() + text.size() - reinterpret_cast<const char*>(bytes.data()));
  if (element_count(header.shape) > std::numeric_limits<std::uint64_t>::max() / 8) malformed("too many elements");
  return header;
}

}  // namespace penstock
