#include "lenses/yours/yours.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/check/case_reading.hpp"
#include "app/format.hpp"
#include "tensor/random.hpp"
#include "text/utf8.hpp"

namespace attn::app::yours {

namespace {

constexpr std::uint64_t bytes_limit = 256'000'000;  // all dropped files together
constexpr std::size_t name_limit = 200, sources_limit = 8;

constexpr std::array file_examples{std::string_view("case.npz")};
std::optional<std::string> read_file_name(std::string_view text) {
    if (text.size() > name_limit || !is_utf8(text)) return std::nullopt;
    return std::string(text);
}
std::string write_file_name(const std::string& name) { return name; }

std::string planted_words(const State& state) {
    return state.file.empty() ? std::string("example: ") + example_name(state.example)
                              : "check " + state.file;
}

Array4 normals(Random& random, Index b, Index h, Index n, Index d) {
    Array4 array(b, h, n, d);
    for (double& x : array.values) x = static_cast<double>(static_cast<float>(random.normal()));
    return array;
}

}  // namespace

std::span<const std::string_view> example_keys() {
    static const std::vector<std::string_view> keys = [] {
        std::vector<std::string_view> all{"right"};
        for (const Mistake& mistake : mistakes())
            if (mistake.key != dropout_key) all.push_back(mistake.key);
        return all;
    }();
    return keys;
}
const char* example_name(std::size_t example) {
    return example == 0 ? "A right result" : find_mistake(example_keys()[example])->name;
}

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"yours.example", planted_words, named<&S::example>(example_keys())},
        {"yours.file", planted_words,
         spelled<&S::file, read_file_name, write_file_name>("name of a file", file_examples)},
        {"yours.head", "batch entry and head {}", whole<&S::batch>("batch entry", -1, 1e6),
         whole<&S::head>("head", -1, 65536)},
    };
    static const Fields<S> fields{.all = all};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 3>()}; }

// ---- The example ------------------------------------------------------------------------------------------

AttentionCase example_case(std::size_t example) {
    constexpr Index batch = 2, heads = 4, kv_heads = 2, d = 8;
    const std::string_view key = example_keys()[example];
    const auto has = [&](std::string_view word) { return key.find(word) != key.npos; };
    // One sequence where queries and keys must be as many, else a past.
    const bool square = has("qkv") || has("batch");
    const Index queries = 12, keys = square ? 12 : 19;
    Random random(example_seed);
    AttentionCase c;
    c.q = normals(random, batch, heads, queries, d);
    c.k = normals(random, batch, square ? heads : kv_heads, keys, d);
    c.v = normals(random, batch, square ? heads : kv_heads, keys, d);
    c.scale = 1 / std::sqrt(static_cast<double>(d));
    if (!has("softmax_over") && !has("batch") && key != "causal_added")
        c.mask.causal = c.mask.offset = keys - queries;
    if (key == "causal_bottom_right") c.mask.causal = c.mask.offset = 0;
    if (has("mask_") || has("empty")) {
        c.mask.painted = Array4(1, 1, queries, keys);
        for (double& x : c.mask.painted.values) x = random.below(4) != 0;
        for (Index i = 0; i < queries; ++i) c.mask.painted.row(0, 0, i)[0] = 1;
        if (has("empty") || has("finite")) std::ranges::fill(c.mask.painted.row(0, 0, 5), 0);
    }
    if (has("padding")) {
        c.mask.padding = Array4(batch, 1, 1, keys);
        std::ranges::fill(c.mask.padding.values, 1);
        for (Index j = 0; j < 4; ++j) c.mask.padding.row(1, 0, 0)[static_cast<std::size_t>(j)] = 0;
    }
    if (has("bias")) c.bias = normals(random, 1, heads, queries, keys);
    if (has("softcap")) c.softcap = 2;
    if (has("window")) c.mask.window = CaseWindow{4, 0};
    if (has("scale_twice")) c.scale = 0.25;
    if (has("rope")) c.rope = CaseRope{.interleaved = key == "rope_halves", .base = 10000, .dim = d};
    Implementation how = right_implementation(c);
    if (const Mistake* mistake = find_mistake(key))
        if (const auto variants = mistake->variants(c); !variants.empty()) variants.front().apply(how);
    const Precision f32 = rounding_levels().front().precision;
    ImplementationRun run(c, how, f32);
    Array4 output(batch, 1, queries, heads * d);
    for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < queries; ++i)
            std::ranges::copy(run.output_row(b, i), output.row(b, 0, i).begin());
    c.output = std::move(output);
    return c;
}

