#include "maps/map.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {

namespace {

// Calls f(part, first row, its place in out) for the parts of the window that hold something, and fills the
// others with masked cells. A window that the mask leaves whole is one part.
template <class F>
void for_each_part(const Map& map, const MapWindow& window, MatrixView<float> out, F f) {
    constexpr Index side = 64;
    const auto covers = [&](Range rows, Range keys) {
        return map.coverage({window.query(rows.begin), window.query(rows.end - 1) + 1}, keys);
    };
    if (window.rows() <= 0 || window.keys.size() <= 0) return;
    if (covers({0, window.rows()}, window.keys) == Coverage::all) return f(window, Index{0}, out);
    for (Index row = 0; row < window.rows(); row += side) {
        const Range rows{row, std::min(row + side, window.rows())};
        const auto next_side = [&](Index key) { return std::min((key / side + 1) * side, window.keys.end); };
        for (Index key = window.keys.begin; key < window.keys.end;) {
            Range keys{key, next_side(key)};
            const bool none = covers(rows, keys) == Coverage::none;
            while (keys.end < window.keys.end &&
                   (covers(rows, {keys.end, next_side(keys.end)}) == Coverage::none) == none)
                keys.end = next_side(keys.end);
            const MatrixView<float> part{out.row(rows.begin) + keys.begin - window.keys.begin, rows.size(),
                                         keys.size(), out.row_stride};
            if (none)
                for (Index r = 0; r < part.rows; ++r) std::fill_n(part.row(r), part.cols, masked_cell);
            else
                f(MapWindow{{window.query(rows.begin), window.query(rows.end - 1) + 1}, keys, window.step},
                  rows.begin, part);
            key = keys.end;
        }
    }
}

std::span<float> row_of(MatrixView<float> m, Index row) {
    return {m.row(row), static_cast<std::size_t>(m.cols)};
}

// The common part of the maps of one record's head.
class HeadMap : public Map {
  public:
    Coverage coverage(Range queries, Range keys) const final {
        const Coverage allowed = record_->spec().mask.tile(head_, queries, keys);
        return allowed == Coverage::all && !record_->spec().bias.empty() ? Coverage::some : allowed;
    }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double> entropy) const final {
        in_parts(window, out, entropy, [this](const auto&... part) { part_cells(part...); });
    }

  protected:
    // Calls f(part, its place in out, its entropy) for the parts that hold something.
    template <class F>
    void in_parts(const MapWindow& window, MatrixView<float> out, std::span<double> entropy, F f) const {
        for_each_part(*this, window, out,
                      [&](const MapWindow& part, Index first_row, MatrixView<float> place) {
                          f(part, place,
                            entropy.empty() ? entropy : entropy.subspan(static_cast<std::size_t>(first_row)));
                      });
    }

    HeadMap(std::shared_ptr<const Record> record, Index head, bool is_signed)
        : Map(record->queries(), record->keys(), is_signed), record_(std::move(record)), head_(head) {}

    virtual void part_cells(const MapWindow& part, MatrixView<float> out,
                            std::span<double> entropy) const = 0;

    const Record& record() const { return *record_; }
    Index head() const { return head_; }

    void stage(Stage stage, const MapWindow& part, MatrixView<float> out) const {
        record_->stage(stage, head_, part.queries, part.step, part.keys, out);
    }
    void mask(const MapWindow& part, MatrixView<float> out) const {
        if (record_->spec().mask.tile(head_, part.queries, part.keys) == Coverage::all) return;
        std::vector<std::uint8_t> allowed(static_cast<std::size_t>(out.cols));
        for (Index r = 0; r < out.rows; ++r) {
            record_->spec().mask.row(head_, part.query(r), part.keys.begin, allowed);
            const std::span row = row_of(out, r);
            for (std::size_t j = 0; j < row.size(); ++j) row[j] = allowed[j] ? row[j] : masked_cell;
        }
    }

