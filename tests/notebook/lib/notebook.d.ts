// Declares what the pages of these tests have.
declare global {
    var cells: any[], stub: any, FakeModel: any, fake: string, violations: string[];
    var tell: (content: object, buffers: string[]) => void, toKernel: (message: object) => void;
    var Jupyter: any;
}

export {};
