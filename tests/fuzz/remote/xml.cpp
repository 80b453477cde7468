#include <algorithm>
#include <string>

#include <remote/text/xml.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

// Bytes of names and texts, which no reference can make longer than what stands there.
std::size_t bytes_in(const XmlElement& element, unsigned level) {
  require(level < 16, "XML that is nested too deeply");
  require(!element.name.empty() || level > 0, "XML whose root has no name");
  std::size_t bytes = element.name.size() + element.text.size();
  for (const XmlElement& child : element.children) bytes += bytes_in(child, level + 1);
  return bytes;
}

}  // namespace

void xml(Input input) {
  const std::string text(text_of(input));
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }))
    require(parse_xml("<a>" + xml_escaped(text) + "</a>").text == text, "a text that is another one in XML");
  const XmlElement root = parse_xml(text);
  require(bytes_in(root, 0) <= text.size(), "XML that holds more than its text");
}

}  // namespace penstock::fuzz