// ---- The shown part ---------------------------------------------------------------------------------------

Shown::Shown(std::shared_ptr<const AttentionCase> given, const Implementation& explained, Index batch,
             Index head)
    : given_(std::move(given)),
      batch_(std::clamp<Index>(batch, 0, given_->batch() - 1)),
      head_(std::clamp<Index>(head, 0, given_->heads() - 1)),
      right_(*given_, right_implementation(*given_)),
      explained_(*given_, explained) {
    for (auto& rows : rows_) rows.resize(static_cast<std::size_t>(given_->queries()));
}

Index Shown::columns() const {
    if (of_weights()) return given_->keys();
    return given_->w_o.empty() ? given_->d_v() : given_->output_width();
}
Index Shown::first_column() const { return of_weights() || !given_->w_o.empty() ? 0 : head_ * given_->d_v(); }

const std::vector<double>& Shown::row(Matrix which, Index query) {
    auto& row = rows_[which == Matrix::explained ? 1 : 0][static_cast<std::size_t>(query)];
    if (!row)
        row = row_of(which == Matrix::explained ? explained_ : right_, *given_,
                     {of_weights(), batch_, of_weights() && given_->weights.heads > 1 ? head_ : 0, query});
    return *row;
}

double Shown::value(Matrix which, Index query, Index column) {
    const auto at = static_cast<std::size_t>(first_column() + column);
    const auto returned = [&] {
        return theirs_of(*given_, {of_weights(), batch_,
                                   of_weights() && given_->weights.heads > 1 ? head_ : 0, query})[at];
    };
    switch (which) {
        case Matrix::returned: return returned();
        case Matrix::difference: return returned() - row(Matrix::right, query)[at];
        default: return row(which, query)[at];
    }
}

const std::vector<Index>& Shown::by_difference() {
    if (!by_difference_.empty()) return by_difference_;
    std::vector<double> most(static_cast<std::size_t>(queries()));
    for (Index i = 0; i < queries(); ++i)
        for (Index c = 0; c < columns(); ++c) {
            const double off = std::abs(value(Matrix::difference, i, c));
            double& here = most[static_cast<std::size_t>(i)];
            here = std::max(here, std::isfinite(off) ? off : HUGE_VAL);
        }
    by_difference_.resize(most.size());
    std::iota(by_difference_.begin(), by_difference_.end(), Index{0});
    std::ranges::sort(by_difference_, {},
                      [&](Index i) { return std::pair(-most[static_cast<std::size_t>(i)], i); });
    return by_difference_;
}

// ---- The model --------------------------------------------------------------------------------------------

void Model::update(Visit& visit, Subject&) {
    const State before = state;
    state = visit.state().of<State>();
    const Of of{is_example() ? state.example : 0, shown_source()};
    if (of_ != of) {
        of_ = of;
        result.reset(), best_.reset(), running_.reset(), shown.reset();
        waiting_.clear();
        if (is_example())
            waiting_.push_back(example_case(state.example));
        else if (of.source)
            waiting_.assign(of.source->readings.rbegin(), of.source->readings.rend());
        readings_ = waiting_.size();
    }
    if (!result || (shown && before.batch == state.batch && before.head == state.head)) return;
    const WrongCell first = result->verdict.first_wrong.value_or(WrongCell{});
    const Index head = first.of_weights ? first.head : first.column / result->given->d_v();
    shown = std::make_unique<Shown>(result->given, result->verdict.how,
                                    state.batch < 0 ? first.batch : state.batch,
                                    state.head < 0 ? head : state.head);
}

std::shared_ptr<const Source> Model::shown_source() const {
    const auto found =
        std::ranges::find_if(sources, [&](const auto& each) { return each->name == state.file; });
    return is_example() || found == sources.end() ? nullptr : *found;
}

