// A value, or one sentence that says what went wrong, where, and what to do. The core throws nothing.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace attn {

struct Error {
    std::string message;
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }

    // Call these only if the result holds a value.
    T& operator*() & { return *std::get_if<0>(&state_); }
    const T& operator*() const& { return *std::get_if<0>(&state_); }
    T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
    T* operator->() { return std::get_if<0>(&state_); }
    const T* operator->() const { return std::get_if<0>(&state_); }

    // Call this only if the result holds an error.
    const Error& error() const { return *std::get_if<1>(&state_); }

  private:
    std::variant<T, Error> state_;
};

struct Nothing {};
using Status = Result<Nothing>;
inline Status ok() { return Nothing{}; }

}  // namespace attn
