#include "subjects/sentence/direction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

using Kind = SteeringDirection::Kind;

// The directions, and how links spell them.
constexpr std::array<std::pair<Kind, std::string_view>, 6> direction_keys{{{Kind::embedding, "embedding"},
                                                                           {Kind::unembedding, "unembedding"},
                                                                           {Kind::written, "written"},
                                                                           {Kind::second_text, "second"},
                                                                           {Kind::many_texts, "texts"},
                                                                           {Kind::contrast, "contrast"}}};

bool within(const std::optional<Index>& at) { return !at || (*at >= 0 && *at < position_limit); }

// "“cat” (embedding)", "this text − the second".
std::string direction_told(const SteeringDirection& direction, const Layers& layers,
                           const std::string& token) {
    const std::string name = token.empty() ? "token " + std::to_string(direction.token) : token;
    switch (direction.kind) {
        case Kind::embedding: return name + " (embedding)";
        case Kind::unembedding: return name + " (unembedding)";
        case Kind::written: return "what " + head_text(direction.head, layers) + " writes for " + name;
        case Kind::second_text:
            return "this text − the second" +
                   (direction.place ? " at token " + std::to_string(*direction.place) : "");
        case Kind::many_texts: return "this text − many texts";
        case Kind::contrast: break;
    }
    return "positive − negative texts";
}

}  // namespace

Status check_direction(const RunChange& change) {
    const SteeringDirection& direction = *change.direction;
    if (change.operation != Operation::add || !change.values.empty() || change.at.column ||
        std::ranges::find(steering_sites, change.at.site) == steering_sites.end())
        return Error{"A direction is added to the residual stream."};
    if (direction.token < 0 || !within(direction.head.layer) || !within(direction.head.head) ||
        !within(direction.place))
        return Error{"Choose a token and a head for the direction; these do not exist."};
    if ((direction.kind != Kind::written && direction.head != HeadIndex{}) ||
        (direction.kind != Kind::second_text && direction.place) ||
        (!direction.is_of_token() && direction.token != 0))
        return Error{"This direction has another token, head or place than its kind takes."};
    return ok();
}

std::string steering_told(const RunChange& change, const Layers& layers, const std::string& token) {
    const std::string place = change.at.site == Site::resid_pre   ? "before "
                              : change.at.site == Site::resid_mid ? "within "
                                                                  : "after ";
    return (change.value < 0 ? "− " : "+ ") + shortest(std::abs(change.value)) + " × " +
           direction_told(*change.direction, layers, token) + ", " + place +
           layers.name(change.at.attention) +
           (change.at.row ? ", token " + std::to_string(*change.at.row) : ", all tokens");
}

// ---- Links ------------------------------------------------------------------------------------------------

std::string write_direction(const SteeringDirection& direction) {
    const auto key =
        std::ranges::find(direction_keys, direction.kind, [](const auto& row) { return row.first; });
    std::string text(key->second);
    const auto add = [&](Index number) { text += "_" + std::to_string(number); };
    if (direction.is_of_token()) add(direction.token);
    if (direction.kind == Kind::written) {
        add(direction.head.layer);
        add(direction.head.head);
    }
    if (direction.place) add(*direction.place);
    return text;
}

std::optional<SteeringDirection> read_direction(std::string_view text) {
    const auto parts = split(text, '_');
    const auto key =
        std::ranges::find(direction_keys, parts.front(), [](const auto& row) { return row.second; });
    if (key == direction_keys.end()) return std::nullopt;
    SteeringDirection direction{.kind = key->first};
    std::vector<Index> numbers;
    for (const std::string_view part : std::span(parts).subspan(1)) {
        const auto number = read_integer<Index>(part);
        if (!number) return std::nullopt;
        numbers.push_back(*number);
    }
    const std::size_t count = direction.kind == Kind::written       ? 3
                              : direction.is_of_token()             ? 1
                              : direction.kind == Kind::second_text ? std::min<std::size_t>(numbers.size(), 1)
                                                                    : 0;
    if (numbers.size() != count) return std::nullopt;
    if (direction.is_of_token()) {
        if (numbers[0] < 0 || numbers[0] > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
        direction.token = static_cast<std::int32_t>(numbers[0]);
        if (direction.kind == Kind::written) direction.head = {numbers[1], numbers[2]};
    } else if (count == 1) {
        direction.place = numbers[0];
    }
    return direction;
}

// ---- Changes ----------------------------------------------------------------------------------------------

Steering steering_of(const RunChange& change) {
    return {*change.direction, change.at.attention, change.at.site, change.at.row, change.value};
}
RunChange change_of(const Steering& steering) {
    return {.at = {.site = steering.site, .attention = steering.attention, .row = steering.row},
            .operation = Operation::add,
            .value = steering.dial,
            .direction = steering.direction};
}

bool needs_texts(const RunChange& change) {
    return change.operation == Operation::mean_of_texts ||
           (change.direction && change.direction->kind == Kind::many_texts);
}
bool needs_contrast(const RunChange& change) {
    return change.direction && change.direction->kind == Kind::contrast;
}

}  // namespace attn::app
