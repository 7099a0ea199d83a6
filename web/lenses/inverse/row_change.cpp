#include "lenses/inverse/row_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn::app {

namespace {

constexpr std::array<ChangeInfo, change_count> change_table{{
    {"q", "q of the query", Stage::q},
    {"key", "k of the key", Stage::k},
    {"keys", "all keys", Stage::k},
    {"wq", "W_Q", Stage::w_q},
    {"wk", "W_K", Stage::w_k},
}};

template <class First, class Second>
double dot(const First& a, const Second& b, Index count) {
    double sum = 0;
    for (Index i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

}  // namespace

const ChangeInfo& info(ChangeOf of) { return change_table[static_cast<std::size_t>(of)]; }

double RankOne::norm() const {
    const double squares = std::inner_product(left.begin(), left.end(), left.begin(), 0.0) *
                           std::inner_product(right.begin(), right.end(), right.begin(), 0.0);
    return std::sqrt(squares);
}

RowChange::RowChange(std::shared_ptr<const Record> record, Index head, Index query, ChangeOf of,
                     std::vector<Wish> wishes, std::shared_ptr<const Matrix> x, std::vector<Index> rows)
    : record_(std::move(record)),
      head_(head),
      query_(query),
      of_(of),
      wishes_(std::move(wishes)),
      x_(std::move(x)),
      rows_(std::move(rows)),
      row_(score_row(*record_, head, query)),
      now_(row_) {
    const ConstMatrix q_rows = record_->q().heads().head(head);
    squares_ = of == ChangeOf::w_q
                   ? dot(x_->values.data() + query * x_->cols, x_->values.data() + query * x_->cols, x_->cols)
                   : dot(q_rows.row(query), q_rows.row(query), q_rows.cols);
    if (wishes_.empty()) return;
    Lever moved = lever();
    obstacle_ = attn::obstacle(row_, moved, wishes_);
    if (!obstacle_) search_.emplace(row_, std::move(moved), wishes_);
}

Lever RowChange::lever() const {
    const Index n = record_->keys();
    const ConstMatrix k_rows = record_->k().heads().head(record_->kv_head(head_));
    Lever lever;
    if (of_ == ChangeOf::key || of_ == ChangeOf::keys) {
        lever.size = n;
        lever.own.assign(static_cast<std::size_t>(n), of_ == ChangeOf::keys ? std::sqrt(squares_) : 0);
        for (const Wish& wish : wishes_) lever.own[static_cast<std::size_t>(wish.key)] = std::sqrt(squares_);
    } else if (of_ == ChangeOf::w_k && squares_ > 0) {
        lever.size = x_->cols;
        lever.rows = x_->values;
    } else if (of_ == ChangeOf::w_k || (of_ == ChangeOf::w_q && squares_ == 0)) {
        // Nothing that changes W moves x W where x is 0, or q · k where q is.
        lever.size = 1;
        lever.rows.assign(static_cast<std::size_t>(n), 0);
    } else {
        lever.size = k_rows.cols;
        lever.rows.reserve(static_cast<std::size_t>(n * k_rows.cols));
        for (Index j = 0; j < n; ++j)
            lever.rows.insert(lever.rows.end(), k_rows.row(j), k_rows.row(j) + k_rows.cols);
    }
    return lever;
}

bool RowChange::is_so() const {
    constexpr double as_it_is = 1e-5;  // f32 tells weights apart to some 1e-6
    return std::ranges::all_of(wishes_, [&](const Wish& wish) {
        return std::abs(now_.at(wish.key).weight - wish.weight) < as_it_is;
    });
}

bool RowChange::step() {
    if (!search_) return false;
    if (!search_->done()) {
        search_->step();
        if (!search_->done()) return true;
        if (search_->found())
            take_change();
        else if (wishes_.size() == 1)
            best_.emplace(row_, search_->lever(), wishes_.front().key);
        else
            obstacle_ = Obstacle{Obstacle::Why::not_together, wishes_.front().key};
        return search_->found() || best_;
    }
    if (best_ && !best_->done()) {
        if (best_->step()) return true;
        const Wish& wish = wishes_.front();
        Obstacle why{Obstacle::Why::not_together, wish.key, 0, best_->weight()};
        if (best_->weight() <= wish.weight)
            why.why = row_.softcap > 0 ? Obstacle::Why::capped_here : Obstacle::Why::surrounded;
        if (why.why == Obstacle::Why::surrounded && best_->off_mixture() < 1e-3)
            why.mixture = best_->mixture();
        obstacle_ = std::move(why);
        return false;
    }
    if (!found() || next_row_ == rows_.size()) return false;
    look_at(rows_[next_row_++]);
    return next_row_ < rows_.size();
}

void RowChange::take_change() {
    const std::vector<double>& z = search_->change();
    const ConstMatrix q_rows = record_->q().heads().head(head_);
    std::vector<double> q(q_rows.row(query_), q_rows.row(query_) + q_rows.cols);
    const auto divided = [](std::vector<double> v, double by) {
        for (double& each : v) each /= by;
        return v;
    };
    switch (of_) {
        case ChangeOf::q:
            q_by_.assign(static_cast<std::size_t>(record_->queries()), 0);
            q_by_[static_cast<std::size_t>(query_)] = 1;
            change_ = {q_by_, z};
            break;
        case ChangeOf::key:
        case ChangeOf::keys:
            k_by_ = squares_ > 0 ? divided(z, std::sqrt(squares_)) : z;
            change_ = {k_by_, std::move(q)};
            break;
        case ChangeOf::w_q: {
            const double* own = x_->values.data() + query_ * x_->cols;
            for (Index i = 0; i < record_->queries(); ++i)
                q_by_.push_back(squares_ > 0 ? dot(x_->values.data() + i * x_->cols, own, x_->cols) / squares_
                                             : 0);
            std::vector<double> left(own, own + x_->cols);
            change_ = {squares_ > 0 ? divided(std::move(left), squares_) : std::move(left), z};
            break;
        }
        case ChangeOf::w_k:
            for (Index j = 0; j < record_->keys(); ++j)
                k_by_.push_back(squares_ > 0 ? search_->lever().dot(j, z) / squares_ : 0);
            change_ = {z, squares_ > 0 ? divided(std::move(q), squares_) : std::move(q)};
            break;
    }
    look_at(query_);
    std::erase(rows_, query_);
}

double RowChange::q(Index query, Index component) const {
    const auto now = static_cast<double>(record_->q().heads().head(head_)(query, component));
    if (q_by_.empty()) return now;
    return now +
           q_by_[static_cast<std::size_t>(query)] * search_->change()[static_cast<std::size_t>(component)];
}

double RowChange::k(Index key, Index component) const {
    const auto now = static_cast<double>(record_->k().heads().head(record_->kv_head(head_))(key, component));
    if (k_by_.empty()) return now;
    return now + k_by_[static_cast<std::size_t>(key)] *
                     static_cast<double>(record_->q().heads().head(head_)(query_, component));
}

ScoreRow RowChange::row_after(Index query) const {
    ScoreRow row = query == query_ ? row_ : score_row(*record_, head_, query);
    const Index d = record_->d_k();
    const ConstMatrix q_rows = record_->q().heads().head(head_),
                      k_rows = record_->k().heads().head(record_->kv_head(head_));
    if (!q_by_.empty()) {
        const double by = q_by_[static_cast<std::size_t>(query)];
        if (by != 0)
            for (Index j = 0; j < record_->keys(); ++j)
                row.raw[static_cast<std::size_t>(j)] += by * dot(search_->change().data(), k_rows.row(j), d);
    } else {
        const double along = dot(q_rows.row(query), q_rows.row(query_), d);
        for (std::size_t j = 0; j < k_by_.size(); ++j)
            if (k_by_[j] != 0) row.raw[j] += k_by_[j] * along;
    }
    return row;
}

void RowChange::look_at(Index query) {
    const bool own = query == query_;
    const RowChain before = own ? now_ : row_chain(*record_, head_, query), after(row_after(query));
    std::vector<double> weights(static_cast<std::size_t>(record_->keys()));
    Moved& moved = own ? within_ : elsewhere_;
    for (Index j = 0; j < record_->keys(); ++j) {
        const double weight = after.at(j).weight, by = weight - before.at(j).weight;
        weights[static_cast<std::size_t>(j)] = weight;
        if (own && std::ranges::find(wishes_, j, &Wish::key) != wishes_.end()) continue;
        if (std::abs(by) > std::abs(moved.by)) moved = {query, j, by};
    }
    after_.insert_or_assign(query, std::move(weights));
}

const std::vector<double>* RowChange::after(Index query) const {
    const auto found = after_.find(query);
    return found == after_.end() ? nullptr : &found->second;
}

float RowChange::after_f32(Index query, Index key) {
    if (run_ && run_->query == query) return run_->record.cell(Stage::weight, 0, 0, key);
    const Index n = record_->keys(), d = record_->d_k();
    const ConstMatrix k_now = record_->k().heads().head(record_->kv_head(head_));
    Tensor q_row({1, 1, d}), k_rows({1, n, d});
    for (Index a = 0; a < d; ++a) q_row.data()[a] = static_cast<float>(q(query, a));
    for (Index j = 0; j < n; ++j)
        for (Index a = 0; a < d; ++a)
            k_rows.data()[j * d + a] = k_by_.empty() || k_by_[static_cast<std::size_t>(j)] == 0
                                           ? k_now(j, a)
                                           : static_cast<float>(k(j, a));
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
