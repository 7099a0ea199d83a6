// Draws the expression as chips: every term, at any depth of brackets, with its numbers, its "not", and the
// terms that can be added.
#include <imgui.h>

#include <algorithm>
#include <array>

#include "attention/mask_presets.hpp"
#include "lenses/masks/view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::masks {

namespace {

constexpr float sign_width = 40, number_width = 150;

const char* word_of(Join join) { return join == Join::all ? "and" : "or"; }

// The pieces of a chip stand side by side if they fit.
void next_piece(float width, float gap = 6) {
    const float right = ImGui::GetItemRectMax().x + gap + width;
    if (right <= ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x) ImGui::SameLine(0, gap);
}

MaskTerms without(MaskTerms terms, std::size_t at) {
    terms.terms.erase(terms.terms.begin() + static_cast<std::ptrdiff_t>(at));
    return terms;
}

MaskTerms with(MaskTerms terms, std::size_t at, Mask term) {
    terms.terms[at] = std::move(term);
    return terms;
}

std::string in_short(const std::string& text) {
    constexpr std::size_t most = 60;
    return text.size() <= most ? text : text.substr(0, most) + "…";
}

Index size_of(const Model& model) { return std::max(model.looked.queries, model.looked.keys); }

std::optional<Mask> draw_add(const Model& model, const std::string& name) {
    std::vector<const char*> names;
    for (const MaskPreset& atom : mask_atoms()) names.push_back(atom.name);
    const auto chosen = ui::menu(name.c_str(), "Add", names);
    if (!chosen) return std::nullopt;
    return mask_atoms()[static_cast<std::size_t>(*chosen)].make(size_of(model));
}

std::optional<MaskTerms> draw_brackets(const Model& model, const std::string& name, const MaskTerms& terms,
                                       std::size_t at) {
    const std::string word = word_of(terms.join == Join::all ? Join::any : Join::all);
    const bool next = at + 1 < terms.terms.size();
    std::vector<std::string> items;
    if (next) items.push_back(word + " the next term");
    for (const MaskPreset& atom : mask_atoms()) items.push_back(word + " " + atom.name);
    std::vector<const char*> names;
    for (const std::string& item : items) names.push_back(item.c_str());
    const auto chosen = ui::menu((name + "/brackets").c_str(), "( )", names);
    ui::rename_node("Brackets around " + in_short(name_of(terms.terms[at])));
    ui::tooltip(("Puts this term in brackets: (this " + word + " …)").c_str());
    if (!chosen) return std::nullopt;
    const auto item = static_cast<std::size_t>(*chosen);
    if (next && item == 0) return bracketed(terms, at, std::nullopt);
    const MaskPreset& atom = mask_atoms()[item - (next ? 1 : 0)];
    return bracketed(terms, at, atom.make(size_of(model)));
}

std::optional<MaskTerms> draw_chip(const Model& model, const std::string& name, const MaskTerms& terms,
                                   std::size_t at) {
    const Mask& term = terms.terms[at];
    const std::string called = name_of(term);
    const Index most = std::max(size_limit, model.looked.keys);
    std::optional<MaskTerms> changed;
    ImGui::BeginGroup();
    if (at > 0) ui::label(word_of(terms.join));
    if (ui::button(name.c_str(), called.c_str())) changed = with(terms, at, negated(term));
    ui::tooltip("Turn this term into its opposite");
    const std::vector<TermNumber> numbers = numbers_of(term);
    for (std::size_t n = 0; n < numbers.size(); ++n) {
        next_piece(number_width, 10);
        const std::string place = name + "/" + numbers[n].name;
        if (const auto value = ui::stepper(place.c_str(), numbers[n].name, numbers[n].value,
                                           std::max(numbers[n].least, -most), most))
            changed = with(terms, at, with_number(term, n, *value));
    }
    next_piece(sign_width);
    if (const auto bracketed = draw_brackets(model, name, terms, at)) changed = bracketed;
    next_piece(sign_width);
    if (ui::button((name + "/remove").c_str(), "×")) changed = without(terms, at);
    ui::rename_node("Remove " + called);
    ImGui::EndGroup();
    return changed;
}

std::optional<MaskTerms> draw_level(const Model& model, const std::string& name, const MaskTerms& terms,
                                    int depth);

std::optional<MaskTerms> draw_group(const Model& model, const std::string& name, const MaskTerms& terms,
                                    std::size_t at, int depth) {
    const Mask& term = terms.terms[at];
    const MaskTerms inner = inside(term);
    const std::string called = in_short(name_of(term));
    const ui::SemanticGroup semantics(ui::Role::group, name + "/group", called);
    std::optional<MaskTerms> changed;
    if (at > 0) ui::label(word_of(terms.join));
    if (ui::toggle((name + "/not").c_str(), "not", is_negated(term)))
        changed = with(terms, at, negated(term));
    ui::rename_node("Not " + called);
    ui::tooltip("Turn what is in these brackets into its opposite");
    next_piece(2 * sign_width);
    ui::label("(");
    if (const auto join =
            ui::choice((name + "/join").c_str(), std::array{"and", "or"}, inner.join == Join::all ? 0 : 1)) {
        MaskTerms other = inner;
        other.join = *join == 0 ? Join::all : Join::any;
        changed = with(terms, at, with_inside(term, other));
    }
    next_piece(sign_width);
    if (const auto atom = draw_add(model, name + "/add")) {
        MaskTerms more = inner;
        more.terms.push_back(*atom);
        changed = with(terms, at, with_inside(term, more));
    }
    ui::tooltip("Add a term in these brackets");
    next_piece(ui::need::button);
    if (ui::button((name + "/dissolve").c_str(), "Dissolve")) changed = dissolved(terms, at);
    ui::rename_node("Dissolve " + called);
    ui::tooltip("Removes the brackets and keeps what is in them");
    next_piece(sign_width);
    if (const auto bracketed = draw_brackets(model, name, terms, at)) changed = bracketed;
    next_piece(sign_width);
    if (ui::button((name + "/remove").c_str(), "×")) changed = without(terms, at);
    ui::rename_node("Remove " + called);

    // On a phone, deep brackets leave room for their contents.
    constexpr int wide_levels = 6;
    const float step = depth < wide_levels ? 14.0f : 4.0f;
    const ImVec2 top = ImGui::GetCursorScreenPos();
    ImGui::Indent(step);
    if (const auto within = draw_level(model, name, inner, depth + 1))
        changed = within->terms.empty() ? without(terms, at) : with(terms, at, with_inside(term, *within));
    ImGui::Unindent(step);
    ImGui::GetWindowDrawList()->AddLine({top.x + 2, top.y}, {top.x + 2, ImGui::GetItemRectMax().y},
                                        ui::theme().dim, 2);
    return changed;
}

std::optional<MaskTerms> draw_level(const Model& model, const std::string& name, const MaskTerms& terms,
                                    int depth) {
    std::optional<MaskTerms> changed;
    bool beside = false;  // a chip may stand beside the last item
    for (std::size_t i = 0; i < terms.terms.size(); ++i) {
        const std::string term = name + "/" + std::to_string(i);
        if (!inside(terms.terms[i]).terms.empty()) {
            if (const auto made = draw_group(model, term, terms, i, depth)) changed = made;
            beside = false;
            continue;
        }
        const auto numbers = static_cast<float>(numbers_of(terms.terms[i]).size());
        if (beside) ui::next_control(ui::need::button + ui::need::stepper * numbers);
        if (const auto made = draw_chip(model, term, terms, i)) changed = made;
        beside = true;
    }
    return changed;
}

}  // namespace

