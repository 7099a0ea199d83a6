#include "widgets/token_line.hpp"

#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {
constexpr float chip_gap = 4, pad = 7, least_width = 26, piece_height = 22;
}

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

void bring_into_view(const TokenLine& line, Index i, float width) {
    const float x = line.centre(i);
    if (x < ImGui::GetScrollX() || x > ImGui::GetScrollX() + width) ImGui::SetScrollX(x - width / 2);
}

Chip chip_at(const TokenLine& line, Index i, ImVec2 corner) {
    const auto at = static_cast<std::size_t>(i);
    const ImVec2 min{corner.x + line.left[at], corner.y};
    return {min, {min.x + line.width[at], min.y + chip_height}};
}

void draw_chip_text(const Chip& chip, const std::string& piece, const std::string& small_print, bool lit) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto centred = [&](const std::string& text, float y, ImU32 ink) {
        draw_text(list, {(chip.min.x + chip.max.x - text_size(text).x) / 2, y}, ink, text);
    };
    {
        Type face(Face::regular, size_body);
        const bool alone = small_print.empty();
        centred(piece, alone ? (chip.min.y + chip.max.y - ImGui::GetFontSize()) / 2 : chip.min.y + 4,
                theme().text);
        if (alone) return;
    }
    Type mono(Face::mono, size_small);
    centred(small_print, chip.min.y + piece_height + 1, lit ? theme().text : theme().dim);
}

}  // namespace attn::ui
