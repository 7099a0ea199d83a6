#include "widgets/token_line.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/scroll.hpp"

namespace attn::ui {

namespace {
constexpr float chip_gap = 4, pad = 7, least_width = 26, piece_height = 22;
constexpr float context = 24;  // what is kept in view beside a word, in points
constexpr Index short_text = 256, told_around = 32;
}  // namespace

std::optional<Index> TokenLine::under(float x) const {
    const Index i = std::upper_bound(left.begin(), left.end(), x) - left.begin() - 1;
    return i >= 0 && x < total ? std::optional(i) : std::nullopt;
}

Range TokenLine::within(float from, float to) const {
    const auto index_at = [&](float x) {
        return std::upper_bound(left.begin(), left.end(), x) - left.begin();
    };
    return {std::max(index_at(from) - 1, Index{0}), std::min(index_at(to), std::ssize(left))};
}

Stretch TokenLine::stretch(Range chips) const {
    const auto at = [&](Index i) {
        return static_cast<std::size_t>(std::clamp(i, Index{0}, std::ssize(left) - 1));
    };
    if (left.empty()) return {0, 0};
    return {left[at(chips.begin)], left[at(chips.end - 1)] + width[at(chips.end - 1)]};
}

TokenLine TokenLine::scaled(float by) const {
    TokenLine line = *this;
    for (float& each : line.left) each *= by;
    for (float& each : line.width) each *= by;
    line.total *= by;
    line.scale *= by;
    return line;
}

TokenLine token_line(std::span<const std::string> pieces, std::span<const std::string> small_print) {
    TokenLine line;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        float width = 0;
        {
            Type face(Face::regular, size_body);
            width = text_size(pieces[i]).x;
        }
        {
            Type mono(Face::mono, size_small);
            width = std::max(width, text_size(small_print[i]).x);
        }
        line.left.push_back(line.total);
        line.width.push_back(std::max(std::ceil(width) + 2 * pad, least_width));
        line.total += line.width.back() + chip_gap;
    }
    return line;
}

float fitting_scale(float length, float room) {
    const float fitting = (room - 2 * outline_room) / std::max(length, 1.0f);
    return fitting < readable_scale ? 1 : std::min(fitting, 1.0f);
}

float scroll_to_both(Stretch first, std::optional<Stretch> second, float scrolled, float room, float total) {
    const auto within = [&](float to) { return std::clamp(to, 0.0f, std::max(total - room, 0.0f)); };
    const Stretch other = second.value_or(first), both = first.and_also(other);
    if (both.length() <= room + 0.5f) {
        if (both.from >= scrolled - 0.5f && both.to <= scrolled + room + 0.5f) return scrolled;
        return within((both.from + both.to - room) / 2);
    }
    const float beside = std::clamp(room - first.length(), 0.0f, context);
    return within(other.from < first.from ? first.to + beside - room : first.from - beside);
}

std::optional<Beyond> beyond_view(const Look& look, Stretch at, Stretch view, float top) {
    const float middle = (at.from + at.to) / 2;
    if (middle >= view.from && middle <= view.to) return std::nullopt;
    Type face(Face::regular, size_body);
    const std::string name = shortened(look.name, view.length() / 2 - text_size("← ").x);
    Beyond beyond{.chip = {}, .name = middle < view.from ? "← " + name : name + " →", .share = look.share};
    float width = text_size(beyond.name).x;
    {
        Type mono(Face::mono, size_small);
        width = std::max(width, text_size(beyond.share).x);
    }
    width = std::ceil(width) + 2 * pad;
    const float left = middle < view.from ? view.from : view.to - width;
    beyond.chip = {{left, top}, {left + width, top + chip_height}};
    return beyond;
}

void draw_beyond(const Beyond& beyond, ImU32 colour) {
    const auto& [min, max] = beyond.chip;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(min, max, theme().surface, 5);
    list->AddRectFilled(min, max, theme().accent_soft, 5);
    list->AddRect(min, max, colour, 5, 0, 1.5f);
    draw_chip_text(beyond.chip, beyond.name, beyond.share, true);
}

std::vector<Index> told_words(Index count, std::vector<Index> drawn, std::optional<Index> near) {
    const auto add = [&](Range words) {
        for (Index i = std::max(words.begin, Index{0}); i < std::min(words.end, count); ++i)
            drawn.push_back(i);
    };
    if (count <= short_text) {
        add({0, count});
    } else {
        add({0, 1});
        if (near) add({*near - told_around, *near + told_around + 1});
        add({count - 1, count});
    }
    std::ranges::sort(drawn);
    const auto repeated = std::ranges::unique(drawn);
    drawn.erase(repeated.begin(), repeated.end());
    return drawn;
}

void scroll_to_chip(const Chip& chip) {
    scroll_to({chip.min.x - context, chip.min.y}, {chip.max.x + context, chip.max.y});
}

Node& tell_word(std::string key, std::string name, Chip chip, ImVec2 view_min, ImVec2 view_max) {
    constexpr float least = 8;
    const bool hidden = chip.max.x <= view_min.x || chip.min.x >= view_max.x || chip.max.y <= view_min.y ||
                        chip.min.y >= view_max.y;
    const auto inside = [](float at, float low, float high) {
        return std::clamp(at, low, std::max(low, high));
    };
    if (hidden) {
        chip.min = {inside(chip.min.x, view_min.x, view_max.x - least),
                    inside(chip.min.y, view_min.y, view_max.y - least)};
        chip.max = {chip.min.x + least, chip.min.y + least};
    }
    Node& node = semantic_place(Role::option, std::move(key), std::move(name), chip.min, chip.max);
    if (hidden) node.window = 0;  // no finger means it
    return node;
}

Chip chip_at(const TokenLine& line, Index i, ImVec2 corner) {
    const auto at = static_cast<std::size_t>(i);
    const ImVec2 min{corner.x + line.left[at], corner.y};
    return {min, {min.x + line.width[at], min.y + chip_height}};
}

void draw_chip_text(const Chip& chip, const std::string& piece, const std::string& small_print, bool lit,
                    float scale) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto centred = [&](const std::string& text, float y, ImU32 ink) {
        draw_text(list, {(chip.min.x + chip.max.x - text_size(text).x) / 2, y}, ink, text);
    };
    {
        Type face(Face::regular, size_body * scale);
        const bool alone = small_print.empty();
        centred(piece, alone ? (chip.min.y + chip.max.y - ImGui::GetFontSize()) / 2 : chip.min.y + 4,
                theme().text);
        if (alone) return;
    }
    Type mono(Face::mono, size_small * scale);
    centred(small_print, chip.min.y + piece_height + 1, lit ? theme().text : theme().dim);
}

}  // namespace attn::ui
