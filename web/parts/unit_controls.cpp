#include "parts/unit_controls.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "app/format.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"
#include "widgets/text_field.hpp"

namespace attn::parts {

namespace {

using app::HeadMean;
using app::MapChoice;

constexpr std::array<const char*, unit_count> unit_names{"tokens", "words", "sentences", "spans"};
constexpr Index most_offered = 2048;        // tokens to choose a span from
constexpr std::size_t longest_typed = 160;  // bytes

// Stages other than weights always use tokens.
bool unit_control(const app::Attention& attention, MapChoice& choice) {
    const bool weights = attention.stage_for(choice.stage) == Stage::weight;
    std::vector<const char*> names;
    std::vector<Unit> units;
    for (std::size_t i = 0; i < unit_count; ++i) {
        const auto unit = static_cast<Unit>(i);
        if (!attention.has(unit)) continue;
        names.push_back(unit_names[i]);
        units.push_back(unit);
    }
    // Spans stay chosen until the first is named, though the map still shows tokens.
    const Unit shown = !weights                     ? Unit::tokens
                       : choice.unit == Unit::spans ? choice.unit
                                                    : attention.unit_of(choice);
    float width = 0;
    for (const char* name : names) width += ui::text_size(name).x + 18;
    ui::next_control(width);
    ImGui::BeginGroup();
    ImGui::BeginDisabled(!weights);
    const auto chosen =
        ui::choice("map/unit", names, static_cast<int>(std::ranges::find(units, shown) - units.begin()));
    ImGui::EndDisabled();
    ImGui::EndGroup();
    ui::tooltip(
        weights
            ? "What a row and a column are: a token, a word, a sentence, or a span that you name. Attention "
              "from several tokens is the mean over their rows, attention to several tokens the sum over "
              "their columns, so a row keeps its sum"
            : "Larger units are only defined for weights: choose weights");
    if (chosen) choice.unit = units[static_cast<std::size_t>(*chosen)];
    return chosen.has_value();
}

std::string mean_name(const app::Attention& attention, HeadMean mean) {
    return mean == HeadMean::one     ? "this head"
           : mean == HeadMean::layer ? "mean of " + std::to_string(attention.heads()) + " heads"
                                     : "mean of all heads";
}

bool mean_control(const app::Attention& attention, MapChoice& choice) {
    const bool layers = attention.alike().size() > 1;
    if ((attention.heads() < 2 && !layers) || attention.stage_for(choice.stage) != Stage::weight)
        return false;
    const HeadMean shown = attention.mean_of(choice);
    bool changed = false;
    ui::next_control(ui::menu_width);
    ImGui::SetNextItemWidth(ui::menu_width);
    if (ui::begin_list("map/heads", "Heads of the map", mean_name(attention, shown).c_str())) {
        for (const HeadMean mean : {HeadMean::one, HeadMean::layer, HeadMean::all}) {
            if ((mean == HeadMean::layer && attention.heads() < 2) || (mean == HeadMean::all && !layers))
                continue;
            if (ui::list_option((std::string("map/heads/") + std::string(app::mean_key(mean))).c_str(),
                                mean_name(attention, mean).c_str(), mean == shown) &&
                mean != shown) {
                choice.mean = mean;
                changed = true;
            }
        }
        ui::end_list();
    } else {
        ui::tooltip(
            "The weights of the chosen head, or their mean over the heads of its layer or over all heads. A "
            "mean "
            "is no head of the model: nothing computes with it");
    }
    return changed;
}

std::string told(const app::Attention& attention, const MapChoice& choice, HeadIndex chosen) {
    std::string text;
    if (const HeadMean mean = attention.mean_of(choice); mean != HeadMean::one)
        text = "The " + mean_text(attention, mean, chosen) + ", which nothing in the model computes. ";
    if (attention.unit_of(choice) != Unit::tokens)
        text += "From several tokens: the mean over their rows. To several: the sum over their columns.";
    return text;
}

}  // namespace

std::optional<MapChoice> UnitControls::draw(const app::Drawing& drawing, const app::Attention& attention,
                                            const MapChoice& choice) {
    MapChoice next = choice;
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    bool changed = unit_control(attention, next);
    changed |= mean_control(attention, next);
    if (choice.unit == Unit::spans && attention.stage_for(choice.stage) == Stage::weight)
        draw_spans(drawing, attention, choice);
    ImGui::PopStyleVar();
    const app::Selection s = selection_of(drawing);
    if (const std::string text = told(attention, choice, {s.layer, s.head}); !text.empty()) {
        ui::caption(text.c_str());
        ui::landmark_item("map/merged");
    }
    return changed ? std::optional(next) : std::nullopt;
}

// Draws a chip for each span, which removes it, and the button that names another.
void UnitControls::draw_spans(const app::Drawing& drawing, const app::Attention& attention,
                              const MapChoice& choice) {
    for (std::size_t i = 0; i < choice.spans.size(); ++i) {
        const TokenSpan& span = choice.spans[i];
        const std::string key = "map/span/" + std::to_string(i), chip = span.name + "  ×";
        if (i > 0) ui::next_control(ui::text_size(chip).x + 20);
        if (ui::button(key.c_str(), chip.c_str())) {
            app::SetSpans fewer{choice.spans};
            fewer.spans.erase(fewer.spans.begin() + static_cast<std::ptrdiff_t>(i));
            drawing.visit.perform(std::move(fewer));
        }
        ui::rename_node("Remove span " + span.name);
        ui::tooltip(("Tokens " + std::to_string(span.tokens.begin) + " to " +
                     std::to_string(span.tokens.end - 1) + "; a click removes the span")
                        .c_str());
    }
    if (!choice.spans.empty()) ui::next_control(ui::need::long_button);
    if (ui::button("map/span/new", "Name a span …")) {
        first_ = last_ = std::nullopt;
        name_.clear();
        naming_ = !naming_;
    }
    ui::rename_node("Name a span");
    ui::node_opens(naming_);
    ui::tooltip("Choose some tokens of the text and give them a name: they become one row and one column");
    if (naming_) draw_naming(drawing, attention, choice);
}

// Draws the tokens as a text: a press chooses the first, another one the last.
void UnitControls::draw_tokens(const TextUnits& text) {
    const ui::SemanticGroup group(ui::Role::group, "span/tokens", "Tokens of the span");
    const auto& pieces = text.pieces();
    const Index count = std::min(std::ssize(pieces), most_offered);
    float x = 0;
    const float room = ImGui::GetContentRegionAvail().x;
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {2, 4});
    for (Index i = 0; i < count; ++i) {
        const std::string& piece = pieces[static_cast<std::size_t>(i)];
        const std::string shown = piece.empty() ? std::to_string(i) : piece;
        const float width = ui::text_size(shown).x + 2 * ImGui::GetStyle().FramePadding.x;
        if (x > 0 && x + width <= room)
            ImGui::SameLine(0, 2);
        else
            x = 0;
        x += width + 2;
        const bool within = first_ && i >= *first_ && i <= last_.value_or(*first_);
        const ImU32 lit = ui::with_alpha(ui::theme().accent, 0.35f);
        if (within) ImGui::PushStyleColor(ImGuiCol_Button, lit);
        if (within) ImGui::PushStyleColor(ImGuiCol_ButtonHovered, lit);
        const std::string key = "span/token/" + std::to_string(i);
        if (ui::button(key.c_str(), shown.c_str())) {
            const bool begins = !first_ || last_ || i < *first_;
            begins ? first_ = i : last_ = i;
            if (begins) last_.reset();
        }
        ui::rename_node(shown + ", token " + std::to_string(i) + (within ? ", in the span" : ""));
        if (within) ImGui::PopStyleColor(2);
    }
    ImGui::PopStyleVar();
    if (count < std::ssize(pieces))
        ui::caption(("The first " + app::with_commas(count) + " tokens.").c_str());
}

