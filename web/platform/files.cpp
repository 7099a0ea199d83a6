// Defines the functions with which the shell's JavaScript hands over the files of models, tensors and
// archives.
#include <emscripten.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "io/model_config.hpp"
#include "platform/program.hpp"
#include "platform/window.hpp"

namespace attn::platform {

namespace {

app::FileIntake& models() { return *visit().intake(app::FileKind::model); }
app::FileIntake& tensors() { return *visit().intake(app::FileKind::tensors); }
app::FileIntake& archives() { return *visit().intake(app::FileKind::archive); }

// Returns null if the file is refused; a notice says why.
std::byte* buffer_in(app::FileIntake& intake, const char* name, unsigned size_low, unsigned size_high) {
    auto buffer = intake.buffer(name, (std::uint64_t{size_high} << 32) | size_low);
    if (buffer) return *buffer;
    visit().report_error(buffer.error());
    return nullptr;
}

}  // namespace

}  // namespace attn::platform

using namespace attn;
using namespace attn::platform;

extern "C" {

EMSCRIPTEN_KEEPALIVE void explorer_model_name(const char* name, int reads_alike) {
    models().name(name, reads_alike != 0);
}

// Returns a sentence if a model with this config.json cannot be opened.
EMSCRIPTEN_KEEPALIVE const char* explorer_model_refusal(const std::byte* config, int size) {
    const auto parsed = parse_model_config({config, static_cast<std::size_t>(size)});
    return returned(parsed ? "" : parsed.error().message + ".");
}

// Returns where to write the file's bytes; null if the file is refused (a notice says why).
EMSCRIPTEN_KEEPALIVE std::byte* explorer_model_buffer(const char* name, unsigned size_low,
                                                      unsigned size_high) {
    return buffer_in(models(), name, size_low, size_high);
}

// Returns how many bytes are needed to go on; 0 if everything is checked, -1 if the file is refused (a notice
// says why).
EMSCRIPTEN_KEEPALIVE double explorer_model_check_header(const char* name, unsigned written_low,
                                                        unsigned written_high) {
    const auto needed = models().check_header(name, (std::uint64_t{written_high} << 32) | written_low);
    if (needed) return static_cast<double>(*needed);
    visit().report_error(needed.error());
    return -1;
}

// Takes the next bytes of a file of weights whose matrices are rounded to 8 bits; not 0: the file is refused
// (a notice says why).
EMSCRIPTEN_KEEPALIVE int explorer_model_rounded(const char* name, unsigned size_low, unsigned size_high,
                                                const std::byte* bytes, int count) {
    const auto status = models().add_rounded(name, (std::uint64_t{size_high} << 32) | size_low,
                                             {bytes, static_cast<std::size_t>(count)});
    if (status) return 0;
    visit().report_error(status.error());
    return 1;
}

EMSCRIPTEN_KEEPALIVE const char* explorer_model_tokenizer() { return returned(models().tokenizer()); }

EMSCRIPTEN_KEEPALIVE const char* explorer_model_encode(const std::byte* text, int size, int ends) {
    const auto ids =
        models().encode({reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)}, ends != 0);
    const nlohmann::json told =
        ids ? nlohmann::json{{"ids", *ids}, {"fault", nullptr}}
            : nlohmann::json{{"ids", nlohmann::json::array()}, {"fault", ids.error().message}};
    return returned(told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

EMSCRIPTEN_KEEPALIVE int explorer_model_load() {
    wake();
    return models().arrived() ? 0 : 1;
}

EMSCRIPTEN_KEEPALIVE void explorer_model_failed() {
    models().failed();
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_model_discard() {
    models().discard();
    wake();
}

EMSCRIPTEN_KEEPALIVE double explorer_model_context() { return static_cast<double>(models().context()); }

// Returns where to write the file's bytes; null if the file is refused (a notice says why).
EMSCRIPTEN_KEEPALIVE std::byte* explorer_tensors_buffer(const char* name, unsigned size_low,
                                                        unsigned size_high) {
    return buffer_in(tensors(), name, size_low, size_high);
}

EMSCRIPTEN_KEEPALIVE void explorer_tensors_arrived() {
    tensors().arrived();
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_tensors_discard() {
    tensors().discard();
    wake();
}

// Returns where to write the archive's bytes; null if it is refused (a notice says why).
EMSCRIPTEN_KEEPALIVE std::byte* explorer_archive_buffer(const char* name, unsigned size_low,
                                                        unsigned size_high) {
    return buffer_in(archives(), name, size_low, size_high);
}

EMSCRIPTEN_KEEPALIVE void explorer_archive_arrived() {
    archives().arrived();
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_archive_discard() {
    archives().discard();
    wake();
}

}  // extern "C"
