#include "learn/library.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/catalogue.hpp"
#include "app/lesson_state.hpp"

namespace attn::app::learn {

namespace {

std::string text_of(const nlohmann::json& entry, const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

bool needs_model(std::string_view needs) {
    return needs != "nothing" && needs != "example" && find_subject(needs) == nullptr;
}

std::string needs_told(std::string_view needs) {
    if (needs == "nothing") return "";
    if (needs == "example") return "the worked example";
    if (const SubjectEntry* subject = find_subject(needs)) return subject->name;
    constexpr std::string_view hub = "hub:";
    return needs.starts_with(hub) ? "the model " + std::string(needs.substr(hub.size()))
                                  : "the bundled model " + std::string(needs);
}

Status Library::arrived(const std::string& json) {
    constexpr std::size_t most = 500;
    const auto list = nlohmann::json::parse(json, nullptr, false);
    const Error broken{"The list of lessons, lessons/list.json, cannot be read."};
    if (!list.is_array() || list.size() > most) return broken;
    std::vector<LessonEntry> lessons;
    for (const auto& each : list) {
        if (!each.is_object()) return broken;
        LessonEntry entry{
            .name = text_of(each, "name"), .title = text_of(each, "title"), .needs = text_of(each, "needs")};
        if (!is_lesson_name(entry.name) || entry.title.empty()) return broken;
        if (const auto minutes = each.find("minutes"); minutes != each.end() && minutes->is_number_integer())
            entry.minutes = minutes->get<int>();
        if (const auto languages = each.find("languages"); languages != each.end() && languages->is_array())
            for (const auto& language : *languages)
                if (language.is_string()) entry.languages.push_back(language.get<std::string>());
        lessons.push_back(std::move(entry));
    }
    lessons_ = std::move(lessons);
    return ok();
}

const LessonEntry* Library::find(std::string_view name) const {
    const auto found = std::ranges::find(lessons_, name, &LessonEntry::name);
    return found == lessons_.end() ? nullptr : &*found;
}

}  // namespace attn::app::learn
