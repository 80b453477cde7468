// A small, strict reader of the XML that stores answer with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// An element without its attributes. Names are those behind a namespace's prefix.
struct XmlElement {
  std::string name;
  std::string text;  ///< what stands directly in it, references replaced; white space as it stands
  std::vector<XmlElement> children = {};

  /// The first child of that name; null: none.
  const XmlElement* child(std::string_view wanted) const;
  /// Text of the first child of that name; empty: none.
  std::string_view text_of(std::string_view wanted) const;
};

/// The root. Declarations, comments and CDATA are understood; a document type, entities of its own, more than 16 levels
/// or 200,000 elements are refused. Throws Error: corrupt, which tells where and nothing of the text.
XmlElement parse_xml(std::string_view text);

/// Text as it stands between tags.
std::string xml_escaped(std::string_view text);

}  // namespace penstock
