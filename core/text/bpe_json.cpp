// Reads Bpe from tokenizer.json and writes it back.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "io/json.hpp"
#include "io/quote.hpp"
#include "text/bpe.hpp"
#include "text/byte_alphabet.hpp"

namespace attn {

namespace {

using nlohmann::json;

constexpr std::size_t max_added = 10'000;  // with their greatest length, this bounds their memory

Error wrong(const std::string& what) { return Error{"tokenizer.json " + what}; }

// Returns null if the key is absent or its value is null.
const json* find(const json& object, const char* key) {
    const auto place = object.find(key);
    return place == object.end() || place->is_null() ? nullptr : &*place;
}

const std::string* text_in(const json& object, const char* key) {
    const json* value = find(object, key);
    return value ? value->get_ptr<const std::string*>() : nullptr;
}

bool is_true(const json& object, const char* key) {
    const json* value = find(object, key);
    return value && *value == true;
}

// Names a part in messages: "the decoder 'WordPiece'".
std::string named(const char* key, const json& part) {
    const std::string* type = part.is_object() ? text_in(part, "type") : nullptr;
    return "the " + std::string(key) + (type ? " " + quote(*type) : " without a 'type'");
}

// Checks that a part of the tokenizer has the given type, or is absent if that means the same.
Status expect(const json& tree, const char* key, const std::string& type, bool may_be_absent) {
    const json* part = find(tree, key);
    if (!part && may_be_absent) return ok();
    if (!part) return wrong("has no " + quote(key) + "; " + quote(type) + " is what can be read here");
    const std::string* found = part->is_object() ? text_in(*part, "type") : nullptr;
    if (found && *found == type) return ok();
    return wrong("has " + named(key, *part) + ", which is not supported; " + quote(type) + " is");
}

Status check_parts(const json& tree) {
    for (const auto& [key, type, may_be_absent] :
         {std::tuple{"model", "BPE", false}, std::tuple{"pre_tokenizer", "ByteLevel", false},
          std::tuple{"decoder", "ByteLevel", false}, std::tuple{"post_processor", "ByteLevel", true}})
        if (auto status = expect(tree, key, type, may_be_absent); !status) return status;
    if (const json* normalizer = find(tree, "normalizer"))
        return wrong("has " + named("normalizer", *normalizer) + "; only files without one are supported");

    const json& pre_tokenizer = tree["pre_tokenizer"];
    if (is_true(pre_tokenizer, "add_prefix_space"))
        return wrong("puts a space before the text (add_prefix_space), which is not supported");
    if (const json* use_regex = find(pre_tokenizer, "use_regex"); use_regex && *use_regex != true)
        return wrong("does not divide the text into pieces (use_regex), which is not supported");

    const json& model = tree["model"];
    if (const json* dropout = find(model, "dropout"); dropout && *dropout != 0)
        return wrong("leaves out merges at random (dropout), which is not supported");
    if (is_true(model, "ignore_merges"))
        return wrong("looks whole pieces up before it merges (ignore_merges), which is not supported");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (const json* affix = find(model, key); affix && *affix != "")
            return wrong("marks the parts of words (" + std::string(key) + "), which is not supported");
    return ok();
}

// Gathers the tokens by id. Each id and each spelling must belong to one token only.
class Vocabulary {
  public:
    explicit Vocabulary(std::size_t most) : tokens_(most) {}

    // `spelling` is the token's key, `bytes` what it stands for.
    Status add(const std::string& spelling, std::string bytes, const json& id) {
        const auto* number = id.get_ptr<const json::number_unsigned_t*>();
        if (!number)
            return wrong("should have a whole number as the id of " + quote(spelling) + ", but has " +
                         id.type_name());
        if (*number >= tokens_.size())
            return wrong("has " + std::to_string(*number) + " as the id of " + quote(spelling) +
                         ", but only " + std::to_string(tokens_.size()) + " tokens");
        auto& place = tokens_[static_cast<std::size_t>(*number)];
        if (place)
            return wrong("gives the id " + std::to_string(*number) + " to a second token, " +
                         quote(spelling));
        place = std::move(bytes);
        ids_[spelling] = static_cast<std::int32_t>(*number);
        return ok();
    }

