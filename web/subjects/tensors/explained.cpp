// Explains a number of a user's own tensors: its place in a file, or its computation from Q and K.
#include <array>

#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/tensors/tensors.hpp"

namespace attn::app {

namespace {

// Writes "66 2e", in the file's byte order.
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

// Writes "byte 4,224 of attention.npy".
std::string place_in_file(const OpenTensor& tensor, const Place& at) {
    if (!tensor.begin)
        return "row " + std::to_string(at.row) + ", column " + std::to_string(at.column) + " of the table " +
               tensor.file;
    const auto bytes = tensor.element(at.layer, at.head, at.row, at.column);
    return "byte " + with_commas(bytes.data() - tensor.begin) + " of " +
           (tensor.unpacked ? tensor.shown + ", unpacked" : tensor.file);
}

void explain_stored(Explained& out, const OpenTensor& tensor, const Place& at, const CellPlace& row) {
    const DType dtype = tensor.array.dtype;
    out.f64 = tensor.value(at.layer, at.head, at.row, at.column);
    out.f32 = static_cast<double>(static_cast<float>(out.f64));
    double sum = 0;
    for (Index key = 0; key < tensor.array.shape[3]; ++key)
        sum += tensor.value(at.layer, at.head, at.row, key);
    out.steps.push_back({"weight", "as stored", fixed(out.f64, 6), true});
    out.line("weight", out.f64);
    out.steps.push_back({"Σ of the row", "of what is stored", fixed(sum, 6), false, row});
    out.note = "Stored as " + std::string(name(dtype)) + " at " + place_in_file(tensor, at);
    if (tensor.begin) out.note += ": " + hexadecimal(tensor.element(at.layer, at.head, at.row, at.column));
    out.note += ".";
}

TokenWeights stored_weights(const TensorSet& set, Index layer, Index head) {
    return [&tensor = set.weights_of(layer), within = set.layer_within(layer), head](Index query, Index key) {
        const double value = tensor.value(within, head, query, key);
        return TokenWeight{true, static_cast<double>(static_cast<float>(value)), value};
    };
}

// Explains a cell between larger units; nothing if the set does not show such units.
std::optional<Explained> explain_units_of_set(const TensorSet& set, HeadIndex at, const RunCell& cell,
                                              std::span<const TokenSpan> spans) {
    const auto record = set.finished() ? nullptr : set.record(at.layer);
    if (!set.finished() && !record) return std::nullopt;
    return explain_units(set, spans, at, cell,
                         record ? token_weights(*record, at.head) : stored_weights(set, at.layer, at.head));
}

}  // namespace

std::optional<Explained> explain_tensor_cell(const TensorSet& set, HeadIndex at, const RunCell& cell,
                                             std::span<const TokenSpan> spans) {
    const auto [layer, head] = at;
    if (layer >= set.layers() || head >= set.heads()) return std::nullopt;
    const std::string provenance =
        head_text(at, set.layers(), ", ") +
        (set.finished() ? " · loaded from " + set.weights_of(layer).file : " · computed here from Q and K");
    if (cell.unit != Unit::tokens) {
        auto units = explain_units_of_set(set, at, cell, spans);
        if (units) units->provenance = provenance;
        return units;
    }
    const auto read_as = [&](const std::vector<std::string>& names, Index i) {
        const std::string name = label_at(names, i);
        return set.has_tokens() ? in_quotes(name) : name;
    };
    const bool pairs = is_of_pairs(cell.stage), of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    const auto key_at = [&](Index key) { return read_as(set.key_names(), key); };
    const CellNames names{read_as(set.query_names(), cell.row), key_at(of_keys ? cell.row : cell.col),
                          key_at};
    const CellPlace first_key = Places{{layer, head}}(Stage::weight, cell.row, 0);
    Explained out;
    out.provenance = provenance;
    if (set.finished()) {
        const bool there = cell.stage == Stage::weight && cell.row >= 0 && cell.row < set.queries() &&
                           cell.col >= 0 && cell.col < set.keys();
        if (!there) return std::nullopt;
        out.title = std::string(symbol(cell.stage)) + "[" + names.query + ", " + names.key + "]";
        explain_stored(out, set.weights_of(layer), {set.layer_within(layer), head, cell.row, cell.col},
                       CellPlace{{layer, head}, MapSum{MapTotal::row_total, cell.row}});
        leave_out_first_key(out, cell, stored_weights(set, layer, head)(cell.row, 0), first_key);
        return out;
    }
    const auto record = set.record(layer);
    if (!record || !explain_cell(out, *record, {{layer, head}}, cell, names)) return std::nullopt;
    const Index kv_head = record->kv_head(head);
    if (pairs && cell.sink != Sink::shown) {
        leave_out_first_key(out, cell, token_weights(*record, head)(cell.row, 0), first_key);
    } else if (pairs) {
        const OpenTensor &q = *set.input("Q"), &k = *set.input("K");
        out.note = "Q[" + names.query + ", ·] begins at " + place_in_file(q, {layer, head, cell.row, 0}) +
                   ", K[" + names.key + ", ·] at " + place_in_file(k, {layer, kv_head, cell.col, 0}) + ".";
    } else if (cell.stage == Stage::q || of_keys) {
        const OpenTensor& input = *set.input(cell.stage == Stage::q   ? "Q"
                                             : cell.stage == Stage::k ? "K"
                                                                      : "V");
        out.note = "It is stored at " +
                   place_in_file(input, {layer, of_keys ? kv_head : head, cell.row, cell.col}) + ".";
    }
    return out;
}

}  // namespace attn::app