bool Model::step() {
    if (result || !of_) return false;
    if (!running_) {
        const bool found = best_ && best_->verdict.kind == Verdict::Kind::right;
        if (waiting_.empty() || found) {
            result = std::move(best_);
            return false;
        }
        running_.emplace(std::make_shared<const AttentionCase>(std::move(waiting_.back())));
        waiting_.pop_back();
    }
    if (running_->step()) return true;
    if (!best_ || explains_better(running_->verdict(), best_->verdict)) {
        const auto nearest = running_->nearest();
        const auto levels = running_->levels();
        best_ = Result{running_->shared_case(),
                       running_->verdict(),
                       {nearest.begin(), nearest.end()},
                       {levels.begin(), levels.end()}};
    }
    running_.reset();
    return true;
}

float Model::progress() const {
    if (readings_ == 0) return 1;
    const auto done = static_cast<float>(readings_ - waiting_.size() - (running_ ? 1 : 0));
    return (done + (running_ ? running_->progress() : 0)) / static_cast<float>(readings_);
}

std::string Model::headline(Subject&) {
    if (!result)
        return of_ && of_->source == nullptr && !is_example()
                   ? "This link was made with " + state.file + ". Drop the same file here."
                   : "Checking your result, " + std::to_string(std::lround(100 * progress())) + " %";
    const Verdict& v = result->verdict;
    std::string head;
    switch (v.kind) {
        case Verdict::Kind::right: head = "This result is right, up to rounding in f32."; break;
        case Verdict::Kind::rounding:
            head = "This result is right, up to rounding in " + std::string(v.level->name) + ".";
            break;
        case Verdict::Kind::unknown:
            head = "This result is wrong by up to " + fixed(v.right_difference, 2) +
                   ", and no known mistake explains it.";
            break;
        case Verdict::Kind::mistake:
            head = std::string(v.confident || !v.alternatives.empty() ? "Cause: " : "Perhaps: ") +
                   v.causes.front().mistake->name + (v.causes.size() > 1 ? ", and one more" : "") +
                   ". Yours is " + fixed(v.right_difference, 2) + " off.";
            break;
    }
    return is_example() ? "Example. " + head : head;
}

Guide Model::guide(Subject&) {
    return {
        "What can be checked",
        "Drop what your code used and returned: q, k, v, perhaps mask or bias, and output; or x, w_q, w_k, "
        "w_v, w_o with heads. An .npz or .safetensors file, or .npy files with these names.\n\n"
        "The right result is computed in double, and once more in each precision that libraries use. If "
        "yours differs by more, some forty mistakes and all their pairs are tried.\n\n"
        "“Make a case” saves hard inputs for your function. The program attn does the same: attn check "
        "case.npz."};
}

// ---- Files ------------------------------------------------------------------------------------------------

void Lens::follow(const app::State& before, Change how) {
    ModelLens::follow(before, how);
    model().sources = sources_;
}

Result<std::byte*> Lens::Files::buffer(const std::string& file, std::uint64_t size) {
    std::uint64_t all = size;
    for (const auto& each : waiting) all += each.bytes.size();
    if (all > bytes_limit)
        return Error{file + " makes the case larger than 256 MB. Save fewer rows or heads."};
    waiting.push_back({file, std::vector<std::byte>(static_cast<std::size_t>(size))});
    return waiting.back().bytes.data();
}

bool Lens::Files::arrived() {
    std::vector<DroppedFile> dropped;
    for (const auto& each : waiting) dropped.push_back({each.name, each.bytes});
    auto arrays = case_arrays(std::move(dropped));
    auto readings = arrays ? read_case(*arrays) : Result<std::vector<AttentionCase>>(arrays.error());
    std::string name = waiting.empty() ? "" : waiting.front().name;
    if (waiting.size() > 1) name += " and " + many(std::ssize(waiting) - 1, "more file");
    waiting.clear();
    if (!readings) {
        lens.visit().report_error({name + ": " + readings.error().message});
        return false;
    }
    lens.sources_.insert(lens.sources_.begin(), std::make_shared<const Source>(Source{
                                                    name.substr(0, name_limit), *std::move(readings)}));
    lens.sources_.resize(std::min(lens.sources_.size(), sources_limit));
    lens.model().sources = lens.sources_;
    State next = lens.state().of<State>();
    next.file = name.substr(0, name_limit);
    next.batch = next.head = -1;
    lens.visit().perform(Set<State>{next});
    return true;
}

}  // namespace attn::app::yours
