#include "io/head_scores_json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "io/json.hpp"

namespace attn {

namespace {

std::string head_name(Index layer, Index head) { return std::to_string(layer) + "." + std::to_string(head); }

constexpr std::uint64_t no_index = std::numeric_limits<std::uint64_t>::max();

std::uint64_t index_in(const nlohmann::json& head, const char* key) {
    const auto found = head.is_object() ? head.find(key) : head.end();
    return found != head.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : no_index;
}

}  // namespace

Result<std::vector<double>> parse_head_scores(std::span<const std::byte> text, Index layers, Index heads,
                                              std::span<const std::string_view> keys) {
    const auto read = parse_json(text, "scores.json");
    if (!read) return read.error();
    const auto list = read->is_object() ? read->find("heads") : read->end();
    if (list == read->end() || !list->is_array() || list->empty())
        return Error{"scores.json has no list of heads"};
    const auto count = static_cast<std::size_t>(layers * heads);
    std::vector<double> scores(count * keys.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<bool> given(count);
    for (const nlohmann::json& each : *list) {
        const std::uint64_t layer = index_in(each, "layer"), head = index_in(each, "head");
        if (layer >= static_cast<std::uint64_t>(layers) || head >= static_cast<std::uint64_t>(heads))
            return Error{"scores.json tells of a head that this model, of " + std::to_string(layers) + " × " +
                         std::to_string(heads) + " heads, does not have"};
        const std::string name = head_name(static_cast<Index>(layer), static_cast<Index>(head));
        const auto place = static_cast<std::size_t>(layer * static_cast<std::uint64_t>(heads) + head);
        if (given[place]) return Error{"scores.json tells of head " + name + " twice"};
        given[place] = true;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto found = each.find(keys[i]);
            if (found == each.end()) continue;
            const double score = found->is_number() ? found->get<double>() : -1;
            if (!(score >= 0 && score <= 1))
                return Error{"scores.json gives head " + name + " a '" + std::string(keys[i]) +
                             "' that is no number from 0 to 1"};
            scores[place * keys.size() + i] = score;
        }
    }
    if (const auto missing = std::ranges::find(given, false); missing != given.end()) {
        const auto place = static_cast<Index>(missing - given.begin());
        return Error{"scores.json does not tell of head " + head_name(place / heads, place % heads)};
    }
    return scores;
}

}  // namespace attn