    // Turns masked scores in place into weights, with 0 for masked cells, calls f(row, the row's weights),
    // and masks the cells again.
    template <class F>
    void weigh(const MapWindow& part, MatrixView<float> out, std::span<double> entropy, F f) const {
        const bool is_whole = coverage(part.queries, part.keys) == Coverage::all;
        std::vector<float> scores(is_whole ? 0 : static_cast<std::size_t>(out.cols));
        for (Index r = 0; r < out.rows; ++r) {
            const std::span row = row_of(out, r);
            if (!is_whole) std::ranges::copy(row, scores.begin());
            const float found = record_->weigh(head_, part.query(r), part.keys.begin, row);
            if (!entropy.empty()) entropy[static_cast<std::size_t>(r)] += static_cast<double>(found);
            f(r, row);
            for (std::size_t j = 0; j < scores.size(); ++j)
                row[j] = scores[j] == masked_cell ? masked_cell : row[j];
        }
    }

  private:
    std::shared_ptr<const Record> record_;
    Index head_;
};

class ScoreMap final : public HeadMap {
  public:
    ScoreMap(std::shared_ptr<const Record> record, Index head, Stage stage)
        : HeadMap(std::move(record), head, true), stage_(stage) {}

  private:
    void part_cells(const MapWindow& part, MatrixView<float> out, std::span<double>) const override {
        stage(stage_, part, out);
        if (stage_ != Stage::masked) mask(part, out);
    }

    Stage stage_;
};

class WeightMap final : public HeadMap {
  public:
    // Without factors, every key has 1.
    WeightMap(std::shared_ptr<const Record> record, Index head, std::vector<float> key_factors)
        : HeadMap(std::move(record), head, false), factors_(std::move(key_factors)) {}

    const Record* scored_record() const override { return &record(); }
    void cells_from_scores(const MapWindow& window, MatrixView<float> scores,
                           std::span<double> entropy) const override {
        in_parts(window, scores, entropy, [this](const auto&... part) { weigh_part(part...); });
    }

  private:
    void part_cells(const MapWindow& part, MatrixView<float> out, std::span<double> entropy) const override {
        stage(Stage::masked, part, out);
        weigh_part(part, out, entropy);
    }
    void weigh_part(const MapWindow& part, MatrixView<float> out, std::span<double> entropy) const {
        weigh(part, out, entropy, [&](Index, std::span<float> row) {
            if (factors_.empty()) return;
            const float* factors = factors_.data() + part.keys.begin;
            // A weight of 0 must not be multiplied: it takes nothing, not even from an infinite value.
            for (std::size_t j = 0; j < row.size(); ++j) row[j] = row[j] != 0 ? row[j] * factors[j] : row[j];
        });
    }

    std::vector<float> factors_;  // [keys]
};

class GradientMap final : public HeadMap {
  public:
    GradientMap(std::shared_ptr<const Record> record, Index head, Tensor d_output, GradientBy by)
        : HeadMap(std::move(record), head, true), d_output_(std::move(d_output)), by_(by) {
        const ConstMatrix output = this->record().output().heads().head(head),
                          d = std::as_const(d_output_).matrix();
        for (Index i = 0; i < d.rows; ++i) {
            double sum = 0;
            for (Index b = 0; b < d.cols; ++b)
                sum += static_cast<double>(d(i, b)) * static_cast<double>(output(i, b));
            row_means_.push_back(static_cast<float>(sum));
        }
    }

  private:
    void part_cells(const MapWindow& part, MatrixView<float> out, std::span<double>) const override {
        const ConstMatrix d = d_output_.matrix(), v = record().v().heads().head(record().kv_head(head()));
        record().kernels().dot_products(
            {d.row(part.queries.begin), part.rows(), d.cols, d.row_stride * part.step}, rows(v, part.keys),
            out);
        if (by_ == GradientBy::score) by_scores(part, out);
        mask(part, out);
    }

    void by_scores(const MapWindow& part, MatrixView<float> d_weights) const {
        const Index cols = d_weights.cols;
        AlignedVector<float> buffer(static_cast<std::size_t>(d_weights.rows * cols));
        const MatrixView<float> a{buffer.data(), d_weights.rows, cols, cols};
        stage(Stage::masked, part, a);
        weigh(part, a, {}, [](Index, std::span<float>) {});
        for (Index r = 0; r < a.rows; ++r)
            for (Index j = 0; j < cols; ++j) {
                const float weight = a(r, j) == masked_cell ? 0 : a(r, j),
                            mean = row_means_[static_cast<std::size_t>(part.query(r))];
                d_weights(r, j) = weight * (d_weights(r, j) - mean);
            }
        const auto cap = static_cast<float>(record().spec().softcap);
        if (cap == 0) return;
        stage(Stage::capped, part, a);
        for (Index r = 0; r < a.rows; ++r)
            for (Index j = 0; j < cols; ++j) d_weights(r, j) *= 1 - (a(r, j) / cap) * (a(r, j) / cap);
    }