// Chooses tokens and a name, below the controls.
void UnitControls::draw_naming(const app::Drawing& drawing, const app::Attention& attention,
                               const MapChoice& choice) {
    const ui::SemanticGroup group(ui::Role::group, "span", "Name a span");
    const bool two = !attention.one_line();
    if (two) {
        static constexpr std::array<const char*, 2> sides{"keys", "queries"};
        if (const auto side = ui::choice("span/side", sides, of_queries_ ? 1 : 0)) {
            of_queries_ = *side == 1;
            first_ = last_ = std::nullopt;
        }
    }
    const TextUnits& text = two && of_queries_ ? attention.query_text() : attention.key_text();
    ui::caption("Press the first token of the span, then the last, and type a name.");
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::BeginChild("tokens", {0, 0}, ImGuiChildFlags_AutoResizeY);
    draw_tokens(text);
    ImGui::EndChild();
    ui::label("Name");
    ui::text_field("span/name", "Name of the span", name_, longest_typed, ui::menu_width);
    const bool entered = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Enter);
    app::SetSpans more{choice.spans};
    if (first_) more.spans.push_back({{*first_, last_.value_or(*first_) + 1}, name_, text.number()});
    app::State tried = drawing.state();
    const Status possible =
        first_ ? more.apply(tried) : Status(Error{"Choose the tokens of the span first."});
    ui::next_control(ui::need::button);
    if (ui::button("span/add", "Name it", possible) || (entered && possible)) {
        drawing.visit.perform(std::move(more));
        naming_ = false;
    }
    ui::next_control(ui::need::button);
    const bool escaped = ImGui::IsKeyPressed(ImGuiKey_Escape) && ui::focus_is_in("span");
    if (ui::button("span/cancel", "Cancel") || escaped) naming_ = false;
    ui::landmark("span", at, ImGui::GetItemRectMax());
}

}  // namespace attn::parts
