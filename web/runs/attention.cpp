#include "runs/attention.hpp"

#include <utility>

#include "maps/mean.hpp"
#include "runs/merged_heads.hpp"

namespace attn::app {

Attention::Attention() = default;
Attention::~Attention() = default;

std::uint64_t Attention::new_version() {
    static std::uint64_t versions = 0;
    return ++versions;
}

MapPointer Attention::map(Index layer, Index head, const MapChoice& choice) {
    const Stage stage = stage_for(choice.stage);
    const Sink sink = is_signed(stage) ? Sink::shown : choice.sink;
    Chosen chosen{{layer, head}, stage, sink, unit_of(choice), mean_of(choice), {}};
    if (chosen.unit == Unit::spans) chosen.spans = choice.spans;
    if (map_.kept() && !*map_.kept()) map_.forget();  // it may be there now
    return map_.of(chosen, [&] { return shown_maps(choice)(layer, head); });
}

void Attention::forget_maps() {
    map_.forget();
    merged_heads_.reset();
}

MergedHeads& Attention::merged_heads() {
    if (!merged_heads_) merged_heads_ = std::make_unique<MergedHeads>();
    return *merged_heads_;
}

HeadOverview* Attention::overview_by(const MapChoice& choice) {
    const auto merged = merged_heads().by_unit(*this, choice);
    return merged ? merged.get() : overview();
}

const UnitAxis& Attention::no_units() {
    static const UnitAxis none;
    return none;
}

bool Attention::has(Unit unit) const {
    if (unit == Unit::tokens || unit == Unit::spans) return true;
    return has_tokens() && (query_text().axis(unit, {}).merges() || key_text().axis(unit, {}).merges());
}

Unit Attention::unit_of(const MapChoice& choice) const {
    const bool merges = stage_for(choice.stage) == Stage::weight && has(choice.unit) &&
                        (choice.unit != Unit::spans || !choice.spans.empty());
    return merges ? choice.unit : Unit::tokens;
}

ShownAxis Attention::shown_axis(const TextUnits& text, const std::vector<std::string>& names,
                                const MapChoice& choice) const {
    const Unit unit = unit_of(choice);
    if (unit == Unit::tokens) return {names};
    const UnitAxis& axis = text.axis(unit, choice.spans);
    return {axis.names, &axis};
}

std::optional<Attention::Merged> Attention::merged(const MapChoice& choice) const {
    const Unit unit = unit_of(choice);
    if (unit == Unit::tokens) return std::nullopt;
    return Merged{query_text().axis(unit, choice.spans).tokens, key_text().axis(unit, choice.spans).tokens};
}

HeadMean Attention::mean_of(const MapChoice& choice) const {
    if (stage_for(choice.stage) != Stage::weight) return HeadMean::one;
    const bool many = heads() > 1 || (choice.mean == HeadMean::all && alike().size() > 1);
    return many ? choice.mean : HeadMean::one;
}

std::vector<HeadIndex> Attention::meant(HeadMean mean, HeadIndex chosen) const {
    if (mean == HeadMean::one) return {chosen};
    const Range layers = mean == HeadMean::all ? alike() : Range{chosen.layer, chosen.layer + 1};
    std::vector<HeadIndex> all;
    for (Index layer = layers.begin; layer < layers.end; ++layer)
        for (Index head = 0; head < heads(); ++head) all.push_back({layer, head});
    return all;
}

HeadMaps Attention::shown_maps(const MapChoice& choice) const {
    const HeadMean mean = mean_of(choice);
    HeadMaps one = maps(choice);
    if (mean == HeadMean::one || !one) return one;
    return [this, mean, one = std::move(one)](Index layer, Index head) -> MapPointer {
        std::vector<MapPointer> all;
        for (const HeadIndex& each : meant(mean, {layer, head})) {
            MapPointer map = one(each.layer, each.head);
            if (!map) return nullptr;
            all.push_back(std::move(map));
        }
        return mean_map(std::move(all));
    };
}

std::string mean_text(const Attention& attention, HeadMean mean, HeadIndex chosen) {
    if (mean == HeadMean::one) return head_text(chosen, attention.numbering());
    const std::string count = std::to_string(attention.meant(mean, chosen).size());
    return mean == HeadMean::all
               ? "mean of all " + count + " heads"
               : "mean of the " + count + " heads" +
                     (attention.layers() > 1 ? " of " + attention.numbering().name(chosen.layer) : "");
}

bool has_tokens_of(const Attention& attention, const CellRef& cell, std::span<const TokenSpan> spans) {
    const MapChoice choice{.unit = cell.unit(), .spans = {spans.begin(), spans.end()}};
    const Index queries = std::ssize(attention.query_axis(choice).names),
                keys = std::ssize(attention.key_axis(choice).names);
    if (attention.unit_of(choice) != cell.unit()) return false;
    if (const MapSum* sum = cell.sum()) return sum->at < (sum->is_of_column() ? keys : queries);
    const RunCell* number = cell.run();
    if (!number || !rows_are_tokens(number->stage)) return true;
    const bool of_key = number->stage == Stage::k || number->stage == Stage::v;
    return number->row < (of_key ? keys : queries) && (!is_of_pairs(number->stage) || number->col < keys);
}

}  // namespace attn::app
