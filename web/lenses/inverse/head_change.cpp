#include "lenses/inverse/head_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/vectors.hpp"

namespace attn::app {

namespace {

constexpr std::array<ChangeInfo, change_count> change_table{{
    {"q", "queries", Stage::q},
    {"key", "these keys", Stage::k},
    {"keys", "all keys", Stage::k},
    {"wq", "W_Q", Stage::w_q},
    {"wk", "W_K", Stage::w_k},
}};
constexpr Index numbers_limit = Index{1} << 22;  // of the slopes of all wishes

std::vector<double> as_vector(const float* row, Index count) { return {row, row + count}; }

double along(const std::vector<double>& a, const float* b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * static_cast<double>(b[i]);
    return sum;
}

// Gram's and Schmidt's: orthonormal vectors that span the given ones, and the shares of these in them.
void span_of(const std::vector<std::vector<double>>& vectors, std::vector<std::vector<double>>& basis,
             std::vector<std::vector<double>>& shares) {
    constexpr double dependent = 1e-10;  // of a vector's length
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
    // What cannot move has one direction, in which it does not.
    if (basis.empty()) basis.emplace_back(vectors.front().size());
    for (std::vector<double>& own : shares) own.resize(basis.size());
}

}  // namespace

const ChangeInfo& info(ChangeOf of) { return change_table[static_cast<std::size_t>(of)]; }

std::shared_ptr<const std::vector<double>> keys_in_double(const Record& record, Index head) {
    const ConstMatrix all = record.k().heads().head(record.kv_head(head));
    std::vector<double> rows(static_cast<std::size_t>(all.rows * all.cols));
    for (Index j = 0; j < all.rows; ++j) std::copy_n(all.row(j), all.cols, rows.data() + j * all.cols);
    return std::make_shared<const std::vector<double>>(std::move(rows));
}

HeadChange::HeadChange(std::shared_ptr<const Record> record, Index head, ChangeOf of,
                       std::vector<CellWish> wishes, std::shared_ptr<const std::vector<double>> keys,
                       std::shared_ptr<const Matrix> x, std::vector<Index> rows)
    : record_(std::move(record)),
      head_(head),
      of_(of),
      wishes_(std::move(wishes)),
      x_(std::move(x)),
      rows_(std::move(rows)) {
    for (const CellWish& wish : wishes_)
        if (wished_rows_.empty() || wished_rows_.back() != wish.query) wished_rows_.push_back(wish.query);
    std::erase_if(rows_,
                  [&](Index row) { return std::ranges::find(wished_rows_, row) != wished_rows_.end(); });
    if (wishes_.empty()) return;
    const ConstMatrix q_rows = record_->q().heads().head(head);
    std::vector<Vector> spanned;
    for (const Index row : wished_rows_)
        spanned.push_back(of == ChangeOf::w_q ? Vector(x_->values.begin() + row * x_->cols,
                                                       x_->values.begin() + (row + 1) * x_->cols)
                                              : as_vector(q_rows.row(row), q_rows.cols));
    if (of == ChangeOf::q) {
        for (std::size_t r = 0; r < spanned.size(); ++r) {
            shares_.emplace_back(spanned.size());
            shares_.back()[r] = 1;
        }
    } else {
        span_of(spanned, basis_, shares_);
    }
    const Index width = of == ChangeOf::key || of == ChangeOf::keys ? record_->keys()
                        : of == ChangeOf::w_k                       ? x_->cols
                                                                    : record_->d_k();
    if (width * std::ssize(shares_.front()) * std::ssize(wishes_) > numbers_limit) {
        too_large_ = true;
        is_so_ = false;
        return;
    }
    std::vector<WishedRow> all = wished(std::move(keys));
    constexpr double as_it_is = 1e-5;  // f32 tells weights apart to some 1e-6
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
        lever.width = x_->cols;
        lever.rows = {x_, &x_->values};
    } else {
        lever.width = d;
        lever.rows = std::move(keys);
    }
    std::vector<WishedRow> all;
    for (std::size_t r = 0; r < wished_rows_.size(); ++r) {
        lever.blocks = shares_[r];
        all.push_back({score_row(*record_, head_, wished_rows_[r]), lever, {}});
        for (const CellWish& wish : wishes_)
            if (wish.query == wished_rows_[r]) all.back().wishes.push_back({wish.key, wish.weight});
    }
    return all;
}

bool HeadChange::step() {
    if (!search_ || obstacle_) return false;
    if (!search_->done()) {
        search_->step();
        if (!search_->done()) return true;
        search_->found() ? take_change() : look_for_reason();
        return !obstacle_;
    }
    if (best_) {
        if (best_->step()) return true;
        const CellWish& wish = wishes_.front();
        Obstacle why{Obstacle::Why::not_together, wish.key, 0, best_->weight()};
        if (best_->weight() <= wish.weight)
            why.why = search_->rows().front().row.softcap > 0 ? Obstacle::Why::capped_here
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

// Of one wish alone it can be said how far it may come true.
void HeadChange::look_for_reason() {
    obstacle_row_ = wishes_.front().query;
    if (wishes_.size() == 1)
        best_.emplace(search_->rows().front().row, search_->rows().front().lever, wishes_.front().key);
    else
        obstacle_ = Obstacle{Obstacle::Why::not_together, wishes_.front().key};
}

void HeadChange::take_change() {
    const Vector& z = search_->change();
    const Index width = search_->rows().front().lever.width;
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
                        std::inner_product(b.begin(), b.end(), x_->values.begin() + i * x_->cols, 0.0));
            }
            left_ = basis_;
            right_ = std::move(z_of);
            break;
        case ChangeOf::w_k:
            for (const Vector& block : z_of) {
                Vector& by = k_by_.emplace_back();
                for (Index j = 0; j < record_->keys(); ++j)
                    by.push_back(std::inner_product(block.begin(), block.end(),
                                                    x_->values.begin() + j * x_->cols, 0.0));
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

double HeadChange::q(Index query, Index component) const {
    auto sum = static_cast<double>(record_->q().heads().head(head_)(query, component));
    for (std::size_t l = 0; l < q_by_.size(); ++l)
        sum += q_by_[l][static_cast<std::size_t>(query)] * right_[l][static_cast<std::size_t>(component)];
    return sum;
}

double HeadChange::k(Index key, Index component) const {
    auto sum = static_cast<double>(record_->k().heads().head(record_->kv_head(head_))(key, component));
    for (std::size_t l = 0; l < k_by_.size(); ++l)
        sum += k_by_[l][static_cast<std::size_t>(key)] * right_[l][static_cast<std::size_t>(component)];
    return sum;
}

ScoreRow HeadChange::row_after(Index query) const {
    ScoreRow row = score_row(*record_, head_, query);
    const ConstMatrix k_rows = record_->k().heads().head(record_->kv_head(head_));
    const float* own = record_->q().heads().head(head_).row(query);
    for (std::size_t l = 0; l < q_by_.size(); ++l)
        if (const double by = q_by_[l][static_cast<std::size_t>(query)]; by != 0)
            for (Index j = 0; j < record_->keys(); ++j)
                row.raw[static_cast<std::size_t>(j)] += by * along(right_[l], k_rows.row(j));
    for (std::size_t l = 0; l < k_by_.size(); ++l) {
        const double share = along(right_[l], own);
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
    for (Index j = 0; j < n; ++j)
        for (Index a = 0; a < d; ++a)
            k_rows.data()[j * d + a] = k_by_.empty() ? k_now(j, a) : static_cast<float>(k(j, a));
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

}  // namespace attn::app
