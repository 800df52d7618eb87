#pragma once

// Escaping for the page. Everything that comes from a study, a worker or a machine passes through one of these: the
// page may be opened by someone who did not write the study.

#include <map>
#include <string>
#include <string_view>

namespace expc::report {

/// Escapes text for element content and quoted attributes: & < > " ' are escaped, control characters and invalid UTF-8
/// replaced (line breaks stay).
std::string html(std::string_view text);

/// Returns a command as markup whose words are never broken at the end of a line.
std::string htmlCommand(std::string_view text);

/// Like html(), with text between backticks as <code>; a backtick without a partner stays.
std::string htmlProse(std::string_view text);

/// Returns the text with an upper-case first letter.
std::string capitalised(const std::string& text);

/// Fills markup: each "${name}" becomes the markup under that name in `holes`, which must have all of them.
std::string withHoles(std::string_view markup, const std::map<std::string_view, std::string>& holes);

/// Makes JSON safe inside a <script> element: "<", ">" and "&" become escapes of JSON, so nothing in it can end the
/// element or open a comment.
std::string scriptSafe(std::string_view json);

/// Makes JavaScript of our own safe inside a <script> element: "</script" and "<!--" in it are split by a backslash.
std::string scriptText(std::string_view javascript);

}  // namespace expc::report
