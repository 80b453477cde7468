// Parses the XML answers of stores, with expat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// An element without its attributes. Names exclude the namespace prefix.
struct XmlElement {
  std::string name;
  std::string text;  ///< direct text, references replaced, white space kept (line ends as "\n")
  std::vector<XmlElement> children = {};

  /// Returns the first child with this name, or null.
  const XmlElement* child(std::string_view wanted) const;
  /// Returns the text of the first child with this name; empty if there is none.
  std::string_view text_of(std::string_view wanted) const;
};

/// Returns the root of an XML 1.0 document in UTF-8. Rejects a document type (and therefore custom entities), more than
/// 16 levels and more than 200,000 elements. Throws Error: corrupt, with the offset but without any of the text.
XmlElement parse_xml(std::string_view text);

/// Escapes text for use between tags.
std::string xml_escaped(std::string_view text);

}  // namespace penstock
