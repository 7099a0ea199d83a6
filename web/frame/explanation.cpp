// Implements the inspector: what it explains, the trail through the operands, and the field for a pinned
// number.
#include <imgui.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/copied.hpp"
#include "app/format.hpp"
#include "app/link.hpp"
#include "app/stage_words.hpp"
#include "frame/frame.hpp"
#include "lenses/lens.hpp"
#include "subjects/subject.hpp"
#include "text/utf8.hpp"
#include "widgets/controls.hpp"
#include "widgets/inspector.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/page_field.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

// Returns "weight, map sparsemax, key 3".
std::string lens_cell_told(const LensCell& cell) {
    const auto in_words = [](std::string_view name) {
        std::string text(name);
        std::ranges::replace(text, '_', ' ');
        return text;
    };
    std::string told = in_words(cell.kind->name);
    for (std::size_t i = 0; i < cell.kind->rank(); ++i) {
        const CellAxis& axis = cell.kind->axes[i];
        const auto at = static_cast<std::size_t>(cell.at[i]);
        told += ", " + in_words(axis.name) + " " +
                (axis.words.empty() ? std::to_string(at) : in_words(axis.words[at]));
    }
    return told;
}

std::string sum_told(const MapSum& sum) {
    const std::string at = std::to_string(sum.at);
    switch (sum.total) {
        case MapTotal::row_entropy: return "entropy of row " + at;
        case MapTotal::row_total: return "sum of row " + at;
        case MapTotal::column_total: return "sum of column " + at;
        case MapTotal::marked_total: break;
    }
    return "sum of the marked part";
}

// Names the number at a place, for users who do not see where a link leads.
std::string place_told(const Attention* attention, const CellPlace& place) {
    if (const LensCell* own = place.cell.own()) return lens_cell_told(*own);
    if (const MapSum* sum = place.cell.sum()) return sum_told(*sum);
    const RunCell& cell = *place.cell.run();
    const auto& [stage, row, col, second, unit, sink, mean] = cell;
    const auto named = [&](const std::vector<std::string>& names, Index i) {
        return i < std::ssize(names) ? curly_quoted(names[static_cast<std::size_t>(i)]) : std::to_string(i);
    };
    if (!attention || second || cell.is_merged() || is_stored(stage) || is_measured(stage))
        return std::string(symbol(stage)) + ", row " + std::to_string(row) + ", column " +
               std::to_string(col);
    const bool of_keys = stage == Stage::k || stage == Stage::v;
    std::string what = stage == Stage::q || of_keys ? std::string(symbol(stage)) : label(stage);
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    what += " of " + named(of_keys ? attention->key_names() : attention->query_names(), row);
    if (is_of_pairs(stage) || stage == Stage::exponential)
        return what + " on " + named(attention->key_names(), col);
    return stage == Stage::row_max || stage == Stage::row_sum ? what
                                                              : what + ", component " + std::to_string(col);
}

}  // namespace

std::optional<CellRef> Frame::explained_cell() const {
    return before_.cell ? before_.cell : visit_.state().pin;
}

std::optional<Frame::PinnedInput> Frame::pinned_input() const {
    const auto& pin = visit_.state().pin;
    const Ladder* ladder = subject_in(visit_).ladder();
    const RunCell* cell = pin ? pin->run() : nullptr;
    if (!cell || cell->second || cell->is_merged() || !ladder || !ladder->edits()) return std::nullopt;
    const LadderEdits& edits = *ladder->edits();
    if (!edits.may_edit(visit_.state(), cell->stage)) return std::nullopt;
    return PinnedInput{*ladder, edits, *cell, edits.value(visit_.state(), *cell)};
}

std::vector<std::pair<std::string_view, std::string_view>> Frame::changeable() const {
    std::vector<std::pair<std::string_view, std::string_view>> names;
    const auto add = [&](std::span<const LinkRow> rows) {
        for (const LinkRow& row : rows) names.emplace_back(row.key, row.expected);
    };
    add(lens_of(visit_.state()).links.rows);
    const Ladder* ladder = subject_in(visit_).ladder();
    if (ladder && ladder->edits())
        for (const StageInfo& stage : stage_table)
            if (ladder->edits()->may_edit(visit_.state(), stage.stage))
                names.emplace_back(stage.key, "a matrix");
    add(subject_of(visit_.state()).links.rows);
    return names;
}

