// Parses the words after a command: positional ones, and options that each take a value or a list of values.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/result.hpp"

namespace attn {

class Arguments {
  public:
    // `options` are those that the command knows, such as "--ids"; `lists` are those that take all
    // words up to the next option.
    static Result<Arguments> parse(std::span<const std::string> words,
                                   std::span<const std::string_view> options,
                                   std::span<const std::string_view> lists = {});

    const std::vector<std::string>& positional() const { return positional_; }
    Result<std::string> text(std::string_view option) const;               // an error if it was not given
    std::vector<std::string> list(std::string_view option) const;          // empty if it was not given
    Result<std::vector<std::int32_t>> ids(std::string_view option) const;  // "1,2,3"; an error if not given

    template <class T>
    Result<T> number(std::string_view option, T absent) const {
        const auto place = values_.find(option);
        if (place == values_.end()) return absent;
        const std::string& word = place->second;
        T value{};
        const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (failure != std::errc{} || end != word.data() + word.size())
            return Error{std::string(option) + " takes a number, not '" + word + "'"};
        return value;
    }

  private:
    std::vector<std::string> positional_;
    std::map<std::string, std::string, std::less<>> values_;
    std::map<std::string, std::vector<std::string>, std::less<>> lists_;
};

}  // namespace attn
