#include "lenses/translation/translation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/heads/strongest_weights.hpp"
#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app::translation {

namespace {

constexpr float most_of_a_row = 0.5f;

// The chosen row, if the chosen head is a cross-attention head.
std::optional<Index> asked_row(Subject& subject, const TextRun& run) {
    if (run.tokens() == 1) return 0;
    const Selection s = subject.chosen();
    const bool of_cross = subject.attention() && !subject.attention()->one_line();
    return of_cross && s.query && *s.query < run.tokens() ? s.query : std::nullopt;
}

}  // namespace

std::vector<std::string> words_written(const TextRun& run, Subject& subject) {
    std::vector<std::string> words(run.pieces.begin() + 1, run.pieces.end());
    const auto logits = run.logits.values();
    const auto most = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    const std::vector<std::string> next = subject.token_texts(std::array{most});
    words.push_back(next.empty() ? std::to_string(most) : next.front());
    for (std::string& word : words) word = Vocabulary::bare(word);
    return words;
}

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.translating()) return std::nullopt;
    return Missing{"Cross-attention needs an encoder–decoder."};
}

std::optional<Missing> TranslationLens::missing(Subject& subject) const {
    auto lacks = Model::missing(subject);
    if (!lacks) return std::nullopt;
    for (const SubjectEntry& entry : subject_list())
        if (const TextModel* model = subject_in(visit(), entry.key).text_model())
            return Missing{
                "Cross-attention needs an encoder that reads one text and a decoder that writes another; "
                "what is open here reads one text alone.",
                model->offer_translation()};
    return lacks;
}

void Model::update(Visit&, Subject& subject) {
    run = subject.translating()->translation();
    if (!run) return;
    heads = matching_heads(config(), subject.chosen_head());
    shown = {run->version(), heads.cross, subject.translating()->aligned(heads.cross)};
    measured.of(shown.version, [] { return std::vector<double>(); });
}

bool Model::step() {
    const ModelConfig& of = config();
    std::vector<double>& all = *measured.kept();
    const Index next = std::ssize(all), count = of.decoder_layers * of.heads;
    if (next < count)
        all.push_back(mean_strongest(run->record_at(first_cross() + next / of.heads), next % of.heads));
    return std::ssize(all) < count;
}

std::string Model::headline(Subject& subject) {
    if (!run || run->logits.size() == 0) return "";
    const HeadIndex head = heads.cross;
    const std::string name = head_text(head, run->numbering());
    const auto row = asked_row(subject, *run);
    if (!row) {
        const Record& record = run->record_at(head.layer);
        const Index count = single.of(shown, [&] {
            return std::ranges::count_if(strongest_weights(record, head.head),
                                         [](float weight) { return weight >= most_of_a_row; });
        });
        return "In " + std::to_string(count) + " of " + many(record.queries(), "row") + ", " + name +
               " puts most of its attention on a single word.";
    }
    const auto reading = read_row(run->of(head.layer), head.layer, head.head, *row);
    if (!reading) return "";
    const std::string word = words_written(*run, subject)[static_cast<std::size_t>(*row)];
    return "Writing " + curly_quoted(word) + ", " + name + " " + looks_at(*reading) + ".";
}

Table map_table(TextRun& run, HeadIndex head) {
    const TextRun& of = run.of(head.layer);
    return table_of("Weights of " + head_text(head, run.numbering(), ", "),
                    *of.maps({})(head.layer, head.head), of.query_names(), of.key_names(), Stage::weight);
}

std::vector<Table> Model::tables(Subject& subject) {
    std::vector<Table> tables;
    if (!run) return tables;
    for (const HeadIndex head : {heads.cross, heads.decoder, heads.encoder}) {
        tables.push_back(map_table(*run, head));
        if (head == subject.chosen_head()) bring_forward(tables, tables.size() - 1);
    }
    return tables;
}

namespace {

std::optional<Explained> explain_confidence(Model& model, Subject& subject, const LensCell& cell) {
    if (!model.run || cell.at[0] >= model.config().decoder_layers || cell.at[1] >= model.config().heads)
        return std::nullopt;
    const HeadIndex head{model.first_cross() + cell.at[0], cell.at[1]};
    const Record& record = model.run->record_at(head.layer);
    const std::string rows = std::to_string(record.queries());
    Explained out{
        .title = "Strongest weights of " + head_text(head, model.run->numbering(), ", "),
        .provenance = "over " + many(record.queries(), "row") + " · computed by " + model.run->title(),
        .f32 = single(mean_strongest(record, head.head)),
        .formula = "Σ_i max_j Weights[i, j] / " + rows,
        .operands_title = "The strongest weight of each row",
        .note = "Near 1, the head looks at one word for each that it helps to write."};
    for (Index query = 0; query < record.queries(); ++query) {
        const std::vector<float> row = record.weights(head.head, query);
        const auto key = static_cast<Index>(std::ranges::max_element(row) - row.begin());
        const CellPlace at = Places{head}(Stage::weight, query, key);
        out.term(model.run->pieces[static_cast<std::size_t>(query)],
                 row_chain(record, head.head, query).at(key).weight, 1, at, std::nullopt, at);
    }
    out.line("mean", out.sum("weights") / static_cast<double>(record.queries()));
    if (const auto aligned = subject.translating()->aligned(head))
        out.note += " The model’s scores.json says that " + percent(*aligned) +
                    " of the words are aligned as by its grammar.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 1> declared{{{&cells::confidence, explain_confidence}}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    return explain_by(declared, *this, subject, cell);
}

Guide Model::guide(Subject&) {
    return {
        "Three kinds of attention",
        "The encoder reads the first line, and each of its words may look at all of it. The decoder writes "
        "the second line: its own attention sees what is written so far, and nothing after it. "
        "Cross-attention connects the two: its queries are made of what is written, its keys and values of "
        "what the encoder read.\n\n"
        "A word is written by the row of the word before it, so that is the row whose arcs are drawn.\n\n"
        "Hover over a word or a cell to see where its weights come from."};
}

}  // namespace attn::app::translation
