#include "model/intervention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "model/trace.hpp"

namespace attn {

namespace {

ConstHeads one_head(const Tensor& matrix) {
    const ConstMatrix all = matrix.matrix();
    return {all.data, 1, all.rows, all.cols, 0, all.row_stride};
}

std::string place_text(const Network& network, Index attention) {
    const auto [kind, layer] = network.place_of(attention);
    const std::string number = std::to_string(layer);
    switch (kind) {
        case AttentionKind::self: return "layer " + number;
        case AttentionKind::encoder: return "layer " + number + " of the encoder";
        case AttentionKind::decoder: return "layer " + number + " of the decoder";
        case AttentionKind::cross: break;
    }
    return "cross-attention " + number;
}

std::string site_text(Site site) { return std::string(info(site).name); }
std::string count_text(Index count, const char* of) {
    return std::to_string(count) + " " + of + (count == 1 ? "" : "s");
}
const char* row_word(Site site) { return is_of_cells(site) ? "query" : "token"; }
const char* column_word(Site site) { return is_of_cells(site) ? "key" : "component"; }

bool takes_numbers(Operation operation) {
    return operation == Operation::mean || operation == Operation::mean_of_texts ||
           operation == Operation::patch;
}
// Whether it has the numbers already that it takes from a run.
bool is_resolved(const Intervention& each) {
    return !is_of_cells(each.site) && takes_numbers(each.edit.operation) && !each.edit.values.empty();
}

// The first of some places that does not exist, or that does not come after the one before.
Status check_places(const std::vector<Index>& places, Index count, const std::string& word) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] < 0 || places[i] >= count)
            return Error{"there is no " + word + " " + std::to_string(places[i]) + " among " +
                         std::to_string(count)};
        if (i > 0 && places[i] <= places[i - 1])
            return Error{word + " " + std::to_string(places[i]) + " comes after " +
                         std::to_string(places[i - 1]) + "; name each once, in ascending order"};
    }
    return ok();
}

Status check_values(const Intervention& each, const SiteExtent& extent) {
    const Edit& edit = each.edit;
    const auto is = [&](Operation operation) { return edit.operation == operation; };
    for (const float value : edit.values)
        if (!std::isfinite(value)) return Error{"a value is not finite; give numbers"};
    if (each.site == Site::mask) {
        if (!is(Operation::zero) && !is(Operation::set) && !is(Operation::patch))
            return Error{"a mask is set to zero or one, or patched from another run"};
        for (const float value : edit.values)
            if (value != 0 && value != 1) return Error{"a mask is 0 or 1, where the query sees the key"};
    }
    const Index columns = edit.columns.empty() ? extent.columns : std::ssize(edit.columns),
                rows = edit.rows.empty() ? extent.rows : std::ssize(edit.rows),
                count = std::ssize(edit.values);
    const std::string given = count_text(count, "value");
    if (is(Operation::scale) && count != 1) return Error{given + " given; a scale is one factor"};
    if (!is(Operation::add) && !is(Operation::set)) return ok();
    const bool each_row = each.site != Site::mask && count == rows * columns;
    if (count != 1 && count != columns && !each_row)
        return Error{given + " given; give one, or " + std::to_string(columns) + " for the " +
                     column_word(each.site) + "s" +
                     (each.site == Site::mask ? std::string()
                                              : ", or " + std::to_string(rows * columns) + " for these in " +
                                                    count_text(rows, row_word(each.site)))};
    return ok();
}

