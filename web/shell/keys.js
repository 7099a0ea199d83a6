// Which keys go where. The program's window library listens on the whole window and swallows Tab and Backspace, so
// keys meant for the page's own controls are stopped before it sees them.

export function attachKeys({ stage, undo, redo, enter, escape }) {
    const forProgram = ({ target }) => target === document.body || target === stage;
    const inText = ({ target }) => target.matches('textarea, input');

    const composing = ({ isComposing, keyCode }) => isComposing || keyCode === 229;  // 229: Safari's last Enter

    function handle(event) {
        const command = event.ctrlKey || event.metaKey;
        const key = event.key.toLowerCase();
        if (command && (key === 'z' || key === 'y') && !inText(event)) {
            event.preventDefault();
            event.stopImmediatePropagation();
            (key === 'y' || event.shiftKey ? redo : undo)();
        } else if (event.key === 'Enter' && !event.shiftKey && !composing(event) && event.target.matches('textarea')) {
            event.preventDefault();
            enter();
        } else if (event.key === 'Escape' && !forProgram(event)) {
            escape();
        }
    }

    window.addEventListener('keydown', (event) => {
        handle(event);
        if (!forProgram(event) || event.key === 'Tab') {
            event.stopImmediatePropagation();
        }
    }, { capture: true });
    window.addEventListener('keypress', (event) => {
        if (!forProgram(event)) {
            event.stopImmediatePropagation();
        }
    }, { capture: true });
}
