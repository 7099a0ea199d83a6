#include "analysis/attribution/logit_pass.hpp"

namespace attn {

namespace {

constexpr double pass_operations = 60e6;  // about 2 ms at 30 GFLOP/s
// In f32, a logit of some tens is off by about 1e-5, which makes 1e-3 of a difference. With a tenth of this
// step it would be 1e-2, and ten times this step would add its square times a third derivative.
constexpr float step_of_output = 1.0f / 128;

}  // namespace

void LogitPass::read(std::shared_ptr<const Trace> trace, Index row) {
    if (trace == trace_ && row == row_) return;
    *this = {};
    trace_ = std::move(trace);
    row_ = row;
    if (!trace_) return;
    const Tensor logits = trace_->logits({row_, row_ + 1});
    likeliest_ = next_token_distribution(logits.values(), {.temperature = 1}, likeliest_offered);
}

Status LogitPass::ask(LogitLoss loss) {
    loss.row = row_;
    if (loss_ == loss && gradient_) return ok();
    loss_ = loss;
    gradient_.reset();
    forget_differences();
    auto begun = LogitGradient::start(trace_, loss, pass_operations);
    if (!begun) return begun.error();
    gradient_ = *std::move(begun);
    return ok();
}

void LogitPass::go_to(const HeadIndex& head, Index token) {
    if (head == head_ && token == token_) return;
    head_ = head, token_ = token;
    forget_differences();
}

void LogitPass::forget_differences() {
    differences_.clear();
    moved_.reset(), above_.reset();
    failed_ = false;
}

bool LogitPass::done() const {
    return !gradient_ || failed_ || (!slopes().empty() && differences_.size() == slopes().size());
}

bool LogitPass::step() {
    if (done()) return false;
    if (slopes().empty()) {
        gradient_->step(head_.layer);
        return true;
    }
    return run_moved();
}

std::span<const float> LogitPass::slopes() const {
    const Tensor* heads = gradient_ ? gradient_->heads(head_.layer) : nullptr;
    if (!heads) return {};
    const ConstMatrix rows = heads->heads().head(head_.head);
    return {rows.row(token_), static_cast<std::size_t>(rows.cols)};
}

std::span<const float> LogitPass::output_slopes() const {
    const Tensor* written = gradient_ ? gradient_->attention_output(head_.layer) : nullptr;
    if (!written) return {};
    return {written->matrix().row(token_), static_cast<std::size_t>(written->dim(1))};
}

// Runs each component twice: raised and lowered.
bool LogitPass::run_moved() {
    const ConstMatrix given = trace_->attention(head_.layer).record().output().heads().head(head_.head);
    if (!moved_) {
        const auto component = static_cast<Index>(differences_.size());
        const float moved_to = given(token_, component) + (above_ ? -step_of_output : step_of_output);
        const Intervention moved{.attention = head_.layer,
                                 .site = Site::head_output,
                                 .edit = {.head = head_.head,
                                          .rows = {token_},
                                          .columns = {component},
                                          .operation = Operation::set,
                                          .values = {moved_to}}};
        std::vector<Intervention> all = trace_->interventions();
        all.push_back(moved);
        auto begun = ForwardPass::start_with(all, trace_, pass_operations);
        failed_ = !begun;
        if (failed_) return false;
        moved_ = *std::move(begun);
        return true;
    }
    if (moved_->step()) return true;
    const auto run = moved_->finish();
    moved_.reset();
    failed_ = !run;
    if (failed_) return false;
    const double value = loss_of((*run)->logits({row_, row_ + 1}).values(), *loss_);
    if (!above_) {
        above_ = value;
        return true;
    }
    differences_.push_back((*above_ - value) / (2 * static_cast<double>(step_of_output)));
    above_.reset();
    return !done();
}

}  // namespace attn
