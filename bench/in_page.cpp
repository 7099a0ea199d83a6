// The functions that the page may call.
#include <emscripten/emscripten.h>

#include "contestant.hpp"

extern "C" EMSCRIPTEN_KEEPALIVE const char* answer(const char* request) {
    static std::string text;
    text = attn::bench::answer(request);
    return text.c_str();
}