Status check_sources(const Intervention& each, const SiteExtent& extent) {
    const Edit& edit = each.edit;
    const bool patch = edit.operation == Operation::patch;
    if ((!patch && edit.operation != Operation::mean_of_texts) || is_resolved(each)) return ok();
    if (each.from.empty() || (patch && each.from.size() != 1))
        return Error{patch ? "a patch is taken from one other run"
                           : "there are no texts to take the mean of"};
    for (const auto& trace : each.from) {
        if (!trace || trace->attentions() <= each.attention)
            return Error{"the other run has no such attention; take one of the same model"};
        const SiteExtent other = extent_of(*trace, each.attention, each.site);
        if (other.heads != extent.heads || (!is_of_cells(each.site) && other.columns != extent.columns))
            return Error{"the other run has " + count_text(other.heads, "head") + " of " +
                         std::to_string(other.columns) + " there, and this one " +
                         std::to_string(extent.heads) + " of " + std::to_string(extent.columns) +
                         "; take one of the same model"};
        const bool same_rows = other.rows == extent.rows;
        if (is_of_cells(each.site) && (other.columns != extent.columns || (!patch && !same_rows)))
            return Error{"the other text has " + count_text(other.columns, "token") + " and this one " +
                         std::to_string(extent.columns) +
                         "; scores, masks and weights are taken from a text of as many"};
        if (!patch) continue;
        if (edit.from_rows.empty() && !same_rows)
            return Error{"the other run has " + count_text(other.rows, row_word(each.site)) +
                         " and this one " + std::to_string(extent.rows) +
                         "; say from which of them each is patched"};
        for (const Index row : edit.from_rows)
            if (row < 0 || row >= other.rows)
                return Error{std::string("there is no ") + row_word(each.site) + " " + std::to_string(row) +
                             " among the " + std::to_string(other.rows) + " of the other run"};
        const Index rows = edit.rows.empty() ? extent.rows : std::ssize(edit.rows);
        if (!edit.from_rows.empty() && std::ssize(edit.from_rows) != rows)
            return Error{std::to_string(edit.from_rows.size()) + " of the other run's for " +
                         count_text(rows, row_word(each.site)) + "; give one for each"};
        if (each.site == Site::mask && !edit.from_rows.empty() && edit.from_rows != edit.rows)
            return Error{"a mask is patched from the same queries of the other run"};
    }
    return ok();
}

Status check(const Intervention& each, const Trace& before) {
    const Network& network = before.model()->network();
    if (each.attention < 0 || each.attention >= before.attentions())
        return Error{"there is no attention " + std::to_string(each.attention) + " among the model's " +
                     std::to_string(before.attentions())};
    const SiteExtent extent = extent_of(before, each.attention, each.site);
    const auto checked = [&]() -> Status {
        const bool of_heads = is_of_heads(each.site);
        if (each.edit.head && !of_heads) return Error{"it belongs to all heads together; leave the head out"};
        if (each.edit.head && (*each.edit.head < 0 || *each.edit.head >= extent.heads))
            return Error{"there is no head " + std::to_string(*each.edit.head) + " among " +
                         std::to_string(extent.heads)};
        if (Status fit = check_places(each.edit.rows, extent.rows, row_word(each.site)); !fit) return fit;
        if (Status fit = check_places(each.edit.columns, extent.columns, column_word(each.site)); !fit)
            return fit;
        if (Status fit = check_values(each, extent); !fit) return fit;
        return check_sources(each, extent);
    }();
    if (checked) return ok();
    return Error{site_text(each.site) + " in " + place_text(network, each.attention) + ": " +
                 checked.error().message};
}

// Whether it sets some of a mask to 1.
bool shows(const Edit& edit) {
    return edit.operation == Operation::set && std::ranges::find(edit.values, 1.0f) != edit.values.end();
}

std::vector<Index> all_of(Index count) {
    std::vector<Index> all(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
    return all;
}
void name_all(std::vector<Index>& places, Index count) {
    if (places.empty()) places = all_of(count);
}

// The mean of one head's columns over the tokens of some runs.
std::vector<float> mean_of(std::span<const ConstHeads> runs, Index head, std::span<const Index> columns) {
    std::vector<double> sums(columns.size());
    Index count = 0;
    for (const ConstHeads& run : runs) {
        for (Index row = 0; row < run.rows; ++row)
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i] += static_cast<double>(run.head(head)(row, columns[i]));
        count += run.rows;
    }
    std::vector<float> means;
    for (const double sum : sums) means.push_back(static_cast<float>(sum / static_cast<double>(count)));
    return means;
}

// The edit of one head, with its values, at a site of vectors.
Edit with_values(const Intervention& each, Edit edit, Index head, const Trace& before) {
    if (edit.operation == Operation::patch) {
        const ConstMatrix from = numbers_at(*each.from.front(), each.attention, each.site).head(head);
        const std::vector<Index>& rows = edit.from_rows.empty() ? edit.rows : edit.from_rows;
        for (const Index row : rows)
            for (const Index column : edit.columns) edit.values.push_back(from(row, column));
        return edit;
    }
    std::vector<ConstHeads> runs;
    if (edit.operation == Operation::mean) runs.push_back(numbers_at(before, each.attention, each.site));
    for (const auto& trace : each.from) runs.push_back(numbers_at(*trace, each.attention, each.site));
    edit.values = mean_of(runs, head, edit.columns);
    return edit;
}

