// Draws the subject's own part of the page: the chosen head with its measurements and the way to other
// sentences or, before there is a run, instructions for getting one.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "subjects/sentence/sentence.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

constexpr std::size_t shares_shown = 2;
constexpr const char* twins_both_ways =
    "This model reads both ways: already the row of the first “it” depends on the adjective after it.";
constexpr const char* causal_twins =
    "The first “it” cannot know the adjective: in a causal model its row is the same in both sentences. Only "
    "later words can, such as the last “It”.";

// Places an item on the line of the previous one if there is room, otherwise on the next line.
void beside(float width, float gap) {
    const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
    if (ImGui::GetItemRectMax().x + 10 + width <= right) ImGui::SameLine(0, gap);
}

// Without a gap, the badge begins a line.
void badge(const std::string& text, const char* meaning, float gap = 6) {
    ui::Type mono(ui::Face::mono, 12);
    if (gap > 0) beside(ui::text_size(text).x + 16, gap);
    const ui::Theme& t = ui::theme();
    ui::badge(text.c_str(), t.accent_soft, t.dark ? t.text : t.accent);
    ui::tooltip(meaning);
}

void invitation(Visit& visit) {
    const ui::Theme& t = ui::theme();
    ui::heading("Your sentence through a real transformer");
    ImGui::Dummy({0, 4});
    if (const State* home = visit.home(); home && !sentence_of(*home).model.empty()) {
        const SentenceState& first = sentence_of(*home);
        if (ui::button("sentence/open", ("Open " + first.model + ", which comes with this page").c_str()))
            visit.perform(OpenBundled{first.model, first.text, ""});
        ImGui::Dummy({0, 4});
    }
    ui::paragraph(
        "Drop the folder of a model onto this page, or choose “Open model…” above, which also fetches one "
        "from "
        "the hub by its name.",
        t.text);
    ui::paragraph("It should contain these files, as on a model hub:", t.dim);
    ImGui::Dummy({0, 2});
    ui::list_item("config.json", "of GPT-2, Llama, Gemma, BERT or another of some twenty families");
    ui::list_item("model.safetensors", "f32, f16 or bf16; or shards with their index");
    ui::list_item("tokenizer.json", "or vocab and merges");
    ImGui::Dummy({0, 6});
    ui::paragraph(
        "Then type, and see every head of every layer, each weight with the numbers behind it, and what "
        "the model would say next. What you type stays on this machine: the model runs here, in the page.",
        t.dim);
    ui::landmark_item("sentence/invitation");
}

}  // namespace

bool SentenceSubject::draw_controls(const Drawing& drawing, bool brief) {
    if (!awaited_.empty()) {
        draw_waiting();
        return false;
    }
    if (!open_.model) {
        invitation(visit());
        return false;
    }
    if (!run()) {
        draw_invitation_to_type();
        return false;
    }
    if (!ui::settings()) {
        draw_changes();
        return true;
    }
    draw_heading(drawing, brief);
    if (!brief) draw_alphabet();
    if (!brief && !lens_of(state()).compares) draw_other_sentences();
    return true;
}

// Says that the model is being read or trained again.
void SentenceSubject::draw_waiting() const {
    const auto& trained = now().trained;
    ui::heading(trained ? awaited_.c_str() : "A sentence through a real transformer");
    ImGui::Dummy({0, 4});
    std::string what = is_hub_model(awaited_) ? "Waiting for " + shown_name(awaited_) + " from the hub."
                                              : "Reading " + awaited_ + ", which comes with this page.";
    if (trained) {
        const TrainingRun* run = training_.prepared();
        what = "Training it again: step " + std::to_string(run ? run->steps_taken() : 0) + " of " +
               std::to_string(trained->step) + ".";
    }
    ui::paragraph(what, ui::theme().text);
    ui::landmark_item("sentence/waiting");
}

void SentenceSubject::draw_alphabet() {
    if (alphabet().empty()) return;
    ui::caption(alphabet().c_str());
    ui::landmark_item("sentence/alphabet");
}

