#include "subjects/head_copy.hpp"

#include <cmath>
#include <numeric>

#include "app/format.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

namespace {

std::vector<std::string> names_of(const std::vector<std::string>& names, Range rows) {
    return {names.begin() + rows.begin, names.begin() + rows.end};
}

}  // namespace

Matrix rows_of(const Tensor& tensor, Index head, std::span<const Index> rows) {
    const ConstMatrix all = tensor.heads().head(head);
    Matrix m(std::ssize(rows), all.cols);
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < m.cols; ++c)
            m.at(r, c) = static_cast<double>(all(rows[static_cast<std::size_t>(r)], c));
    return m;
}

Matrix rows_of(const Tensor& tensor, Index head, Range rows) {
    std::vector<Index> all(static_cast<std::size_t>(rows.size()));
    std::iota(all.begin(), all.end(), rows.begin);
    return rows_of(tensor, head, all);
}

HeadCopy copy_of(const Record& record, Index head, Range queries, Range keys,
                 const std::vector<std::string>& query_names, const std::vector<std::string>& key_names,
                 std::string from) {
    const Index kv_head = record.kv_head(head);
    HeadCopy copy{.q = rows_of(record.q(), head, queries),
                  .k = rows_of(record.k(), kv_head, keys),
                  .v = record.d_v() > 0 ? rows_of(record.v(), kv_head, keys) : Matrix(),
                  .query_labels = names_of(query_names, queries),
                  .key_labels = names_of(key_names, keys),
                  .from = std::move(from)};
    // The worked example can only represent 1/√d_k and a temperature.
    const double usual = 1 / std::sqrt(static_cast<double>(record.d_k()));
    const double scale = record.scale();
    if (std::abs(scale - usual) > 1e-6 * usual) {
        copy.scale_by_sqrt_d = false;
        copy.temperature = 1 / scale;
    }
    copy.softcap = record.spec().softcap;
    std::vector<std::uint8_t> allowed;
    bool all = true;
    for (Index i = queries.begin; i < queries.end; ++i)
        for (Index j = keys.begin; j < keys.end; ++j) {
            allowed.push_back(record.spec().mask.allows(head, i, j));
            all = all && allowed.back();
        }
    if (!all) copy.allowed = std::move(allowed);
    return copy;
}

std::optional<Offer> offer_of(const Visit& visit, const HeadCopy& copy) {
    for (const SubjectEntry& entry : subject_list())
        if (const Editable* editable = subject_in(visit, entry.key).editable())
            return Offer{std::string("Edit a copy in ") + entry.name, editable->take_over(copy)};
    return std::nullopt;
}

std::optional<HeadCopy> chosen_copy(Subject& subject, Range queries, Range keys) {
    const HeadIndex chosen = subject.chosen_head();
    const Attention* attention = subject.attention();
    const auto record = attention ? attention->record(chosen.layer) : nullptr;
    // The example has no biases.
    if (!record || !record->spec().bias.empty()) return std::nullopt;
    std::string from = head_text(chosen, attention->numbering(), ", ") + " of " + attention->title();
    const bool whole = queries == Range{0, attention->queries()} && keys == Range{0, attention->keys()};
    if (!whole)
        from += ", tokens " + std::to_string(queries.begin) + " to " + std::to_string(queries.end - 1);
    return copy_of(*record, chosen.head, queries, keys, attention->query_names(), attention->key_names(),
                   from);
}

std::optional<Offer> take_over(const Visit& visit, Subject& subject, Range queries, Range keys) {
    const auto copy = chosen_copy(subject, queries, keys);
    // A head that can be edited in place needs no copy.
    if (!copy || subject.editable()) return std::nullopt;
    return offer_of(visit, *copy);
}

}  // namespace attn::app
