// Tests the names by which the program is split (tools/lib/function_names.mjs).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseName, escaped, functionNames } from '../../../tools/lib/function_names.mjs';

test('a name keeps neither arguments, parameters nor what is returned', () => {
    for (const [name, base] of [
        ['main', 'main'],
        ['attn::app::Visit::work(double)', 'attn::app::Visit::work'],
        ['attn::Result<attn::Tensor> attn::(anonymous namespace)::read<float>(std::__2::span<float const, 4ul>) const', 'attn::_::read'],
        ['std::__2::vector<attn::Stage, std::__2::allocator<attn::Stage>>::push_back[abi:nn180100](attn::Stage&&)', 'std::__2::vector::push_back'],
        ['bool std::__2::operator<=>[abi:nn180100]<char>(char const*)', 'std::__2::operator'],
        ['attn::Mask::operator()(long, long) const', 'attn::Mask::operator'],
        ['attn::Text::operator std::__2::basic_string_view<char>() const', 'attn::Text::operator'],
        ['strtox_33659', 'strtox'],
        ['__cxx_global_array_dtor.148', '__cxx_global_array_dtor'],
    ]) {
        assert.equal(baseName(name), base, name);
    }
});

test('a lambda goes by its function, also as the argument of a template', () => {
    for (const name of [
        'attn::heads::draw(attn::Frame const&)::$_0::operator()(int) const',
        'attn::heads::draw(attn::Frame const&) const::$_12::operator()(int) const',
        'std::__2::__function::__func<attn::heads::draw(attn::Frame const&)::$_0, std::__2::allocator<attn::heads::draw(attn::Frame const&)::$_0>, void (int)>::__clone() const',
        "void attn::heads::draw<4>(attn::Span<int, 2>)::'lambda'(int)::operator()(int) const",
    ]) {
        assert.equal(baseName(name), 'attn::heads::draw', name);
    }
});

test('names are read from a program, and written as Binaryen writes them', () => {
    const text = (/** @type {string} */ letters) => [letters.length, ...new TextEncoder().encode(letters)];
    const names = [2, 0, ...text('first'), 1, ...text('f(int)')];
    const section = [...text('name'), 0, 2, ...text('m'), 1, names.length, ...names];
    assert.deepEqual(functionNames(Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 1, 0, 0, section.length, ...section])), ['first', 'f(int)']);
    assert.deepEqual(functionNames(Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 1, 0])), []);
    assert.equal(escaped('f(int, char*)'), 'f\\28int\\2c\\20char*\\29');
});