void SentenceSubject::draw_invitation_to_type() {
    ui::heading(shown_name(open_.name).c_str());
    ImGui::Dummy({0, 4});
    ui::paragraph(alphabet().empty() ? "Type a sentence above." : "Type some of its symbols above.",
                  ui::theme().text);
    draw_alphabet();
    if (alphabet().empty() && ui::button("sentence/example", ("Read “" + first_twin() + "”").c_str()))
        visit().perform(SetText{first_twin()});
    if (!continues_text() && special_.mask)
        ui::paragraph("It fills in what is masked: type " + token_texts(std::array{*special_.mask}).front() +
                          " for a word.",
                      ui::theme().text);
    const ModelConfig& config = open_.model->config();
    ui::paragraph(layers_told() + " × " + many(config.heads, "head") + ", " +
                      fixed(static_cast<double>(open_.model->parameter_count()) / 1e6, 2) +
                      " million parameters, texts of up to " + std::to_string(config.context) + " tokens.",
                  ui::theme().dim);
    ui::landmark_item("sentence/type");
}

bool SentenceSubject::draw_in_tabs(const Drawing&, bool, float width) {
    const bool runs = awaited_.empty() && model() && run();
    if (!runs || width < ui::need::button) return false;
    draw_change_menu();
    return true;
}

// Draws what is measured of the chosen head, and what was changed. A wide window has the first in the row of
// tabs.
void SentenceSubject::draw_heading(const Drawing& drawing, bool brief) {
    const Selection& s = state().selection;
    const bool compares = lens_of(state()).compares;
    const HeadIndex head{s.layer, s.head};
    const NamedHeads* named = naming_.heads();
    const std::string name = named ? named->name(head) : "";
    const Layers& layers = run()->numbering();
    if (!ui::folded().head) {
        ui::section((capitalised(layers.name(s.layer)) + " · head " + std::to_string(s.head) +
                     (name.empty() ? "" : " · " + name))
                        .c_str());
        ui::landmark_item("heading");
        if (!name.empty()) ui::tooltip(named->told(head).c_str());
    }
    if (!ui::folded().subject) {
        // The text is as small as in the badges beside it, unless fingers press it.
        ui::Type small(ui::Face::regular, ui::size_small);
        ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({10, ui::narrow_window() ? 6.0f : 1.0f}));
        if (!ui::folded().head) ui::next_control(ui::need::button);
        draw_change_menu();  // before the badges, which differ from head to head
        ImGui::PopStyleVar();
    }
    if (!compares && !ui::folded().head) draw_badges(drawing, true);  // describe only the first sentence
    draw_changes();
    if (brief) return;
    const bool narrow = ImGui::GetContentRegionAvail().x < ui::two_columns;
    ui::caption(
        compares ? "The same words are highlighted in both sentences. Click a word to keep it, a head to see "
                   "its maps."
        : narrow ? "Click a word to see what it attends to. Click a thumbnail to switch heads. Click a cell "
                   "to see "
                   "where its number comes from."
                 : "Hover over a word to see what it attends to. Click a thumbnail to switch heads. "
                   "Ctrl + scroll zooms the map.");
}

void SentenceSubject::draw_head(const Drawing& drawing) {
    if (run() && awaited_.empty())
        ui::column("measured", ImGui::GetContentRegionAvail().x, [&](float) { draw_badges(drawing, false); });
}

