#include "headless/headless_page.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/json.hpp"

namespace attn::headless {

namespace {

constexpr const char* weights_file = "model.safetensors";

std::string listed(std::span<const std::string> names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "no model" : text;
}

}  // namespace

// ---- Models -----------------------------------------------------------------------------------------------

Result<HeadlessPage::Files> HeadlessPage::files_of(const std::string& model) const {
    Files files;
    for (const char* file : {"config.json", "tokenizer.json", weights_file, "scores.json"}) {
        auto bytes = read_(model + "/" + file);
        if (bytes && !bytes->empty())
            files[file] = *std::move(bytes);
        else if (std::string_view(file) != "scores.json")
            return Error{"The model " + model + " is not here: it has no " + file};
    }
    return files;
}

Status HeadlessPage::bring(const std::string& model) {
    if (const auto files = files_of(model); !files) return files.error();
    brought_.push_back(model);
    return ok();
}

// Its head resolves most pronouns.
std::optional<app::Opening> HeadlessPage::opening() const {
    const auto bytes = read_(std::string(first_model) + "/scores.json");
    const auto scores = bytes ? parse_json(*bytes, "scores.json") : Result<nlohmann::json>(bytes.error());
    if (!scores || !scores->is_object() || !scores->contains("heads")) return std::nullopt;
    std::optional<app::Opening> best;
    double most = -1;
    for (const auto& head : (*scores)["heads"]) {
        if (!head.is_object()) continue;
        const auto number = [&](const char* key) {
            const auto found = head.find(key);
            return found != head.end() && found->is_number() ? found->get<double>() : std::nan("");
        };
        const double right = number("pronoun_right"), layer = number("layer"), place = number("head");
        if (!(right > most) || !(layer >= 0) || !(place >= 0)) continue;
        most = right;
        best = app::Opening{first_model, static_cast<Index>(layer), static_cast<Index>(place)};
    }
    return best;
}

bool HeadlessPage::open_named(const std::string& name) {
    if (std::ranges::find(brought_, name) == brought_.end()) {
        errors_.push_back("this opens the model “" + name + "”, but the lesson brings " + listed(brought_) +
                          "; say needs: " + name);
        return false;
    }
    wanted_ = name;
    return true;
}

void HeadlessPage::open_files(const std::string& folder, const Files& files, bool) {
    arriving_ = Arriving{folder, files};
}

Status HeadlessPage::load(app::Visit& visit, const std::string& name, const Files& files) {
    for (const char* file : {"config.json", "tokenizer.json", weights_file})
        if (!files.contains(file)) return Error{name + " has no " + file};
    auto tokenizer = PageTokenizer::parse(files.at("tokenizer.json"));
    if (!tokenizer) return tokenizer.error();
    app::FileIntake* intake = visit.intake(app::FileKind::model);
    if (!intake) return Error{"Nothing here takes a model"};
    intake->name(name, tokenizer_ && tokenizer_->vocabulary() == tokenizer->vocabulary());
    for (const char* file : {"config.json", "scores.json", weights_file}) {
        const auto found = files.find(file);
        if (found == files.end()) continue;
        const std::vector<std::byte>& bytes = found->second;
        const auto buffer = intake->buffer(file, bytes.size());
        if (!buffer) return buffer.error();
        std::ranges::copy(bytes, *buffer);
        if (file != weights_file) continue;
        if (const auto needed = intake->check_header(file, bytes.size()); !needed) return needed.error();
    }
    if (!intake->arrived()) return Error{name + " is refused"};
    tokenizer_ = *std::move(tokenizer);
    context_ = intake->context();
    for (BoxState& box : boxes_) {
        box.given.reset();
        box.generated.clear();
    }
    return ok();
}

void HeadlessPage::open(app::Visit& visit, const std::string& name, const Files& files) {
    const Status loaded = load(visit, name, files);
    if (loaded) return;
    errors_.push_back(loaded.error().message);
    if (app::FileIntake* intake = visit.intake(app::FileKind::model)) {
        intake->discard();
        intake->failed();
    }
}

// ---- Boxes ------------------------------------------------------------------------------------------------

void HeadlessPage::set_sentence(const std::string& text, bool, bool tokenized, const std::string&) {
    BoxState& box = at(app::Box::first);
    box.text = text;
    box.wanted = tokenized;
    box.changed = true;
}

void HeadlessPage::hide_sentence() {
    BoxState& box = at(app::Box::first);
    box.text.clear();
    box.wanted = box.changed = false;
}

void HeadlessPage::set_lower_box(app::Box which, const app::LowerBox& shown) {
    BoxState& box = at(which);
    box.text = shown.text;
    box.continued = shown.continued;
    box.wanted = box.changed = true;
}

void HeadlessPage::hide_lower_box(app::Box which) {
    BoxState& box = at(which);
    box.text.clear();
    box.wanted = box.changed = false;
    box.given.reset();
}

void HeadlessPage::append_token(app::Box box, std::int32_t id) { appended_.push_back({box, id}); }

void HeadlessPage::write_tokens(Range tokens, std::span<const std::int32_t> ids) {
    written_.push_back({tokens, {ids.begin(), ids.end()}});
}

void HeadlessPage::give(app::Visit& visit, app::Box which, Given given) {
    BoxState& box = at(which);
    if (given.generated) {
        box.generated[given.base_text] = {given.base_text, given.base_ids, {}, {}, false};
        box.generated[given.text] = given;
    }
    box.given = std::move(given);
    const Given& all = *box.given;
    app::TokenizedText text{which, all.text, all.ids, {}, std::ssize(all.ids)};
    if (std::ssize(text.ids) > context_) text.ids.resize(static_cast<std::size_t>(context_));
    text.pieces = tokenizer_->pieces(text.ids);
    visit.tokens(std::move(text));
}

// Hands over the tokens of a box's text, unless the visit has them.
void HeadlessPage::hand(app::Visit& visit, app::Box which) {
    BoxState& box = at(which);
    if (!tokenizer_ || !box.wanted || (box.given && box.given->text == box.text)) return;
    if (const auto known = box.generated.find(box.text); known != box.generated.end())
        return give(visit, which, known->second);
    auto ids = tokenizer_->encode(box.text, !box.continued);
    if (!ids)
        errors_.push_back(ids.error().message);
    else
        give(visit, which, {box.text, *std::move(ids), {}, {}, false});
}

// The ids so far stay the same, and the text grows by the text of the new one.
void HeadlessPage::append(app::Visit& visit, const Appended& appended) {
    BoxState& box = at(appended.box);
    if (!tokenizer_ || !box.given || box.given->text != box.text) return;
    Given next = *box.given;
    if (!next.generated) {
        next.base_text = next.text;
        next.base_ids = next.ids;
        next.generated = true;
    }
    next.ids.push_back(appended.id);
    const std::string before = tokenizer_->decode(next.base_ids), now = tokenizer_->decode(next.ids);
    next.text = next.base_text + now.substr(std::min(before.size(), now.size()));
    box.text = next.text;
    give(visit, appended.box, std::move(next));
}

void HeadlessPage::write(app::Visit& visit, const Written& written) {
    BoxState& box = at(app::Box::first);
    if (!tokenizer_ || !box.given || box.given->text != box.text) return;
    std::vector<std::int32_t> ids = box.given->ids;
    const auto [begin, end] = written.tokens;
    if (begin < 0 || begin > end || end > std::ssize(ids)) return;
    ids.erase(ids.begin() + begin, ids.begin() + end);
    ids.insert(ids.begin() + begin, written.ids.begin(), written.ids.end());
    box.text = tokenizer_->written(ids);
    hand(visit, app::Box::first);
}

bool HeadlessPage::deliver(app::Visit& visit) {
    bool done = false;
    if (const auto name = std::exchange(wanted_, std::nullopt)) {
        done = true;
        if (const auto files = files_of(*name))
            open(visit, *name, *files);
        else
            errors_.push_back(files.error().message);
    }
    if (const auto arriving = std::exchange(arriving_, std::nullopt)) {
        done = true;
        open(visit, arriving->name, arriving->files);
    }
    for (const app::Box which : {app::Box::first, app::Box::second, app::Box::third, app::Box::fourth}) {
        if (!std::exchange(at(which).changed, false)) continue;
        done = true;
        hand(visit, which);
    }
    for (const Appended& each : std::exchange(appended_, {})) {
        done = true;
        append(visit, each);
    }
    for (const Written& each : std::exchange(written_, {})) {
        done = true;
        write(visit, each);
    }
    return done;
}

// ---- Answers ----------------------------------------------------------------------------------------------

void HeadlessPage::notice(const std::string& sentence, bool error) {
    (error ? errors_ : notices_).push_back(sentence);
}

std::vector<std::string> HeadlessPage::ids_to_text(std::span<const std::int32_t> ids) {
    std::vector<std::string> texts;
    for (const std::int32_t id : ids)
        texts.push_back(tokenizer_ ? tokenizer_->pieces(std::span(&id, 1)).front()
                                   : "#" + std::to_string(id));
    return texts;
}

std::vector<std::int32_t> HeadlessPage::text_to_ids(const std::string& text) {
    if (!tokenizer_) return {};
    auto ids = tokenizer_->encode(text, true);
    return ids ? *std::move(ids) : std::vector<std::int32_t>();
}

app::SpecialTokens HeadlessPage::special_tokens() {
    return tokenizer_ ? tokenizer_->special() : app::SpecialTokens();
}

}  // namespace attn::headless
