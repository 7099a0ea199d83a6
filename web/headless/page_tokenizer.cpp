#include "headless/page_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "io/json.hpp"
#include "text/unicode_class.hpp"
#include "text/utf8.hpp"
#include "text/visible.hpp"

namespace attn::headless {

namespace {

using nlohmann::json;

constexpr std::string_view blank = "▁";
constexpr const char* file_name = "tokenizer.json";

const json& member(const json& object, const char* key) {
    static const json nothing;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? nothing : *found;
}

std::string text_in(const json& object, const char* key) {
    const json& value = member(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

Error refused(const std::string& what) {
    return Error{std::string(file_name) + " has " + what + ", which is not read here"};
}

std::optional<std::int32_t> id_in(const json& value) {
    if (!value.is_number_integer()) return std::nullopt;
    const auto id = value.get<std::int64_t>();
    return id >= 0 && id <= std::numeric_limits<std::int32_t>::max()
               ? std::optional(static_cast<std::int32_t>(id))
               : std::nullopt;
}

// Tells whether texts are cut at white space, and each word gets a "▁" if the model has blanks.
bool cuts_words(const json& divider, bool blanks) {
    if (!blanks) return text_in(divider, "type") == "WhitespaceSplit";
    const json& parts = member(divider, "pretokenizers");
    return text_in(divider, "type") == "Sequence" && parts.is_array() && parts.size() == 2 &&
           text_in(parts[0], "type") == "WhitespaceSplit" && text_in(parts[1], "type") == "Metaspace" &&
           text_in(parts[1], "replacement") == blank && text_in(parts[1], "prepend_scheme") == "always" &&
           member(parts[1], "split") != false;
}

// Calls use(word) for what stands between white space.
template <class Use>
void for_each_apart(std::string_view text, Use use) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = first_code_point(text.substr(at));
        if (class_of(point.value) == UnicodeClass::space) {
            if (at > begin) use(text.substr(begin, at - begin));
            begin = at + point.bytes;
        }
        at += point.bytes;
    }
    if (begin < text.size()) use(text.substr(begin));
}

std::string in_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "⟨";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        if (i > 0) text += ' ';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text + "⟩";
}

// Shows each token, given its bytes, as web/shell/pieces.js does.
std::vector<std::string> shown_tokens(std::span<const std::string> tokens) {
    std::string text;
    std::vector<std::size_t> owners;  // the token of each byte
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        text += tokens[i];
        owners.insert(owners.end(), tokens[i].size(), i);
    }
    std::vector<std::string> shown(tokens.size());
    const auto point_at = [&](std::size_t at) { return first_code_point(std::string_view(text).substr(at)); };
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = point_at(at);
        const std::size_t from = at;
        if (!point.well_formed) {
            do ++at;
            while (at < text.size() && owners[at] == owners[from] && !point_at(at).well_formed);
            shown[owners[from]] += in_hex(std::string_view(text).substr(from, at - from));
            continue;
        }
        at += point.bytes;
        const std::string character = visible(std::string_view(text).substr(from, point.bytes));
        std::vector<std::size_t> parts(owners.begin() + static_cast<std::ptrdiff_t>(from),
                                       owners.begin() + static_cast<std::ptrdiff_t>(at));
        const auto same = std::ranges::unique(parts);
        parts.erase(same.begin(), same.end());
        for (std::size_t part = 0; part < parts.size(); ++part)
            shown[parts[part]] += parts.size() == 1 ? character
                                                    : "⟨" + character + " " + std::to_string(part + 1) + "/" +
                                                          std::to_string(parts.size()) + "⟩";
    }
    return shown;
}

}  // namespace

// ---- Reading ----------------------------------------------------------------------------------------------

Status PageTokenizer::read_vocabulary(const json& model) {
    const json& vocab = member(model, "vocab");
    if (vocab.is_array()) {  // a unigram model's
        for (const json& entry : vocab) {
            if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
                return refused("a piece without a score");
            vocabulary_.push_back(entry[0].get<std::string>());
            scores_.push_back(entry[1].get<double>());
        }
    } else if (vocab.is_object()) {
        vocabulary_.resize(vocab.size());
        for (const auto& [token, value] : vocab.items()) {
            const auto id = id_in(value);
            if (!id || !knows(*id)) return refused("ids that leave gaps");
            vocabulary_[static_cast<std::size_t>(*id)] = token;
        }
    } else {
        return refused("no vocabulary");
    }
    for (std::size_t id = 0; id < vocabulary_.size(); ++id) {
        ids_[vocabulary_[id]] = static_cast<std::int32_t>(id);
        longest_ = std::max(longest_, vocabulary_[id].size());
    }
    return ok();
}

