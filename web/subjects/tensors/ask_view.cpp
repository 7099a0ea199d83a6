// Draws what is said about tensors before there is a picture: which files can be dropped, what the files
// leave open, and what is missing.
#include <algorithm>

#include "subjects/tensors/tensors.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

// More choices than this are shown as a stepper.
constexpr std::size_t most_buttons = 12;
constexpr float bar_width = 260, bar_height = 4;

}  // namespace

void TensorsSubject::draw_invitation() {
    const ui::Theme& t = ui::theme();
    ui::heading("Your own tensors");
    ImGui::Dummy({0, 4});
    if (const std::string files = wanted(); !files.empty()) {
        ui::paragraph("This link was made with " + files + ". Drop the same files here to see what it shows.",
                      t.text);
        ui::landmark_item("tensors/wanted");
    }
    ui::paragraph("Drop finished attention weights, or Q and K, onto this page, or choose their files.",
                  t.text);
    if (ui::button("tensors/choose", "Choose files…")) visit().page().choose_tensors();
    ImGui::Dummy({0, 2});
    ui::list_item("attention.npy", "[n, n], [heads, n, n] or [layers, heads, n, n]; f16, bf16, f32 or f64");
    ui::list_item("q.npy, k.npy",
                  "[n, d], [heads, n, d] or [layers, heads, n, d]; with v.npy and mask.npy if you have them");
    ui::list_item(".npz, .safetensors", "the same under names: attention, or q, k, v, mask");
    ui::list_item("weights.csv", "one matrix, with or without names of rows and columns");
    ui::list_item("tokens.json", "a list of tokens; or tokens.txt, one token per line");
    ImGui::Dummy({0, 6});
    ui::paragraph(
        "docs/guide.md has ten lines of Python that save attention.npy and tokens.json from a Hugging Face "
        "model. If names and shapes leave something open, you will be asked. Nothing leaves this machine: "
        "the files are read here, in the page.",
        t.dim);
}

void TensorsSubject::draw_questions() {
    const TensorOpening* opening = own_.opening();
    if (!opening) return;
    if (opening->works()) {
        ui::caption("Reading …");
        ImGui::ProgressBar(opening->progress(),
                           {std::min(ImGui::GetContentRegionAvail().x, bar_width), bar_height}, "");
        if (ui::button("ask/cancel", "Cancel")) own_.cancel();
        ImGui::Dummy({0, 6});
        return;
    }
    ui::section(opening->questions().size() > 1 ? "Some questions" : "A question");
    ui::caption("The files don't say; please choose.");
    // A copy, because an answer changes the questions.
    for (const std::vector<Question> questions = opening->questions(); const Question& question : questions) {
        ImGui::Dummy({0, 2});
        if (!ask(question)) break;
    }
    ImGui::Dummy({0, 2});
    if (own_.opening() && ui::button("ask/cancel", "Cancel")) own_.cancel();
    ImGui::Dummy({0, 10});
}

// Returns false once the question has been answered, because the questions then change.
bool TensorsSubject::ask(const Question& question) {
    ui::paragraph(question.text, ui::theme().text);
    ui::landmark_item("ask/" + question.id + "/text");
    if (question.choices.size() > most_buttons) {
        step_through(question);
        return own_.opening() != nullptr;
    }
    for (const Choice& choice : question.choices) {
        const std::string name = "ask/" + question.id + "/" + choice.answer;
        const float room = std::min(ImGui::GetContentRegionAvail().x, ui::reading_width);
        const std::string label = ui::wrapped(choice.text, room - 2 * ImGui::GetStyle().FramePadding.x);
        if (ui::button(name.c_str(), label.c_str())) {
            own_.answer(question.id, choice.answer);
            return false;
        }
    }
    return true;
}

void TensorsSubject::step_through(const Question& question) {
    Index& at = stepped_[question.id];
    const Index last = std::ssize(question.choices) - 1;
    at = std::min(at, last);
    const std::string name = "ask/" + question.id;
    const Choice& shown = question.choices[static_cast<std::size_t>(at)];
    ImGui::BeginGroup();
    const auto to =
        ui::stepper(name.c_str(), "number", shown.text, {at - 1, at > 0 ? "" : "This is the first."},
                    {at + 1, at < last ? "" : "This is the last."},
                    {static_cast<double>(at), 0, static_cast<double>(last)});
    ImGui::EndGroup();
    ImGui::SameLine(0, 10);
    const bool taken = ui::button((name + "/take").c_str(), "Choose this one");
    if (to) at = *to;
    if (taken) own_.answer(question.id, shown.answer);
}

void TensorsSubject::draw_waiting() {
    const std::vector<TensorFile>& files = own_.waiting();
    if (files.empty() || own_.opening()) return;
    std::string names;
    for (const TensorFile& file : files) names += (names.empty() ? "" : ", ") + file.name;
    ui::paragraph(names + (files.size() == 1 ? " is" : " are") + " here; now drop what is still missing.",
                  ui::theme().text);
    ui::landmark_item("tensors/waiting");
    if (ui::button("tensors/forget", files.size() == 1 ? "Discard it" : "Discard them")) own_.cancel();
    ImGui::Dummy({0, 10});
}

}  // namespace attn::app
