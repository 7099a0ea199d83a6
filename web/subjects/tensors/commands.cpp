#include "subjects/tensors/commands.hpp"

#include <algorithm>

#include "app/format.hpp"
#include "app/looks.hpp"
#include "text/utf8.hpp"

namespace attn::app {

bool are_file_names(const std::vector<std::string>& names) {
    return names.size() <= tensor_file_limit && std::ranges::all_of(names, [](const std::string& name) {
               return !name.empty() && name.size() <= 200 && is_utf8(name);
           });
}

bool are_answers(const decltype(TensorsState::answers)& answers) {
    return answers.size() <= 64 && std::ranges::all_of(answers, [](const auto& answer) {
               return !answer.first.empty() && answer.first.size() + answer.second.size() < 200 &&
                      answer.first.find('=') == std::string::npos && is_utf8(answer.first) &&
                      is_utf8(answer.second);
           });
}

Status OpenTensors::apply(State& state) const {
    if (!are_file_names(files))
        return Error{"There are at most " + std::to_string(tensor_file_limit) +
                     " files of tensors, with names of UTF-8 of at most 200 bytes."};
    if (!are_answers(answers)) return Error{"At most 64 answers about files of tensors can be kept."};
    // A link that names the files has already made the choices.
    const bool known = files == tensors_of(state).files;
    const bool shown = state.subject == tensors_subject;
    if (!known) {
        TensorsState& tensors = state.edit<TensorsState>();
        tensors.files = files;
        tensors.rule = {};
        Looks looks = looks_of(state, tensors_subject);
        looks.flow.heads.clear();
        set_looks(state, tensors_subject, std::move(looks));
    }
    if (tensors_of(state).answers != answers) state.edit<TensorsState>().answers = answers;
    if (!shown)
        if (const Status opened = OpenSubject{tensors_subject}.apply(state); !opened) return opened;
    if (!known) {
        state.selection = {};
        state.pin.reset();
    }
    return ok();
}
std::string OpenTensors::describe(const State&) const {
    return files.empty() ? "closed the tensors" : "opened " + files.front();
}

Status SetTensorRule::apply(State& state) const {
    state.edit<TensorsState>().rule = rule;
    return ok();
}
std::string SetTensorRule::describe(const State&) const {
    return std::string(rule.causal == TensorRule::Causal::none ? "no mask" : "causal mask") +
           (rule.scale_by_sqrt_d ? "" : ", no scale");
}

}  // namespace attn::app
