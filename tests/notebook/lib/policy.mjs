// The policy that VS Code sets on its notebooks if notebook.experimental.enableCsp is on, from
// src/vs/workbench/contrib/notebook/browser/view/renderers/backLayerWebView.ts of https://github.com/microsoft/vscode
export const policy = "default-src 'none'; script-src https://*.vscode-cdn.net 'unsafe-inline' 'unsafe-eval'; "
    + "style-src https://*.vscode-cdn.net 'unsafe-inline'; img-src https://*.vscode-cdn.net https: http: data:; "
    + 'font-src https://*.vscode-cdn.net https:; connect-src https:; child-src https: data:';