// The places among so many, painted along their axis; none named: all.
std::vector<std::uint8_t> painted(const std::vector<Index>& places, Index count) {
    if (places.empty()) return {1};
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(count));
    for (const Index place : places)
        if (place < count) bits[static_cast<std::size_t>(place)] = 1;
    return bits;
}

// The cells of an edit's head and rows and of these columns, in memory linear in either.
Mask region(const Edit& edit, const std::vector<Index>& columns, Index heads, Index queries, Index keys) {
    const std::vector<std::uint8_t> rows = painted(edit.rows, queries), cols = painted(columns, keys);
    PaintedBits of_rows{edit.head ? heads : 1, std::ssize(rows), 1, {}};
    for (Index head = 0; head < of_rows.heads; ++head)
        for (const std::uint8_t bit : rows)
            of_rows.allowed.push_back(!edit.head || *edit.head == head ? bit : 0);
    const Mask in_rows = Mask::painted(std::move(of_rows));
    return columns.empty() ? in_rows : in_rows & Mask::painted({1, 1, std::ssize(cols), cols});
}

}  // namespace

SiteExtent extent_of(const Trace& trace, Index attention, Site site) {
    if (is_of_cells(site)) {
        const LayerAttention at = trace.attention(attention);
        return {at.record().heads(), at.record().queries(), at.record().keys()};
    }
    const ConstHeads numbers = numbers_at(trace, attention, site);
    return {numbers.heads, numbers.rows, numbers.cols};
}

ConstHeads numbers_at(const Trace& trace, Index attention, Site site) {
    const LayerAttention at = trace.attention(attention);
    const Record& record = at.record();
    const std::vector<LayerTrace>& layers = at.queries.layers();
    const auto l = static_cast<std::size_t>(at.place.layer);
    switch (site) {
        case Site::resid_pre: return one_head(at.run.resid_pre);
        case Site::q: return record.q().heads();
        case Site::k: return record.k().heads();
        case Site::v: return record.v().heads();
        case Site::score:
        case Site::mask:
        case Site::weight: return {};
        case Site::head_output: return record.output().heads();
        case Site::attention_output: return one_head(at.run.attention_output);
        case Site::resid_mid: return one_head(layers[l].resid_mid);
        case Site::mlp_output: return one_head(layers[l].mlp_output);
        case Site::resid_post: break;
    }
    return one_head(l + 1 < layers.size() ? layers[l + 1].resid_pre : at.queries.final_residual());
}

Status check_interventions(const std::vector<Intervention>& interventions, const Trace& before) {
    for (std::size_t i = common(interventions, before.interventions()); i < interventions.size(); ++i)
        if (Status fit = check(interventions[i], before); !fit) return fit;
    return ok();
}

Result<std::vector<Intervention>> resolved(const std::vector<Intervention>& interventions,
                                           const Trace& before) {
    if (Status fit = check_interventions(interventions, before); !fit) return fit.error();
    std::vector<Intervention> out;
    const std::size_t same = common(interventions, before.interventions());
    for (std::size_t i = 0; i < interventions.size(); ++i) {
        Intervention each = interventions[i];
        Edit& edit = each.edit;
        if (i < same || is_resolved(each)) {
            out.push_back(std::move(each));
            continue;
        }
        const SiteExtent extent = extent_of(before, each.attention, each.site);
        const bool takes = takes_numbers(edit.operation), cells = is_of_cells(each.site),
                   from_rows = edit.operation == Operation::patch ||
                               (cells && edit.operation == Operation::mean_of_texts);
        // A row of scores or weights has its own mean. A query can be shown only keys that exist.
        if (edit.values.size() > 1 || (takes && !(cells && edit.operation == Operation::mean)) ||
            may_look_ahead(each))
            name_all(edit.columns, extent.columns);
        if (from_rows || edit.values.size() > std::max<std::size_t>(edit.columns.size(), 1))
            name_all(edit.rows, extent.rows);
        if (!takes || cells) {
            out.push_back(std::move(each));
            continue;
        }
        for (Index head = 0; head < extent.heads; ++head) {
            if (edit.head && *edit.head != head) continue;
            Edit of_head = edit;
            if (is_of_heads(each.site)) of_head.head = head;
            out.push_back({each.attention, each.site, with_values(each, std::move(of_head), head, before)});
        }
    }
    return out;
}

