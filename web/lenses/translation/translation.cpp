#include "lenses/translation/translation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "text/words.hpp"

namespace attn::app {

namespace {

constexpr float most_of_a_row = 0.5f;

}  // namespace

TranslationHeads translation_heads(const ModelConfig& config, HeadIndex chosen) {
    const Index encoder = config.layers, decoder = config.decoder_layers;
    const Index layer = chosen.layer < encoder             ? chosen.layer
                        : chosen.layer < encoder + decoder ? chosen.layer - encoder
                                                           : chosen.layer - encoder - decoder;
    const Index own = std::min(layer, decoder - 1);
    return {{std::min(layer, encoder - 1), chosen.head},
            {encoder + own, chosen.head},
            {encoder + decoder + own, chosen.head}};
}

std::string bare_word(const std::string& piece) { return words_of(std::array{piece}).front().name; }

double mean_strongest(const Record& record, Index head) {
    double sum = 0;
    for (Index query = 0; query < record.queries(); ++query)
        sum += static_cast<double>(std::ranges::max(record.weights(head, query)));
    return sum / static_cast<double>(record.queries());
}

std::optional<Missing> TranslationLens::missing(Subject& subject) const {
    if (subject.translating()) return std::nullopt;
    for (const SubjectEntry& entry : subject_list())
        if (auto offer = static_cast<Subject&>(visit().subject(entry.key)).offer_translation())
            return Missing{
                "Cross-attention needs an encoder that reads one text and a decoder that writes another; "
                "what is open here reads one text alone.",
                std::move(offer)};
    return Missing{"Cross-attention needs an encoder–decoder."};
}

std::vector<std::string> TranslationLens::words_written(const TextRun& run, Subject& subject) const {
    std::vector<std::string> words(run.pieces.begin() + 1, run.pieces.end());
    const auto logits = run.logits.values();
    const auto most = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    const std::vector<std::string> next = subject.token_texts(std::array{most});
    words.push_back(next.empty() ? std::to_string(most) : next.front());
    for (std::string& word : words) word = bare_word(word);
    return words;
}

std::optional<Index> TranslationLens::asked_row(Subject& subject, const TextRun& run) const {
    const Selection s = subject.chosen();
    const bool of_cross = subject.attention() && !subject.attention()->one_line();
    return of_cross && s.query && *s.query < run.tokens() ? s.query : std::nullopt;
}

const std::vector<double>& TranslationLens::surest(const TextRun& run) {
    if (std::exchange(surest_of_, run.version()) != run.version()) surest_.clear();
    const ModelConfig& config = run.run->model()->config();
    const auto measured = std::ssize(surest_), first = config.attentions() - config.decoder_layers;
    if (measured < config.decoder_layers * config.heads)
        surest_.push_back(
            mean_strongest(run.record_at(first + measured / config.heads), measured % config.heads));
    return surest_;
}

std::string TranslationLens::spoken(Subject& subject) {
    TextRun* run = subject.translating() ? subject.translating()->translation() : nullptr;
    if (!run || run->logits.size() == 0) return "";
    const HeadIndex head = translation_heads(run->run->model()->config(), subject.chosen_head()).cross;
    const std::string name = head_text(head, run->numbering());
    const auto row = run->tokens() == 1 ? std::optional(Index{0}) : asked_row(subject, *run);
    if (!row) {
        const Record& record = run->record_at(head.layer);
        if (const Counted now{run->version(), head}; now != counted_) {
            counted_ = now;
            single_ = 0;
            for (Index query = 0; query < record.queries(); ++query)
                single_ += std::ranges::max(record.weights(head.head, query)) >= most_of_a_row;
        }
        return "In " + std::to_string(single_) + " of " + many(record.queries(), "row") + ", " + name +
               " puts most of its attention on a single word.";
    }
    const auto reading = read_row(run->of(head.layer), head.layer, head.head, *row);
    if (!reading) return "";
    const std::string word = words_written(*run, subject)[static_cast<std::size_t>(*row)];
    return "Writing " + curly_quoted(word) + ", " + name + " " + looks_at(*reading) + ".";
}

std::vector<Table> TranslationLens::tables(Subject& subject) {
    std::vector<Table> tables;
    TextRun* run = subject.translating() ? subject.translating()->translation() : nullptr;
    if (!run) return tables;
    const TranslationHeads heads = translation_heads(run->run->model()->config(), subject.chosen_head());
    for (const HeadIndex head : {heads.cross, heads.decoder, heads.encoder}) {
        tables.push_back(map_table(*run, head));
        if (head == subject.chosen_head()) bring_forward(tables, tables.size() - 1);
    }
    return tables;
}

Table TranslationLens::map_table(TextRun& run, HeadIndex head) {
    const TextRun& of = run.of(head.layer);
    return table_of("Weights of " + head_text(head, run.numbering(), ", "),
                    *of.maps({})(head.layer, head.head), of.query_names(), of.key_names(), Stage::weight);
}

std::optional<Explained> TranslationLens::explain(Subject& subject, const CellPlace& place) {
    if (place.cell.stage != Stage::lens) return subject.explain_at(place);
    return explain_by(declared, *this, subject, place.cell.own);
}

const std::array<LensNumber<TranslationLens>, 1> TranslationLens::declared{
    {{&translation_cells::confidence, &TranslationLens::explain_confidence}}};

CellKinds translation_numbers() { return kinds_of(TranslationLens::declared); }

std::optional<CellRef> packed_translation_cell(Index row, Index col) {
    return translation_cells::confidence(row, col);
}

std::optional<Explained> TranslationLens::explain_confidence(Subject& subject, const LensCell& cell) {
    Translating* translating = subject.translating();
    TextRun* run = translating ? translating->translation() : nullptr;
    if (!run) return std::nullopt;
    const ModelConfig& config = run->run->model()->config();
    if (cell.at[0] >= config.decoder_layers || cell.at[1] >= config.heads) return std::nullopt;
    const HeadIndex head{config.attentions() - config.decoder_layers + cell.at[0], cell.at[1]};
    const Record& record = run->record_at(head.layer);
    Explained out;
    out.title = "Strongest weights of " + head_text(head, run->numbering(), ", ");
    out.provenance = "over " + many(record.queries(), "row") + " · computed by " + run->title();
    out.formula = "Σ_i max_j Weights[i, j] / " + std::to_string(record.queries());
    out.operands_title = "The strongest weight of each row";
    double sum = 0;
    for (Index query = 0; query < record.queries(); ++query) {
        const std::vector<float> row = record.weights(head.head, query);
        const auto key = static_cast<Index>(std::ranges::max_element(row) - row.begin());
        const double weight = row_chain(record, head.head, query).at(key).weight;
        const CellPlace at{head, {.stage = Stage::weight, .row = query, .col = key}};
        out.operands.push_back(
            {run->pieces[static_cast<std::size_t>(query)], weight, 1, weight, at, std::nullopt, at});
        sum += weight;
    }
    out.f64 = sum / static_cast<double>(record.queries());
    out.f32 = static_cast<double>(static_cast<float>(mean_strongest(record, head.head)));
    out.line("mean", out.sum() / static_cast<double>(record.queries()));
    out.note = "Near 1, the head looks at one word for each that it helps to write.";
    if (const auto aligned = translating->aligned(head))
        out.note += " The model’s scores.json says that " + percent(*aligned) +
                    " of the words are aligned as by its grammar.";
    return out;
}

bool TranslationLens::shows(Subject& subject, const CellRef& cell) const {
    return subject.translating() &&
           (cell.own.kind || (!cell.second && !cell.words && cell.stage == Stage::weight));
}

Guide TranslationLens::guide(Subject&) const {
    return {
        "Three kinds of attention",
        "The encoder reads the first line, and each of its words may look at all of it. The decoder writes "
        "the "
        "second line: its own attention sees what is written so far, and nothing after it. Cross-attention "
        "connects the two: its queries are made of what is written, its keys and values of what the encoder "
        "read.\n\n"
        "A word is written by the row of the word before it, so that is the row whose arcs are drawn.\n\n"
        "Hover over a word or a cell to see where its weights come from."};
}

}  // namespace attn::app
