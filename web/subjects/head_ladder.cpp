#include "subjects/head_ladder.hpp"

#include "app/format.hpp"
#include "subjects/head_copy.hpp"

namespace attn::app {

namespace {

std::vector<std::string> part(const std::vector<std::string>& names, Range range) {
    return {names.begin() + range.begin, names.begin() + range.end};
}

Matrix window_of(const Record& record, Stage stage, Index head, Range queries, Range keys) {
    std::vector<float> cells(static_cast<std::size_t>(queries.size() * keys.size()));
    record.stage(stage, head, queries, keys, cells);
    return {queries.size(), keys.size(), {cells.begin(), cells.end()}};
}

}  // namespace

std::string HeadLadder::query_name(Index query) const {
    return attention_.query_names()[static_cast<std::size_t>(query)];
}
std::string HeadLadder::key_name(Index key) const {
    return attention_.key_names()[static_cast<std::size_t>(key)];
}

std::vector<std::vector<Rung>> HeadLadder::rungs(Range queries, Range keys) const {
    const Record& record = *record_;
    const Index kv_head = record.kv_head(head_);
    const std::vector<std::string> query_labels = part(attention_.query_names(), queries),
                                   key_labels = part(attention_.key_names(), keys);
    Stage scores = Stage::raw;
    const auto vectors = [&](Stage stage, const char* title, const char* sign, const Tensor& tensor,
                             Index head, bool of_keys) {
        return Rung{.stage = stage,
                    .title = title,
                    .notation = notation_of(stage, scores),
                    .sign = sign,
                    .values = rows_of(tensor, head, of_keys ? keys : queries),
                    .first_row = of_keys ? keys.begin : queries.begin,
                    .row_labels = of_keys ? key_labels : query_labels,
                    .row_axis = of_keys ? "key" : "query",
                    .column_axis = "component"};
    };
    const auto pairs = [&](Stage stage, std::string title, const char* sign) {
        Rung rung{.stage = stage,
                  .title = std::move(title),
                  .notation = notation_of(stage, scores),
                  .sign = sign,
                  .values = window_of(record, stage, head_, queries, keys),
                  .first_row = queries.begin,
                  .first_col = keys.begin,
                  .row_labels = query_labels,
                  .column_labels = key_labels,
                  .row_axis = "query",
                  .column_axis = "key",
                  .decimals = stage == Stage::weight ? 3 : 2};
        if (stage == Stage::masked || stage == Stage::weight)
            rung.allowed = [mask = record.spec().mask, head = head_, queries, keys](Index r, Index c) {
                return mask.allows(head, queries.begin + r, keys.begin + c);
            };
        scores = stage;
        return rung;
    };
    const AttentionSpec& spec = record.spec();
    std::vector<std::vector<Rung>> rows(2);
    rows[0].push_back(vectors(Stage::q, "Q  queries", "", record.q(), head_, false));
    rows[0].push_back(vectors(Stage::k, "K  keys", "·", record.k(), kv_head, true));
    rows[0].push_back(pairs(Stage::raw, "Scores  QKᵀ", "="));
    rows[1].push_back(pairs(Stage::scaled, "Scaled  × " + fixed(record.scale(), 4), "→"));
    rows[1].back().notation = "S[i, j] = scale R[i, j]";
    if (spec.softcap > 0)
        rows[1].push_back(
            pairs(Stage::capped, "Capped  ± " + fixed(static_cast<double>(spec.softcap), 1), "→"));
    if (!spec.mask.is_everything() || !spec.bias.empty())
        rows[1].push_back(pairs(Stage::masked, "Masked", "→"));
    rows[1].push_back(pairs(Stage::weight, "Weights", "→"));
    if (record.d_v() > 0 && record.output().dim(2) > 0) {
        rows[1].push_back(vectors(Stage::v, "V  values", "×", record.v(), kv_head, true));
        const bool whole = keys == Range{0, record.keys()};
        rows[1].push_back(vectors(Stage::output, whole ? "Output  AV" : "Output  AV, of all keys", "=",
                                  record.output(), head_, false));
    }
    return rows;
}

const Ladder* ladder_of(std::optional<HeadLadder>& kept, Attention* attention, HeadIndex head) {
    if (!attention || !attention->record(head.layer)) {
        kept.reset();
        return nullptr;
    }
    if (!kept || !kept->is_of(*attention, head.layer, head.head))
        kept.emplace(*attention, head.layer, head.head);
    return &*kept;
}

}  // namespace attn::app