std::string Frame::caption(const std::string& title) const {
    const auto begin_of = [](std::string text) {
        constexpr std::size_t most = 300;
        if (text.size() <= most) return text;
        text.resize(most);
        while (!is_utf8(text)) text.pop_back();
        return text + " …";
    };
    const auto values = link_values(visit_.state());
    const auto value = [&](const char* key) {
        const auto found = values.find(key);
        return found == values.end() ? std::string() : found->second;
    };
    std::vector<std::string> parts;
    if (const std::string model = value("model"); !model.empty()) parts.push_back(model);
    // A title may name another head than the chosen one.
    if (const auto names = head_names();
        !names.empty() && title.find("head ") == std::string::npos && title != "Heads")
        parts.push_back(names.back());
    if (const std::string text = value("text"); !text.empty()) parts.push_back(curly_quoted(begin_of(text)));
    std::string told = title;
    for (const std::string& part : parts) told += (&part == &parts.front() ? ". " : ", ") + part;
    return told.ends_with(".”") ? told : told + ".";
}

Frame::Chosen Frame::chosen() const {
    const State& state = visit_.state();
    Chosen chosen{state.subject, state.lens, state.selection, {}, {}, {}, {}};
    if (const Attention* attention = subject_in(visit_).attention()) {
        const auto named = [](const std::vector<std::string>& names, const std::optional<Index>& i) {
            return i && *i < std::ssize(names) ? names[static_cast<std::size_t>(*i)] : std::string();
        };
        chosen.query_token = named(attention->query_names(), state.selection.query);
        chosen.key_token = named(attention->key_names(), state.selection.key);
    }
    if (!state.pin) return chosen;
    chosen.cell = write_cell(*state.pin);
    if (const auto why = explain(*state.pin, {}); why && std::isfinite(why->f32)) chosen.value = why->f32;
    return chosen;
}

// Draws the field of a pinned input for users without a keyboard.
void Frame::draw_number(const PinnedInput& input) {
    constexpr float least_width = 112, height = 40, beside = 110;  // the sign, and what closes the sheet
    const std::string text = shortest(input.value);
    const float width = std::max(
        least_width, std::min(ui::width_for_number(text), ImGui::GetContentRegionAvail().x - beside));
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {13, (height - ImGui::GetTextLineHeight()) / 2});
    ImGui::Dummy({width, height});
    ui::landmark_item("number");
    const auto typed = ui::page_field(
        {.key = "number", .name = "The number of the pinned cell", .text = text, .number = true});
    if (typed && typed->entered) {
        const auto set = set_as_typed(input.edits, input.cell, typed->text);
        set ? visit_.perform(*set) : visit_.report_error(set.error());
    }
    ImGui::SameLine();
    // The number keypads of some phones have no minus.
    if (ui::button("number/sign", "±")) visit_.perform(input.edits.set(input.cell, -input.value));
    ui::rename_node("Change the sign");
    ImGui::PopStyleVar();
}

void Frame::draw_inspector() {
    if (const auto input = pinned_input(); input && ui::by_touch()) draw_number(*input);
    draw_explanation();
}

std::optional<Explained> Frame::explain(const CellRef& cell, const Hover& hover) const {
    Subject& subject = subject_in(visit_);
    auto why = lens_in(visit_).explain(subject, {hover.head.value_or(subject.chosen_head()), cell});
    // A lens's number may have been computed from something other than a run.
    if (why && subject.runs_model() && !(cell.run() && is_stored(cell.run()->stage)))
        why->f64_is = cell.own() ? "this step" : "this step, from the run’s f32 numbers";
    return why;
}

// During computation, it is refreshed a few times a second.
const std::optional<Explained>& Frame::explanation(const CellRef& cell, const Hover& hover) {
    constexpr double lasts_ms = 250;
    Subject& subject = subject_in(visit_);
    const Attention* attention = subject.attention();
    const Shown shown{cell, hover.head.value_or(subject.chosen_head()), attention ? attention->version() : 0,
                      visit_.changes()};
    const bool worked = why_slices_ != visit_.slices();
    const double now = now_ms();
    if (why_ && shown == shown_ && worked && now < why_made_ + lasts_ms)
        visit_.continue_at(why_made_ + lasts_ms);
    else if (!why_ || shown != shown_ || worked) {
        shown_ = shown;
        why_slices_ = visit_.slices();
        why_made_ = now;
        why_ = explain(cell, hover);
        operands_ = why_ ? ui::operands_shown(*why_) : ui::OperandsShown{};
    }
    return why_;
}

