#include "subjects/sentence/model_intake.hpp"

#include <cstdlib>

#include "io/safetensors.hpp"

namespace attn::app {

namespace {

std::string gigabytes(std::uint64_t bytes) {
    const auto tenths = (bytes + 50'000'000) / 100'000'000;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GB";
}

}  // namespace

Result<std::byte*> ModelIntake::buffer(const std::string& file, std::uint64_t size) {
    if (size > bytes_limit || total_ + size > bytes_limit)
        return Error{file + " is " + gigabytes(size) + "; a browser tab can hold models of up to " +
                     gigabytes(bytes_limit) + " in total. Use a smaller model, or the native program."};
    // Without exceptions, a vector that cannot be allocated ends the program, so this tries malloc first.
    void* room = std::malloc(static_cast<std::size_t>(size) + 1);
    if (!room)
        return Error{"There is no memory left for " + file + " (" + gigabytes(size) +
                     "). Reload the page to free the model that is open, then open this one."};
    std::free(room);
    total_ += size;
    Bytes bytes(static_cast<std::size_t>(size));
    if (file == "config.json") {
        files_.config = std::move(bytes);
        has_config_ = true;
        return files_.config.data();
    }
    if (file == "model.safetensors.index.json") {
        files_.index = std::move(bytes);
        return files_.index->data();
    }
    if (file == "scores.json") {
        bytes.reserve(1);  // an empty file has an address as well
        return scores_.emplace(std::move(bytes)).data();
    }
    Bytes& weights = files_.weights[file] = std::move(bytes);
    return weights.data();
}

Status ModelIntake::check_header(const std::string& file) const {
    const auto found = files_.weights.find(file);
    if (found == files_.weights.end()) return Error{"No bytes of " + file + " have arrived."};
    auto header = parse_safetensors_header(found->second, found->second.size());
    if (!header) return Error{file + ": " + header.error().message};
    return ok();
}

Result<ModelIntake::Loaded> ModelIntake::load() {
    if (!has_config_) return Error{"config.json has not arrived."};
    auto model = Model::load(std::move(files_));
    auto scores = std::move(scores_);
    discard();
    if (!model) return model.error();
    return Loaded{*std::move(model), std::move(scores)};
}

void ModelIntake::discard() {
    files_ = {};
    scores_.reset();
    has_config_ = false;
    total_ = 0;
}

}  // namespace attn::app
