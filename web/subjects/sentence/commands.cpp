#include "subjects/sentence/commands.hpp"

#include <algorithm>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "app/looks.hpp"
#include "runs/training_state.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

// Another model has other heads, so the chosen heads and the interventions in them are dropped.
void forget_heads(State& state) {
    Looks looks = looks_of(state, sentence_subject);
    looks.flow.heads.clear();
    set_looks(state, sentence_subject, std::move(looks));
    state.edit<SentenceState>().changes = {};
    if (state.subject == sentence_subject) {
        state.selection = {};
        state.pin.reset();
    } else {
        state.edit<OtherChoices>().of.erase(sentence_subject);
    }
}

// Returns “ sat”, or the beginning of a longer text, on one line.
std::string excerpt_of(std::string_view text) {
    constexpr std::ptrdiff_t most = 24;  // characters
    const std::string_view first = first_code_points(text, most);
    return curly_quoted(on_one_line(first) + (first.size() < text.size() ? "…" : ""));
}

std::string change_of(const std::string& was, const std::string& text) {
    if (text.starts_with(was)) return excerpt_of(text.substr(was.size())) + " added";
    if (was.starts_with(text)) return excerpt_of(was.substr(text.size())) + " deleted";
    return "text " + excerpt_of(text);
}

}  // namespace

bool is_model_name(std::string_view text) { return text.size() <= 200 && is_utf8(text); }

bool is_hub_model(std::string_view name) { return name.starts_with("hub:"); }

std::string shown_name(std::string_view name) {
    if (!is_hub_model(name)) return std::string(name);
    name.remove_prefix(4);
    const std::size_t at = name.find('@');
    const std::string_view revision =
        at == std::string_view::npos ? "" : name.substr(at + 1, name.find('/', at) - at - 1);
    const auto typed = [](std::string_view part) {
        std::string text(part);
        for (std::size_t i = 0; (i = text.find("%2F", i)) != text.npos; ++i) text.replace(i, 3, "/");
        return text;
    };
    const bool commit =
        revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == revision.npos;
    if (!commit) return typed(name);
    return std::string(name.substr(0, at)) + std::string(name.substr(at + 1 + revision.size()));
}

Status SetText::apply(State& state) const {
    if (!is_utf8(text)) return Error{"The text is not UTF-8."};
    state.edit<SentenceState>().text = text;
    return ok();
}
std::string SetText::describe(const State& before) const { return change_of(sentence_of(before).text, text); }

Status SetWritten::apply(State& state) const {
    if (!is_utf8(text)) return Error{"The text is not UTF-8."};
    state.edit<SentenceState>().written = text;
    return ok();
}
std::string SetWritten::describe(const State& before) const {
    return change_of(sentence_of(before).written, text);
}

Status OpenBundled::apply(State& state) const {
    if (const Status opened = SetModel{.name = model}.apply(state); !opened) return opened;
    show_subject(state, sentence_subject);
    state.edit<SentenceState>().compared.reset();
    state.edit<SentenceState>().sampling.temperature = 0;  // the most likely token, as its model card says
    if (lens_of(state).compares) state.lens = usual_lens(state);
    if (const Status read = SetText{text}.apply(state); !read) return read;
    return SetWritten{written}.apply(state);
}
std::string OpenBundled::describe(const State&) const { return "model " + model; }

Status Compare::apply(State& state) const {
    if (with && !(is_utf8(with->text) && is_utf8(with->written)))
        return Error{"The second text is not UTF-8."};
    if (with && with->model && !is_model_name(*with->model))
        return Error{"A model's name is UTF-8 of at most 200 bytes."};
    if (text && !is_utf8(*text)) return Error{"The text is not UTF-8."};
    if (with && with->before && !sentence_of(state).changes.any_on())
        return Error{"Nothing in this run is changed, so there is no run before."};
    if (!with) state.selection.counterpart.reset();
    SentenceState& sentence = state.edit<SentenceState>();
    const bool begins_or_ends = sentence.compared.has_value() != with.has_value();
    if (text) sentence.text = *text;
    sentence.compared = with;
    if (with && with->before) sentence.changes.before = false;
    if (begins_or_ends && state.subject == sentence_subject) state.lens = usual_lens(state);
    return ok();
}
std::string Compare::describe(const State& before) const {
    if (!with) return "one text alone";
    const auto& now = sentence_of(before).compared;
    if (with->before) return "compared with the run before";
    if (with->model)
        return with->model->empty() ? "compared with another model" : "compared with " + *with->model;
    return !now ? "compared with a second text" : *now != *with ? "second text" : "comparison";
}

Status SetModel::apply(State& state) const {
    const SentenceState& before = sentence_of(state);
    if (name == before.model && !before.trained) return ok();  // already chosen by a link that names it
    if (!is_model_name(name)) return Error{"A model's name is UTF-8 of at most 200 bytes."};
    SentenceState& sentence = state.edit<SentenceState>();
    sentence.model = name;
    sentence.trained.reset();
    if (!keeps_written) {
        sentence.written.clear();
        if (sentence.compared) sentence.compared->written.clear();
    }
    // The model read beside the previous one may not have this one's tokenizer.
    if (sentence.compared && sentence.compared->model) sentence.compared.reset();
    forget_heads(state);
    return ok();
}
std::string SetModel::describe(const State&) const { return "model " + name; }

Status OpenTrained::apply(State& state) const {
    if (const Status sound = check(network); !sound) return sound.error();
    if (!is_utf8(text)) return Error{"The text is not UTF-8."};
    const TrainedHere normal{normalised(network.plan), network.step};
    SentenceState& sentence = state.edit<SentenceState>();
    sentence.text = text;
    sentence.model = name_of(normal);
    sentence.trained = normal;
    sentence.compared.reset();
    show_subject(state, sentence_subject);
    state.lens = usual_lens(state);
    // Training pauses meanwhile, at the step that was opened.
    TrainingState& training = state.edit<TrainingState>();
    training.running = false;
    if (training.plan == network.plan) training.step = network.step;
    forget_heads(state);
    return Select{{head.layer, head.head, {}, {}}}.apply(state)
               ? ok()
               : Status(Error{"Choose a head of the model; this one does not exist."});
}
std::string OpenTrained::describe(const State&) const {
    return "opened the network of step " + std::to_string(network.step);
}

Status SetSampling::apply(State& state) const {
    const SamplingState& s = sampling;
    if (!(s.temperature >= 0 && s.temperature <= 100) || s.top_k < 0 || !(s.top_p > 0 && s.top_p <= 1))
        return Error{
            "Sampling takes a temperature from 0 to 100, a top-k of 0 or more and a top-p above 0 up to 1."};
    state.edit<SentenceState>().sampling = s;
    return ok();
}
std::string SetSampling::describe(const State&) const { return "sampling"; }

}  // namespace attn::app
