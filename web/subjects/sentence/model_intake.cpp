#include "subjects/sentence/model_intake.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "io/gguf_model.hpp"
#include "io/safetensors.hpp"
#include "model/families.hpp"

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
    // Exceptions are off, so a vector that cannot be allocated would end the program; this tries malloc
    // first.
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
        bytes.reserve(1);  // gives an empty file an address, too
        return scores_.emplace(std::move(bytes)).data();
    }
    Bytes& weights = files_.weights[file] = std::move(bytes);
    return weights.data();
}

Result<std::uint64_t> ModelIntake::check_header(const std::string& file, std::uint64_t written) {
    const auto found = files_.weights.find(file);
    if (found == files_.weights.end()) return Error{"No bytes of " + file + " have arrived."};
    const std::uint64_t size = found->second.size();
    const auto first_bytes =
        std::span<const std::byte>(found->second).first(static_cast<std::size_t>(std::min(written, size)));
    if (is_gguf_name(file)) return check_gguf(file, first_bytes, size);
    const auto refusal = [&](const Error& error) { return Error{file + ": " + error.message}; };
    const std::uint64_t of_length = std::min<std::uint64_t>(size, 8);
    if (written < of_length) return of_length;
    const auto needed = safetensors_header_size(first_bytes, size);
    if (!needed) return refusal(needed.error());
    if (written < *needed) return *needed;
    const auto header = parse_safetensors_header(first_bytes, size);
    if (!header) return refusal(header.error());
    return std::uint64_t{0};
}

Result<std::uint64_t> ModelIntake::check_gguf(const std::string& file, std::span<const std::byte> first_bytes,
                                              std::uint64_t size) {
    const auto refusal = [&](const Error& error) { return Error{file + ": " + error.message}; };
    const auto header = parse_gguf_header(first_bytes, size);
    if (!header) return refusal(header.error());
    if (!*header) return std::min<std::uint64_t>(size, 2 * first_bytes.size() + 8);
    if ((*header)->shard > 0) return std::uint64_t{0};  // the first shard has all keys
    if (auto status = check_gguf_architecture(file, **header); !status) return status.error();
    const auto vocabulary = GgufVocabulary::read(**header);
    if (!vocabulary) return refusal(vocabulary.error());
    auto tokenizer = GgufTokenizer::make(*vocabulary);
    if (!tokenizer) return refusal(tokenizer.error());
    tokenizer_ = std::make_shared<const GgufTokenizer>(*std::move(tokenizer));
    const GgufValue* name = (*header)->find("general.name");
    gguf_name_ = name ? name->text().value_or("") : "";
    return std::uint64_t{0};
}

Status ModelIntake::add_rounded(const std::string& file, std::uint64_t size,
                                std::span<const std::byte> bytes) {
    auto found = rounding_.find(file);
    if (found == rounding_.end()) {
        if (!has_config_) return Error{"config.json has not arrived."};
        const auto config = parse_model_config(files_.config);
        if (!config) return config.error();
        found = rounding_.emplace(file, Rounding{EightBits(family_rules(config->family), size), size}).first;
    }
    Rounding& rounding = found->second;
    const auto refusal = [&](const Error& error) { return Error{file + ": " + error.message}; };
    if (auto status = rounding.reader.add(bytes); !status) return refusal(status.error());
    rounding.arrived += bytes.size();
    if (const auto held = rounding.reader.bytes_held(); held && !rounding.counted) {
        rounding.counted = true;
        total_ += *held;
        if (total_ > bytes_limit)
            return Error{"Even with its matrices in 8 bits this model takes more than the " +
                         gigabytes(bytes_limit) +
                         " that a browser tab can hold. Use a smaller model, or the native program."};
    }
    if (rounding.arrived < rounding.size) return ok();
    auto whole = rounding.reader.finish();
    if (!whole) return refusal(whole.error());
    files_.held[file] = *std::move(whole);
    rounding_.erase(found);
    return ok();
}

std::string ModelIntake::told_tokenizer() const {
    if (!tokenizer_) return "";
    std::vector<int> types;
    for (const TokenType type : tokenizer_->types()) types.push_back(static_cast<int>(type));
    const nlohmann::json told{{"name", gguf_name_},
                              {"byteLevel", tokenizer_->is_byte_level()},
                              {"addsSpace", tokenizer_->adds_space()},
                              {"tokens", tokenizer_->texts()},
                              {"types", types}};
    return told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ModelIntake::Loaded> ModelIntake::load() {
    const bool in_gguf =
        std::ranges::any_of(files_.weights, [](const auto& file) { return is_gguf_name(file.first); });
    if (!has_config_ && !in_gguf) return Error{"config.json has not arrived."};
    if (!rounding_.empty()) return Error{rounding_.begin()->first + " did not arrive whole."};
    auto model = Model::load(std::move(files_));
    auto scores = std::move(scores_);
    auto tokenizer = std::move(tokenizer_);
    discard();
    if (!model) return model.error();
    if (tokenizer && tokenizer->vocabulary_size() != (*model)->config().vocab_size)
        return Error{"The file's tokenizer has " + std::to_string(tokenizer->vocabulary_size()) +
                     " tokens, but the model's vocabulary has " +
                     std::to_string((*model)->config().vocab_size) + ": they do not belong together"};
    return Loaded{*std::move(model), std::move(scores), std::move(tokenizer)};
}

void ModelIntake::discard() {
    files_ = {};
    rounding_.clear();
    scores_.reset();
    tokenizer_.reset();
    gguf_name_.clear();
    has_config_ = false;
    total_ = 0;
}

}  // namespace attn::app
