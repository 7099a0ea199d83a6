#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "analysis/check/dropout_pattern.hpp"
#include "analysis/check/hypotheses.hpp"
#include "analysis/check/verdict.hpp"

namespace attn {

namespace {

constexpr double most_products = 1e9;         // for the right result; beyond, rows are sampled
constexpr double products_of_probes = 5e5;    // for one hypothesis
constexpr double most_column_products = 2e8;  // for a softmax over the queries
constexpr Index most_sampled = 24;            // rows that are compared in every precision
constexpr std::size_t most_told = 12;         // hypotheses, the nearest ones
constexpr Index most_confirmed = 8;           // hypotheses
constexpr Index bytes_of_kept_inputs = 64 << 20;

double products_of_row(const AttentionCase& given, const ComparedRow& row) {
    const double heads = row.of_weights ? 1 : static_cast<double>(given.heads());
    return heads * static_cast<double>(given.keys() * (given.d_k() + given.d_v()));
}

}  // namespace

class Diagnosis::Work {
  public:
    explicit Work(std::shared_ptr<const AttentionCase> given)
        : given_(std::move(given)),
          right_(right_implementation(*given_)),
          right_run_(*given_, right_),
          hypotheses_(*given_, right_) {
        list_rows();
        verdict_.how = right_;
    }

    const std::shared_ptr<const AttentionCase>& shared_case() const { return given_; }
    const Verdict& verdict() const { return verdict_; }
    std::span<const NearMiss> nearest() const { return nearest_; }
    std::span<const LevelFit> levels() const { return right_levels_; }
    float progress() const {
        const auto share = [](std::size_t done, std::size_t all) {
            return all ? static_cast<float>(done) / static_cast<float>(all) : 1.0f;
        };
        switch (phase_) {
            case Phase::right: return 0.2f * share(next_, rows_.size());
            case Phase::precisions: return 0.2f;
            case Phase::singles: return 0.2f + 0.1f * share(next_, tried_.size());
            case Phase::pairs: return 0.4f + 0.5f * share(next_, tried_.size());
            case Phase::confirming: return pairs_tried_ ? 0.95f : 0.35f;
            case Phase::done: return 1;
        }
        return 1;
    }

    bool step() {
        switch (phase_) {
            case Phase::right:
                if (!compare_right()) begin_precisions();
                break;
            case Phase::precisions:
                // An output of zeros was probably never written.
                if (!fit_right())
                    begin(is_zero() ? std::vector<Hypothesis>{} : hypotheses_.single(), Phase::singles);
                break;
            case Phase::singles:
            case Phase::pairs:
                if (!try_some()) choose_nearest();
                break;
            case Phase::confirming:
                if (!confirm_some()) settle();
                break;
            case Phase::done: break;
        }
        return phase_ != Phase::done;
    }

  private:
    enum class Phase { right, precisions, singles, pairs, confirming, done };
    struct Tried {
        Hypothesis hypothesis;
        double distance = HUGE_VAL;
        const RoundingLevel* level = nullptr;
        Fit fit = {};
        std::size_t level_tried = 0;
        std::shared_ptr<ImplementationRun> exact = {};  // once it is confirmed
    };

    void list_rows() {
        double products = 0;
        if (!given_->output.empty())
            for (Index b = 0; b < given_->batch(); ++b)
                for (Index i = 0; i < given_->queries(); ++i) rows_.push_back({false, b, 0, i});
        if (!given_->weights.empty())
            for (Index b = 0; b < given_->batch(); ++b)
                for (Index h = 0; h < given_->weights.heads; ++h)
                    for (Index i = 0; i < given_->queries(); ++i) rows_.push_back({true, b, h, i});
        for (const ComparedRow& row : rows_) products += products_of_row(*given_, row);
        if (products > most_products) {
            const auto step = static_cast<std::size_t>(std::ceil(products / most_products));
            std::vector<ComparedRow> some;
            for (std::size_t r = 0; r < rows_.size(); r += step) some.push_back(rows_[r]);
            rows_ = std::move(some);
        }
    }

    bool compare_right() {
        double products = 0;
        for (; next_ < rows_.size() && products < products_of_probes; ++next_) {
            const ComparedRow& row = rows_[next_];
            products += products_of_row(*given_, row);
            differences_.push_back(difference(theirs_of(*given_, row), row_of(right_run_, *given_, row)));
            verdict_.right_difference = std::max(verdict_.right_difference, differences_.back().largest);
            verdict_.not_numbers += differences_.back().not_numbers;
        }
        return next_ < rows_.size();
    }

    void begin_precisions() {
        choose_rows();
        next_ = 0;
        phase_ = Phase::precisions;
    }

    // An output that was rounded to 16 bits has only such numbers, whatever it is stored in.
    bool is_possible(const RoundingLevel& level) const {
        return is_8_bits(level) || level.precision.output == given_->output_format;
    }

