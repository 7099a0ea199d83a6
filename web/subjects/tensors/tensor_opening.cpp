#include "subjects/tensors/tensor_opening.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "io/quote.hpp"

namespace attn::app {

namespace {

constexpr Index elements_a_step = Index{1} << 18;

// Exceptions are off, so a failed allocation would end the program; this tries first.
bool has_room(Index bytes) {
    void* room = std::malloc(static_cast<std::size_t>(bytes) + 1);
    std::free(room);
    return room != nullptr;
}

std::size_t elements_of_layer(const ArrayView& tensor) {
    return static_cast<std::size_t>(tensor.shape[1] * tensor.shape[2] * tensor.shape[3]);
}

bool is_weight_type(DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

}  // namespace

bool RowWalk::step(auto take) {
    const Index rows = from_.shape[2], columns = from_.shape[3], of_layer = from_.shape[1] * rows,
                all = from_.shape[0] * of_layer;
    std::vector<float> row(static_cast<std::size_t>(columns));
    const Index end = std::min(all, next_ + std::max(elements_a_step / columns, Index{1}));
    for (; next_ < end; ++next_) {
        const Index layer = next_ / of_layer, in_layer = next_ % of_layer;
        read(from_, from_.offset(std::array{layer, in_layer / rows, in_layer % rows}), from_.strides[3], row);
        take(static_cast<std::size_t>(layer), std::span<const float>(row));
    }
    return next_ < all;
}

MaskConversion::MaskConversion(const ArrayView& from, bool allows)
    : rows_(from),
      allows_(allows),
      bits_(static_cast<std::size_t>(from.shape[0]), {from.shape[1], from.shape[2], from.shape[3], {}}) {
    for (PaintedBits& bits : bits_) bits.allowed.reserve(elements_of_layer(from));
}

bool MaskConversion::step() {
    return rows_.step([&](std::size_t layer, std::span<const float> row) {
        for (const float value : row) bits_[layer].allowed.push_back((value != 0) == allows_);
    });
}

std::vector<Mask> MaskConversion::take() {
    std::vector<Mask> masks;
    for (PaintedBits& bits : bits_) masks.push_back(Mask::painted(std::move(bits)));
    return masks;
}

TensorConversion::TensorConversion(const ArrayView& from)
    : shape_(from.shape), rows_(from), values_(static_cast<std::size_t>(from.shape[0])) {
    // Only reserves room, because writing zeros at once would take as long as many slices.
    for (auto& values : values_) values.reserve(elements_of_layer(from));
}

bool TensorConversion::step() {
    return rows_.step([&](std::size_t layer, std::span<const float> row) {
        values_[layer].insert(values_[layer].end(), row.begin(), row.end());
    });
}

std::vector<Tensor> TensorConversion::take() {
    std::vector<Tensor> layers;
    for (auto& values : values_) layers.push_back({{shape_[1], shape_[2], shape_[3]}, std::move(values)});
    return layers;
}

TensorOpening::TensorOpening(std::vector<TensorFile> files, Answers answers)
    : files_(std::move(files)), answers_(std::move(answers)) {
    std::vector<DroppedFile> dropped;
    for (const TensorFile& file : files_) dropped.push_back(file.dropped());
    reading_.emplace(std::move(dropped));
}

void TensorOpening::fail(Error error) {
    phase_ = Phase::failed;
    error_ = std::move(error);
}

void TensorOpening::step() {
    if (phase_ == Phase::loading) return load_some();
    if (reading_->step()) return;
    auto found = reading_->finish();
    reading_.reset();
    if (!found) return fail(found.error());
    found_ = *std::move(found);
    match_found();
}

float TensorOpening::progress() const {
    if (phase_ != Phase::loading) return 0;
    const float part = loading_ ? loading_->progress() : 0;
    return (static_cast<float>(next_) + part) / static_cast<float>(needed_.size());
}

void TensorOpening::answer(const std::string& question, const std::string& answer) {
    answers_[question] = answer;
    match_found();
}

void TensorOpening::match_found() {
    questions_.clear();
    auto result = match(found_, answers_, &lacks_something_);
    if (!result) return fail(result.error());
    if (auto* questions = std::get_if<std::vector<Question>>(&*result)) {
        questions_ = std::move(*questions);
        phase_ = Phase::asking;
        return;
    }
    Matched& matched = parts_.matched = std::get<Matched>(*std::move(result));
    for (const PlacedTensor& place : matched.weights) needed_.push_back({place, ""});
    for (const auto& [place, role] : {std::pair(&matched.q, "Q"), std::pair(&matched.k, "K"),
                                      std::pair(&matched.v, "V"), std::pair(&matched.mask, "mask")})
        if (*place) needed_.push_back({**place, role});
    if (Status status = check_weights(); !status) return fail(status.error());
    phase_ = Phase::loading;
}

Status TensorOpening::check_weights() const {
    const FoundTensor& first = found_.tensors[needed_.front().place.tensor];
    if (!parts_.matched.weights.empty() && !is_weight_type(first.dtype))
        return Error{first.file + ": " + quote(first.name) + " holds numbers of type " +
                     std::string(name(first.dtype)) +
                     "; attention weights are read as float16, bfloat16, float32 or float64"};
    const Index layers = parts_.matched.layers, heads = parts_.matched.heads;
    if (layers > TensorSet::most_layers || heads > TensorSet::most_heads ||
        layers * heads > TensorSet::most_maps)
        return Error{first.file + ": " + quote(first.name) + " would be " + std::to_string(layers) +
                     " layers of " + std::to_string(heads) + " heads; at most " +
                     std::to_string(TensorSet::most_maps) + " heads, " +
                     std::to_string(TensorSet::most_heads) + " of a layer, can be shown, so save fewer"};
    return ok();
}

void TensorOpening::load_some() {
    const Needed& needed = needed_[next_];
    if (conversion_) {
        if (conversion_->step()) return;
        take_part(needed.role, conversion_->take());
        conversion_.reset();
    } else if (mask_conversion_) {
        if (mask_conversion_->step()) return;
        parts_.masks = mask_conversion_->take();
        mask_conversion_.reset();
    } else {
        if (!loading_) loading_.emplace(found_.tensors[needed.place.tensor]);
        if (loading_->step()) return;
        auto loaded = loading_->finish();
        loading_.reset();
        if (!loaded) return fail(loaded.error());
        OpenTensor tensor = opened(needed, *loaded);
        if (!needed.role.empty()) return convert(std::move(tensor));
        parts_.weights.push_back(std::move(tensor));
    }
    if (++next_ == needed_.size()) phase_ = Phase::ready;
}

void TensorOpening::convert(OpenTensor tensor) {
    const Shape& shape = tensor.array.shape;
    // Twice the size leaves room for results, and for a mask's bits.
    constexpr Index bytes_each = 2 * sizeof(float);
    const auto count = element_count(shape, bytes_each);
    if (!count || !has_room(*count * bytes_each))
        return fail({"There is no memory left for " + tensor.shown + " as float32, " + to_string(shape) +
                     ": close what is open, or save less of it"});
    parts_.inputs.push_back(std::move(tensor));
    const OpenTensor& input = parts_.inputs.back();
    const MaskMeaning meaning = parts_.matched.mask_meaning;
    if (input.role == "mask" && meaning != MaskMeaning::added)
        mask_conversion_.emplace(input.array, meaning == MaskMeaning::allowed);
    else
        conversion_.emplace(input.array);
}

OpenTensor TensorOpening::opened(const Needed& needed, const LoadedTensor& loaded) const {
    const FoundTensor& found = found_.tensors[needed.place.tensor];
    const bool alone = std::ranges::count(found_.tensors, found.file, &FoundTensor::file) == 1;
    OpenTensor tensor;
    tensor.role = needed.role;
    tensor.file = found.file;
    tensor.shown = alone ? found.file : quote(found.name) + " of " + found.file;
    tensor.array = placed(loaded.array, needed.place);
    const auto file = std::ranges::find(files_, found.file, &TensorFile::name);
    tensor.begin = file->bytes.get();
    tensor.owner = file->bytes;
    if (loaded.owner) {
        tensor.unpacked = true;
        tensor.begin = static_cast<const std::byte*>(loaded.owner.get());
        tensor.owner = loaded.owner;
    }
    if (std::holds_alternative<std::shared_ptr<const Tensor>>(found.place)) {
        tensor.unpacked = false;
        tensor.begin = nullptr;
    }
    return tensor;
}

void TensorOpening::take_part(const std::string& role, std::vector<Tensor> layers) {
    if (role != "mask") {
        (role == "Q" ? parts_.q : role == "K" ? parts_.k : parts_.v) = std::move(layers);
        return;
    }
    for (Tensor& bias : layers) parts_.biases.push_back({std::make_shared<const Tensor>(std::move(bias))});
}

std::unique_ptr<TensorSet> TensorOpening::take() {
    parts_.files = files_;
    parts_.answers = answers_;
    return std::make_unique<TensorSet>(std::move(parts_));
}

}  // namespace attn::app
