#include "attention/mask.hpp"

#include <algorithm>
#include <array>

#include "attention/mask_node.hpp"

namespace attn {

namespace {

Index position(Index n) { return std::clamp(n, -position_limit, position_limit); }
Index count(Index n) { return std::clamp<Index>(n, 0, position_limit); }

std::size_t cell_count(Index a, Index b, Index c) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

std::vector<std::uint8_t> bits(std::vector<std::uint8_t> allowed, std::size_t size) {
    allowed.resize(size);
    for (std::uint8_t& a : allowed) a = a != 0;
    return allowed;
}

template <class List>
bool contains(const List& list, Index i) {
    return i >= 0 && i < std::ssize(list);
}

// --- one cell -------------------------------------------------------------------------------------------

bool allows(const Causal& m, Index, Index q, Index k) { return k <= q + m.offset; }
bool allows(const Window& m, Index, Index q, Index k) { return q - m.before <= k && k <= q + m.after; }
bool allows(const Padding& m, Index, Index, Index k) { return k < m.visible_keys; }
bool allows(const SameDocument& m, Index, Index q, Index k) {
    return contains(m.query, q) && contains(m.key, k) &&
           m.query[static_cast<std::size_t>(q)] == m.key[static_cast<std::size_t>(k)];
}
bool allows(const Prefix& m, Index, Index q, Index k) { return k < m.length || k <= q; }
bool allows(const Strided& m, Index, Index q, Index k) { return (q - k) % m.stride == 0; }
bool allows(const BlockSparse& m, Index, Index q, Index k) {
    const Index row = q / m.block, column = k / m.block;
    return row < m.query_blocks && column < m.key_blocks &&
           m.allowed[static_cast<std::size_t>(row * m.key_blocks + column)];
}
bool is_global(const GlobalLocal& m, Index token) { return std::ranges::binary_search(m.tokens, token); }
bool allows(const GlobalLocal& m, Index, Index q, Index k) {
    return std::abs(q - k) <= m.radius || is_global(m, q) || is_global(m, k);
}
bool allows(const PaintedBits& m, Index head, Index q, Index k) {
    const auto along = [](Index i, Index size) { return size == 1 ? 0 : i; };
    const Index h = along(head, m.heads), r = along(q, m.rows), c = along(k, m.cols);
    return h < m.heads && r < m.rows && c < m.cols &&
           m.allowed[static_cast<std::size_t>((h * m.rows + r) * m.cols + c)];
}
bool allows(const Cells& m, Index, Index q, Index k) { return m.region.contains(q, k); }
bool allows(const Conjunction& m, Index head, Index q, Index k) {
    return std::ranges::all_of(m.operands, [&](const Mask& o) { return o.allows(head, q, k); });
}
bool allows(const Disjunction& m, Index head, Index q, Index k) {
    return std::ranges::any_of(m.operands, [&](const Mask& o) { return o.allows(head, q, k); });
}
bool allows(const Negation& m, Index head, Index q, Index k) { return !m.operand.allows(head, q, k); }

// --- a run of one row -----------------------------------------------------------------------------------

template <class T>
void fill_row(const T& m, Index head, Index q, Index first, std::span<std::uint8_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = allows(m, head, q, first + static_cast<Index>(i));
}

// Allows the keys in [begin, end).
void fill_run(Index begin, Index end, Index first, std::span<std::uint8_t> out) {
    const auto at = [&](Index key) {
        return out.begin() + std::clamp<Index>(key - first, 0, std::ssize(out));
    };
    std::ranges::fill(out, std::uint8_t{0});
    if (begin < end) std::fill(at(begin), at(end), std::uint8_t{1});
}
// The allowed keys of a row, where they are always one run.
Range run_of(const Causal& m, Index q) { return {-position_limit, q + m.offset + 1}; }
Range run_of(const Window& m, Index q) { return {q - m.before, q + m.after + 1}; }
Range run_of(const Padding& m, Index) { return {-position_limit, m.visible_keys}; }
Range run_of(const Prefix& m, Index q) { return {-position_limit, std::max(m.length, q + 1)}; }

template <class T>
    requires requires(T m) { run_of(m, 0); }
void fill_row(const T& m, Index, Index q, Index first, std::span<std::uint8_t> out) {
    const Range run = run_of(m, q);
    fill_run(run.begin, run.end, first, out);
}

void fill_row(const SameDocument& m, Index, Index q, Index first, std::span<std::uint8_t> out) {
    std::ranges::fill(out, std::uint8_t{0});
    if (!contains(m.query, q)) return;
    const std::int32_t document = m.query[static_cast<std::size_t>(q)];
    const Index end = std::min(first + std::ssize(out), std::ssize(m.key));
    for (Index k = std::max<Index>(first, 0); k < end; ++k)
        out[static_cast<std::size_t>(k - first)] = m.key[static_cast<std::size_t>(k)] == document;
}
void fill_row(const Strided& m, Index, Index q, Index first, std::span<std::uint8_t> out) {
    std::ranges::fill(out, std::uint8_t{0});
    // The first key from `first` on whose distance is a multiple of the stride.
    const Index rest = (q - first) % m.stride, to = rest < 0 ? rest + m.stride : rest;
    for (Index i = to; i < std::ssize(out); i += m.stride) out[static_cast<std::size_t>(i)] = 1;
}
void fill_row(const BlockSparse& m, Index, Index q, Index first, std::span<std::uint8_t> out) {
    for (Index i = 0; i < std::ssize(out);) {
        const Index end = std::min(((first + i) / m.block + 1) * m.block - first, std::ssize(out));
        std::fill(out.begin() + i, out.begin() + end, std::uint8_t{allows(m, 0, q, first + i)});
        i = end;
    }
}
void fill_row(const GlobalLocal& m, Index, Index q, Index first, std::span<std::uint8_t> out) {
    if (is_global(m, q)) {
        std::ranges::fill(out, std::uint8_t{1});
        return;
    }
    fill_run(q - m.radius, q + m.radius + 1, first, out);
    for (auto token = std::ranges::lower_bound(m.tokens, first);
         token != m.tokens.end() && *token < first + std::ssize(out); ++token)
        out[static_cast<std::size_t>(*token - first)] = 1;
}

void fill_row(const Cells& m, Index, Index q, Index first, std::span<std::uint8_t> out) {
    std::ranges::fill(out, std::uint8_t{0});
    const std::vector<Range>* keys = m.region.keys_of(q);
    if (!keys) return;
    const Index end = first + std::ssize(out);
    for (auto range = from_index(*keys, first); range != keys->end() && range->begin < end; ++range)
        std::fill(out.begin() + std::max<Index>(range->begin - first, 0),
                  out.begin() + std::min(range->end, end) - first, std::uint8_t{1});
}

template <class Combine>
void combine_rows(const std::vector<Mask>& operands, Index head, Index q, Index first,
                  std::span<std::uint8_t> out, Combine combine) {
    operands.front().row(head, q, first, out);
    std::array<std::uint8_t, 256> other;
    for (const Mask& operand : std::span(operands).subspan(1))
        for (std::size_t begin = 0; begin < out.size(); begin += other.size()) {
            const auto piece = out.subspan(begin, std::min(other.size(), out.size() - begin));
            operand.row(head, q, first + static_cast<Index>(begin), std::span(other).first(piece.size()));
            for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = combine(piece[i], other[i]);
        }
}
void fill_row(const Conjunction& m, Index head, Index q, Index first, std::span<std::uint8_t> out) {
    combine_rows(m.operands, head, q, first, out,
                 [](auto a, auto b) { return static_cast<std::uint8_t>(a & b); });
}
void fill_row(const Disjunction& m, Index head, Index q, Index first, std::span<std::uint8_t> out) {
    combine_rows(m.operands, head, q, first, out,
                 [](auto a, auto b) { return static_cast<std::uint8_t>(a | b); });
}
void fill_row(const Negation& m, Index head, Index q, Index first, std::span<std::uint8_t> out) {
    m.operand.row(head, q, first, out);
    for (std::uint8_t& o : out) o = !o;
}

bool narrow(const auto&, Index, Index, Range&) { return false; }
template <class T>
    requires requires(T m) { run_of(m, 0); }
bool narrow(const T& m, Index, Index q, Range& keys) {
    const Range run = run_of(m, q);
    keys.begin = std::clamp(run.begin, keys.begin, keys.end);
    keys.end = std::clamp(run.end, keys.begin, keys.end);
    return true;
}
bool narrow(const Conjunction& m, Index head, Index q, Range& keys) {
    Range all = keys;
    for (const Mask& operand : m.operands)
        if (!operand.run(head, q, all)) return false;
    keys = all;
    return true;
}

// --- a tile, neither range empty --------------------------------------------------------------------------

Coverage either(bool all, bool none) { return all ? Coverage::all : none ? Coverage::none : Coverage::some; }

Coverage all_or_some(bool all) { return all ? Coverage::all : Coverage::some; }

// Over the tile, k − q takes every value in [lowest, highest].
struct Distances {
    Index lowest, highest;
    Distances(Range queries, Range keys)
        : lowest(keys.begin - (queries.end - 1)), highest(keys.end - 1 - queries.begin) {}
};

Coverage tile(const Causal& m, Index, Range queries, Range keys) {
    const Distances d(queries, keys);
    return either(d.highest <= m.offset, d.lowest > m.offset);
}
Coverage tile(const Window& m, Index, Range queries, Range keys) {
    const Distances d(queries, keys);
    return either(-m.before <= d.lowest && d.highest <= m.after, d.highest < -m.before || m.after < d.lowest);
}
Coverage tile(const Padding& m, Index, Range, Range keys) {
    return either(keys.end <= m.visible_keys, keys.begin >= m.visible_keys);
}
Coverage tile(const SameDocument& m, Index, Range queries, Range keys) {
    const Range known_queries{queries.begin, std::min(queries.end, std::ssize(m.query))};
    const Range known_keys{keys.begin, std::min(keys.end, std::ssize(m.key))};
    if (known_queries.size() <= 0 || known_keys.size() <= 0) return Coverage::none;
    const auto documents = [](const std::vector<std::int32_t>& list, Range range) {
        return std::ranges::minmax(std::span(list).subspan(static_cast<std::size_t>(range.begin),
                                                           static_cast<std::size_t>(range.size())));
    };
    const auto q = documents(m.query, known_queries), k = documents(m.key, known_keys);
    const bool one_document = q.min == q.max && k.min == k.max && q.min == k.min;
    return either(one_document && known_queries == queries && known_keys == keys,
                  q.max < k.min || k.max < q.min);
}
Coverage tile(const Prefix& m, Index, Range queries, Range keys) {
    const Distances d(queries, keys);
    return either(keys.end <= m.length || d.highest <= 0, keys.begin >= m.length && d.lowest > 0);
}
Coverage tile(const Strided& m, Index, Range queries, Range keys) {
    const Distances d(queries, keys);
    // The largest multiple that is not above the highest distance.
    const Index rest = d.highest % m.stride, multiple = d.highest - (rest < 0 ? rest + m.stride : rest);
    return either(m.stride == 1, multiple < d.lowest);
}
Coverage tile(const BlockSparse& m, Index, Range queries, Range keys) {
    bool all = true, none = true;
    for (Index row = queries.begin / m.block; row <= (queries.end - 1) / m.block; ++row)
        for (Index column = keys.begin / m.block; column <= (keys.end - 1) / m.block; ++column) {
            const bool allowed = allows(m, 0, row * m.block, column * m.block);
            all = all && allowed;
            none = none && !allowed;
            if (!all && !none) return Coverage::some;
        }
    return either(all, none);
}
Coverage tile(const GlobalLocal& m, Index, Range queries, Range keys) {
    const auto any_global = [&](Range range) {
        const auto first = std::ranges::lower_bound(m.tokens, range.begin);
        return first != m.tokens.end() && *first < range.end;
    };
    const Distances d(queries, keys);
    return either(
        -m.radius <= d.lowest && d.highest <= m.radius,
        (d.highest < -m.radius || m.radius < d.lowest) && !any_global(queries) && !any_global(keys));
}
Coverage tile(const PaintedBits& m, Index head, Range queries, Range keys) {
    constexpr Index few = 64;  // a side; more cells are not looked through
    if (queries.size() > few || keys.size() > few) return Coverage::some;
    bool all = true, none = true;
    for (Index q = queries.begin; q < queries.end; ++q)
        for (Index k = keys.begin; k < keys.end; ++k) {
            (allows(m, head, q, k) ? none : all) = false;
            if (!all && !none) return Coverage::some;
        }
    return either(all, none);
}
Coverage tile(const Cells& m, Index, Range queries, Range keys) {
    const std::vector<CellBand>& bands = m.region.bands();
    Index covered = 0;  // queries that may look at all of the keys
    bool none = true;
    for (auto band = from_query(bands, queries.begin);
         band != bands.end() && band->queries.begin < queries.end; ++band) {
        const auto range = from_index(band->keys, keys.begin);
        if (range == band->keys.end() || range->begin >= keys.end) continue;
        none = false;
        if (range->begin <= keys.begin && range->end >= keys.end)
            covered +=
                std::min(band->queries.end, queries.end) - std::max(band->queries.begin, queries.begin);
    }
    return either(covered == queries.size(), none);
}
Coverage tile(const Conjunction& m, Index head, Range queries, Range keys) {
    bool all = true;
    for (const Mask& operand : m.operands) {
        const Coverage coverage = operand.tile(head, queries, keys);
        if (coverage == Coverage::none) return Coverage::none;
        all = all && coverage == Coverage::all;
    }
    return all_or_some(all);
}
Coverage tile(const Disjunction& m, Index head, Range queries, Range keys) {
    bool none = true;
    for (const Mask& operand : m.operands) {
        const Coverage coverage = operand.tile(head, queries, keys);
        if (coverage == Coverage::all) return Coverage::all;
        none = none && coverage == Coverage::none;
    }
    return none ? Coverage::none : Coverage::some;
}
Coverage tile(const Negation& m, Index head, Range queries, Range keys) {
    const Coverage coverage = m.operand.tile(head, queries, keys);
    return either(coverage == Coverage::none, coverage == Coverage::all);
}

// Appends `mask` to the operands of an expression of kind T, or its operands if it is of that kind itself.
template <class T>
void append(std::vector<Mask>& operands, const Mask& mask) {
    if (const auto* same = std::get_if<T>(&Mask::Node::of(mask)->value))
        operands.insert(operands.end(), same->operands.begin(), same->operands.end());
    else
        operands.push_back(mask);
}

}  // namespace

Mask Mask::everything() { return {}; }
Mask Mask::causal(Index offset) { return Node::make(Causal{position(offset)}); }
Mask Mask::window(Index before, Index after) { return Node::make(Window{position(before), position(after)}); }
Mask Mask::padding(Index visible_keys) { return Node::make(Padding{count(visible_keys)}); }
Mask Mask::same_document(std::vector<std::int32_t> query_document, std::vector<std::int32_t> key_document) {
    return Node::make(SameDocument{std::move(query_document), std::move(key_document)});
}
Mask Mask::prefix(Index length) { return Node::make(Prefix{count(length)}); }
Mask Mask::strided(Index stride) { return Node::make(Strided{std::max<Index>(count(stride), 1)}); }
Mask Mask::block_sparse(Index block, Index query_blocks, Index key_blocks,
                        std::vector<std::uint8_t> block_allowed) {
    query_blocks = count(query_blocks), key_blocks = count(key_blocks);
    return Node::make(BlockSparse{std::max<Index>(count(block), 1), query_blocks, key_blocks,
                                  bits(std::move(block_allowed), cell_count(1, query_blocks, key_blocks))});
}
Mask Mask::global_local(std::vector<Index> global_tokens, Index radius) {
    std::ranges::sort(global_tokens);
    const auto repeated = std::ranges::unique(global_tokens);
    global_tokens.erase(repeated.begin(), repeated.end());
    return Node::make(GlobalLocal{std::move(global_tokens), count(radius)});
}
Mask Mask::painted(PaintedBits painted) {
    painted.heads = count(painted.heads), painted.rows = count(painted.rows),
    painted.cols = count(painted.cols);
    painted.allowed = bits(std::move(painted.allowed), cell_count(painted.heads, painted.rows, painted.cols));
    return Node::make(std::move(painted));
}

Mask Mask::cells(CellRegion region) { return Node::make(Cells{std::move(region)}); }

Mask operator&(const Mask& a, const Mask& b) {
    if (a.is_everything()) return b;
    if (b.is_everything()) return a;
    Conjunction both;
    append<Conjunction>(both.operands, a);
    append<Conjunction>(both.operands, b);
    return Mask::Node::make(std::move(both));
}

Mask operator|(const Mask& a, const Mask& b) {
    if (a.is_everything() || b.is_everything()) return {};
    Disjunction either_one;
    append<Disjunction>(either_one.operands, a);
    append<Disjunction>(either_one.operands, b);
    return Mask::Node::make(std::move(either_one));
}

Mask operator!(const Mask& mask) { return Mask::Node::make(Negation{mask}); }

bool Mask::allows(Index head, Index query, Index key) const {
    return !node_ ||
           std::visit([&](const auto& m) { return attn::allows(m, head, query, key); }, node_->value);
}

void Mask::row(Index head, Index query, Index first_key, std::span<std::uint8_t> out) const {
    if (!node_)
        std::ranges::fill(out, std::uint8_t{1});
    else
        std::visit([&](const auto& m) { fill_row(m, head, query, first_key, out); }, node_->value);
}

Coverage Mask::tile(Index head, Range queries, Range keys) const {
    if (queries.size() <= 0 || keys.size() <= 0) return Coverage::none;
    if (!node_) return Coverage::all;
    return std::visit([&](const auto& m) { return attn::tile(m, head, queries, keys); }, node_->value);
}

bool Mask::run(Index head, Index query, Range& keys) const {
    return !node_ || std::visit([&](const auto& m) { return narrow(m, head, query, keys); }, node_->value);
}

CellRule Mask::rule() const {
    if (!node_) return {};
    return {
        .self = this,
        .row =
            [](const void* self, Index head, Index query, Index first_key, std::span<std::uint8_t> allowed) {
                static_cast<const Mask*>(self)->row(head, query, first_key, allowed);
            },
        .tile = [](const void* self, Index head, Range queries,
                   Range keys) { return static_cast<const Mask*>(self)->tile(head, queries, keys); },
        .run = [](const void* self, Index head, Index query,
                  Range& keys) { return static_cast<const Mask*>(self)->run(head, query, keys); }};
}

bool Mask::operator==(const Mask& other) const {
    return node_ == other.node_ || (node_ && other.node_ && node_->value == other.node_->value);
}

}  // namespace attn
