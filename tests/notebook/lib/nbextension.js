// Tells the classic notebook where anywidget's front end is, as the extension of its wheel does.
/* global define, requirejs */
define(() => {
    requirejs.config({ map: { '*': { anywidget: 'nbextensions/anywidget/index' } } });
    return { load_ipython_extension() {} };
});