    std::optional<std::int32_t> id(const std::string& spelling) const {
        const auto place = ids_.find(spelling);
        if (place == ids_.end()) return std::nullopt;
        return place->second;
    }

    // Returns the tokens in the order of their ids, which must have no gaps and include all 256 bytes.
    Result<std::vector<std::string>> tokens() && {
        while (!tokens_.empty() && !tokens_.back()) tokens_.pop_back();
        std::vector<std::string> tokens;
        for (auto& token : tokens_) {
            if (!token)
                return wrong("has no token with the id " + std::to_string(tokens.size()) + ", but one with " +
                             std::to_string(tokens_.size() - 1));
            tokens.push_back(std::move(*token));
        }
        for (const std::uint8_t byte : bytes_in_alphabet_order())
            if (const std::string letter = spell({reinterpret_cast<const char*>(&byte), 1}); !id(letter))
                return wrong("has no token " + quote(letter) + " for the byte " + std::to_string(byte) +
                             "; byte-level BPE needs all 256");
        return tokens;
    }

  private:
    std::vector<std::optional<std::string>> tokens_;
    std::unordered_map<std::string, std::int32_t> ids_;  // keyed by spelling
};

struct AddedEntry {
    const json* id = nullptr;
    bool special = false;
    bool normalized = false;
};
using AddedEntries = std::map<std::string, AddedEntry>;  // keyed by content

Result<AddedEntries> read_added(const json& tree) {
    AddedEntries entries;
    const json* list = find(tree, "added_tokens");
    if (!list) return entries;
    if (!list->is_array())
        return wrong("should have a list as 'added_tokens', but has " + std::string(list->type_name()));
    if (list->size() > max_added)
        return wrong("has " + std::to_string(list->size()) + " added tokens; at most " +
                     std::to_string(max_added) + " can be read here");
    for (const json& entry : *list) {
        const std::string* content = entry.is_object() ? text_in(entry, "content") : nullptr;
        const json* id = content ? find(entry, "id") : nullptr;
        if (!id) return wrong("has an added token without 'content' or 'id'");
        if (content->empty() || content->size() > AddedTokens::max_bytes)
            return wrong("has the added token " + quote(*content) + " of " + std::to_string(content->size()) +
                         " bytes; it should have 1 to " + std::to_string(AddedTokens::max_bytes));
        for (const char* key : {"single_word", "lstrip", "rstrip"})
            if (is_true(entry, key))
                return wrong("has the added token " + quote(*content) + " with " + quote(key) +
                             ", which is not supported");
        const bool special = is_true(entry, "special");
        const bool normalized = find(entry, "normalized") ? is_true(entry, "normalized") : !special;
        if (!entries.try_emplace(*content, AddedEntry{id, special, normalized}).second)
            return wrong("has the added token " + quote(*content) + " twice");
    }
    return entries;
}

Status add_to(Vocabulary& vocabulary, const json::object_t& tokens, const AddedEntries& added) {
    for (const auto& [spelling, id] : tokens) {
        auto bytes = unspell(spelling);
        if (const auto entry = added.find(spelling); entry != added.end()) {
            if (bytes && *bytes != spelling)
                return wrong("has the added token " + quote(spelling) +
                             ", which is also how byte-level BPE writes other bytes");
            if (id != *entry->second.id) return wrong("has two ids for " + quote(spelling));
            bytes = spelling;
        }
        if (!bytes)
            return wrong("has the token " + quote(spelling) +
                         ", which is not written in the characters of byte-level BPE");
        if (auto status = vocabulary.add(spelling, std::move(*bytes), id); !status) return status;
    }
    for (const auto& [content, entry] : added)
        if (!tokens.contains(content))
            if (auto status = vocabulary.add(content, content, *entry.id); !status) return status;
    return ok();
}

Result<Bpe::Merge> read_merge(const json& entry, const Vocabulary& vocabulary) {
    std::string left, right;
    if (const auto* text = entry.get_ptr<const std::string*>()) {
        const std::size_t space = text->find(' ');
        if (space == text->npos || text->find(' ', space + 1) != text->npos)
            return wrong("has the merge " + quote(*text) +
                         "; it should be two tokens with a space between them");
        left = text->substr(0, space);
        right = text->substr(space + 1);
    } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
        left = *entry[0].get_ptr<const std::string*>();
        right = *entry[1].get_ptr<const std::string*>();
    } else {
        return wrong("should have two tokens as each of its merges, but has " +
                     std::string(entry.type_name()));
    }
    std::array<std::int32_t, 3> ids{};
    const std::array<std::string, 3> spellings{left, right, left + right};
    for (std::size_t i = 0; i < 3; ++i) {
        const auto id = vocabulary.id(spellings[i]);
        if (!id)
            return wrong("merges " + quote(left) + " and " + quote(right) + ", but has no token " +
                         quote(spellings[i]));
        ids[i] = *id;
    }
    return Bpe::Merge{ids[0], ids[1], ids[2]};
}

}  // namespace

