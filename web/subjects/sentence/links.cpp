// Writes a sentence into links: the text, the model, the comparison, and the sampling.
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "app/looks.hpp"
#include "subjects/sentence/commands.hpp"
#include "subjects/sentence/sentence.hpp"

namespace attn::app {

namespace {

// Removes texts that are too long for a link, and a pinned cell that belongs to a removed second text.
void prune(State& state) {
    const auto long_text = [&](auto member) { return !fits_into_a_link(member(sentence_of(state))); };
    if (long_text([](const SentenceState& s) -> auto& { return s.text; }))
        state.edit<SentenceState>().text.clear();
    if (long_text([](const SentenceState& s) -> auto& { return s.written; }))
        state.edit<SentenceState>().written.clear();
    if (long_text([](const SentenceState& s) -> auto& { return s.corpus.own; }))
        state.edit<SentenceState>().corpus.own.clear();
    if (const auto& trained = sentence_of(state).trained; trained && !fits_into_a_link(trained->plan.text))
        state.edit<SentenceState>().trained->plan.text.clear();
    const auto& second = sentence_of(state).compared;
    if (!second || !second->of_text() ||
        (fits_into_a_link(second->text) && fits_into_a_link(second->written)))
        return;
    state.edit<SentenceState>().compared.reset();
    if (state.pin && state.pin->second()) state.pin.reset();
}

// Writes "0.7,40,0.95,1": temperature, top-k, top-p and seed.
std::string write_sampling(const SamplingState& s) {
    return shortest(s.temperature) + "," + std::to_string(s.top_k) + "," + shortest(s.top_p) + "," +
           std::to_string(s.seed);
}

std::optional<SamplingState> read_sampling(std::string_view text) {
    const auto parts = split(text, ',');
    if (parts.size() != 4) return std::nullopt;
    const auto temperature = read_number(parts[0]), top_p = read_number(parts[2]);
    const auto top_k = read_integer<Index>(parts[1]);
    const auto seed = read_integer<std::uint64_t>(parts[3]);
    if (!temperature || !top_k || !top_p || !seed) return std::nullopt;
    return SamplingState{static_cast<float>(*temperature), *top_k, static_cast<float>(*top_p), *seed};
}

template <std::string Contrast::* side>
constexpr LinkRow contrast_row(std::string_view key, std::string_view expected) {
    return {key, expected,
            [](State& s, const std::string& value) {
                Contrast contrast = sentence_of(s).contrast;
                contrast.*side = value;
                return take(s, SetContrast{contrast});
            },
            [](const State& s, const State&) -> std::optional<std::string> {
                const std::string& texts = sentence_of(s).contrast.*side;
                return texts == Contrast{}.*side ? std::nullopt : std::optional(texts);
            }};
}

constexpr LinkRow sentence_rows[] = {
    {"with", "UTF-8 text of at most 32,000 characters",
     [](State& s, const std::string& value) {
         return fits_into_a_link(value) && take(s, Compare{Comparison{.text = value}});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& second = sentence_of(s).compared;
         return second && second->of_text() ? std::optional(second->text) : std::nullopt;
     }},
    {"with.model", "the name of a model, or nothing: the next one that is opened",
     [](State& s, const std::string& value) { return take(s, Compare{Comparison{.model = value}}); },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& second = sentence_of(s).compared;
         return second ? second->model : std::nullopt;
     }},
    {"with.written", "UTF-8 text of at most 32,000 characters, beside a second text",
     [](State& s, const std::string& value) {
         if (!sentence_of(s).compared || !sentence_of(s).compared->of_text() || !fits_into_a_link(value))
             return false;
         Comparison second = *sentence_of(s).compared;
         second.written = value;
         return take(s, Compare{second});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& second = sentence_of(s).compared;
         return !second || second->written.empty() ? std::nullopt : std::optional(second->written);
     }},
    {"text", "UTF-8 text of at most 32,000 characters",
     [](State& s, const std::string& value) { return fits_into_a_link(value) && take(s, SetText{value}); },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string& text = sentence_of(s).text;
         return text.empty() ? std::nullopt : std::optional(text);
     }},
    {"written", "UTF-8 text of at most 32,000 characters",
     [](State& s, const std::string& value) { return fits_into_a_link(value) && take(s, SetWritten{value}); },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string& text = sentence_of(s).written;
         return text.empty() ? std::nullopt : std::optional(text);
     }},
    {"model", "the name of a model",
     [](State& s, const std::string& value) {
         if (!is_model_name(value)) return false;
         s.edit<SentenceState>().model = value;
         return true;
     },
     [](const State& s, const State&) {
         return sentence_of(s).model.empty() || sentence_of(s).trained ? std::nullopt
                                                                       : std::optional(sentence_of(s).model);
     }},
    {"trained", "a step and the plan of a training run, as 640,induction",
     [](State& s, const std::string& value) {
         const std::string_view text = value;
         const auto comma = text.find(',');
         if (comma == std::string_view::npos) return false;
         const auto step = read_integer<std::int64_t>(text.substr(0, comma));
         const auto plan = parse_training_plan(text.substr(comma + 1));
         if (!step || !plan || !check(TrainedHere{*plan, *step})) return false;
         SentenceState& sentence = s.edit<SentenceState>();
         sentence.trained = {*plan, *step};
         sentence.model = name_of(*sentence.trained);
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& trained = sentence_of(s).trained;
         if (!trained) return std::nullopt;
         return std::to_string(trained->step) + "," + to_text(trained->plan);
     }},
    {"sampling", "temperature,top-k,top-p,seed",
     [](State& s, const std::string& value) {
         const auto sampling = read_sampling(value);
         return sampling && take(s, SetSampling{*sampling});
     },
     [](const State& s, const State&) { return unless_initial(sentence_of(s).sampling, write_sampling); }},
    {"changes", "what is changed in the run, as q,3,2,13,5,set,1.25;head_output,3,1,,,zero",
     [](State& s, const std::string& value) {
         auto changes = read_changes(value);
         if (!changes) return false;
         s.edit<SentenceState>().changes.all = *std::move(changes);
         return true;
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& changes = sentence_of(s).changes.all;
         return changes.empty() ? std::nullopt : std::optional(write_changes(changes));
     }},
    {"corpus.seed", "the seed of the texts that stand for many",
     [](State& s, const std::string& value) {
         Corpus corpus = sentence_of(s).corpus;
         const auto seed = read_integer<std::uint64_t>(value);
         if (seed) corpus.seed = *seed;
         return seed && take(s, SetCorpus{corpus});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Corpus& corpus = sentence_of(s).corpus;
         return corpus.seed == Corpus{}.seed ? std::nullopt : std::optional(std::to_string(corpus.seed));
     }},
    {"corpus.texts", "texts that stand for many, one a line, of at most 32,000 characters",
     [](State& s, const std::string& value) {
         Corpus corpus = sentence_of(s).corpus;
         corpus.own = value;
         return fits_into_a_link(value) && take(s, SetCorpus{corpus});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string& own = sentence_of(s).corpus.own;
         return own.empty() ? std::nullopt : std::optional(own);
     }},
    contrast_row<&Contrast::positive>("contrast.positive",
                                      "texts to steer toward, one a line, of at most 20,000 characters"),
    contrast_row<&Contrast::negative>("contrast.negative",
                                      "texts to steer away from, one a line, of at most 20,000 characters"),
    {"before", "shown, or beside: the run without its changes",
     [](State& s, const std::string& value) {
         if (value == "shown") return take(s, ShowBefore{});
         return value == "beside" && take(s, Compare{Comparison{.text = "", .before = true}});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const SentenceState& sentence = sentence_of(s);
         if (sentence.compared && sentence.compared->before) return "beside";
         return sentence.changes.before ? std::optional<std::string>("shown") : std::nullopt;
     }},
};

struct LooksKeys {
    static constexpr std::string_view subject = sentence_subject, map = "map", heads = "heads", flow = "flow",
                                      bookmarks = "places", window = "sentence.window",
                                      marked = "sentence.marked", spans = "sentence.spans";
};
constexpr auto all_rows = joined(sentence_rows, LooksRows<LooksKeys>::rows);

}  // namespace

LinkRows sentence_links() { return {.rows = all_rows, .prune = prune}; }

}  // namespace attn::app
