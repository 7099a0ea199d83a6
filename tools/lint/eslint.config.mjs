// What eslint looks for in the JavaScript of the page, its tests, the tools and the benchmarks: faults, not style.
import js from '@eslint/js';
import globals from 'globals';

export default [
    js.configs.recommended,
    {
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        rules: {
            'array-callback-return': 'error',
            'consistent-return': 'error',
            eqeqeq: 'error',
            'no-implicit-coercion': ['error', { allow: ['!!'] }],
            'no-promise-executor-return': 'error',
            'no-self-compare': 'error',
            'no-shadow': 'error',
            'no-template-curly-in-string': 'error',
            'no-unmodified-loop-condition': 'error',
            'no-unreachable-loop': 'error',
            'no-unused-expressions': 'error',
            'no-unused-vars': ['error', { ignoreRestSiblings: true }],
            'no-use-before-define': ['error', { functions: false, variables: false }],
            'no-useless-return': 'error',
            'no-var': 'error',
            'object-shorthand': 'error',
            'prefer-const': ['error', { destructuring: 'all' }],
        },
    },
    { files: ['web/shell/*.js'], languageOptions: { globals: globals.browser } },
    { files: ['web/shell/*_worker.js'], languageOptions: { globals: globals.worker } },
    { files: ['tools/**/*.mjs', 'tests/{unit,support,docs,packages}/**/*.mjs', 'bench/**/*.mjs'], languageOptions: { globals: globals.node } },
    { files: ['python/**/*.js', 'tests/notebook/lib/*.js'], languageOptions: { globals: globals.browser } },
    // What a browser test evaluates runs in the page.
    { files: ['tests/{browser,engines,notebook}/**/*.mjs', 'bench/web/*.mjs', 'bench/{maps,start}_page.mjs', 'bench/programs.mjs'], languageOptions: { globals: { ...globals.node, ...globals.browser, explorer: 'readonly' } } },
];