    Tensor d_output_;
    GradientBy by_;
    std::vector<float> row_means_;  // [queries], Σ_b dO O = Σ_j A dA
};

class DifferenceMap final : public Map {
  public:
    DifferenceMap(MapPointer a, MapPointer b)
        : Map(a->queries(), a->keys(), true),
          masked_is_zero_(!a->is_signed() && !b->is_signed()),
          a_(std::move(a)),
          b_(std::move(b)) {}

    Coverage coverage(Range queries, Range keys) const override {
        const Coverage a = a_->coverage(queries, keys), b = b_->coverage(queries, keys);
        const auto either = [&](Coverage c) { return a == c || b == c; };
        const auto both = [&](Coverage c) { return a == c && b == c; };
        if (masked_is_zero_ ? both(Coverage::none) : either(Coverage::none)) return Coverage::none;
        if (masked_is_zero_ ? either(Coverage::all) : both(Coverage::all)) return Coverage::all;
        return Coverage::some;
    }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double>) const override {
        AlignedVector<float> buffer(static_cast<std::size_t>(out.rows * out.cols));
        const MatrixView<float> b{buffer.data(), out.rows, out.cols, out.cols};
        a_->cells(window, out, {});
        b_->cells(window, b, {});
        for (Index r = 0; r < out.rows; ++r)
            for (Index j = 0; j < out.cols; ++j) out(r, j) = difference(out(r, j), b(r, j));
    }

  private:
    float difference(float a, float b) const {
        const bool no_a = a == masked_cell, no_b = b == masked_cell;
        if (masked_is_zero_ ? no_a && no_b : no_a || no_b) return masked_cell;
        return (no_a ? 0 : a) - (no_b ? 0 : b);
    }

    bool masked_is_zero_;
    MapPointer a_, b_;
};

class FinishedMap final : public Map {
  public:
    FinishedMap(FinishedWeights weights, Mask mask, Index head)
        : Map(weights.array.shape[0], weights.array.shape[1], false),
          weights_(std::move(weights)),
          mask_(std::move(mask)),
          head_(head) {}

    Coverage coverage(Range queries, Range keys) const override { return mask_.tile(head_, queries, keys); }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double> entropy) const override {
        const bool whole = mask_.is_everything();
        std::vector<std::uint8_t> allowed(whole ? 0 : static_cast<std::size_t>(out.cols));
        for (Index r = 0; r < out.rows; ++r) {
            const std::span row = row_of(out, r);
            const Index first = weights_.array.offset(std::array{window.query(r), window.keys.begin});
            read(weights_.array, first, weights_.array.strides[1], row);
            if (!whole) mask_.row(head_, window.query(r), window.keys.begin, allowed);
            for (std::size_t j = 0; j < allowed.size(); ++j) row[j] = allowed[j] ? row[j] : masked_cell;
            if (!entropy.empty()) entropy[static_cast<std::size_t>(r)] += entropy_of(row);
        }
    }

  private:
    static double entropy_of(std::span<const float> row) {
        double entropy = 0;
        for (const float weight : row) {
            const auto w = static_cast<double>(weight);
            if (weight > 0 || std::isnan(weight)) entropy -= w * std::log(w);
        }
        return entropy;
    }

    FinishedWeights weights_;
    Mask mask_;
    Index head_;
};

std::string shape_of(const Map& map) { return to_string({map.queries(), map.keys()}); }

}  // namespace

std::vector<float> cells_of(const Map& map, const MapWindow& window) {
    std::vector<float> out(static_cast<std::size_t>(window.rows() * window.keys.size()));
    map.cells(window, {out.data(), window.rows(), window.keys.size(), window.keys.size()});
    return out;
}

