// A picture as a file of few bytes: a PNG with a palette of few colours, the most frequent ones as they are. `pngjs` reads
// palettes and does not write them.

import { crc32, deflateSync } from 'node:zlib';
import { PNG } from 'pngjs';

/** By how much a colour may be another one in each channel. Less than what counts as a difference. */
const NEAR = 7;
const MOST_COLOURS = 256;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const DEPTH_8_WITH_PALETTE = [8, 3, 0, 0, 0];

export function small(bytes: Buffer): Buffer {
    const { data, width, height } = PNG.sync.read(bytes);
    const colours = coloursOf(data);
    const palette = paletteOf(colours);
    const nearest = new Map([...colours.keys()].map((colour) => [colour, nearestOf(colour, palette)]));
    const rows = Buffer.alloc(height * (width + 1));
    for (let y = 0; y < height; y += 1) {
        for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = nearest.get(data.readUInt32BE(4 * (y * width + x)) >>> 8) ?? 0;
    }
    const size = Buffer.alloc(8);
    size.writeUInt32BE(width, 0);
    size.writeUInt32BE(height, 4);
    return Buffer.concat([
        SIGNATURE,
        chunk('IHDR', Buffer.concat([size, Buffer.from(DEPTH_8_WITH_PALETTE)])),
        chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
        chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
        chunk('IEND', Buffer.alloc(0)),
    ]);
}

/** How often each colour is there. */
function coloursOf(data: Buffer): Map<number, number> {
    const counts = new Map<number, number>();
    for (let at = 0; at < data.length; at += 4) {
        const colour = data.readUInt32BE(at) >>> 8;
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    return counts;
}

/** The most frequent colours that are not near another one. */
function paletteOf(counts: Map<number, number>): number[] {
    const palette: number[] = [];
    for (const [colour] of [...counts].sort(([, one], [, other]) => other - one)) {
        if (palette.length < MOST_COLOURS && palette.every((taken) => distance(taken, colour) > NEAR)) palette.push(colour);
    }
    return palette;
}

function nearestOf(colour: number, palette: readonly number[]): number {
    const distances = palette.map((taken) => distance(taken, colour));
    return distances.indexOf(Math.min(...distances));
}

const partsOf = (colour: number): number[] => [colour >>> 16, (colour >>> 8) & 255, colour & 255];

function distance(one: number, other: number): number {
    const others = partsOf(other);
    return Math.max(...partsOf(one).map((part, index) => Math.abs(part - (others[index] ?? 0))));
}

function chunk(type: string, data: Buffer): Buffer {
    const named = Buffer.concat([Buffer.from(type), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, check]);
}
