// Draws the words of a flow and tells them to screen readers.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/format.hpp"
#include "widgets/flow_frame.hpp"
#include "widgets/flow_told.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {

struct Word {
    Index index;
    float place;  // centre on the screen
};

// Returns the words in view that have room: marked ones first, then the others at even intervals.
template <class Place, class Size>
std::vector<Word> placed(Range shown, const std::vector<Index>& marked, Place place, Size size) {
    std::vector<Word> words;
    std::map<float, float> taken;  // occupied intervals: from, to
    const auto put = [&](Index i) {
        const float low = place(i) - size(i) / 2, high = low + size(i);
        const auto after = taken.lower_bound(low);
        if (after != taken.end() && after->first < high - 0.01f) return;
        if (after != taken.begin() && std::prev(after)->second > low + 0.01f) return;
        taken[low] = high;
        words.push_back({i, place(i)});
    };
    for (const Index i : marked)
        if (shown.holds(i)) put(i);
    if (shown.size() <= 0) return words;
    float needed = 0;
    for (Index i = shown.begin; i < shown.end; ++i) needed += size(i);
    const float room =
        place(shown.end - 1) - place(shown.begin) + (size(shown.begin) + size(shown.end - 1)) / 2;
    const auto every = std::max(static_cast<Index>(std::ceil(needed / room - 0.05f)), Index{1});
    for (Index i = (shown.begin + every - 1) / every * every; i < shown.end; i += every) put(i);
    if (every == 2)
        for (Index i = shown.begin; i < shown.end; ++i) put(i);
    return words;
}

std::vector<Index> marked(std::optional<Index> first, std::optional<Index> second, Range others) {
    std::vector<Index> all;
    for (const auto& each : {first, second})
        if (each) all.push_back(*each);
    for (Index i = others.begin; i < others.end; ++i) all.push_back(i);
    return all;
}

// Holds the weight that strong edges give to the word at their other end, and their colour.
struct Lit {
    float weight = 0;
    ImU32 colour = 0;
};
// Draws what is behind a word: its fill, the colour of the strong edges that reach it, and its outlines.
void draw_back(const Chip& chip, ImU32 fill, const Lit* lit, ImU32 outline, bool chosen, float rounding) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (fill) list->AddRectFilled(chip.min, chip.max, fill, rounding);
    if (lit)
        list->AddRectFilled(chip.min, chip.max,
                            with_alpha(lit->colour, 0.08f + 0.4f * std::min(lit->weight, 1.0f)), rounding);
    if (outline) list->AddRect(chip.min, chip.max, outline, rounding, 0, 1.5f);
    if (chosen) list->AddRect(chip.min, chip.max, theme().accent, rounding, 0, 1.5f);
}

const Lit* found_in(const std::map<Index, Lit>& lit, Index word) {
    const auto found = lit.find(word);
    return found == lit.end() ? nullptr : &found->second;
}

std::map<Index, Lit> lit_words(const FlowPicture& picture) {
    std::map<Index, Lit> lit;
    for (const FlowSeries& series : picture.series)
        if (const EdgeList* own = own_edges(picture, series))
            for (const FlowEdge& edge : own->edges)
                if (edge.before < before_limit(picture.mass))
                    if (Lit& word = lit[static_cast<Index>(picture.query ? edge.key : edge.query)];
                        edge.weight > word.weight)
                        word = {edge.weight, series.colour};
    return lit;
}

}  // namespace

