// Writes a user's own tensors into links: the names of their files, and the rule that Q and K follow.
#include "app/link_text.hpp"
#include "app/looks.hpp"
#include "subjects/tensors/commands.hpp"
#include "subjects/tensors/tensors.hpp"

namespace attn::app {

namespace {

// Writes "causal", "past" or "causal,unscaled"; the default is empty, which cannot be read back.
std::string write_rule(const TensorRule& rule) {
    std::string text;
    if (rule.causal != TensorRule::Causal::none)
        text = rule.causal == TensorRule::Causal::aligned ? "causal" : "past";
    if (!rule.scale_by_sqrt_d) text += text.empty() ? "unscaled" : ",unscaled";
    return text;
}

std::optional<TensorRule> read_rule(std::string_view text) {
    using Causal = TensorRule::Causal;
    for (const Causal causal : {Causal::none, Causal::aligned, Causal::with_past})
        for (const bool scaled : {true, false})
            if (const TensorRule rule{causal, scaled}; !text.empty() && write_rule(rule) == text) return rule;
    return std::nullopt;
}

void prune(State& state) {
    if (!fits_into_a_link(write_names(tensors_of(state).files))) state.edit<TensorsState>().files.clear();
}

constexpr LinkRow tensors_rows[] = {
    {"files", "names of files, separated by commas",
     [](State& s, const std::string& value) {
         const auto names = read_names(value);
         if (!fits_into_a_link(value) || !are_file_names(names)) return false;
         s.edit<TensorsState>().files = names;
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string names = write_names(tensors_of(s).files);
         return names.empty() ? std::nullopt : std::optional(names);
     }},
    {"tensors.answers", "what was answered about the files: question=answer, separated by commas",
     [](State& s, const std::string& value) {
         decltype(TensorsState::answers) answers;
         if (!fits_into_a_link(value)) return false;
         for (const std::string& each : read_names(value)) {
             const std::size_t equals = each.find('=');
             if (equals == std::string::npos) return false;
             answers[each.substr(0, equals)] = each.substr(equals + 1);
         }
         if (!are_answers(answers)) return false;
         s.edit<TensorsState>().answers = std::move(answers);
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         std::vector<std::string> each;
         for (const auto& [question, answer] : tensors_of(s).answers) each.push_back(question + "=" + answer);
         const std::string answers = write_names(each);
         return each.empty() || !fits_into_a_link(answers) ? std::nullopt : std::optional(answers);
     }},
    {"rule", "causal or past, and unscaled",
     [](State& s, const std::string& value) {
         const auto rule = read_rule(value);
         return rule && take(s, SetTensorRule{*rule});
     },
     [](const State& s, const State&) { return unless_initial(tensors_of(s).rule, write_rule); }},
};

struct LooksKeys {
    static constexpr std::string_view subject = tensors_subject, map = "shown", heads = "sorted",
                                      flow = "edges", bookmarks = "marks", window = "tensors.window",
                                      marked = "tensors.marked", spans = "tensors.spans";
};
constexpr auto all_rows = joined(tensors_rows, LooksRows<LooksKeys>::rows);

}  // namespace

LinkRows tensors_links() { return {.rows = all_rows, .prune = prune}; }

}  // namespace attn::app
