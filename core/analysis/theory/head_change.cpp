#include "analysis/theory/head_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr std::array<ChangeInfo, change_count> change_table{{
    {"q", Stage::q},
    {"key", Stage::k},
    {"keys", Stage::k},
    {"wq", Stage::w_q},
    {"wk", Stage::w_k},
}};
constexpr Index rows_looked_at = 64;             // for side effects, beside those in view
constexpr Index numbers_limit = Index{1} << 22;  // numbers in the gradients of all targets

// Some of all rows, evenly chosen, after those in view.
std::vector<Index> rows_to_look_at(Range in_view, Index all) {
    std::vector<Index> rows;
    for (Index i = in_view.begin; i < in_view.end; ++i) rows.push_back(i);
    const Index count = std::min(all, rows_looked_at);
    for (Index s = 0; s < count; ++s)
        if (const Index i = s * all / count; !in_view.holds(i)) rows.push_back(i);
    return rows;
}

std::vector<double> as_vector(const float* row, Index count) { return {row, row + count}; }

// Gram–Schmidt: finds orthonormal vectors that span the given ones, and the coefficients of the given ones.
void span_of(const std::vector<std::vector<double>>& vectors, std::vector<std::vector<double>>& basis,
             std::vector<std::vector<double>>& shares) {
    constexpr double dependent = 1e-10;  // relative to a vector's length
    for (const std::vector<double>& vector : vectors) {
        std::vector<double> rest = vector, own(basis.size());
        // Twice is enough (Kahan and Parlett).
        for (int round = 0; round < 2; ++round)
            for (std::size_t l = 0; l < basis.size(); ++l) {
                const double share = dot(rest, basis[l]);
                own[l] += share;
                rest = added(std::move(rest), -share, basis[l]);
            }
        const double length = length_of(rest);
        if (length > dependent * length_of(vector)) {
            for (double& each : rest) each /= length;
            basis.push_back(std::move(rest));
            own.push_back(length);
        }
        shares.push_back(std::move(own));
    }
    // If nothing can move, there is a single direction, of length 0.
    if (basis.empty()) basis.emplace_back(vectors.front().size());
    for (std::vector<double>& own : shares) own.resize(basis.size());
}

// Returns component a of R_token v or, with direction −1, of R_tokenᵀ v, rotating like model/explain.hpp.
double turned_at(const TokenTurns& turns, Index token, Index a, auto&& v, double direction = 1) {
    const RotaryPair pair = pair_of(&turns.rotary, a);
    if (pair.partner < 0) return v(a);
    const double angle = static_cast<double>(token) * turns.frequencies[static_cast<std::size_t>(pair.pair)],
                 sine = direction * (pair.first ? -std::sin(angle) : std::sin(angle));
    return turns.rotary.magnitude * (v(a) * std::cos(angle) + v(pair.partner) * sine);
}

}  // namespace

std::vector<double> TokenTurns::turned(const std::vector<double>& v, Index token, double direction) const {
    std::vector<double> made;
    for (Index a = 0; a < std::ssize(v); ++a)
        made.push_back(
            turned_at(*this, token, a, [&](Index c) { return v[static_cast<std::size_t>(c)]; }, direction));
    return made;
}

const ChangeInfo& info(ChangeOf of) { return change_table[static_cast<std::size_t>(of)]; }

std::shared_ptr<const std::vector<double>> keys_in_double(const Record& record, Index head) {
    const ConstMatrix all = record.k().heads().head(record.kv_head(head));
    std::vector<double> rows(static_cast<std::size_t>(all.rows * all.cols));
    for (Index j = 0; j < all.rows; ++j) std::copy_n(all.row(j), all.cols, rows.data() + j * all.cols);
    return std::make_shared<const std::vector<double>>(std::move(rows));
}

