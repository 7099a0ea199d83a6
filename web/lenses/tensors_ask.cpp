// What lens Tensors says before there is a picture: what may be dropped, what the files leave open, what they lack.
#include <algorithm>
#include <map>

#include "lenses/tensors_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

constexpr float most_width = 620;
// More choices than these are stepped through.
constexpr std::size_t most_buttons = 12;

void paragraph(const std::string& text, ImU32 colour) {
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::TextUnformatted(ui::wrapped(text, std::min(ImGui::GetContentRegionAvail().x, most_width)).c_str());
    ImGui::PopStyleColor();
}

// The number that is stepped to, by the question's id.
std::map<std::string, Index> stepped;

void step_through(app::Session& session, const Question& question) {
    Index& at = stepped[question.id];
    const Index last = std::ssize(question.choices) - 1;
    at = std::min(at, last);
    const std::string name = "ask/" + question.id;
    const std::string& shown = question.choices[static_cast<std::size_t>(at)].text;
    if (const auto to =
            ui::stepper(name.c_str(), "number", shown, {at - 1, at > 0 ? "" : "This is the first."},
                        {at + 1, at < last ? "" : "This is the last."}))
        at = *to;
    ImGui::SameLine(0, 10);
    if (ui::button((name + "/take").c_str(), "Take this one"))
        session.tensors().answer(question.id, question.choices[static_cast<std::size_t>(at)].answer);
}

// False once it has been answered, for then there are other questions.
bool ask(app::Session& session, const Question& question) {
    paragraph(question.text, ui::theme().text);
    ui::landmark_item("ask/" + question.id + "/text");
    if (question.choices.size() > most_buttons) {
        step_through(session, question);
        return session.tensors().opening() != nullptr;
    }
    for (const Choice& choice : question.choices) {
        const std::string name = "ask/" + question.id + "/" + choice.answer;
        const float room = std::min(ImGui::GetContentRegionAvail().x, most_width);
        const std::string label = ui::wrapped(choice.text, room - 2 * ImGui::GetStyle().FramePadding.x);
        if (ui::button(name.c_str(), label.c_str())) {
            session.tensors().answer(question.id, choice.answer);
            return false;
        }
    }
    return true;
}

}  // namespace

void tensors_invitation(app::Session& session) {
    const ui::Theme& t = ui::theme();
    ui::heading("Your own tensors");
    ImGui::Dummy({0, 4});
    if (const std::string files = session.wanted_tensors(); !files.empty()) {
        paragraph("This link was made with " + files + ": drop the same here to see what it shows.", t.text);
        ui::landmark_item("tensors/wanted");
    }
    paragraph("Drop finished attention weights, or Q and K, onto this page, or choose their files.", t.text);
    if (ui::button("tensors/choose", "Choose files…")) session.choose_tensors();
    ImGui::Dummy({0, 2});
    ui::list_item("attention.npy", "[n, n], [heads, n, n] or [layers, heads, n, n]; f16, bf16, f32 or f64");
    ui::list_item("q.npy, k.npy", "[n, d] or [heads, n, d]; with v.npy and mask.npy where there are such");
    ui::list_item(".npz, .safetensors", "the same under names: attention, or q, k, v, mask");
    ui::list_item("weights.csv", "one matrix, with names of rows and columns or without");
    ui::list_item("tokens.json", "a list of tokens; or tokens.txt, a token a line");
    ImGui::Dummy({0, 6});
    paragraph(
        "The README has ten lines of Python that save attention.npy and tokens.json from a Hugging Face "
        "model. What "
        "names and shapes leave open is asked. Nothing leaves this machine: the files are read here, in the "
        "page.",
        t.dim);
}

void tensors_questions(app::Session& session) {
    const app::TensorOpening* opening = session.tensors().opening();
    if (!opening) return;
    if (opening->works()) {
        ui::caption("Reading …");
        ImGui::ProgressBar(opening->progress(), {std::min(ImGui::GetContentRegionAvail().x, 260.0f), 4}, "");
        if (ui::button("ask/cancel", "Cancel")) session.tensors().cancel();
        ImGui::Dummy({0, 6});
        return;
    }
    ui::section(opening->questions().size() > 1 ? "Some questions" : "A question");
    ui::caption("What the files leave open is asked, not guessed.");
    // A copy: an answer asks anew.
    for (const std::vector<Question> questions = opening->questions(); const Question& question : questions) {
        ImGui::Dummy({0, 2});
        if (!ask(session, question)) break;
    }
    ImGui::Dummy({0, 2});
    if (session.tensors().opening() && ui::button("ask/cancel", "Leave these files"))
        session.tensors().cancel();
    ImGui::Dummy({0, 10});
}

void tensors_waiting(app::Session& session) {
    const auto& files = session.tensors().waiting();
    if (files.empty() || session.tensors().opening()) return;
    std::string names;
    for (const app::TensorFile& file : files) names += (names.empty() ? "" : ", ") + file.name;
    paragraph(names + (files.size() == 1 ? " is" : " are") + " here: drop what is still missing.",
              ui::theme().text);
    ui::landmark_item("tensors/waiting");
    if (ui::button("tensors/forget", files.size() == 1 ? "Forget it" : "Forget them"))
        session.tensors().cancel();
    ImGui::Dummy({0, 10});
}

}  // namespace attn::lenses
