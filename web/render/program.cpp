#include "render/program.hpp"

#include <array>
#include <span>

#include "render/context.hpp"

namespace attn::render {

namespace {

GLuint compile(GLenum kind, std::string_view source) {
    const GLuint shader = glCreateShader(kind);
    const char* text = source.data();
    const auto length = static_cast<GLint>(source.size());
    glShaderSource(shader, 1, &text, &length);
    glCompileShader(shader);
    return shader;
}

// Returns an empty string if all is well.
std::string fault_of(GLuint program, std::span<const GLuint> shaders) {
    GLint linked = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (linked) return {};
    for (const GLuint shader : shaders) {
        GLint compiled = 0;
        glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
        if (compiled) continue;
        std::array<char, 512> log{};
        glGetShaderInfoLog(shader, static_cast<GLsizei>(log.size()), nullptr, log.data());
        return log.data();
    }
    return "the shaders do not link";
}

}  // namespace

void Program::prepare() {
    if (context_ == context_number()) return;
    context_ = context_number();
    checked_ = false;
    program_ = glCreateProgram();
    shaders_ = {compile(GL_VERTEX_SHADER, vertex_), compile(GL_FRAGMENT_SHADER, fragment_)};
    for (const GLuint shader : shaders_) glAttachShader(program_, shader);
    glLinkProgram(program_);
}

bool Program::use() {
    prepare();
    if (!checked_) {
        checked_ = true;
        fault_ = fault_of(program_, shaders_);
        for (const GLuint shader : shaders_) glDeleteShader(shader);
        glGenVertexArrays(1, &vertex_array_);
    }
    if (!fault_.empty()) return false;
    glUseProgram(program_);
    glBindVertexArray(vertex_array_);
    return true;
}

}  // namespace attn::render
