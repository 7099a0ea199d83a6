#include "cli/arguments.hpp"

#include <algorithm>

namespace attn {

Result<Arguments> Arguments::parse(std::span<const std::string> words,
                                   std::span<const std::string_view> options,
                                   std::span<const std::string_view> lists) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (!word.starts_with("--")) {
            arguments.positional_.push_back(word);
            continue;
        }
        const bool is_list = std::ranges::find(lists, word) != lists.end();
        if (!is_list && std::ranges::find(options, word) == options.end())
            return Error{"there is no option " + word};
        if (i + 1 == words.size() || (is_list && words[i + 1].starts_with("--")))
            return Error{word + " takes a value"};
        if (arguments.values_.contains(word) || arguments.lists_.contains(word))
            return Error{word + " is given twice"};
        if (!is_list) {
            arguments.values_.emplace(word, words[++i]);
            continue;
        }
        std::vector<std::string>& list = arguments.lists_[word];
        while (i + 1 < words.size() && !words[i + 1].starts_with("--")) list.push_back(words[++i]);
    }
    return arguments;
}

std::vector<std::string> Arguments::list(std::string_view option) const {
    const auto place = lists_.find(option);
    return place == lists_.end() ? std::vector<std::string>{} : place->second;
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