void draw_terms(Model& model, const Drawing& drawing) {
    ViewMemory& seen = remembered(model.seen);
    const MaskTerms terms = terms_of(model.state.mask);
    const bool ends_in_chip = !terms.terms.empty() && inside(terms.terms.back()).terms.empty();
    std::optional<MaskTerms> changed = draw_level(model, "masks/term", terms, 0);
    if (terms.terms.size() > 1) seen.joins = terms.join;
    if (ends_in_chip) ui::next_control(ui::need::named_choices);
    ImGui::BeginGroup();
    if (const auto atom = draw_add(model, "masks/add")) {
        changed = terms;
        changed->join = seen.joins;
        changed->terms.push_back(*atom);
    }
    ui::tooltip("Add a term to the mask");
    ImGui::SameLine(0, 6);
    if (const auto join =
            ui::choice("masks/join", std::array{"and", "or"}, seen.joins == Join::all ? 0 : 1)) {
        seen.joins = *join == 0 ? Join::all : Join::any;
        if (terms.terms.size() > 1) (changed = terms)->join = seen.joins;
    }
    ImGui::SameLine(0, 14);
    if (ui::toggle("masks/paint", seen.view.painting ? "Painting" : "Paint cells", seen.view.painting))
        seen.view.painting = !seen.view.painting;
    ui::tooltip(
        "While this is on, a press on a cell of the picture shows or hides it, and a drag takes others "
        "along");
    ImGui::EndGroup();
    if (changed) set_mask(model, drawing, joined(*changed));
}

}  // namespace attn::app::masks
