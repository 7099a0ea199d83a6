// Lists the lessons of the site, as its lessons/list.json describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.hpp"

namespace attn::app::learn {

struct LessonEntry {
    std::string name, title, needs;
    int minutes = 0;  // 0: not said
    std::vector<std::string> languages = {};
};

// Says whether a lesson needs a model; otherwise it needs nothing, the worked example, or a subject.
bool needs_model(std::string_view needs);
// Says in words what a lesson needs: "the worked example", "a bundled model", or nothing.
std::string needs_told(std::string_view needs);

class Library {
  public:
    // Takes the list; an error says what is wrong with it.
    Status arrived(const std::string& json);
    const std::vector<LessonEntry>& lessons() const { return lessons_; }
    const LessonEntry* find(std::string_view name) const;

  private:
    std::vector<LessonEntry> lessons_;
};

}  // namespace attn::app::learn
