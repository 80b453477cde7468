// The HTML of the live page.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// One page without external references. Its script asks for data.json beside the page, and shows it. `nonce` is for
/// the content security policy.
std::string live_page_html(std::string_view nonce);

/// The page's script. Text of the data reaches the document only as text, never as HTML.
std::string_view live_page_script();

}  // namespace penstock