HeadChange::HeadChange(std::shared_ptr<const Record> record, Index head, ChangeOf of,
                       std::vector<CellWish> wishes, std::shared_ptr<const std::vector<double>> keys,
                       std::shared_ptr<const InputRows> x, Range in_view, std::optional<TokenTurns> turns)
    : record_(std::move(record)), head_(head), of_(of), wishes_(std::move(wishes)), x_(std::move(x)) {
    if (of_projection()) turns_ = std::move(turns);
    for (const CellWish& wish : wishes_)
        if (wished_rows_.empty() || wished_rows_.back() != wish.query) wished_rows_.push_back(wish.query);
    // A change of queries moves no other row.
    if (of != ChangeOf::q) rows_ = rows_to_look_at(in_view, record_->queries());
    std::erase_if(rows_,
                  [&](Index row) { return std::ranges::find(wished_rows_, row) != wished_rows_.end(); });
    if (wishes_.empty()) return;
    const ConstMatrix q_rows = record_->q().heads().head(head);
    std::vector<Vector> spanned;
    for (const Index row : wished_rows_)
        spanned.push_back(of == ChangeOf::w_q ? Vector(x_->values.begin() + row * x_->width,
                                                       x_->values.begin() + (row + 1) * x_->width)
                                              : as_vector(q_rows.row(row), q_rows.cols));
    if (of_whole()) {
        shares_.assign(spanned.size(), {1});
    } else if (of == ChangeOf::q) {
        for (std::size_t r = 0; r < spanned.size(); ++r) {
            shares_.emplace_back(spanned.size());
            shares_.back()[r] = 1;
        }
    } else {
        span_of(spanned, basis_, shares_);
    }
    const Index width = of == ChangeOf::key || of == ChangeOf::keys ? record_->keys()
                        : of_whole()                                ? x_->width * record_->d_k()
                        : of == ChangeOf::w_k                       ? x_->width
                                                                    : record_->d_k();
    const auto product = [](Index a, Index b, Index c) {
        return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
    };
    const double slopes = product(width, std::ssize(shares_.front()), std::ssize(wishes_)),
                 levers = turns_ ? product(std::ssize(wished_rows_), record_->keys(), width) : 0;
    if (std::max(slopes, levers) > static_cast<double>(numbers_limit)) {
        too_large_ = true;
        is_so_ = false;
        return;
    }
    std::vector<WishedRow> all = wished(std::move(keys));
    constexpr double as_it_is = 1e-5;  // f32 distinguishes weights to about 1e-6
    for (std::size_t r = 0; r < all.size(); ++r) {
        const RowChain now(all[r].row);
        for (const Wish& wish : all[r].wishes)
            is_so_ = is_so_ && std::abs(now.at(wish.key).weight - wish.weight) < as_it_is;
        if (obstacle_) continue;
        obstacle_ = attn::obstacle(all[r]);
        obstacle_row_ = wished_rows_[r];
    }
    if (!obstacle_) search_.emplace(std::move(all));
}

std::vector<WishedRow> HeadChange::wished(std::shared_ptr<const Vector> keys) const {
    const Index n = record_->keys(), d = record_->d_k();
    Lever lever;
    if (of_ == ChangeOf::key || of_ == ChangeOf::keys) {
        lever.width = n;
        lever.own.assign(static_cast<std::size_t>(n), of_ == ChangeOf::keys ? 1 : 0);
        for (const CellWish& wish : wishes_) lever.own[static_cast<std::size_t>(wish.key)] = 1;
    } else if (of_ == ChangeOf::w_k) {
        lever.width = of_whole() ? x_->width * d : x_->width;
        lever.rows = {x_, &x_->values};
    } else {
        lever.width = d;
        lever.rows = std::move(keys);
    }
    std::vector<WishedRow> all;
    for (std::size_t r = 0; r < wished_rows_.size(); ++r) {
        lever.blocks = shares_[r];
        if (turns_) lever.rows = turned_lever(wished_rows_[r]);
        all.push_back({score_row(*record_, head_, wished_rows_[r]), lever, {}});
        for (const CellWish& wish : wishes_)
            if (wish.query == wished_rows_[r]) all.back().wishes.push_back({wish.key, wish.weight});
    }
    return all;
}

std::vector<double> HeadChange::key_seen(Index query, Index key) const {
    Vector k = as_vector(record_->k().heads().head(record_->kv_head(head_)).row(key), record_->d_k());
    return turns_ ? turns_->back(k, query) : k;
}
std::vector<double> HeadChange::query_seen(Index query, Index key) const {
    Vector q = as_vector(record_->q().heads().head(head_).row(query), record_->d_k());
    return turns_ ? turns_->back(q, key) : q;
}

// f for every key, for one query.
std::shared_ptr<const std::vector<double>> HeadChange::turned_lever(Index query) const {
    Vector rows;
    for (Index j = 0; j < record_->keys(); ++j) {
        if (!of_whole()) {
            std::ranges::copy(key_seen(query, j), std::back_inserter(rows));
            continue;
        }
        const Vector seen = query_seen(query, j);
        for (Index b = 0; b < x_->width; ++b)
            for (const double each : seen) rows.push_back(x_->at(j, b) * each);
    }
    return std::make_shared<const Vector>(std::move(rows));
}