std::size_t common(const std::vector<Intervention>& a, const std::vector<Intervention>& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool is_at(const Intervention& each, const Network& model, Index attention, Site site) {
    if (each.site != site) return false;
    if (each.attention == attention) return true;
    // Self- and cross-attention share their block.
    const AttentionPlace a = model.place_of(each.attention), b = model.place_of(attention);
    return site >= Site::resid_mid && a.layer == b.layer &&
           (a.kind == AttentionKind::encoder) == (b.kind == AttentionKind::encoder);
}

std::vector<ChangedBy> explain_changes(const Trace& trace, Index attention, Site site, Index head, Index row,
                                       Index column, double computed) {
    std::vector<ChangedBy> by;
    for (const Intervention& each : trace.interventions()) {
        if (!is_at(each, trace.model()->network(), attention, site)) continue;
        const std::optional<double> left = changed(each.edit, computed, head, row, column);
        if (!left) continue;
        computed = *left;
        by.push_back({&each, computed});
    }
    return by;
}

Mask changed_mask(Mask mask, const std::vector<Intervention>& interventions, Index attention, Index heads,
                  Index queries, Index keys) {
    for (const Intervention& each : interventions) {
        if (each.attention != attention || each.site != Site::mask) continue;
        const Edit& edit = each.edit;
        if (edit.operation == Operation::patch) {
            const Mask cells = region(edit, edit.columns, heads, queries, keys);
            const Mask other = each.from.front()->attention(attention).record().spec().mask;
            mask = (mask & !cells) | (other & cells);
            continue;
        }
        if (!shows(edit)) {
            mask = mask & !region(edit, edit.columns, heads, queries, keys);
            continue;
        }
        std::vector<Index> seen, unseen;
        for (std::size_t i = 0; i < edit.columns.size(); ++i)
            (edit.values[edit.values.size() == 1 ? 0 : i] == 1 ? seen : unseen).push_back(edit.columns[i]);
        if (!unseen.empty()) mask = mask & !region(edit, unseen, heads, queries, keys);
        mask = mask | region(edit, seen, heads, queries, keys);
    }
    return mask;
}

std::shared_ptr<const CellEdits> cell_edits(const std::vector<Intervention>& interventions, Index attention) {
    CellEdits edits;
    for (const Intervention& each : interventions) {
        if (each.attention != attention || (each.site != Site::score && each.site != Site::weight)) continue;
        edits.push_back(
            {each.site == Site::score ? CellEdit::Of::score : CellEdit::Of::weight, each.edit, {}});
        for (const auto& trace : each.from) edits.back().from.push_back(record_of(trace, attention));
    }
    return edits.empty() ? nullptr : std::make_shared<const CellEdits>(std::move(edits));
}

bool may_look_ahead(const Intervention& each) {
    return each.site == Site::mask && (each.edit.operation == Operation::patch || shows(each.edit));
}

namespace {

std::string list_text(const std::vector<Index>& places, const char* word) {
    if (places.empty()) return {};
    std::string text = std::string(", ") + word + (places.size() == 1 ? " " : "s ");
    for (std::size_t i = 0; i < places.size(); ++i) {
        std::size_t last = i;
        while (last + 1 < places.size() && places[last + 1] == places[last] + 1) ++last;
        if (i > 0) text += ", ";
        text += std::to_string(places[i]);
        if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(places[last]);
        i = last;
    }
    return text;
}

}  // namespace

std::string operation_text(const Intervention& each) {
    const Edit& edit = each.edit;
    std::array<char, 32> number{};
    if (!edit.values.empty())
        std::snprintf(number.data(), number.size(), "%.6g", static_cast<double>(edit.values.front()));
    const std::string value =
        edit.values.size() == 1 ? number.data() : count_text(std::ssize(edit.values), "value");
    switch (edit.operation) {
        case Operation::zero: return "zero";
        case Operation::scale: return "× " + value;
        case Operation::add: return "+ " + value;
        case Operation::set: return "set to " + value;
        case Operation::mean: return is_of_cells(each.site) ? "mean over the keys" : "mean over the tokens";
        case Operation::mean_of_texts: return "mean over texts";
        case Operation::patch: break;
    }
    return "patched from another run";
}

std::string text_of(const Intervention& each, const Network& network) {
    return site_text(each.site) + (each.edit.head ? " of head " + std::to_string(*each.edit.head) : "") +
           " in " + place_text(network, each.attention) + list_text(each.edit.rows, row_word(each.site)) +
           list_text(each.edit.columns, column_word(each.site)) + ": " + operation_text(each);
}

}  // namespace attn
