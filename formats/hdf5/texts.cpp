#include <algorithm>
#include <utility>

#include <formats/hdf5/texts.hpp>
#include <formats/text/json_texts.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;  // limit for keys, class names and attributes

std::string read_text(const Hdf5File& file, const Hdf5Type& type, std::span<const std::byte> element,
                      Hdf5Collections& heap) {
  if (type.kind == Hdf5Type::Kind::fixed_text) {
    return {reinterpret_cast<const char*>(element.data()), text_length(type, element)};
  }
  const Hdf5Collections::Location place = locate(read_reference(file, element), 1, heap);
  if (place.length > kLongestText) throw Error::unsupported("a text of " + std::to_string(place.length) + " bytes");
  file.spend(place.length);  // any number of texts may refer to the same bytes
  std::string text(place.length, '\0');
  file.read_values(place.offset, std::as_writable_bytes(std::span(text)));
  return text.substr(0, text.find('\0'));
}

}  // namespace

bool is_text(const Hdf5Type& type) {
  return type.kind == Hdf5Type::Kind::fixed_text || type.kind == Hdf5Type::Kind::text;
}

Hdf5Reference read_reference(const Hdf5File& file, std::span<const std::byte> element) {
  Hdf5Cursor cursor = file.cursor(element);
  const std::uint32_t elements = cursor.u32();
  const std::uint64_t address = cursor.address();
  return {elements, address, cursor.u32()};
}

Hdf5Collections::Location locate(const Hdf5Reference& reference, std::uint64_t element_bytes, Hdf5Collections& heap) {
  if (reference.elements == 0) return {0, 0};
  Hdf5Collections::Location place = heap.find(reference.address, reference.object);
  const std::uint64_t length = reference.elements * element_bytes;
  if (length > place.length)
    throw Error::corrupt("a value longer than its space in the heap", {.offset = place.offset});
  place.length = length;
  return place;
}

std::size_t text_length(const Hdf5Type& type, std::span<const std::byte> element) {
  std::size_t length = element.size();
  if (type.padding == Hdf5Type::Padding::terminated)
    length = static_cast<std::size_t>(std::find(element.begin(), element.end(), std::byte{0}) - element.begin());
  const auto pads = [&type](std::byte byte) {  // unwritten bytes are zeros, whatever the padding
    return byte == std::byte{0} || (type.padding == Hdf5Type::Padding::spaces && byte == std::byte{' '});
  };
  while (length != 0 && pads(element[length - 1])) --length;
  return length;
}

void spend_for_texts(const Hdf5File& file, const Hdf5Rows& rows) {
  constexpr std::uint64_t kTimes = 32;  // multiplied by the file's limit per byte: more than deflate expands a byte
  constexpr std::uint64_t kOfText = 8;  // memory for a string, or its length
  file.spend(rows.count() * rows.row_bytes() / kTimes);
  spend_for_rows(file, rows, kOfText);
}

std::vector<std::string> read_texts(const Hdf5File& file, const Hdf5Rows& rows, Hdf5Collections& heap) {
  if (!is_text(rows.type()) || !rows.shape().empty()) throw Error::unsupported("not strings in one dimension");
  std::vector<std::string> texts;
  spend_for_texts(file, rows);
  for_each_row(file, rows,
               [&](std::span<const std::byte> row) { texts.push_back(read_text(file, rows.type(), row, heap)); });
  return texts;
}

std::vector<std::string> json_texts(const Hdf5File& file, const Hdf5Rows& rows, Hdf5Collections& heap) {
  if (!is_text(rows.type())) throw Error::unsupported("not strings");
  spend_for_texts(file, rows);
  std::vector<std::string> of_rows;
  for_each_row(file, rows, [&](std::span<const std::byte> row) {
    const std::size_t each = rows.type().size;
    std::vector<std::string> texts;
    for (std::size_t at = 0; each != 0 && at + each <= row.size(); at += each) {
      const std::string text = read_text(file, rows.type(), row.subspan(at, each), heap);
      std::optional<std::string> json = json_text(text);
      if (!json) throw Error::unsupported(not_utf8(text));
      texts.push_back(*std::move(json));
    }
    for (std::size_t d = rows.shape().size(); d-- > 0;) {  // from the innermost lists outwards
      const auto length = static_cast<std::size_t>(rows.shape()[d]);
      std::vector<std::string> lists;
      for (std::size_t at = 0; length != 0 && at + length <= texts.size(); at += length)
        lists.push_back(json_list(std::span(texts).subspan(at, length)));
      texts = std::move(lists);
    }
    of_rows.push_back(texts.empty() ? "[]" : texts.front());
  });
  return of_rows;
}

std::optional<std::vector<std::string>> texts_of(const Hdf5File& file, const Hdf5Attribute& attribute,
                                                 Hdf5Collections& heap) {
  const Hdf5Type type = read_type(file, attribute.type);
  if (!is_text(type)) return std::nullopt;
  std::uint64_t count = 1;
  for (const std::uint64_t dim : read_dims(file, attribute.space)) {
    if (dim != 0 && count > attribute.value.size()) throw Error::corrupt("an attribute longer than its message");
    count *= dim;
  }
  if (count > attribute.value.size() / type.size) throw Error::corrupt("an attribute longer than its message");
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < count; ++i) {
    texts.push_back(read_text(file, type, std::span(attribute.value).subspan(i * type.size, type.size), heap));
  }
  return texts;
}

std::optional<std::string> text_attribute(const Hdf5File& file, const Hdf5Object& object, std::string_view name,
                                          Hdf5Collections& heap) {
  for (const Hdf5Attribute& attribute : attributes_of(file, object)) {
    if (attribute.name != name) continue;
    try {
      const auto texts = texts_of(file, attribute, heap);
      if (texts && texts->size() == 1) return texts->front();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;  // an empty attribute
    }
  }
  return std::nullopt;
}

}  // namespace penstock
