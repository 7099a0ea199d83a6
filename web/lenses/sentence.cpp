// Lens Sentence: a person's own text through a real transformer. The heads, the chosen one large, who looks where,
// how a score comes about, and what would come next.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/twins.hpp"
#include "lenses/columns.hpp"
#include "lenses/compare_view.hpp"
#include "lenses/heads_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

Pointed pointed_before;  // in the last frame

// Drawn on one line as far as they fit, then on the next.
void badge(const std::string& text, const char* meaning, bool first) {
    ui::Type mono(ui::Face::mono, 12);
    const float width = ui::text_size(text).x + 16;
    const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
    if (ImGui::GetItemRectMax().x + 10 + width <= right) ImGui::SameLine(0, first ? 14 : 6);
    ui::badge(text.c_str(), ui::theme().accent_soft,
              ui::theme().dark ? ui::theme().text : ui::theme().accent);
    ui::tooltip(meaning);
}

void head_heading(const SentenceView& view) {
    const app::Selection& s = view.selection();
    ui::heading(("Layer " + std::to_string(s.layer) + " · head " + std::to_string(s.head)).c_str());
    // They are of the first sentence alone.
    if (view.session.state().sentence.compared || !view.run.heads) return;
    const auto& scores = view.run.heads->scores({s.layer, s.head});
    if (!scores) return badge("measuring …", "Adding up this head's weights", true);
    struct Share {
        const char* name;
        double value;
        const char* meaning;
    };
    std::vector<Share> shares{{"itself", scores->current_token,
                               "Share of all weight that lies on the word itself: Σ A[i, i] / Σ A"}};
    using enum app::HeadScore;
    for (const app::HeadScore score : {previous_token, first_token, duplicate_token, induction})
        shares.push_back(
            {info(score).name, number_of(scores, score).value_or(std::nan("")), info(score).meaning});
    std::ranges::sort(shares, std::greater{},
                      [](const Share& s) { return std::isnan(s.value) ? 0 : s.value; });
    for (std::size_t i = 0; i < 2; ++i)
        badge(std::string(shares[i].name) + " " + app::fixed(shares[i].value, 2), shares[i].meaning, i == 0);
    badge("entropy " + app::fixed(scores->entropy, 2) + " nats", info(entropy).meaning, false);
    badge("spread " + app::fixed(100 * scores->spread, 0) + " %",
          "Entropy as a share of the most it could be, ln of the keys a row may look at; mean over the rows.",
          false);
}

// ---- Before there is anything to show ----------------------------------------------------------------------------

void paragraph(const char* text, ImU32 colour) {
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + std::min(ImGui::GetContentRegionAvail().x, 620.0f));
    ImGui::TextUnformatted(text);
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
}

void invitation() {
    const ui::Theme& t = ui::theme();
    ui::heading("Your sentence through a real transformer");
    ImGui::Dummy({0, 4});
    paragraph("Drop the folder of a model onto this page, or choose “Open model…” above.", t.text);
    paragraph("It is read as it lies on a model hub:", t.dim);
    ImGui::Dummy({0, 2});
    ui::list_item("config.json", "GPT-2, Llama, Mistral or Qwen2");
    ui::list_item("model.safetensors", "f32, f16 or bf16; or shards with their index");
    ui::list_item("tokenizer.json", "or vocab and merges");
    ImGui::Dummy({0, 6});
    paragraph(
        "Then type, and see every head of every layer, each weight with the numbers it comes from, and what "
        "the "
        "model would say next. Nothing leaves this machine: the model runs here, in the page.",
        t.dim);
    ui::landmark_item("sentence/invitation");
}

void waiting(app::Session& session) {
    const auto& trained = session.state().sentence.trained;
    const app::TrainingRun* run = session.training().prepared();
    ui::heading(trained ? session.awaited_model().c_str() : "A sentence through a real transformer");
    ImGui::Dummy({0, 4});
    const std::string what =
        trained ? "Its training is repeated: step " + std::to_string(run ? run->steps_taken() : 0) + " of " +
                      std::to_string(trained->step) + "."
                : session.awaited_model() + ", which comes with this page, is being read.";
    paragraph(what.c_str(), ui::theme().text);
    ui::landmark_item("sentence/waiting");
}

void invitation_to_type(const app::Session& session) {
    ui::heading(session.model_name().c_str());
    ImGui::Dummy({0, 4});
    paragraph("Type a sentence above.", ui::theme().text);
    const ModelConfig& config = session.model()->config();
    const std::string facts =
        std::to_string(config.layers) + " layers × " + std::to_string(config.heads) + " heads, " +
        app::fixed(static_cast<double>(session.model()->parameter_count()) / 1e6, 2) +
        " million parameters, texts of up to " + std::to_string(config.context) + " tokens.";
    paragraph(facts.c_str(), ui::theme().dim);
    ui::landmark_item("sentence/type");
}