void Frame::draw_explanation() {
    const auto& pin = visit_.state().pin;
    if (pin != trail_end_) trail_.clear();
    if (pin != carried_pin_) carried_pin_.reset();
    drawn_pin_ = pin;
    // Moving from a cell into its explanation keeps that explanation.
    if (now_.cell || !ui::focus_is_in("inspector/")) read_ = now_;
    const auto cell = read_.cell ? read_.cell : pin;
    Subject& subject = subject_in(visit_);
    if (!cell) why_.reset();
    // A pin from the lens before does not hide what the new one is about.
    if (carried_pin_ && !read_.cell && !ui::narrow_window()) {
        draw_guide();
        ImGui::Dummy({0, 12});
    }
    if (cell && explanation(*cell, read_.cell ? read_ : Hover{})) {
        const auto draw_change = [&] {
            TextModel* model = subject.text_model();
            if (model && cell == pin && !lens_in(visit_).changes(subject, *cell))
                model->draw_change({subject.chosen_head(), *cell}, *why_);
        };
        const ui::InspectorReply reply = ui::inspector(
            *why_, operands_, cell == pin, !trail_.empty(),
            [&](const CellPlace& place) { return place_told(subject.attention(), place); }, draw_change);
        if (reply.copied) ImGui::SetClipboardText(copied(*why_, *reply.copied).c_str());
        if (reply.unpinned) return visit_.perform(Pin{std::nullopt});
        if (reply.back) return go_back();
        if (reply.followed) follow(*cell, *reply.followed);
        return;
    }
    draw_guide();
    ImGui::Dummy({0, 12});
    draw_head_told();
}

void Frame::draw_guide() {
    const Guide guide = lens_in(visit_).guide(subject_in(visit_));
    {
        ui::Type semibold(ui::Face::semibold, 18);
        ui::text_item(guide.title);
        ui::semantic_text(ui::Role::heading, guide.title);
    }
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    if (ui::narrow_window() && !detail_.empty()) ui::wrapped_text(detail_);
    ui::wrapped_text(guide.text);
    if (!ui::folded().hint.empty()) ui::wrapped_text(ui::folded().hint);
    ImGui::PopStyleColor();
}

std::string Frame::head_told() const {
    Subject& subject = subject_in(visit_);
    const NamedHeads* named = subject.named_heads();
    return named ? named->told(subject.chosen_head()) : "";
}

void Frame::draw_head_told() {
    const std::string told = head_told();
    if (told.empty()) return;
    {
        ui::Type semibold(ui::Face::semibold, 18);
        ui::text_item("What this head does");
        ui::semantic_text(ui::Role::heading, "What this head does");
    }
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    ui::wrapped_text(told);
    ImGui::PopStyleColor();
    ui::landmark_item("heads/told");
}

// Tells screen readers about a newly pinned cell, and about its number when that changes, so that the
// announcement is never outdated.
void Frame::announce_pin() {
    const auto& pin = visit_.state().pin;
    if (!pin) {
        if (announced_) visit_.announce("");
        return announced_.reset();
    }
    const Attention* attention = subject_in(visit_).attention();
    const std::uint64_t version = attention ? attention->version() : 0, changes = visit_.changes();
    const bool same = announced_ && announced_->cell == *pin;
    if (same && announced_->version == version && announced_->changes == changes) return;
    if (same && ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;  // announced when the drag has ended
    const auto why = explain(*pin, {});
    const std::string value = why ? fixed(why->f32, 4) : "";
    if (why && !same)
        visit_.announce(why->title + " is " + value + ". " + why->note);
    else if (why && value != announced_->value)
        visit_.announce(why->title + " is now " + value + ".");
    announced_ = Announced{*pin, value, version, changes};
}

}  // namespace attn::app
