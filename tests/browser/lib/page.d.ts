// What browser tests find in the page besides the contract: the Probe of web/probe.cpp, and what they read it with.
import '../../../web/shell/contract.d.ts';

declare module '../../../web/shell/contract.d.ts' {
    interface Module {
        UTF8ToString(address: number): string;
        lengthBytesUTF8(text: string): number;
        stringToUTF8(text: string, address: number, room: number): void;
        [question: `_probe_${string}`]: (...values: number[]) => number;
    }
}
