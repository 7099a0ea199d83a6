// Declares what browser tests find in the page besides the contract: the Probe of web/probe.cpp, what they
// read it with, and the size that the program knows.
import '../../../web/shell/contract.d.ts';

declare module '../../../web/shell/contract.d.ts' {
    interface Module {
        UTF8ToString(address: number): string;
        lengthBytesUTF8(text: string): number;
        stageSize: [number, number];
        stringToUTF8(text: string, address: number, room: number): void;
        [question: `_probe_${string}`]: (...values: number[]) => number;
    }
}