    bool fit_right() {
        const RoundingLevel& level = rounding_levels()[next_];
        if (is_possible(level)) {
            const Fit of = fit(*given_, right_, right_run_, level, sampled_);
            right_levels_.push_back({&level, of});
            if (of.explains(level) && !verdict_.level) {
                verdict_.level = &level;
                right_fit_ = of;
            }
        }
        if (++next_ < rounding_levels().size()) return true;
        const bool same = verdict_.right_difference == 0 && verdict_.not_numbers == 0;
        if (same || verdict_.level == &rounding_levels()[exact_level]) {
            verdict_.kind = Verdict::Kind::right;
            verdict_.confident = true;
            verdict_.difference = verdict_.right_difference;
        }
        return false;
    }

    // Takes the rows that tell most: the furthest off, the nearest, first, last and middle ones.
    void choose_rows() {
        std::vector<std::size_t> order;
        const auto add = [&](std::size_t r) {
            if (r < rows_.size() && std::ranges::find(order, r) == order.end()) order.push_back(r);
        };
        const auto first_weights = static_cast<std::size_t>(
            std::ranges::find(rows_, true, &ComparedRow::of_weights) - rows_.begin());
        for (const auto& [from, to] :
             {std::pair{std::size_t{0}, first_weights}, {first_weights, rows_.size()}}) {
            if (from == to) continue;
            const auto part = std::span(differences_).subspan(from, to - from);
            const auto relative = [](const RowDifference& d) { return d.square / (d.scale + 1e-30); };
            add(from + static_cast<std::size_t>(std::ranges::max_element(part, {}, relative) - part.begin()));
            add(from + static_cast<std::size_t>(
                           std::ranges::max_element(part, {}, &RowDifference::not_numbers) - part.begin()));
            add(to - 1);
            add(from);
            add((from + to) / 2);
            add(from + static_cast<std::size_t>(std::ranges::min_element(part, {}, relative) - part.begin()));
            add(from + (to - from) / 3);
        }
        double products = 0;
        for (const std::size_t r : order) {
            products += products_of_row(*given_, rows_[r]);
            if (probes_.size() >= 2 && products > products_of_probes) break;
            probes_.push_back(rows_[r]);
        }
        const std::size_t step =
            std::max<std::size_t>(1, rows_.size() / static_cast<std::size_t>(most_sampled));
        for (std::size_t r = 0; r < rows_.size(); r += step) add(r);
        for (const std::size_t r : order) sampled_.push_back(rows_[r]);
        for (const ComparedRow& row : probes_) {
            right_rows_.push_back(row_of(right_run_, *given_, row));
            right_distance_ += distance(theirs_of(*given_, row), right_rows_.back());
        }
        right_distance_ /= static_cast<double>(probes_.size());
    }

    void begin(std::vector<Hypothesis> hypotheses, Phase phase) {
        tried_.clear();
        for (Hypothesis& each : hypotheses) tried_.push_back({.hypothesis = std::move(each)});
        phase_ = phase;
        next_ = 0;
    }

    bool try_some() {
        if (next_ >= tried_.size()) return false;
        Tried& now = tried_[next_++];
        if (now.hypothesis.how.axis == Implementation::Axis::queries && is_long()) return true;
        ImplementationRun run(*given_, now.hypothesis.how, {}, inputs(now.hypothesis.how.inputs));
        double sum = 0, from_right = 0;
        for (std::size_t r = 0; r < probes_.size(); ++r) {
            const std::vector<double> ours = row_of(run, *given_, probes_[r]);
            sum += distance(theirs_of(*given_, probes_[r]), ours);
            from_right += distance(right_rows_[r], ours);
        }
        ++verdict_.tried;
        now.distance = sum / static_cast<double>(probes_.size());
        if (now.hypothesis.of.size() == 1 && from_right < 1e-24)
            invisible_.push_back(now.hypothesis.of.front());
        if (from_right < 1e-24) now.distance = HUGE_VAL;
        return true;
    }

    // The mean square of the differences over that of theirs; cells that are no number count much.
    static double distance(std::span<const double> theirs, std::span<const double> ours) {
        const RowDifference off = difference(ours, theirs);
        return off.square / (off.scale + 1e-30) + 10.0 * static_cast<double>(off.not_numbers);
    }

    std::shared_ptr<const ReadInputs> inputs(const InputReading& reading) {
        for (const auto& [known, read] : kept_inputs_)
            if (known == reading) return read;
        const auto bytes = [](const ReadInputs& in) {
            return static_cast<Index>((in.q.values.size() + in.k.values.size() + in.v.values.size()) *
                                      sizeof(double));
        };
        auto read = std::make_shared<const ReadInputs>(read_inputs(*given_, reading, {}));
        if ((std::ssize(kept_inputs_) + 1) * bytes(*read) > bytes_of_kept_inputs) kept_inputs_.clear();
        kept_inputs_.emplace_back(reading, read);
        return read;
    }

