#include "analysis/check/mistaken_head.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/linalg/vectors.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr std::uint64_t gradient_seed = 1;

}  // namespace

QueryReading::QueryReading(const CheckedRows& rows, InputReading reading)
    : reading_(reading),
      inputs_(std::make_shared<const ReadInputs>(read_inputs(*rows.given, reading, {}))),
      at_(rows.given->q.at(0, rows.head, rows.query)) {
    unit_.q = rows.given->q;
    unit_.k = rows.given->k;
    unit_.v = rows.given->v;
    for (Array4* array : {&unit_.q, &unit_.k, &unit_.v}) std::ranges::fill(array->values, 0);
}

bool QueryReading::step() {
    if (std::ssize(parts_) == unit_.q.cols) return false;
    double& component = unit_.q.values[at_ + parts_.size()];
    component = 1;
    const ReadInputs read = read_inputs(unit_, reading_, {});
    component = 0;
    std::vector<Part>& parts = parts_.emplace_back();
    for (Array4 ReadInputs::* array : {&ReadInputs::q, &ReadInputs::k, &ReadInputs::v}) {
        const std::vector<double>& values = (read.*array).values;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] != 0) parts.push_back({array, i, values[i]});
    }
    return std::ssize(parts_) < unit_.q.cols;
}

std::vector<double> MistakenHead::gradient_weights(Index d_v) {
    Random random(gradient_seed);
    std::vector<double> r(static_cast<std::size_t>(d_v));
    for (double& x : r) x = random.normal();
    return r;
}

MistakenHead::MistakenHead(CheckedRows rows, Implementation how, std::shared_ptr<QueryReading> reading)
    : rows_(std::move(rows)),
      reading_(std::move(reading)),
      r_(gradient_weights(rows_.given->d_v())),
      run_(*rows_.given, std::move(how), {}, reading_->inputs()) {}

double MistakenHead::loss(std::span<const QueryReading::Part> parts, double by) {
    std::vector<double> before;
    for (const QueryReading::Part& part : parts) {
        double& number = ((*moved_).*part.array).values[part.at];
        before.push_back(number);
        number += by * part.share;
    }
    ImplementationRun run(*rows_.given, implementation(), {}, moved_);
    const auto output = run.merged_part(0, rows_.head, rows_.query);
    double sum = 0;
    for (std::size_t b = 0; b < output.size(); ++b) sum += r_[b] * output[b];
    for (std::size_t i = 0; i < parts.size(); ++i)
        ((*moved_).*parts[i].array).values[parts[i].at] = before[i];
    return sum;
}

bool MistakenHead::step() {
    if (done_) return false;
    if (const Index begun = std::ssize(outputs_); begun < rows_.queries.size()) {
        const Index query = rows_.queries.begin + begun;
        scores_.push_back(run_.score_row(0, rows_.head, query));
        weights_.push_back(run_.weights_row(0, rows_.head, query));
        const auto output = run_.merged_part(0, rows_.head, query);
        outputs_.emplace_back(output.begin(), output.end());
        return true;
    }
    if (reading_->step()) return true;
    if (!moved_) moved_ = std::make_shared<ReadInputs>(*reading_->inputs());
    const auto parts = reading_->parts(std::ssize(gradient_));
    const auto& [forward, back] = sums_.emplace_back(loss(parts, gradient_step), loss(parts, -gradient_step));
    gradient_.push_back((forward - back) / (2 * gradient_step));
    if (std::ssize(gradient_) < rows_.given->d_k()) return true;
    moved_.reset();
    done_ = true;
    return false;
}

MistakeEffect effect_of(const MistakenHead& right, const MistakenHead& mistaken) {
    MistakeEffect out;
    const CheckedRows& rows = right.rows();
    for (auto& each : out.of_query) each.query = rows.query;
    for (Index i = rows.queries.begin; i < rows.queries.end; ++i) {
        const auto compare = [&](MistakeEffect::Of what, const std::vector<double>& before,
                                 const std::vector<double>& after) {
            const auto number = static_cast<std::size_t>(what);
            for (std::size_t c = 0; c < before.size(); ++c) {
                const auto column = static_cast<Index>(c);
                if (what == MistakeEffect::Of::score && !right.run().allows(0, rows.head, i, column))
                    continue;
                const MistakeEffect::Largest here{difference(after[c], before[c]), before[c], after[c], i,
                                                  column};
                if (here.change > out.largest[number].change) out.largest[number] = here;
                if (i == rows.query && here.change > out.of_query[number].change) out.of_query[number] = here;
            }
        };
        compare(MistakeEffect::Of::score, right.scores(i), mistaken.scores(i));
        compare(MistakeEffect::Of::weight, right.weights(i), mistaken.weights(i));
        compare(MistakeEffect::Of::output, right.output(i), mistaken.output(i));
    }
    std::vector<double> change = out.gradient_after = mistaken.gradient();
    for (std::size_t a = 0; a < change.size(); ++a) change[a] -= right.gradient()[a];
    const double before = length_of(right.gradient());
    out.gradient = before > 0 ? length_of(change) / before : std::numeric_limits<double>::quiet_NaN();
    return out;
}

}  // namespace attn
