#include "cli/arguments.hpp"

#include <algorithm>

namespace attn {

Result<Arguments> Arguments::parse(std::span<const std::string> words,
                                   std::span<const std::string_view> options) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with("--")) {
            arguments.positional_.push_back(words[i]);
            continue;
        }
        if (std::ranges::find(options, words[i]) == options.end())
            return Error{"there is no option " + words[i]};
        if (i + 1 == words.size()) return Error{words[i] + " takes a value"};
        if (!arguments.values_.emplace(words[i], words[i + 1]).second)
            return Error{words[i] + " is given twice"};
        ++i;
    }
    return arguments;
}

Result<std::string> Arguments::text(std::string_view option) const {
    const auto place = values_.find(option);
    if (place == values_.end()) return Error{std::string(option) + " is missing"};
    return place->second;
}

Result<std::vector<std::int32_t>> Arguments::ids(std::string_view option) const {
    const auto list = text(option);
    if (!list) return list.error();
    std::vector<std::int32_t> ids;
    const char* at = list->data();
    const char* const end = at + list->size();
    while (true) {
        std::int32_t id = 0;
        const auto [rest, failure] = std::from_chars(at, end, id);
        if (failure != std::errc{} || (rest != end && *rest != ','))
            return Error{std::string(option) + " takes token ids with commas between them, not '" + *list +
                         "'"};
        ids.push_back(id);
        if (rest == end) return ids;
        at = rest + 1;
    }
}

}  // namespace attn