    // A mask or rotation that the case does not name may be meant, and only missing in the file.
    bool is_undeclared(std::string_view key) const {
        return key == "causal_added" || (given_->alignment_is_open && key == "causal_top_left") ||
               (!given_->rope && key.starts_with("rope"));
    }
    bool is_zero() const {
        const auto zero = [](double x) { return x == 0; };
        return std::ranges::all_of(given_->output.values, zero) &&
               std::ranges::all_of(given_->weights.values, zero);
    }
    // Says whether a softmax over the queries, which needs every score of a head, would take too long.
    bool is_long() const {
        return static_cast<double>(given_->heads() * given_->queries()) *
                   static_cast<double>(given_->keys() * given_->d_k()) >
               most_column_products;
    }

    // Chooses the nearest hypotheses, to be confirmed on more rows and in every precision.
    void choose_nearest() {
        const bool pairs = phase_ == Phase::pairs;
        if (verdict_.kind == Verdict::Kind::right) return finish();
        std::ranges::sort(tried_, {},
                          [](const Tried& each) { return std::tuple(each.distance, each.hypothesis.of); });
        for (const Tried& each : std::span(tried_).first(std::min<std::size_t>(tried_.size(), most_told))) {
            if (each.distance == HUGE_VAL) break;
            NearMiss miss{.distance = std::sqrt(each.distance)};
            for (const std::size_t variant : each.hypothesis.of) miss.causes.push_back(cause(variant));
            nearest_.push_back(std::move(miss));
        }
        // A pair has many more ways to come near by chance.
        const double limit = right_distance_ / (pairs ? 50 : 6);
        std::erase_if(tried_, [&](const Tried& each) { return !(each.distance < limit); });
        if (std::ssize(tried_) > most_confirmed) tried_.resize(static_cast<std::size_t>(most_confirmed));
        pairs_tried_ = pairs;
        next_ = 0;
        phase_ = Phase::confirming;
    }

    // Fits one hypothesis in one precision, until it has the finest one that explains the result.
    bool confirm_some() {
        while (next_ < tried_.size()) {
            Tried& now = tried_[next_];
            if (now.level || now.level_tried == rounding_levels().size()) {
                ++next_;
                continue;
            }
            const RoundingLevel& level = rounding_levels()[now.level_tried++];
            if (!is_possible(level)) continue;
            if (!now.exact)
                now.exact = std::make_shared<ImplementationRun>(*given_, now.hypothesis.how, Precision{},
                                                                inputs(now.hypothesis.how.inputs));
            now.fit = fit(*given_, now.hypothesis.how, *now.exact, level, sampled_);
            if (now.fit.explains(level)) now.level = &level;
            return true;
        }
        return false;
    }

    // Returns the hypotheses that explain the result, best first.
    std::vector<Tried> explaining() {
        std::vector<Tried> near = std::move(tried_);
        tried_.clear();
        // In 8 bits almost anything explains almost anything.
        const double near_8_bits = right_distance_ / 50;
        std::erase_if(near, [&](const Tried& each) {
            return !each.level || (is_8_bits(*each.level) && each.distance > near_8_bits);
        });
        std::ranges::sort(near, {}, [](const Tried& each) {
            return std::tuple(each.level, each.distance, each.hypothesis.of);
        });
        return near;
    }

    void settle() {
        if (pairs_tried_)
            settle_pairs();
        else
            settle_singles();
        if (phase_ == Phase::confirming) finish();
    }

    NamedCause cause(std::size_t variant) const {
        const Hypotheses::Variant& of = hypotheses_.variants()[variant];
        return {of.mistake, of.variant.detail};
    }

    void take(std::vector<Tried> best) {
        // These data cannot tell them apart: the most frequent mistake comes first.
        const double limit = 2 * best.front().distance + 1e-20;
        const RoundingLevel* level = best.front().level;
        std::erase_if(best, [&](const Tried& each) { return each.level != level || each.distance > limit; });
        std::ranges::sort(best, {}, [](const Tried& each) { return each.hypothesis.of; });
        const Tried& first = best.front();
        verdict_.kind = Verdict::Kind::mistake;
        verdict_.level = level;
        verdict_.how = first.hypothesis.how;
        for (const std::size_t variant : first.hypothesis.of) verdict_.causes.push_back(cause(variant));
        const auto known = [&](const Mistake* mistake) {
            const auto same = [&](const NamedCause& each) { return each.mistake == mistake; };
            return std::ranges::any_of(verdict_.causes, same) ||
                   std::ranges::any_of(verdict_.alternatives, same);
        };
        for (const Tried& each : best)
            for (const std::size_t variant : each.hypothesis.of)
                if (!known(cause(variant).mistake)) verdict_.alternatives.push_back(cause(variant));
        const bool undeclared = std::ranges::any_of(
            verdict_.causes, [&](const NamedCause& each) { return is_undeclared(each.mistake->key); });
        verdict_.confident =
            verdict_.alternatives.empty() && !is_8_bits(*level) && !undeclared && given_->unread.empty();
        verdict_.difference = 0;
        for (const ComparedRow& row : rows_)
            verdict_.difference =
                std::max(verdict_.difference,
                         difference(theirs_of(*given_, row), row_of(*first.exact, *given_, row)).largest);
    }

