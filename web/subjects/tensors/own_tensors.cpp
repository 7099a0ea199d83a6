#include "subjects/tensors/own_tensors.hpp"

#include <algorithm>
#include <map>

#include "app/clock.hpp"

namespace attn::app {

namespace {

bool holds_tokens(const TensorFile& file) {
    return file.name.ends_with(".json") || file.name.ends_with(".txt");
}

// A file replaces an earlier one of the same name.
std::vector<TensorFile> together(std::vector<TensorFile> before, const std::vector<TensorFile>& fresh) {
    std::erase_if(before, [&](const TensorFile& file) {
        return std::ranges::find(fresh, file.name, &TensorFile::name) != fresh.end();
    });
    before.insert(before.end(), fresh.begin(), fresh.end());
    return before;
}

}  // namespace

Result<std::byte*> OwnTensors::buffer(const std::string& file, std::uint64_t size) {
    // A file can be part of several sets, but is in memory only once.
    std::map<const std::byte*, std::uint64_t> held;
    const auto hold = [&](const std::vector<TensorFile>& files) {
        for (const TensorFile& each : files) held[each.bytes.get()] = each.size;
    };
    hold(waiting_);
    if (open_) hold(open_->files());
    if (opening_) hold(opening_->files());
    std::uint64_t bytes = 0;
    for (const auto& [at, length] : held) bytes += length;
    return intake_.buffer(file, size, bytes);
}

void OwnTensors::arrived(const std::vector<std::string>& named, const Answers& answers) {
    const std::vector<TensorFile> fresh = intake_.take();
    if (fresh.empty()) return;
    attempts_.clear();
    const bool tokens = std::ranges::all_of(fresh, holds_tokens);
    if (tokens && open_)
        attempts_.push_back({together(open_->files(), fresh), open_->answers()});
    else if (!tokens || waiting_.empty())
        attempts_.push_back({fresh, {}});
    if (!waiting_.empty()) attempts_.push_back({together(waiting_, fresh), {}});
    for (Attempt& attempt : attempts_)
        if (std::ranges::is_permutation(names_of(attempt.files), named)) attempt.answers = answers;
    try_next();
}

void OwnTensors::try_next() {
    Attempt attempt = std::move(attempts_.front());
    attempts_.erase(attempts_.begin());
    opening_ = std::make_unique<TensorOpening>(std::move(attempt.files), std::move(attempt.answers));
}

void OwnTensors::answer(const std::string& question, const std::string& answer) {
    if (!opening_) return;
    opening_->answer(question, answer);
    settle();
}

void OwnTensors::open_with(const Answers& answers) {
    if (!open_) return;
    attempts_.assign(1, {open_->files(), answers});
    try_next();
}

void OwnTensors::cancel() {
    opening_.reset();
    attempts_.clear();
    waiting_.clear();
}

void OwnTensors::settle() {
    using Phase = TensorOpening::Phase;
    switch (opening_->phase()) {
        case Phase::reading: return;
        case Phase::asking:
        case Phase::loading: asked_ = true; return;
        case Phase::ready:
            open_ = opening_->take();
            opened_ = true;
            waiting_.clear();
            break;
        case Phase::failed:
            if (opening_->lacks_something() && !attempts_.empty()) return try_next();
            if (opening_->lacks_something()) waiting_ = opening_->files();
            error_ = opening_->error();
            break;
    }
    opening_.reset();
    attempts_.clear();
}

bool OwnTensors::work(const TensorRule& rule, double until_ms) {
    while (opening_ && opening_->works()) {
        opening_->step();
        settle();
        // The rule chosen for other tensors need not apply to these.
        if (opened_ || now_ms() >= until_ms) return true;
    }
    if (!open_) return false;
    open_->follow(rule);
    while (open_->step())
        if (now_ms() >= until_ms) return true;
    return false;
}

}  // namespace attn::app
