// Checks a whole lesson: its text, and what its links show in the page without a browser.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headless/headless_page.hpp"
#include "lesson/validate.hpp"

namespace attn::headless {

struct LessonReport {
    std::size_t steps = 0;
    std::vector<lesson::Finding> findings;  // in the order of their lines
    std::string remark;                     // what could not be checked, if anything
};

// `read` gives the files of the models that come with the page.
LessonReport report_on(std::span<const std::byte> file, const HeadlessPage::ReadFile& read);

}  // namespace attn::headless