float Map::cell(Index query, Index key) const {
    float value = 0;
    cells({{query, query + 1}, {key, key + 1}}, {&value, 1, 1, 1});
    return value;
}

MapPointer stage_map(std::shared_ptr<const Record> record, Index head, Stage stage) {
    if (stage == Stage::weight)
        return std::make_shared<WeightMap>(std::move(record), head, std::vector<float>());
    if (stage != Stage::contribution) return std::make_shared<ScoreMap>(std::move(record), head, stage);
    std::vector<float> norms = value_norms(*record, head);
    return contribution_map(std::move(record), head, std::move(norms));
}

MapPointer contribution_map(std::shared_ptr<const Record> record, Index head, std::vector<float> key_norms) {
    return std::make_shared<WeightMap>(std::move(record), head, std::move(key_norms));
}

std::vector<float> value_norms(const Record& record, Index head) {
    return row_norms(record.v().heads().head(record.kv_head(head)));
}

std::vector<float> projected_value_norms(const Record& record, Index head, const WeightView& w_o) {
    return projected_value_norms(record, head, w_o, {0, record.keys()});
}

std::vector<float> projected_value_norms(const Record& record, Index head, const WeightView& w_o,
                                         Range keys) {
    const Index d_v = record.d_v(), first = head * d_v;
    // The head's rows of W_O, [d_v, d_out], are widened.
    Tensor own({d_v, w_o.out});
    if (w_o.layout == WeightView::Layout::in_out) {
        for (Index b = 0; b < d_v; ++b)
            read_row(w_o, first + b, 0, {own.matrix().row(b), static_cast<std::size_t>(w_o.out)});
    } else {
        std::vector<float> row(static_cast<std::size_t>(d_v));
        for (Index out = 0; out < w_o.out; ++out) {
            read_row(w_o, out, first, row);
            for (Index b = 0; b < d_v; ++b) own.matrix()(b, out) = row[static_cast<std::size_t>(b)];
        }
    }
    const WeightView weight{.data = reinterpret_cast<const std::byte*>(own.data()),
                            .dtype = DType::f32,
                            .in = d_v,
                            .out = w_o.out,
                            .layout = WeightView::Layout::in_out};
    const ConstMatrix v = record.v().heads().head(record.kv_head(head));
    const Index at_once = std::min<Index>(256, keys.size());
    Tensor projected({at_once, w_o.out});
    std::vector<float> norms;
    for (Index j = keys.begin; j < keys.end; j += at_once) {
        const Range some{j, std::min(j + at_once, keys.end)};
        const MatrixView<float> to = rows(projected.matrix(), {0, some.size()});
        record.kernels().linear(rows(v, some), weight, {}, Activation::none, to);
        const auto more = row_norms(to);
        norms.insert(norms.end(), more.begin(), more.end());
    }
    return norms;
}

Result<MapPointer> gradient_map(std::shared_ptr<const Record> record, Index head, Tensor d_output,
                                GradientBy by) {
    const Shape expected{record->queries(), record->d_v()};
    if (d_output.shape() != expected)
        return Error{"gradient map: the gradient of the output is " + to_string(d_output.shape()) +
                     " and the output " + to_string(expected) + "; give one of the same shape"};
    return MapPointer(std::make_shared<GradientMap>(std::move(record), head, std::move(d_output), by));
}

Result<MapPointer> difference_map(MapPointer a, MapPointer b) {
    if (a->queries() != b->queries() || a->keys() != b->keys())
        return Error{"difference of maps: one is " + shape_of(*a) + " and the other " + shape_of(*b) +
                     "; choose two of the same shape"};
    return MapPointer(std::make_shared<DifferenceMap>(std::move(a), std::move(b)));
}

Result<MapPointer> finished_map(FinishedWeights weights, Mask mask, Index head) {
    const DType dtype = weights.array.dtype;
    const bool known =
        dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
    if (!known)
        return Error{"attention weights: their type is " + std::string(name(dtype)) +
                     "; save them as float16, bfloat16, float32 or float64"};
    return MapPointer(std::make_shared<FinishedMap>(std::move(weights), std::move(mask), head));
}

}  // namespace attn
