#include "lenses/examples/examples.hpp"

#include <algorithm>

#include "app/format.hpp"

namespace attn::app::examples {

namespace {

constexpr std::array<std::string_view, example_measures> measures{"weight", "written", "effect"};
constexpr std::array<const char*, list_count> list_keys{"strongest", "deciles", "random"};
constexpr std::size_t strongest_shown = 12, random_shown = 9;
constexpr int deciles = 9;

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"examples.by", "examples by {}", named<&S::by>(measures)},
        {"examples.texts", "examples from {} texts",
         whole<&S::texts>("number of texts", 1, ExampleSearch::most_texts)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 2>()}; }

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.translating())
        return Missing{"Examples come from texts that a model reads; this one reads one and writes another."};
    if (!subject.text_model())
        return Missing{"Examples come from many texts that a model reads; there is no such model here."};
    return std::nullopt;
}

Guide Model::guide(Subject&) {
    return {
        "What makes a head fire",
        "The model reads many texts, and for each query and each key that it sees the head’s weight is kept. "
        "By what is written, the weight counts with the length of v W_O; by effect, with what it adds "
        "directly to the logit of the token that follows.\n\n"
        "The strongest pairs alone mislead: a head that looks at names in its best examples may do something "
        "else most of the time. So the pairs at each decile and random ones stand beside them, from an even "
        "sample of all pairs.\n\n"
        "Click a line to open its text with this head and these two words."};
}

void Model::update(Visit& visit, Subject& subject) {
    const State& state = visit.state().of<State>();
    search = subject.text_model()->examples(state.texts);
    if (!search) return pairs.forget();
    of = {search->version(), search->done() ? -1 : std::ssize(search->texts()), subject.chosen_head(), state};
    pairs.of(of, [&] {
        Pairs all;
        const HeadExamples& found = search->examples();
        if (of.head.layer >= found.attentions() || of.head.head >= found.heads()) return all;
        const auto strongest = found.strongest(of.head, of.state.by);
        const auto first = strongest.first(std::min(strongest.size(), strongest_shown));
        all[0].assign(first.begin(), first.end());
        for (int decile = deciles; decile > 0; --decile)
            if (const auto pair = found.at_share(of.head, of.state.by, decile / 10.0))
                all[1].push_back(*pair);
        const auto sample = found.sample(of.head);
        const std::size_t count = std::min(sample.size(), random_shown);
        for (std::size_t i = 0; i < count; ++i) all[2].push_back(sample[i * sample.size() / count]);
        return all;
    });
}

std::shared_ptr<const Trace> Model::run_of(Index number) {
    return run_.of({of.version, number}, [&]() -> std::shared_ptr<const Trace> {
        const SplitText& text = search->texts()[static_cast<std::size_t>(number)];
        const auto trace = run_forward(search->model(), text.ids, default_kernels(), text.segments);
        return trace ? *trace : nullptr;
    });
}

std::string Model::headline(Subject&) {
    if (!pairs.kept() || list(List::strongest).empty()) return "The model begins to read texts.";
    const HeadExample& best = list(List::strongest).front();
    const std::string measure = of.state.by == ExampleMeasure::weight    ? "a weight of "
                                : of.state.by == ExampleMeasure::written ? "a length written of "
                                                                         : "an effect of ";
    std::string text = "It fires most where " + parts::word_of(text_of(best), best.query) + " looks at " +
                       parts::word_of(text_of(best), best.key) + ", with " + measure +
                       parts::example_number(of.state.by, static_cast<double>(best.value(of.state.by))) + ".";
    const std::vector<HeadExample>& all = list(List::deciles);
    if (!search->done())
        text += "\nThe model has read " + many(std::ssize(search->texts()), "text") + " so far, " +
                percent(static_cast<double>(search->progress())) + ".";
    else if (all.size() == deciles)
        text += "\nAt the median of " + with_commas(static_cast<Index>(search->examples().pairs(of.head))) +
                " pairs it is " +
                parts::example_number(of.state.by, static_cast<double>(all[deciles / 2].value(of.state.by))) +
                ".";
    return text;
}

parts::ExampleLines lines_of(const Model& model, List which) {
    static constexpr std::array titles{"Strongest, one of each text", "At each decile", "Random"};
    parts::ExampleLines lines{
        .key = std::string("examples/") + list_keys[static_cast<std::size_t>(which)],
        .title = titles[static_cast<std::size_t>(which)],
        .search = model.search,
        .head = model.of.head,
        .by = model.of.state.by,
        .pairs = model.list(which),
        .cell = [](const HeadExample& pair) { return cells::pair(pair.text, pair.query, pair.key); }};
    for (std::size_t rank = 0; rank < lines.pairs.size(); ++rank)
        lines.ranks.push_back(which == List::deciles ? std::to_string(100 - 10 * (rank + 1)) + " %"
                                                     : std::to_string(rank + 1));
    return lines;
}

std::vector<Table> Model::tables(Subject&) {
    std::vector<Table> all;
    if (!pairs.kept()) return all;
    for (const List which : {List::strongest, List::deciles, List::random})
        if (!list(which).empty()) all.push_back(parts::example_table(lines_of(*this, which)));
    return all;
}

}  // namespace attn::app::examples