Status PageTokenizer::read_added(const json& file) {
    const json& all = member(file, "added_tokens");
    if (!all.is_array()) return ok();
    for (const json& token : all) {
        const auto id = id_in(member(token, "id"));
        const std::string content = text_in(token, "content");
        const bool special = member(token, "special") == true;
        if (!id || !knows(*id) || content.empty() || content.size() > AddedTokens::max_bytes)
            return refused("an added token without a place in the vocabulary");
        added_.push_back(*id);
        if (special) never_shown_.push_back(*id);
        if (bpe_) continue;
        for (const char* how : {"lstrip", "rstrip", "single_word"})
            if (member(token, how) == true) return refused("an added token that is " + std::string(how));
        in_text_.add(content, *id);
    }
    return ok();
}

Status PageTokenizer::read_ends(const json& processor) {
    if (processor.is_null() || text_in(processor, "type") == "ByteLevel") return ok();
    if (text_in(processor, "type") != "TemplateProcessing")
        return refused("the post-processor '" + text_in(processor, "type") + "'");
    bool texts = false;
    const json& single = member(processor, "single");
    if (!single.is_array()) return refused("an empty template");
    for (const json& item : single) {
        if (text_in(member(item, "Sequence"), "id") == "A") texts = true;
        const std::string name = text_in(member(item, "SpecialToken"), "id");
        if (name.empty()) continue;
        const json& ids = member(member(member(processor, "special_tokens"), name.c_str()), "ids");
        if (!ids.is_array()) return refused("a template that does not say which token '" + name + "' is");
        for (const json& each : ids) {
            const auto id = id_in(each);
            if (!id || !knows(*id)) return refused("a template with a token that is not in the vocabulary");
            (texts ? after_ : before_).push_back(*id);
        }
    }
    return ok();
}

// The unknown token stands for text.
void PageTokenizer::find_special(std::optional<std::int32_t> unknown) {
    const auto first_of = [&](std::array<const char*, 2> names) -> std::optional<std::int32_t> {
        for (const char* name : names)
            if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
        return std::nullopt;
    };
    special_.mask = first_of({"[MASK]", "<mask>"});
    special_.separator = first_of({"[SEP]", "</s>"});
    for (const auto& role : {special_.mask, special_.separator})
        if (role && std::ranges::find(never_shown_, *role) == never_shown_.end())
            never_shown_.push_back(*role);
    std::ranges::copy_if(never_shown_, std::back_inserter(special_.all),
                         [&](std::int32_t id) { return id != unknown; });
}

Result<PageTokenizer> PageTokenizer::parse(std::span<const std::byte> tokenizer_json) {
    const auto file = parse_json(tokenizer_json, file_name);
    if (!file) return file.error();
    const json& model = member(*file, "model");
    const std::string type = text_in(model, "type");
    PageTokenizer made;
    if (auto read = made.read_vocabulary(model); !read) return read.error();
    if (type == "BPE") {
        auto bpe = Bpe::parse(tokenizer_json);
        if (!bpe) return bpe.error();
        made.bpe_ = *std::move(bpe);
    } else if (type == "Unigram" || type == "WordLevel") {
        const bool unigram = type == "Unigram";
        if (unigram == made.scores_.empty()) return refused("a vocabulary that is not of its model");
        if (!member(*file, "normalizer").is_null()) return refused("a normalizer");
        if (!cuts_words(member(*file, "pre_tokenizer"), unigram))
            return refused("a pre-tokenizer that does not cut at white space alone");
        if (unigram) {
            made.unknown_ = id_in(member(model, "unk_id"));
            if (!made.unknown_ || !made.knows(*made.unknown_)) return refused("no unknown token");
            constexpr double below_all = 10;  // SentencePiece has the same
            made.unknown_score_ = *std::ranges::min_element(made.scores_) - below_all;
            made.scores_[static_cast<std::size_t>(*made.unknown_)] = made.unknown_score_;
        } else if (const auto found = made.ids_.find(text_in(model, "unk_token")); found != made.ids_.end()) {
            made.unknown_ = found->second;
        }
    } else {
        return refused("the model '" + type + "'");
    }
    if (auto read = made.read_added(*file); !read) return read.error();
    if (auto read = made.read_ends(member(*file, "post_processor")); !read) return read.error();
    made.find_special(made.unknown_);
    return made;
}

// ---- Texts to tokens --------------------------------------------------------------------------------------

// Finds the likeliest pieces. Among equals, the last piece is the longest, and so is the one before it.
void PageTokenizer::encode_unigram(std::string_view piece, Ids& ids) const {
    struct Best {
        double score = 0;
        std::size_t begin = 0;
        std::int32_t id = -1;  // none: nothing ends here
    };
    std::vector<Best> ends(piece.size() + 1);
    ends[0].id = 0;
    const auto offer = [&](std::size_t begin, std::size_t end, std::int32_t id, double score) {
        const double whole = ends[begin].score + score;
        if (ends[end].id < 0 || whole > ends[end].score) ends[end] = {whole, begin, id};
    };
    for (std::size_t begin = 0; begin < piece.size();) {
        const std::size_t first = first_code_point(piece.substr(begin)).bytes;
        bool alone = false;
        for (std::size_t size = first; size <= std::min(longest_, piece.size() - begin);) {
            if (const auto found = ids_.find(std::string(piece.substr(begin, size))); found != ids_.end()) {
                alone = alone || size == first;
                offer(begin, begin + size, found->second, scores_[static_cast<std::size_t>(found->second)]);
            }
            if (begin + size == piece.size()) break;
            size += first_code_point(piece.substr(begin + size)).bytes;
        }
        if (!alone) offer(begin, begin + first, *unknown_, unknown_score_);
        begin += first;
    }
    Ids found;
    for (std::size_t end = piece.size(); end > 0; end = ends[end].begin) found.push_back(ends[end].id);
    std::ranges::reverse(found);
    // A run of unknown characters is one token.
    const auto same = std::ranges::unique(
        found, [&](std::int32_t a, std::int32_t b) { return a == *unknown_ && b == *unknown_; });
    found.erase(same.begin(), same.end());
    ids.insert(ids.end(), found.begin(), found.end());
}