Result<Bpe> Bpe::parse(std::span<const std::byte> tokenizer_json) {
    const auto tree = parse_json(tokenizer_json, "tokenizer.json");
    if (!tree) return tree.error();
    if (!tree->is_object())
        return wrong("should hold an object, but holds " + std::string(tree->type_name()));
    if (auto status = check_parts(*tree); !status) return status.error();
    const json& model = (*tree)["model"];
    const json* vocab = find(model, "vocab");
    const auto* spellings = vocab ? vocab->get_ptr<const json::object_t*>() : nullptr;
    if (!spellings) return wrong("has no vocabulary: 'vocab' in 'model' should be an object");
    const json* list = find(model, "merges");
    if (!list || !list->is_array()) return wrong("has no merges: 'merges' in 'model' should be a list");

    auto entries = read_added(*tree);
    if (!entries) return entries.error();
    Vocabulary vocabulary(spellings->size() + entries->size());
    if (auto status = add_to(vocabulary, *spellings, *entries); !status) return status.error();
    std::vector<Merge> merges;
    for (const json& entry : *list) {
        const auto merge = read_merge(entry, vocabulary);
        if (!merge) return merge.error();
        merges.push_back(*merge);
    }
    std::vector<Added> added;
    for (const auto& [content, entry] : *entries)
        added.push_back({*vocabulary.id(content), entry.special, entry.normalized});
    std::ranges::sort(added, {}, &Added::id);
    auto tokens = std::move(vocabulary).tokens();
    if (!tokens) return tokens.error();
    return Bpe(std::move(*tokens), std::move(merges), std::move(added));
}

std::string Bpe::to_json() const {
    std::vector<std::string> spellings;
    for (const std::string& token : tokens_) spellings.push_back(spell(token));
    std::string added;
    for (const auto& [id, special, normalized, strips] : added_) {
        const auto place = static_cast<std::size_t>(id);
        spellings[place] = tokens_[place];
        added += added.empty() ? "\n" : ",\n";
        added += "  {\"id\": " + std::to_string(id) + ", \"content\": " + json_string(tokens_[place]) +
                 R"(, "single_word": false, "lstrip": false, "rstrip": )" + (strips ? "true" : "false") +
                 R"(, "normalized": )" + (normalized ? "true" : "false") + R"(, "special": )" +
                 (special ? "true}" : "false}");
    }
    std::string vocab, merges;
    for (std::size_t id = 0; id < spellings.size(); ++id)
        vocab += (id == 0 ? "\n" : ",\n") + json_string(spellings[id]) + ": " + std::to_string(id);
    for (const auto& [left, right, result] : merges_)
        merges +=
            (merges.empty() ? "\n" : ",\n") + json_string(spellings[static_cast<std::size_t>(left)] + " " +
                                                          spellings[static_cast<std::size_t>(right)]);
    return R"({"version": "1.0", "truncation": null, "padding": null,
"added_tokens": [)" +
           added + R"(],
"normalizer": null,
"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
"post_processor": null,
"decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
"end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
"vocab": {)" +
           vocab +
           R"(},
"merges": [)" +
           merges + "]}}\n";
}

}  // namespace attn
