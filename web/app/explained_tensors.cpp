// A number of a person's own tensors, explained: where it lies in which file, or how it follows from Q and K.
#include <array>

#include "app/axes.hpp"
#include "app/explained.hpp"
#include "app/format.hpp"
#include "app/worked_run.hpp"

namespace attn::app {

namespace {

// "66 2e", in the file's order.
std::string hexadecimal(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        if (!text.empty()) text += ' ';
        text += digits[std::to_integer<std::size_t>(byte >> 4)];
        text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return text;
}

struct Place {
    Index layer, head, row, column;
};

// "byte 4,224 of attention.npy"
std::string place_in_file(const OpenTensor& tensor, const Place& at) {
    if (!tensor.begin)
        return "row " + std::to_string(at.row) + ", column " + std::to_string(at.column) + " of the table " +
               tensor.file;
    const auto bytes = tensor.element(at.layer, at.head, at.row, at.column);
    return "byte " + with_commas(bytes.data() - tensor.begin) + " of " +
           (tensor.unpacked ? tensor.shown + ", unpacked" : tensor.file);
}

void explain_stored(Explained& out, const OpenTensor& tensor, const Place& at) {
    const DType dtype = tensor.array.dtype;
    out.f64 = tensor.value(at.layer, at.head, at.row, at.column);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    double sum = 0;
    for (Index key = 0; key < tensor.array.shape[3]; ++key)
        sum += tensor.value(at.layer, at.head, at.row, key);
    out.steps.push_back({"weight", "as stored", fixed(out.f64, 6), true});
    out.steps.push_back({"Σ of the row", "of what is stored", fixed(sum, 6), false});
    out.note = "Stored as " + std::string(name(dtype)) + " at " + place_in_file(tensor, at);
    if (tensor.begin) out.note += ": " + hexadecimal(tensor.element(at.layer, at.head, at.row, at.column));
    out.note += ".";
}

// Between words; none where the set shows no such words.
std::optional<Explained> explain_words_of_set(const TensorSet& set, Index layer, Index head,
                                              const CellRef& cell) {
    const WordAxis &queries = set.query_words(), &keys = set.key_words();
    if (cell.row < 0 || cell.row >= queries.count() || cell.col < 0 || cell.col >= keys.count())
        return std::nullopt;
    const WordPair pair{queries.of(cell.row),
                        keys.of(cell.col),
                        "\"" + queries.name(cell.row) + "\"",
                        "\"" + keys.name(cell.col) + "\"",
                        set.query_names(),
                        set.key_names()};
    Explained out;
    if (set.finished()) {
        const OpenTensor& tensor = set.weights_of(layer);
        explain_words(out, pair, [&](Index query, Index key) {
            const double value = tensor.value(set.layer_within(layer), head, query, key);
            return TokenWeight{true, static_cast<double>(static_cast<float>(value)), value};
        });
        return out;
    }
    if (!set.record()) return std::nullopt;
    explain_words(out, pair, *set.record(), head);
    return out;
}

}  // namespace

std::optional<Explained> explain_tensor_cell(const Session& session, const CellRef& cell) {
    const TensorSet* set = session.tensors().open();
    if (!set || !is_stage(cell.matrix)) return std::nullopt;
    const auto [layer, head] = std::pair(session.state().selection.layer, session.state().selection.head);
    if (layer >= set->layers() || head >= set->heads()) return std::nullopt;
    const std::string provenance =
        (set->layers() > 1 ? "layer " + std::to_string(layer) + ", " : "") + "head " + std::to_string(head) +
        (set->finished() ? " · loaded from " + set->weights_of(layer).file : " · computed here from Q and K");
    if (cell.words) {
        auto words = explain_words_of_set(*set, layer, head, cell);
        if (words) words->provenance = provenance;
        return words;
    }
    if (cell.row < 0 || cell.row >= set->queries() || cell.col < 0 || cell.col >= set->keys())
        return std::nullopt;
    const auto read_as = [&](const std::vector<std::string>& names, Index i) {
        const std::string& name = names[static_cast<std::size_t>(i)];
        return set->has_tokens() ? "\"" + name + "\"" : name;
    };
    const std::string query = read_as(set->query_names(), cell.row),
                      key = read_as(set->key_names(), cell.col);
    Explained out;
    out.title = std::string(symbol(cell.matrix)) + "[" + query + ", " + key + "]";
    out.provenance = provenance;
    if (set->finished()) {
        if (cell.matrix != MatrixId::weight) return std::nullopt;
        explain_stored(out, set->weights_of(layer), {set->layer_within(layer), head, cell.row, cell.col});
        return out;
    }
    const Record* record = set->record();
    if (!record) return std::nullopt;
    const OpenTensor &q = *set->input("Q"), &k = *set->input("K");
    explain_stage(out, *record, head, cell, query, key);
    out.note = "Q[" + query + ", ·] begins at " + place_in_file(q, {0, head, cell.row, 0}) + ", K[" + key +
               ", ·] at " + place_in_file(k, {0, record->kv_head(head), cell.col, 0}) + ".";
    return out;
}

}  // namespace attn::app