void progress(const app::Session& session) {
    const auto share = session.progress();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    if (share) {
        ImDrawList* list = ImGui::GetWindowDrawList();
        const float top = at.y - 12;
        list->AddRectFilled({at.x, top}, {at.x + width, top + 3}, ui::theme().raised, 2);
        list->AddRectFilled({at.x, top}, {at.x + width * *share, top + 3}, ui::theme().accent, 2);
        ui::Type small(ui::Face::regular, ui::size_small);
        const std::string text = std::string(session.progress_name()) + " " +
                                 app::fixed(100 * static_cast<double>(*share), 0) + " %";
        ui::draw_text(list, {at.x + width - ui::text_size(text).x, top + 7}, ui::theme().dim, text);
    }
}

// The way to a second sentence, and where the text is one of two that differ in an adjective, to the other.
void other_sentences(SentenceView& view) {
    const std::string& text = view.session.state().sentence.text;
    const auto other = app::twin_of(text);
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {10, 4});
        if (ui::button("compare", "Compare with a second sentence"))
            view.session.perform(app::Compare{app::Comparison{.text = other ? other->text : text}});
        if (other) {
            ui::next_control(110);
            if (ui::button("twin", ("twin: " + other->adjective).c_str()))
                view.session.replace_text(other->text);
        }
        ImGui::PopStyleVar();
    }
    if (other)
        ui::caption(
            "The first “it” cannot know the adjective: a causal model gives it the same row in both twins. "
            "Only what comes after can, as the last “It”.");
}

// ---- Layout ------------------------------------------------------------------------------------------------------

void space() { ImGui::Dummy({0, 8}); }

void heads(SentenceView& view, float width, float most_height) {
    if (!view.run.heads) return;
    HeadsView all{
        view.session,
        view.hover,
        *view.run.heads,
        view.session.state().sentence.heads,
        [](app::Session& session, const app::HeadsChoice& choice) { session.perform(app::SetHeads{choice}); },
        ui::sequential_scale(1)};
    head_survey(all, width, most_height);
}

void parts(SentenceView& view) {
    const float width = ImGui::GetContentRegionAvail().x;
    const float window = std::max(ImGui::GetWindowHeight(), 480.0f);
    sentence_flow(view, width, window * 0.6f);
    space();
    if (width < two_columns_from) {
        sentence_map(view, width, 1e6f);
        space();
        heads(view, width, window * 0.7f);
        space();
        sentence_ladder(view, width);
        space();
        sentence_next(view, width);
        return;
    }
    const float left = std::floor((width - column_gap) * 0.46f);
    column("left", left, [&](float w) {
        heads(view, w, window * 0.55f);
        space();
        sentence_next(view, w);
    });
    ImGui::SameLine(0, column_gap);
    column("right", width - left - column_gap, [&](float w) {
        sentence_map(view, w, window * 0.7f);
        space();
        sentence_ladder(view, w);
    });
}

}  // namespace

void SentenceView::select(std::optional<Index> query, std::optional<Index> key) {
    app::Selection s = selection();
    if (s.query != query) s.counterpart.reset();
    s.query = query;
    s.key = key;
    session.perform(app::Select{s}, ui::gesture());
}

void SentenceView::select_head(Index layer, Index head) {
    app::Selection s = selection();
    s.layer = layer;
    s.head = head;
    session.perform(app::Select{s}, ui::gesture());
}

bool dragged() {
    const ImGuiIO& io = ImGui::GetIO();
    return io.MouseDragMaxDistanceSqr[0] >= io.MouseDragThreshold * io.MouseDragThreshold;
}

bool clicked() { return ImGui::IsMouseReleased(0) && !dragged(); }

std::string quoted(const std::string& piece) { return "“" + piece + "”"; }

void sentence(app::Session& session, Hover& hover) {
    hover = {};
    if (!session.awaited_model().empty()) return waiting(session);
    if (!session.model()) return invitation();
    progress(session);
    const app::SentenceRun* run = session.sentence();
    if (!run) return invitation_to_type(session);

    const app::Deadline deadline(frame_ms);
    const Index n = run->trace->tokens();
    SentenceView view{
        session, *run, hover, deadline, {within(pointed_before.query, n), within(pointed_before.key, n)}, {}};
    head_heading(view);
    ui::caption(
        session.state().sentence.compared
            ? "The same words are lit in both sentences. Click a word to keep it, a head to see its maps."
        : ImGui::GetContentRegionAvail().x < two_columns_from
            ? "Tap a word to see where it looks, a thumbnail to change head, a cell to have it explained."
            : "Hover a word to see where it looks. Click a thumbnail to change head. Wheel zooms the map.");
    if (session.state().sentence.compared) {
        sentence_compare(view);
    } else {
        other_sentences(view);
        parts(view);
    }
    pointed_before = view.now;
    if (session.state().pin && !ImGui::GetIO().WantTextInput &&
        ImGui::Shortcut(ImGuiKey_Escape, ImGuiInputFlags_RouteFocused))
        session.perform(app::Pin{std::nullopt});
}

}  // namespace attn::lenses
