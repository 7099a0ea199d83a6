#include "subjects/tensors/tensor_set.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "analysis/heads/head_maps.hpp"
#include "app/format.hpp"
#include "maps/merged.hpp"
#include "text/byte_level_tokens.hpp"
#include "text/utf8.hpp"
#include "text/visible.hpp"

namespace attn::app {

namespace {

// Writes tokens the way a sentence's are shown.
void make_visible(std::vector<std::string>& tokens) {
    std::string storage;
    tokens = read_byte_level(tokens);
    for (std::string& token : tokens) token = visible(well_formed(token, storage));
}

std::vector<std::string> names_or_positions(const std::vector<std::string>& tokens, Index count) {
    std::vector<std::string> names = tokens;
    for (Index i = std::ssize(names); i < count; ++i) names.push_back(std::to_string(i));
    return names;
}

std::string counted(Index count, std::string_view what) {
    return with_commas(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string queries_of(Index count) { return with_commas(count) + (count == 1 ? " query" : " queries"); }

Mask with_rule(const Mask& mask, const TensorRule& rule, Index queries, Index keys) {
    switch (rule.causal) {
        case TensorRule::Causal::none: break;
        case TensorRule::Causal::aligned: return mask & Mask::causal();
        case TensorRule::Causal::with_past: return mask & Mask::causal(keys - queries);
    }
    return mask;
}

// Returns the elements of one head of one layer, [rows, columns].
ArrayView head_of(const OpenTensor& tensor, Index layer, Index head) {
    const ArrayView& all = tensor.array;
    const auto first = static_cast<std::size_t>(all.offset(std::array{layer, head})) * byte_size(all.dtype);
    return {all.dtype,
            all.big_endian,
            {all.shape[2], all.shape[3]},
            {all.strides[2], all.strides[3]},
            all.bytes.subspan(first)};
}

// Maps finished weights, which are one tensor, or one per layer.
MapPointer weight_map(const std::vector<OpenTensor>& weights, Index layer, Index head) {
    const bool a_layer_each = weights.size() > 1;
    const OpenTensor& tensor = weights[a_layer_each ? static_cast<std::size_t>(layer) : 0];
    auto map = finished_map({tensor.owner, head_of(tensor, a_layer_each ? 0 : layer, head)});
    return map ? *std::move(map) : nullptr;  // the type has been checked
}

MapPointer record_map(const std::shared_ptr<const Record>& record, Index head, Stage stage) {
    return stage_map(record, head, stage);
}

}  // namespace

std::span<const std::byte> OpenTensor::element(Index layer, Index head, Index row, Index column) const {
    const std::size_t size = byte_size(array.dtype);
    return array.bytes.subspan(
        static_cast<std::size_t>(array.offset(std::array{layer, head, row, column})) * size, size);
}

double OpenTensor::value(Index layer, Index head, Index row, Index column) const {
    if (array.dtype == DType::f64) {
        std::array<std::byte, sizeof(double)> bytes;
        std::ranges::copy(element(layer, head, row, column), bytes.begin());
        if (array.big_endian) std::ranges::reverse(bytes);
        double value;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    float value = 0;
    read(array, array.offset(std::array{layer, head, row, column}), 1, {&value, 1});
    return static_cast<double>(value);
}

TensorSet::TensorSet(Parts parts) : parts_(std::move(parts)), serial_(new_version()), version_(serial_) {
    make_visible(parts_.matched.query_tokens);
    make_visible(parts_.matched.key_tokens);
    query_names_ = names_or_positions(parts_.matched.query_tokens, queries());
    key_names_ = names_or_positions(parts_.matched.key_tokens, keys());
    query_text_ = TextUnits(query_names_, {}, one_line() ? 0 : 1);
    key_text_ = TextUnits(key_names_);
    if (finished()) {
        std::vector<ArrayView> arrays;
        for (const OpenTensor& tensor : parts_.weights) arrays.push_back(tensor.array);
        checks_.push_back({title(), {std::move(arrays), ValueChecking::Kind::weights}});
        begin_overview();
        return;
    }
    if (!has_values())
        for (const Tensor& k : parts_.k) parts_.v.push_back(Tensor({k.dim(0), keys(), 0}));
    for (const OpenTensor& tensor : parts_.inputs)
        if (tensor.role != "mask")  // a mask may contain −∞
            checks_.push_back({tensor.shown, {{tensor.array}, ValueChecking::Kind::values}});
}

std::string TensorSet::title() const {
    if (finished()) {
        const std::string& first = parts_.weights.front().shown;
        return parts_.weights.size() == 1 ? first : first + " to " + parts_.weights.back().shown;
    }
    std::string roles, files;
    std::set<std::string> seen;
    for (const OpenTensor& tensor : parts_.inputs) {
        const bool last = &tensor == &parts_.inputs.back();
        roles += (roles.empty() ? "" : last ? " and " : ", ") + tensor.role;
        if (seen.insert(tensor.file).second) files += (files.empty() ? "" : ", ") + tensor.file;
    }
    return roles + " of " + files;
}

std::string TensorSet::summary() const {
    const DType dtype = finished() ? parts_.weights.front().array.dtype : parts_.inputs.front().array.dtype;
    std::string text = (layers() > 1 ? counted(layers(), "layer") + " × " : "") + counted(heads(), "head") +
                       " · " + queries_of(queries()) + " × " + counted(keys(), "key");
    if (!finished()) {
        const Shape& k = input("K")->array.shape;
        text += " · d_k " + std::to_string(k[3]);
        if (k[1] != heads()) text += " · " + counted(k[1], "head") + " of keys";
    }
    text += " · " + std::string(name(dtype));
    for (const std::string& chosen : parts_.matched.chosen) text += " · " + chosen;
    return text;
}

std::vector<TensorSet::Remark> TensorSet::remarks() const {
    std::vector<Remark> out;
    for (const std::string& note : parts_.matched.notes) out.push_back({note});
    for (const Check& check : checks_)
        for (OddityTold& each : told(check.checking.findings(), check.what)) {
            const auto place = place_of(check, each);
            out.push_back({std::move(each.sentence), place});
        }
    return out;
}

// Returns nothing for a tensor whose numbers have no place of their own, such as a bias.
std::optional<CellPlace> TensorSet::place_of(const Check& check, const OddityTold& each) const {
    const Oddity& o = each.oddity;
    if (finished() && each.of_cell)
        return CellPlace{{o.layer, o.head}, RunCell{Stage::weight, o.row, o.column}};
    if (finished()) return CellPlace{{o.layer, o.head}, MapSum{MapTotal::row_total, o.row}};
    for (const auto& [role, stage] : {std::pair{"Q", Stage::q}, {"K", Stage::k}, {"V", Stage::v}})
        if (const OpenTensor* tensor = input(role); tensor && tensor->shown == check.what) {
            const Index shared = heads() / std::max<Index>(tensor->array.shape[1], 1);
            return CellPlace{{o.layer, o.head * shared}, RunCell{stage, o.row, o.column}};
        }
    return std::nullopt;
}

const OpenTensor& TensorSet::weights_of(Index layer) const {
    return parts_.weights[parts_.weights.size() > 1 ? static_cast<std::size_t>(layer) : 0];
}

const OpenTensor* TensorSet::input(std::string_view role) const {
    const auto found = std::ranges::find(parts_.inputs, role, &OpenTensor::role);
    return found == parts_.inputs.end() ? nullptr : &*found;
}

void TensorSet::follow(const TensorRule& rule) {
    if (follows(rule)) return;
    rule_ = rule;
    overview_.reset();
    forget_maps();
    version_ = new_version();
    std::vector<std::optional<RecordJob>> jobs;
    const auto of_layer = [](const auto& all, std::size_t layer) {
        return all.empty() ? typename std::decay_t<decltype(all)>::value_type()
                           : all[all.size() > 1 ? layer : 0];
    };
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers()); ++layer) {
        const AttentionSpec spec{.scale = rule.scale_by_sqrt_d ? std::nullopt : std::optional(1.0),
                                 .mask = with_rule(of_layer(parts_.masks, layer), rule, queries(), keys()),
                                 .bias = of_layer(parts_.biases, layer)};
        // The first records take the tensors that were read; later ones share them.
        auto prepared = records_.empty()
                            ? Record::prepare(std::move(parts_.q[layer]), std::move(parts_.k[layer]),
                                              std::move(parts_.v[layer]), spec)
                            : records_[layer]->prepare_under(spec);
        if (!prepared) return;  // cannot fail: the shapes have been compared
        jobs.emplace_back(*std::move(prepared));
    }
    jobs_ = std::move(jobs);
    records_.clear();
    for (const auto& job : jobs_) records_.push_back(job->record());
}

const RecordJob* TensorSet::job_of(Index layer) const {
    const auto at = static_cast<std::size_t>(layer);
    return at < jobs_.size() && jobs_[at] ? &*jobs_[at] : nullptr;
}

bool TensorSet::measures() const {
    return std::ranges::any_of(jobs_, [](const auto& job) { return job.has_value(); });
}

bool TensorSet::sampled(Index side) const {
    return std::ranges::all_of(jobs_, [&](const auto& job) { return !job || job->sampled(side); });
}

// The layer in view comes first, then a first picture of the others, then all of them.
std::optional<RecordJob>* TensorSet::next_job() {
    if (job_of(looked_at_)) return &jobs_[static_cast<std::size_t>(looked_at_)];
    const Index side = HeadOverview::side_of(static_cast<std::size_t>(layers() * heads()));
    for (auto& job : jobs_)
        if (job && !job->sampled(side)) return &job;
    for (auto& job : jobs_)
        if (job) return &job;
    return nullptr;
}

std::shared_ptr<const Record> TensorSet::record(Index layer) const {
    const auto at = static_cast<std::size_t>(layer);
    return at < records_.size() && !jobs_[at] ? records_[at] : nullptr;
}

bool TensorSet::check_some() {
    for (Check& check : checks_)
        if (!check.done) {
            check.done = !check.checking.step();
            return true;
        }
    return false;
}

// Computes first what is in view: the attention, then a picture of every head, then whether the numbers are
// odd.
bool TensorSet::step() {
    if (paused_) return false;
    const auto count = static_cast<std::size_t>(layers() * heads());
    const bool begun = finished() || rule_;
    if (begun && !overview_ && sampled(HeadOverview::side_of(count))) begin_overview();
    if (overview_ && overview_->maps().sampled() < count && (!measures() || overview_->maps().level() > 0)) {
        overview_->step_maps();
        return true;
    }
    if (auto* job = next_job()) {
        if (!(*job)->step()) job->reset();
        return true;
    }
    if (check_some()) return true;
    return overview_ && (overview_->step_maps() || overview_->step_scores());
}

bool TensorSet::done() const {
    const bool begun = finished() || rule_;
    return begun && !measures() && std::ranges::all_of(checks_, &Check::done) &&
           (!overview_ || overview_->done());
}

int TensorSet::milestones() const {
    int measured = 0;
    for (const auto& job : jobs_) measured += (!job || job->sampled(tile_side)) + !job;
    return measured + (overview_ ? overview_->milestones() : 0) + done();
}

std::string_view TensorSet::doing() const {
    if (measures()) return "attention";
    if (!std::ranges::all_of(checks_, &Check::done)) return "checking the numbers";
    return overview_ && overview_->has_maps() ? "head scores" : "all heads";
}

float TensorSet::progress() const {
    if (measures()) {
        double done = 0;
        for (const auto& job : jobs_) done += job ? job->progress() : 1;
        return static_cast<float>(done / static_cast<double>(jobs_.size()));
    }
    for (const Check& check : checks_)
        if (!check.done) return check.checking.progress();
    return overview_ && !overview_->done() ? static_cast<float>(overview_->progress()) : 1;
}

Stage TensorSet::stage_for(Stage chosen) const {
    if (finished()) return Stage::weight;
    switch (chosen) {
        case Stage::raw:
        case Stage::scaled:
        case Stage::weight: return chosen;
        case Stage::masked: return has_bias() ? chosen : Stage::scaled;
        case Stage::contribution: return has_values() ? chosen : Stage::weight;
        case Stage::capped: return Stage::scaled;
        default: break;
    }
    return has_values() ? Stage::contribution : Stage::weight;
}

HeadMaps TensorSet::maps(const MapChoice& choice) const {
    const Stage stage = stage_for(choice.stage);
    const Sink sink = is_signed(stage) ? Sink::shown : choice.sink;
    return [weights = parts_.weights, records = records_, stage, sink, groups = merged(choice)](Index layer,
                                                                                                Index head) {
        const auto of_stage = [&](Stage wanted) {
            MapPointer map = weights.empty()
                                 ? record_map(records[static_cast<std::size_t>(layer)], head, wanted)
                                 : weight_map(weights, layer, head);
            return groups ? merged_map(std::move(map), groups->queries, groups->keys) : map;
        };
        return with_sink(of_stage(stage), of_stage(Stage::weight), sink);
    };
}

MapPointer TensorSet::map(Index layer, Index head, const MapChoice& choice) {
    // The rows sampled first do not cover whole units.
    looked_at_ = layer;
    const bool unmeasured = being_measured(choice.stage) &&
                            (unit_of(choice) != Unit::tokens || !job_of(layer)->sampled(tile_side));
    return !finished() && (records_.empty() || unmeasured) ? nullptr : Attention::map(layer, head, choice);
}

void TensorSet::make_while_measuring(const std::shared_ptr<Pyramid>& pyramid) {
    if (job_of(looked_at_)) jobs_[static_cast<std::size_t>(looked_at_)]->give_scores(pyramid);
}

std::vector<Stage> TensorSet::stages() const {
    std::vector<Stage> stages;
    for (const Stage stage : {Stage::raw, Stage::scaled, Stage::masked, Stage::weight, Stage::contribution})
        if (stage_for(stage) == stage) stages.push_back(stage);
    return stages;
}

std::map<std::string, std::string> TensorSet::source() const {
    std::map<std::string, std::string> source{{"from", title()}};
    if (rule_) {
        source["causal"] = causal_names[static_cast<std::size_t>(rule_->causal)];
        source["scale"] = scale_names[rule_->scale_by_sqrt_d ? 0 : 1];
    }
    return source;
}

void TensorSet::begin_overview() {
    if (layers() * heads() == 1) return;  // a single head has no picture besides its map
    std::vector<MapPointer> maps;
    const HeadMaps weights = this->maps({});
    for (Index layer = 0; layer < layers(); ++layer)
        for (Index head = 0; head < heads(); ++head) maps.push_back(weights(layer, head));
    // Ids exist for one text only: tokens with the same text get the same id.
    std::map<std::string_view, std::int32_t> numbers;
    std::vector<std::int32_t> ids;
    const Matched& matched = parts_.matched;
    if (matched.query_tokens == matched.key_tokens)
        for (const std::string& token : matched.query_tokens)
            ids.push_back(
                numbers.try_emplace(token, static_cast<std::int32_t>(numbers.size())).first->second);
    auto overview = HeadOverview::start(std::move(maps), heads(), std::move(ids));
    if (overview) overview_ = *std::move(overview);
}

}  // namespace attn::app