// Says what the head does most, and how spread out its weights are; continues a line or begins one.
void SentenceSubject::draw_badges(const Drawing& drawing, bool continues) const {
    const HeadOverview* heads = run()->overview();
    const Selection& s = state().selection;
    if (!heads || s.layer >= heads->layers() || s.head >= heads->heads()) return;
    const std::optional<HeadScores>& scores = heads->scores({s.layer, s.head});
    if (!scores) return badge("measuring …", "Adding up this head's weights", continues ? 14 : 0);
    // The badge of a score also explains itself in the inspector; a click keeps it there.
    const auto explains = [&](HeadScore score) {
        if (!ImGui::IsItemHovered()) return;
        drawing.now.cell = head_score_cell(*heads, {s.layer, s.head}, score);
        if (ui::clicked()) visit().perform(Pin{drawing.now.cell}, ui::gesture());
    };
    using enum HeadScore;
    std::vector shares{current_token, previous_token, first_token, duplicate_token, induction};
    const auto share_of = [&](HeadScore score) { return number_of(scores, score).value_or(0); };
    // Some scores exist for self-attention only.
    std::erase_if(shares, [&](HeadScore score) { return !number_of(scores, score); });
    std::ranges::sort(shares, std::greater{}, share_of);
    {
        const std::string on = std::string(run()->measured_on()) + ":";
        ui::Type small(ui::Face::regular, ui::size_small);
        if (continues) beside(ui::text_size(on).x, 14);
        ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
        ui::text_item(on);
        ImGui::PopStyleColor();
        ui::semantic_text(ui::Role::paragraph, on);
    }
    for (std::size_t i = 0; i < std::min(shares_shown, shares.size()); ++i) {
        badge(std::string(info(shares[i]).name) + " " + fixed(share_of(shares[i]), 2),
              info(shares[i]).meaning);
        explains(shares[i]);
    }
    badge("entropy " + fixed(scores->entropy, 2) + " nats", info(entropy).meaning);
    explains(entropy);
    badge("spread " + fixed(100 * scores->spread, 0) + " %", info(spread).meaning);
    explains(spread);
}

// Offers to add a second sentence or, if the text is one of two that differ in an adjective, to show the
// other one.
void SentenceSubject::draw_other_sentences() {
    const auto other = twin_of(now().text);
    const bool narrow = ImGui::GetContentRegionAvail().x < ui::two_columns;  // touch screens show no tooltips
    const char* about_twins = continues_text() ? causal_twins : twins_both_ways;
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({10, 4}));
        if (other) {
            const std::string present = twin_of(other->text)->adjective;
            if (ui::button("twin", ("Try “" + other->adjective + "” instead of “" + present + "”").c_str()))
                replace_text(other->text);
            if (!narrow) ui::tooltip(about_twins);
            ui::next_control(ui::need::choices);
        }
        // An existing second sentence stays; only the lens changes.
        const std::optional<Offer> offer = now().compared
                                               ? Offer{compares_models() ? "Compare with the second model"
                                                                         : "Compare with the second sentence",
                                                       OpenLens{usual_lens(state())}}
                                               : offer_second();
        if (offer && ui::button("compare", offer->label.c_str())) visit().perform(offer->command);
        ImGui::PopStyleVar();
    }
    if (other && narrow) ui::caption(about_twins);
}

void SentenceSubject::draw_comparison(const Drawing&) {
    const bool settings = ui::settings();
    for (const Pair& pair :
         !settings || writes_another() || compares_models() ? std::span<const Pair>() : pairs())
        if (ui::next_button(std::string(pair.name)))
            if (ui::button(("compare/pair/" + std::string(pair.key)).c_str(), std::string(pair.name).c_str()))
                compare(pair);
    if (settings && now().compared && now().compared->of_text() && ui::next_control(ui::need::long_button)) {
        if (ui::button("compare/models", "Another model")) visit().perform(Compare{Comparison{.model = ""}});
        ui::tooltip("The same sentence in two models that have one tokenizer");
    }
    if (settings && ui::next_control(ui::need::long_button) &&
        ui::button("compare/off", compares_models()                          ? "This model alone"
                                  : now().compared && now().compared->before ? "The changed run alone"
                                                                             : "One sentence"))
        return visit().perform(Compare{});
    draw_next_of_both();
}

std::pair<std::string, std::string> SentenceSubject::comparison_names() {
    if (!now().compared) return {now().text, ""};
    if (now().compared->before) return {"changed", "before"};
    if (compares_models()) return {shown_name(open_.name), shown_name(beside_.name)};
    // If the queries are the written text, the written texts name the runs.
    return writes_another() && chosen_run() && chosen_run()->kind == AttentionKind::decoder
               ? std::pair(now().written, now().compared->written)
               : std::pair(now().text, now().compared->text);
}

}  // namespace attn::app