// Returns a word that has no token, if this is one.
std::optional<std::string> PageTokenizer::encode_word(std::string_view word, Ids& ids) const {
    if (scores_.empty()) {
        const auto found = ids_.find(std::string(word));
        if (found == ids_.end() && !unknown_) return std::string(word);
        ids.push_back(found == ids_.end() ? *unknown_ : found->second);
        return std::nullopt;
    }
    std::string marked(word.starts_with(blank) ? "" : blank);
    marked += word;
    for (std::size_t begin = 0; begin < marked.size();) {
        const std::size_t end = std::min(marked.find(blank, begin + 1), marked.size());
        encode_unigram(std::string_view(marked).substr(begin, end - begin), ids);
        begin = end;
    }
    return std::nullopt;
}

std::optional<std::string> PageTokenizer::encode_words(std::string_view text, Ids& ids) const {
    std::optional<std::string> lost;
    for_each_apart(text, [&](std::string_view word) {
        if (auto without = encode_word(word, ids); without && !lost) lost = std::move(without);
    });
    return lost;
}

Result<std::vector<std::int32_t>> PageTokenizer::encode(std::string_view text, bool ends) const {
    Ids ids = ends ? before_ : Ids{};
    if (bpe_) {
        const Ids found = bpe_->encode(text);
        ids.insert(ids.end(), found.begin(), found.end());
    } else {
        std::string storage;
        std::optional<std::string> lost;
        in_text_.divide(
            well_formed(text, storage),
            [&](std::string_view between) {
                if (auto without = encode_words(between, ids); without && !lost) lost = std::move(without);
            },
            [&](std::int32_t id) { ids.push_back(id); });
        if (lost) return Error{"“" + *lost + "” has no token in this model's vocabulary"};
    }
    if (ends) ids.insert(ids.end(), after_.begin(), after_.end());
    return ids;
}

// ---- Tokens to texts --------------------------------------------------------------------------------------

bool PageTokenizer::is_added(std::int32_t id) const { return std::ranges::find(added_, id) != added_.end(); }

std::string PageTokenizer::bytes_of(std::int32_t id) const {
    if (bpe_) return std::string(bpe_->token(id));
    std::string bytes = vocabulary_[static_cast<std::size_t>(id)];
    if (scores_.empty()) return bytes;
    for (std::size_t at = bytes.find(blank); at != bytes.npos; at = bytes.find(blank, at + 1))
        bytes.replace(at, blank.size(), " ");
    return bytes;
}

std::string PageTokenizer::joined(std::span<const std::int32_t> ids, bool with_special) const {
    std::string text;
    bool begins = true;
    for (const std::int32_t id : ids) {
        if (!knows(id) || (!with_special && std::ranges::find(never_shown_, id) != never_shown_.end()))
            continue;
        std::string bytes = bytes_of(id);
        if (begins && !scores_.empty() && bytes.starts_with(' ')) bytes.erase(0, 1);
        if (!begins && !bpe_ && scores_.empty()) text += ' ';
        text += bytes;
        begins = false;
    }
    std::string storage;
    return std::string(well_formed(text, storage));
}

std::string PageTokenizer::decode(std::span<const std::int32_t> ids) const { return joined(ids, false); }

std::string PageTokenizer::written(std::span<const std::int32_t> ids) const {
    if (ids.size() >= before_.size() && std::ranges::equal(ids.first(before_.size()), before_))
        ids = ids.subspan(before_.size());
    if (ids.size() >= after_.size() && std::ranges::equal(ids.last(after_.size()), after_))
        ids = ids.first(ids.size() - after_.size());
    return joined(ids, true);
}

std::vector<std::string> PageTokenizer::pieces(std::span<const std::int32_t> ids) const {
    const std::string divider(1, '\xff');  // is in no character, so that none continues after a special token
    std::vector<std::string> bytes;
    for (const std::int32_t id : ids) bytes.push_back(!knows(id) || is_added(id) ? divider : bytes_of(id));
    std::vector<std::string> shown = shown_tokens(bytes);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!knows(ids[i]))
            shown[i] = "#" + std::to_string(ids[i]);
        else if (is_added(ids[i]))
            shown[i] = vocabulary_[static_cast<std::size_t>(ids[i])];
    }
    return shown;
}

}  // namespace attn::headless