    bool better_than_rounding(const Tried& best) {
        if (!verdict_.level || best.level < verdict_.level) return true;
        return best.level == verdict_.level && right_fit_.mean > 2.5 && best.fit.mean < right_fit_.mean / 2.5;
    }

    void take_dropout(const DropoutPattern& found) {
        verdict_.kind = Verdict::Kind::mistake;
        verdict_.causes = {{find_mistake(dropout_key), ""}};
        verdict_.confident = found.certain;
        verdict_.dropout = found.p;
        verdict_.level = nullptr;
        verdict_.difference = verdict_.right_difference;
    }

    void settle_singles() {
        std::vector<Tried> best = explaining();
        if (!best.empty() && better_than_rounding(best.front())) return take(std::move(best));
        const bool in_8_bits = verdict_.level && is_8_bits(*verdict_.level);
        if (!verdict_.level || in_8_bits) {
            dropout_ = find_dropout(*given_, right_run_);
            if (dropout_ && dropout_->certain) return take_dropout(*dropout_);
        }
        if (verdict_.level) {
            verdict_.kind = Verdict::Kind::rounding;
            verdict_.confident = true;
            verdict_.difference = verdict_.right_difference;
            return;
        }
        begin(is_zero() ? std::vector<Hypothesis>{} : hypotheses_.pairs(), Phase::pairs);
    }

    void settle_pairs() {
        if (std::vector<Tried> best = explaining(); !best.empty())
            take(std::move(best));
        else if (dropout_)
            take_dropout(*dropout_);
    }

    void finish() {
        for (const std::size_t variant : invisible_) {
            const Mistake* mistake = hypotheses_.variants()[variant].mistake;
            const auto all_invisible = [&] {
                for (std::size_t i = 0; i < hypotheses_.variants().size(); ++i)
                    if (hypotheses_.variants()[i].mistake == mistake &&
                        std::ranges::find(invisible_, i) == invisible_.end())
                        return false;
                return true;
            };
            if (std::ranges::find(verdict_.invisible, mistake) == verdict_.invisible.end() && all_invisible())
                verdict_.invisible.push_back(mistake);
        }
        if (verdict_.wrong())
            verdict_.first_wrong = first_wrong_cell(*given_, right_run_, rows_, verdict_.level);
        phase_ = Phase::done;
    }

    std::shared_ptr<const AttentionCase> given_;
    Implementation right_;
    ImplementationRun right_run_;
    Hypotheses hypotheses_;
    Verdict verdict_;
    Phase phase_ = Phase::right;
    std::size_t next_ = 0;
    std::vector<ComparedRow> rows_, sampled_, probes_;
    std::vector<RowDifference> differences_;
    double right_distance_ = 0;
    std::vector<std::vector<double>> right_rows_;  // the probes'
    std::vector<Tried> tried_;
    std::vector<NearMiss> nearest_;
    std::vector<LevelFit> right_levels_;
    bool pairs_tried_ = false;
    std::vector<std::size_t> invisible_;
    std::optional<DropoutPattern> dropout_;
    Fit right_fit_;
    std::vector<std::pair<InputReading, std::shared_ptr<const ReadInputs>>> kept_inputs_;
};

Diagnosis::Diagnosis(std::shared_ptr<const AttentionCase> given)
    : work_(std::make_unique<Work>(std::move(given))) {}
Diagnosis::~Diagnosis() = default;
Diagnosis::Diagnosis(Diagnosis&&) noexcept = default;
Diagnosis& Diagnosis::operator=(Diagnosis&&) noexcept = default;
bool Diagnosis::step() { return work_->step(); }
float Diagnosis::progress() const { return work_->progress(); }
const Verdict& Diagnosis::verdict() const { return work_->verdict(); }
std::span<const NearMiss> Diagnosis::nearest() const { return work_->nearest(); }
std::span<const LevelFit> Diagnosis::levels() const { return work_->levels(); }
const std::shared_ptr<const AttentionCase>& Diagnosis::shared_case() const { return work_->shared_case(); }

}  // namespace attn
