#include "render/program.hpp"

#include <array>

#include "render/context.hpp"

namespace attn::render {

namespace {

GLuint compile(GLenum kind, std::string_view source, std::string& fault) {
    const GLuint shader = glCreateShader(kind);
    const char* text = source.data();
    const auto length = static_cast<GLint>(source.size());
    glShaderSource(shader, 1, &text, &length);
    glCompileShader(shader);
    GLint compiled = 0;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
    if (!compiled) {
        std::array<char, 512> log{};
        glGetShaderInfoLog(shader, static_cast<GLsizei>(log.size()), nullptr, log.data());
        fault = log.data();
    }
    return shader;
}

}  // namespace

bool Program::use() {
    if (context_ != context_number()) {
        context_ = context_number();
        fault_.clear();
        program_ = glCreateProgram();
        glGenVertexArrays(1, &vertex_array_);
        for (const auto& [kind, source] :
             {std::pair{GL_VERTEX_SHADER, vertex_}, {GL_FRAGMENT_SHADER, fragment_}}) {
            const GLuint shader = compile(static_cast<GLenum>(kind), source, fault_);
            glAttachShader(program_, shader);
            glDeleteShader(shader);
        }
        glLinkProgram(program_);
        GLint linked = 0;
        glGetProgramiv(program_, GL_LINK_STATUS, &linked);
        if (!linked && fault_.empty()) fault_ = "the shaders do not link";
    }
    if (!fault_.empty()) return false;
    glUseProgram(program_);
    glBindVertexArray(vertex_array_);
    return true;
}

}  // namespace attn::render
