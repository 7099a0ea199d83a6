#include "attention/cell_region.hpp"

#include <algorithm>

namespace attn {

namespace {

std::vector<Range> with(const std::vector<Range>& list, Range range) {
    std::vector<Range> out;
    for (const Range& each : list) {
        if (each.end < range.begin || each.begin > range.end)
            out.push_back(each);
        else
            range = {std::min(range.begin, each.begin), std::max(range.end, each.end)};
    }
    out.insert(std::ranges::find_if(out, [&](const Range& each) { return each.begin > range.begin; }), range);
    return out;
}

std::vector<Range> without(const std::vector<Range>& list, Range range) {
    std::vector<Range> out;
    for (const Range& each : list) {
        if (const Range before{each.begin, std::min(each.end, range.begin)}; before.size() > 0)
            out.push_back(before);
        if (const Range after{std::max(each.begin, range.end), each.end}; after.size() > 0)
            out.push_back(after);
    }
    return out;
}

// Appends a band that lies below all others; one that goes on with the same keys becomes part of the last.
void join(std::vector<CellBand>& bands, Range queries, std::vector<Range> keys) {
    if (queries.size() <= 0 || keys.empty()) return;
    if (!bands.empty() && bands.back().queries.end == queries.begin && bands.back().keys == keys)
        bands.back().queries.end = queries.end;
    else
        bands.push_back({queries, std::move(keys)});
}

}  // namespace

void CellRegion::combine(Range queries, Range keys, bool add) {
    if (queries.size() <= 0 || keys.size() <= 0) return;
    std::vector<CellBand> out;
    out.reserve(bands_.size() + 3);
    Index done = queries.begin;  // queries of the rectangle before this one are in `out`
    const auto gap = [&](Index until) {
        if (add && done < until) join(out, {done, until}, {keys});
        done = std::max(done, until);
    };
    for (CellBand& band : bands_) {
        const Range inside{std::max(band.queries.begin, queries.begin),
                           std::min(band.queries.end, queries.end)};
        if (inside.size() <= 0) {
            if (band.queries.begin >= queries.end) gap(queries.end);
            join(out, band.queries, std::move(band.keys));
            continue;
        }
        join(out, {band.queries.begin, inside.begin}, band.keys);
        gap(inside.begin);
        join(out, inside, add ? with(band.keys, keys) : without(band.keys, keys));
        done = inside.end;
        join(out, {inside.end, band.queries.end}, band.keys);
    }
    gap(queries.end);
    bands_ = std::move(out);
}

void CellRegion::combine(const CellRegion& other, bool add) {
    for (const CellBand& band : other.bands_)
        for (const Range& keys : band.keys) combine(band.queries, keys, add);
}

bool CellRegion::append(CellBand band) {
    if (band.queries.size() <= 0 || band.keys.empty()) return false;
    if (!bands_.empty() && bands_.back().queries.end > band.queries.begin) return false;
    for (std::size_t i = 0; i < band.keys.size(); ++i)
        if (band.keys[i].size() <= 0 || (i > 0 && band.keys[i - 1].end >= band.keys[i].begin)) return false;
    join(bands_, band.queries, std::move(band.keys));
    return true;
}

const std::vector<Range>* CellRegion::keys_of(Index query) const {
    const auto band = from_query(bands_, query);
    return band != bands_.end() && band->queries.begin <= query ? &band->keys : nullptr;
}

bool CellRegion::contains(Index query, Index key) const {
    const std::vector<Range>* keys = keys_of(query);
    if (!keys) return false;
    const auto range = from_index(*keys, key);
    return range != keys->end() && range->begin <= key;
}

}  // namespace attn
