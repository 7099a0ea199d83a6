#include "runs/merged_heads.hpp"

#include <utility>

namespace attn::app {

namespace {

using Copies = std::shared_ptr<const TokenCopies>;

// The weights of single heads between the choice's units.
MapChoice weights_by(const Attention& attention, const MapChoice& choice) {
    MapChoice by{.unit = attention.unit_of(weights_of(choice))};
    if (by.unit == Unit::spans) by.spans = choice.spans;
    return by;
}

// The copies of units in the text of a layer; null where keys are of another text.
Copies copies_of(Attention& attention, const MapChoice& choice) {
    const TextUnits &queries = attention.query_text(), &keys = attention.key_text();
    if (queries.number() != keys.number()) return nullptr;
    const Unit unit = attention.unit_of(choice);
    if (!attention.has_tokens()) return std::make_shared<const TokenCopies>(std::span<const std::int32_t>{});
    if (unit == Unit::tokens) return std::make_shared<const TokenCopies>(attention.ids());
    const std::vector<std::int32_t> ids = unit_ids(queries.axis(unit, choice.spans), queries.pieces());
    return std::make_shared<const TokenCopies>(ids);
}

// Groups of layers with the same queries and keys.
std::vector<Range> alike_layers(Attention& attention) {
    std::vector<Range> groups;
    for (Index layer = 0; layer < attention.layers(); layer = groups.back().end)
        groups.push_back(attention.of(layer).alike());
    return groups;
}

std::shared_ptr<HeadOverview> started(std::vector<MapPointer> maps, Index heads, std::vector<Copies> copies) {
    for (const MapPointer& map : maps)
        if (!map || map->is_signed()) return nullptr;
    auto made = HeadOverview::start(std::move(maps), heads, std::move(copies));
    return made ? std::make_shared<HeadOverview>(*std::move(made)) : nullptr;
}

}  // namespace

std::shared_ptr<HeadOverview> MergedHeads::by_unit(Attention& attention, const MapChoice& choice) {
    const MapChoice by = weights_by(attention, choice);
    if (by.unit == Unit::tokens || !attention.overview()) return nullptr;
    return units_.of(by, [&] {
        std::vector<MapPointer> maps;
        std::vector<Copies> copies;
        for (Index layer = 0; layer < attention.layers(); ++layer) {
            Attention& part = attention.of(layer);
            const HeadMaps map = part.maps(by);
            copies.push_back(copies_of(part, by));
            for (Index head = 0; head < attention.heads(); ++head) maps.push_back(map(layer, head));
        }
        return started(std::move(maps), attention.heads(), std::move(copies));
    });
}

std::shared_ptr<HeadOverview> MergedHeads::means(Attention& attention, const MapChoice& choice) {
    if (attention.heads() < 2 || !attention.overview()) return nullptr;
    const MapChoice by = weights_by(attention, choice);
    return means_.of(by, [&] {
        std::vector<MapPointer> maps;
        std::vector<Copies> copies;
        const Index layers = attention.layers(),
                    all = layers > 1 ? layers + std::ssize(alike_layers(attention)) : layers;
        for (Index number = 0; number < all; ++number) {
            const auto [mean, layer] = mean_at(attention, number);
            Attention& part = attention.of(layer);
            MapChoice of_mean = by;
            of_mean.mean = mean;
            copies.push_back(copies_of(part, by));
            maps.push_back(part.shown_maps(of_mean)(layer, 0));
        }
        return started(std::move(maps), 1, std::move(copies));
    });
}

HeadMeanAt mean_at(Attention& attention, Index number) {
    if (number < attention.layers()) return {HeadMean::layer, number};
    const std::vector<Range> groups = alike_layers(attention);
    const auto group = static_cast<std::size_t>(number - attention.layers());
    return {HeadMean::all, groups[std::min(group, groups.size() - 1)].begin};
}

Index number_of_mean(Attention& attention, HeadMean mean, Index layer) {
    if (mean == HeadMean::layer) return layer;
    Index number = attention.layers();
    for (const Range& group : alike_layers(attention)) {
        if (group.holds(layer)) break;
        ++number;
    }
    return number;
}

}  // namespace attn::app