bool HeadChange::step() {
    if (!search_ || obstacle_) return false;
    if (!search_->done()) {
        search_->step();
        if (!search_->done()) return true;
        search_->best().found() ? take_change() : look_for_reason();
        return !obstacle_;
    }
    if (best_) {
        if (best_->step()) return true;
        const CellWish& wish = wishes_.front();
        Obstacle why{Obstacle::Why::not_together, wish.key, 0, best_->weight()};
        if (best_->weight() <= wish.weight)
            why.why = search_->best().rows().front().row.softcap > 0 ? Obstacle::Why::capped_here
                                                                     : Obstacle::Why::surrounded;
        if (why.why == Obstacle::Why::surrounded && best_->off_mixture() < 1e-3)
            why.mixture = best_->mixture();
        obstacle_ = std::move(why);
        return false;
    }
    if (next_row_ == rows_.size()) return false;
    look_at(rows_[next_row_++]);
    return next_row_ < rows_.size();
}

// Only for a single target is it known how far it can be reached.
void HeadChange::look_for_reason() {
    obstacle_row_ = wishes_.front().query;
    if (wishes_.size() == 1)
        best_.emplace(search_->best().rows().front().row, search_->best().rows().front().lever,
                      wishes_.front().key);
    else
        obstacle_ = Obstacle{Obstacle::Why::not_together, wishes_.front().key};
}

void HeadChange::take_change() {
    const Vector& z = search_->best().change();
    const Index width = search_->best().rows().front().lever.width;
    const std::size_t blocks = shares_.front().size();
    std::vector<Vector> z_of;
    for (std::size_t l = 0; l < blocks; ++l) {
        const auto first = z.begin() + static_cast<Index>(l) * width;
        z_of.emplace_back(first, first + width);
    }
    switch (of_) {
        case ChangeOf::q:
            for (const Index row : wished_rows_) {
                q_by_.emplace_back(static_cast<std::size_t>(record_->queries()));
                q_by_.back()[static_cast<std::size_t>(row)] = 1;
            }
            left_ = q_by_;
            right_ = std::move(z_of);
            break;
        case ChangeOf::key:
        case ChangeOf::keys:
            left_ = k_by_ = std::move(z_of);
            right_ = basis_;
            break;
        case ChangeOf::w_q:
            for (const Vector& b : basis_) {
                Vector& by = q_by_.emplace_back();
                for (Index i = 0; i < record_->queries(); ++i)
                    by.push_back(
                        std::inner_product(b.begin(), b.end(), x_->values.begin() + i * x_->width, 0.0));
            }
            left_ = basis_;
            right_ = std::move(z_of);
            break;
        case ChangeOf::w_k:
            if (of_whole()) {
                // Goes column by column through z.
                const Vector whole = std::move(z_of.front());
                z_of.clear();
                for (Index a = 0; a < record_->d_k(); ++a) {
                    Vector& column = z_of.emplace_back();
                    for (Index b = 0; b < x_->width; ++b)
                        column.push_back(whole[static_cast<std::size_t>(b * record_->d_k() + a)]);
                    basis_.emplace_back(
                        static_cast<std::size_t>(record_->d_k()))[static_cast<std::size_t>(a)] = 1;
                }
            }
            for (const Vector& block : z_of) {
                Vector& by = k_by_.emplace_back();
                for (Index j = 0; j < record_->keys(); ++j)
                    by.push_back(std::inner_product(block.begin(), block.end(),
                                                    x_->values.begin() + j * x_->width, 0.0));
            }
            left_ = std::move(z_of);
            right_ = basis_;
            break;
    }
    for (const Index row : wished_rows_) look_at(row);
}

double HeadChange::left(Index block, Index row) const {
    return left_[static_cast<std::size_t>(block)][static_cast<std::size_t>(row)];
}
double HeadChange::right(Index block, Index col) const {
    return right_[static_cast<std::size_t>(block)][static_cast<std::size_t>(col)];
}
double HeadChange::change(Index row, Index col) const {
    double sum = 0;
    for (Index l = 0; l < blocks(); ++l) sum += left(l, row) * right(l, col);
    return sum;
}

namespace {

// Returns Σ_l by_l[token] right_l[a].
double added_by(const std::vector<std::vector<double>>& by, const std::vector<std::vector<double>>& right,
                Index token, Index a) {
    double sum = 0;
    for (std::size_t l = 0; l < by.size(); ++l)
        sum += by[l][static_cast<std::size_t>(token)] * right[l][static_cast<std::size_t>(a)];
    return sum;
}

}  // namespace

double HeadChange::q(Index query, Index component) const {
    const auto more = [&](Index a) { return added_by(q_by_, right_, query, a); };
    return static_cast<double>(record_->q().heads().head(head_)(query, component)) +
           (turns_ ? turned_at(*turns_, query, component, more) : more(component));
}

double HeadChange::k(Index key, Index component) const {
    const auto more = [&](Index a) { return added_by(k_by_, right_, key, a); };
    return static_cast<double>(record_->k().heads().head(record_->kv_head(head_))(key, component)) +
           (turns_ ? turned_at(*turns_, key, component, more) : more(component));
}

