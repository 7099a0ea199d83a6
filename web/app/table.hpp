// The matrix in focus as text: for the page's HTML table and the clipboard.
#pragma once

#include <string>

#include "app/session.hpp"

namespace attn::app {

// The pinned cell's matrix; in lens Worked example the weights otherwise, in lens Sentence the chosen head's.
// {"title", "columns": […], "rows": [[heading, cell, …], …]}
std::string table_json(const Session& session);
// The same as tab-separated numbers, as a spreadsheet takes them.
std::string table_text(const Session& session);

// Rows of numbers separated by tabs, commas, semicolons or spaces, as spreadsheets and NumPy print them.
Result<Matrix> parse_numbers(const std::string& text);

}  // namespace attn::app
