#include <transforms/value_reader.hpp>

namespace penstock {

void ValueReader::read(const FieldSchema& schema, std::span<const std::byte> value, ReadValue& read) {
  const FieldBytes field{&schema, value};
  const Peeked peeked = decoders_.peek(field);
  read.layout = peeked.layout;
  read.elements.resize(element_count(read.layout.shape) * size_of(read.layout.dtype));
  peeked.decoder->decode(field, nullptr, {read.elements.data(), read.layout.dtype, read.layout.shape});
}

}  // namespace penstock