// Returns what a change adds to q or k of a token.
std::vector<double> HeadChange::moved(const std::vector<Vector>& by, Index token) const {
    Vector sum(static_cast<std::size_t>(record_->d_k()));
    for (std::size_t l = 0; l < by.size(); ++l)
        if (const double times = by[l][static_cast<std::size_t>(token)]; times != 0)
            sum = added(std::move(sum), times, right_[l]);
    return turns_ ? turns_->turned(sum, token) : sum;
}

ScoreRow HeadChange::row_after(Index query) const {
    ScoreRow row = score_row(*record_, head_, query);
    const ConstMatrix k_rows = record_->k().heads().head(record_->kv_head(head_));
    const std::span own(record_->q().heads().head(head_).row(query),
                        static_cast<std::size_t>(record_->d_k()));
    if (!q_by_.empty()) {
        const Vector more = moved(q_by_, query);
        for (Index j = 0; j < record_->keys(); ++j)
            row.raw[static_cast<std::size_t>(j)] += dot(more, std::span(k_rows.row(j), more.size()));
    }
    for (Index j = 0; turns_ && !k_by_.empty() && j < record_->keys(); ++j)
        row.raw[static_cast<std::size_t>(j)] += dot(moved(k_by_, j), own);
    for (std::size_t l = 0; !turns_ && l < k_by_.size(); ++l) {
        const double share = dot(right_[l], own);
        for (std::size_t j = 0; j < row.raw.size(); ++j)
            if (k_by_[l][j] != 0) row.raw[j] += k_by_[l][j] * share;
    }
    return row;
}

void HeadChange::look_at(Index query) {
    const bool own = std::ranges::find(wished_rows_, query) != wished_rows_.end();
    const RowChain before = row_chain(*record_, head_, query), after(row_after(query));
    Vector weights(static_cast<std::size_t>(record_->keys()));
    Moved& moved = own ? within_ : elsewhere_;
    for (Index j = 0; j < record_->keys(); ++j) {
        const double weight = after.at(j).weight, by = weight - before.at(j).weight;
        weights[static_cast<std::size_t>(j)] = weight;
        if (std::abs(by) <= std::abs(moved.by)) continue;
        const auto is_it = [&](const CellWish& wish) { return wish.query == query && wish.key == j; };
        if (!own || std::ranges::none_of(wishes_, is_it)) moved = {query, j, by};
    }
    after_.insert_or_assign(query, std::move(weights));
}

const std::vector<double>* HeadChange::after(Index query) const {
    const auto found = after_.find(query);
    return found == after_.end() ? nullptr : &found->second;
}

float HeadChange::after_f32(Index query, Index key) {
    if (run_ && run_->query == query) return run_->record.cell(Stage::weight, 0, 0, key);
    const Index n = record_->keys(), d = record_->d_k();
    const ConstMatrix k_now = record_->k().heads().head(record_->kv_head(head_));
    Tensor q_row({1, 1, d}), k_rows({1, n, d});
    for (Index a = 0; a < d; ++a) q_row.data()[a] = static_cast<float>(q(query, a));
    for (Index j = 0; j < n; ++j) {
        std::copy_n(k_now.row(j), d, k_rows.data() + j * d);
        const auto moves = [&](const Vector& by) { return by[static_cast<std::size_t>(j)] != 0; };
        if (std::ranges::none_of(k_by_, moves)) continue;
        const Vector more = moved(k_by_, j);
        for (Index a = 0; a < d; ++a)
            k_rows.data()[j * d + a] =
                static_cast<float>(static_cast<double>(k_now(j, a)) + more[static_cast<std::size_t>(a)]);
    }
    AttentionSpec spec = record_->spec();
    spec.scale = record_->scale();
    PaintedBits bits{1, 1, n, std::vector<std::uint8_t>(static_cast<std::size_t>(n))};
    record_->spec().mask.row(head_, query, 0, bits.allowed);
    spec.mask = Mask::painted(std::move(bits));
    if (!spec.bias.empty()) {
        Tensor bias({1, 1, n});
        for (Index j = 0; j < n; ++j) bias.data()[j] = record_->spec().bias.at(head_, query, j);
        spec.bias.values = std::make_shared<const Tensor>(std::move(bias));
    }
    auto run = Record::run(std::move(q_row), std::move(k_rows), Tensor({1, n, 0}), std::move(spec),
                           record_->kernels());
    if (!run) return NAN;
    return run_.emplace(Run{query, *std::move(run)}).record.cell(Stage::weight, 0, 0, key);
}

}  // namespace attn
