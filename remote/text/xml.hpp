// Reads the XML that stores answer with, by expat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// An element without its attributes. Names are those behind a namespace's prefix.
struct XmlElement {
  std::string name;
  std::string text;  ///< directly inside it, references replaced, with its white space (line ends as "\n")
  std::vector<XmlElement> children = {};

  /// The first child of that name; null: none.
  const XmlElement* child(std::string_view wanted) const;
  /// Text of the first child of that name; empty: none.
  std::string_view text_of(std::string_view wanted) const;
};

/// The root of an XML 1.0 document in UTF-8. A document type, and with it every entity of its own, more than 16 levels
/// and more than 200,000 elements are refused. Throws Error: corrupt, with the offset and without any of the text.
XmlElement parse_xml(std::string_view text);

/// Text as it stands between tags.
std::string xml_escaped(std::string_view text);

}  // namespace penstock
