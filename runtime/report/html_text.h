#pragma once

// Text inside a page. Everything that comes from a study, a worker or a machine goes through one of these.

#include <map>
#include <string>
#include <string_view>

namespace expc::report {

/// For element content and quoted attributes: & < > " ' escaped, control characters and invalid UTF-8 replaced (line
/// breaks kept).
std::string html(std::string_view text);

/// A command whose words stay whole where a line breaks.
std::string htmlCommand(std::string_view text);

/// `html` with text between backticks as <code>.
std::string htmlProse(std::string_view text);

/// With an upper-case first letter.
std::string capitalised(const std::string& text);

/// Markup with what `holes` say in place of each "${name}".
std::string withHoles(std::string_view markup, const std::map<std::string_view, std::string>& holes);

/// JSON for a <script> element: no "<", ">" or "&" outside escapes, so nothing in it can end the element or open a
/// comment.
std::string scriptSafe(std::string_view json);

/// A JavaScript library for a <script> element: "</script" and "<!--" inside it are split by a backslash.
std::string scriptText(std::string_view javascript);

}  // namespace expc::report
