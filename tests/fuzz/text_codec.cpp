#include <optional>
#include <vector>

#include <penstock/error.hpp>
#include <transforms/values/numbers.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

// Under each of the ways in which a chain may ask for the numbers.
void read_numbers(const FieldSchema& schema, const NumbersAs& as, Input input) {
  try {
    const auto decoder = numbers_decoder(schema, as);
    const FieldBytes field{&schema, input};
    const Layout layout = decoder->peek(field);
    std::vector<std::byte> out(element_count(layout.shape) * size_of(layout.dtype));
    decoder->decode(field, nullptr, {out.data(), layout.dtype, layout.shape});
  } catch (const Error&) {
  }
}

}  // namespace

void text_codec(Input input) {
  for (const std::string_view codec : {"cls", "txt", "json", "raw"}) {
    try {
      decode_value(codec, input);
    } catch (const Error&) {
    }
  }
  for (const FieldSchema& schema :
       {FieldSchema{.name = "txt", .codec = "txt"}, FieldSchema{.name = "csv", .codec = "txt"},
        FieldSchema{.name = "json", .codec = "json"}}) {
    read_numbers(schema, {}, input);
    read_numbers(schema, {.dtype = DType::u8, .items = true}, input);
    read_numbers(schema, {.dtype = DType::f16, .items = true, .item = Shape{}}, input);
    read_numbers(schema, {.dtype = DType::i64, .items = true, .item = Shape{2}}, input);
  }
}

}  // namespace penstock::fuzz