void FlowView::draw_line(const FlowPicture& picture, const Frame& frame) const {
    const Theme& t = theme();
    const auto lit = lit_words(picture);
    const float scale = frame.scale();
    const Range look = looked_at(picture);
    const auto width = [&](Index i) { return line_.width[static_cast<std::size_t>(i)] * scale; };
    const auto size = [&](Index i) { return width(i) + 4 * scale; };
    const auto place = [&](Index i) {
        const float middle = queries_.places[static_cast<std::size_t>(i)] * frame.zoom;
        return frame.query_origin.x + inside(middle, width(i), total_ * frame.zoom);
    };
    const auto chip_of = [&](Index i) {
        const float left = place(i) - width(i) / 2;
        return Chip{{left, frame.chips_top}, {left + width(i), frame.chips_top + chip_height}};
    };
    std::vector<Index> drawn;
    for (const Word& word :
         placed(frame.queries, marked(picture.query, picture.chosen_query, look), place, size)) {
        drawn.push_back(word.index);
        const auto i = static_cast<std::size_t>(word.index);
        const Chip chip = chip_of(word.index);
        const Lit* own = found_in(lit, word.index);
        draw_back(chip, word.index == picture.query ? t.accent_soft : t.raised, own,
                  look.holds(word.index) ? picture.series[0].colour : 0, word.index == picture.chosen_query,
                  5);
        draw_chip_text(chip, picture.queries[i], picture.small_print[i], own != nullptr, scale);
        landmark("token/" + std::to_string(word.index), chip.min, chip.max);
    }
    const SemanticGroup group(Role::listbox, "flow/words", "Words");
    for (const Index i : told_words(std::ssize(queries_.places), std::move(drawn), picture.query)) {
        const auto at = static_cast<std::size_t>(i);
        tell_word("token/" + std::to_string(i), picture.queries[at] + " " + picture.small_print[at],
                  chip_of(i), frame.min, frame.max)
            .on = i == picture.chosen_query;
    }
}

void FlowView::draw_column(const FlowPicture& picture, const Frame& frame, bool of_keys) const {
    const Theme& t = theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    Type face(Face::regular, size_body * frame.scale());
    const float height = ImGui::GetFontSize() + 3;
    const Range look = of_keys ? looked_at(picture) : Range{};
    const auto names = of_keys ? picture.keys : picture.queries;
    const ImVec2 origin = of_keys ? frame.key_origin : frame.query_origin;
    const float room =
        std::min(name_width_, frame.query_origin.x - ImGui::GetWindowPos().x - name_pad - chip_pad);
    const auto strong = of_keys ? (picture.query ? std::nullopt : picture.key) : picture.query;
    const auto chosen = of_keys ? picture.chosen_key : picture.chosen_query;
    // Words at the other end of the strong edges.
    const auto lit = of_keys == picture.query.has_value() ? lit_words(picture) : std::map<Index, Lit>{};
    const auto place = [&](Index i) {
        const float middle = (of_keys ? keys_ : queries_).places[static_cast<std::size_t>(i)] * frame.zoom;
        return origin.y + inside(middle, height, total_ * frame.zoom);
    };
    const Range shown = of_keys ? frame.keys : frame.queries;
    const std::string prefix = of_keys ? "flow/key/" : "token/";
    const auto chip_of = [&](Index i) {
        const float width = std::min(text_size(names[static_cast<std::size_t>(i)]).x, room);
        const float left = of_keys ? origin.x + name_pad : origin.x - name_pad - width, middle = place(i);
        return Chip{{left - 5, middle - height / 2}, {left + width + 5, middle + height / 2}};
    };
    std::vector<Index> drawn;
    for (const Word& word :
         placed(shown, marked(strong, chosen, look), place, [&](Index) { return height; })) {
        drawn.push_back(word.index);
        const std::string& name = names[static_cast<std::size_t>(word.index)];
        const Chip chip = chip_of(word.index);
        draw_back(chip, word.index == strong ? t.accent_soft : 0, found_in(lit, word.index),
                  look.holds(word.index) ? picture.series[0].colour : 0, word.index == chosen, 4);
        draw_text_within(list, {chip.min.x + 5, word.place - ImGui::GetFontSize() / 2}, room + 1, t.text,
                         name);
        landmark(prefix + std::to_string(word.index), chip.min, chip.max);
    }
    const SemanticGroup group(Role::listbox, of_keys ? "flow/keys" : "flow/words",
                              of_keys ? "Keys" : "Queries");
    for (const Index i :
         told_words(std::ssize(names), std::move(drawn), of_keys ? picture.key : picture.query)) {
        const Lit* own = found_in(lit, i);
        const std::string weight = own ? " " + app::fixed(static_cast<double>(own->weight), 2) : "";
        tell_word(prefix + std::to_string(i), names[static_cast<std::size_t>(i)] + weight, chip_of(i),
                  frame.min, frame.max)
            .on = i == chosen;
    }
}

}  // namespace attn::ui
